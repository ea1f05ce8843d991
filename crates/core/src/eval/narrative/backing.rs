//! Which calls back a claim, and why the others do not.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::claims::Claim;
use super::lexicon;
use super::words::{self, FAMILIES};
use crate::trace::Trace;

/// A tool as the calls used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    /// Words of its name.
    pub(super) words: Vec<Word<'a>>,
    /// Whether it changes something.
    pub(super) mutating: bool,
    /// Its calls, in order.
    pub(super) calls: Vec<usize>,
    /// The first call that did not fail.
    pub(super) succeeded: Option<usize>,
    /// The first call of which the recording does not say whether it failed.
    pub(super) unrecorded: Option<usize>,
}

/// A word of a tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// As it stands, in lower case.
    pub(super) plain: Cow<'a, str>,
    pub(super) singular: Cow<'a, str>,
    /// What its inflections share.
    pub(super) root: Cow<'a, str>,
    /// Whether it is the base form of a fixed verb.
    is_verb: bool,
}

impl<'a> Word<'a> {
    fn new(plain: Cow<'a, str>) -> Self {
        let known = lexicon::known(&plain);
        let singular = words::in_part(plain.clone(), words::singular);
        let root = match &known.root {
            Some(root) => root.into(),
            None => words::in_part(singular.clone(), words::singular_root),
        };
        Self { is_verb: known.form.is_some_and(|(verb, _)| verb == plain), plain, singular, root }
    }
}

impl Tool<'_> {
    /// Whether a word of its name is this one, in the singular.
    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own.singular == word)
    }

    /// Whether a noun is the initials of words of the name: a PR is a `pull_request`.
    fn has_initials(&self, noun: &str) -> bool {
        let initials = |words: &[Word<'_>]| words.iter().filter_map(|word| word.plain.chars().next()).eq(noun.chars());
        // Most nouns have more letters than a name has words.
        if noun.chars().nth(self.words.len()).is_some() {
            return false;
        }
        let length = noun.chars().count();
        length >= 2 && self.words.windows(length).any(initials)
    }
}

/// The tools a trace used, in order of their first call.
pub(super) fn tools<'a>(trace: &'a Trace, mutating: &Mutating) -> Option<Vec<Tool<'a>>> {
    let calls = trace.tool_calls.as_ref()?;
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out: Vec<Tool<'a>> = Vec::with_capacity(calls.len().min(8));
    for (at, call) in calls.iter().enumerate() {
        let place = *places.entry(&call.name).or_insert_with(|| {
            let words: Vec<_> = words::each_word(&call.name).map(Word::new).collect();
            out.push(Tool {
                name: &call.name,
                mutating: mutating.tool(&call.name, &words),
                words,
                calls: Vec::new(),
                succeeded: None,
                unrecorded: None,
            });
            out.len() - 1
        });
        let tool = &mut out[place];
        tool.calls.push(at);
        match trace.result(at).and_then(crate::trace::ToolResult::failed) {
            Some(false) => tool.succeeded = tool.succeeded.or(Some(at)),
            Some(true) => {}
            None => tool.unrecorded = tool.unrecorded.or(Some(at)),
        }
    }
    Some(out)
}

/// Why a call does not back a claim, or that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// It backs the claim.
    Backs,
    /// It would, but whether it failed was not recorded.
    MayBack,
    /// It would, but every call of it failed.
    Failed,
    /// Its name has the object, not the verb.
    OtherVerb,
    /// Its name has the verb, not the object.
    OtherObject,
    /// Its name has neither.
    Unrelated,
}

/// What may stand for what.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    pub(super) synonyms: bool,
    /// Stem of a claim to the tools that carry it out.
    pub(super) aliases: BTreeMap<String, Vec<String>>,
}

impl Rules {
    /// How each of some tools stands to a claim.
    pub(super) fn fits(&self, claim: &Claim, stem: &str, tools: &[Tool<'_>]) -> impl Iterator<Item = Fit> {
        let aliases = self.aliases.get(stem).map_or(&[][..], Vec::as_slice);
        let is_kin = |family: &[&str]| self.synonyms && family.contains(&claim.verb.as_str());
        let kin = FAMILIES.map(|family| if is_kin(family) { family } else { &[] });
        tools.iter().map(move |tool| fit(claim, tool, aliases, &kin))
    }
}

/// How a tool stands to a claim, given the tools that carry it out and the verbs that may stand for its own.
fn fit(claim: &Claim, tool: &Tool<'_>, aliases: &[String], kin: &[&[&str]]) -> Fit {
    let alias = aliases.iter().any(|name| name == tool.name);
    let is_verb = |word: &Word<'_>| {
        word.singular == claim.verb
            || word.plain == claim.verb
            || kin.iter().any(|family| family.contains(&word.singular.as_ref()))
    };
    let verb = tool.words.iter().any(is_verb);
    let named = |noun: &String| tool.has(noun) || tool.has_initials(noun);
    let object = claim.nouns.is_empty() || claim.nouns.iter().any(named);
    if alias || (verb && object) {
        return match tool {
            Tool { succeeded: Some(_), .. } => Fit::Backs,
            Tool { unrecorded: Some(_), .. } => Fit::MayBack,
            _ => Fit::Failed,
        };
    }
    match (verb, object && !claim.nouns.is_empty()) {
        (true, _) => Fit::OtherObject,
        (false, true) => Fit::OtherVerb,
        (false, false) => Fit::Unrelated,
    }
}

/// Which tools and claims change something.
#[derive(Debug, Clone, Default)]
pub(super) struct Mutating {
    /// The author's own verbs, beside the fixed ones.
    verbs: BTreeSet<String>,
    tools: BTreeSet<String>,
    /// Tools that change nothing, with the words of their names, singular.
    readonly: BTreeMap<String, BTreeSet<String>>,
}

impl Mutating {
    pub(super) fn new(own_verbs: &[String], tools: &[String], readonly: &[String]) -> Self {
        let singular = |name: &String| -> BTreeSet<String> {
            words::name_words(name).iter().map(|word| words::singular(word).into_owned()).collect()
        };
        Self {
            verbs: own_verbs.iter().map(|verb| verb.to_lowercase()).collect(),
            tools: tools.iter().cloned().collect(),
            readonly: readonly.iter().map(|name| (name.clone(), singular(name))).collect(),
        }
    }

    /// Whether a tool does, by its name and the words of it.
    fn tool(&self, name: &str, words: &[Word<'_>]) -> bool {
        if self.readonly.contains_key(name) {
            return false;
        }
        let says_so = |word: &Word<'_>| word.is_verb || self.verbs.contains(word.plain.as_ref());
        self.tools.contains(name) || words.iter().any(says_so)
    }

    pub(super) fn claim(&self, claim: &Claim) -> bool {
        let harmless = |words: &BTreeSet<String>| {
            words.contains(&claim.verb) && claim.nouns.iter().all(|noun| words.contains(noun))
        };
        !self.readonly.values().any(harmless)
    }
}
