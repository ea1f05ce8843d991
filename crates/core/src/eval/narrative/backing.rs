//! Which calls back a claim, and why the others do not.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::claims::Claim;
use super::words::{self, FAMILIES, VERBS};
use crate::trace::Trace;

/// A tool as the calls used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) name: String,
    /// Words of its name, singular.
    pub(super) words: BTreeSet<String>,
    /// Words of its name as they stand.
    pub(super) plain: Vec<String>,
    /// Its calls, in order.
    pub(super) calls: Vec<usize>,
    /// The first call that did not fail.
    pub(super) succeeded: Option<usize>,
    /// The first call of which the recording does not say whether it failed.
    pub(super) unrecorded: Option<usize>,
}

impl Tool {
    /// Whether a noun is the initials of words of the name: a PR is a `pull_request`.
    fn has_initials(&self, noun: &str) -> bool {
        let length = noun.chars().count();
        let initials = |words: &[String]| words.iter().filter_map(|word| word.chars().next()).eq(noun.chars());
        length >= 2 && self.plain.windows(length).any(initials)
    }
}

/// The tools a trace used, in order of their first call.
pub(super) fn tools(trace: &Trace) -> Option<Vec<Tool>> {
    let calls = trace.tool_calls.as_ref()?;
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out: Vec<Tool> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let place = *places.entry(&call.name).or_insert_with(|| {
            let plain = words::name_words(&call.name);
            out.push(Tool {
                name: call.name.clone(),
                words: plain.iter().map(|word| words::singular(word)).collect(),
                plain,
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
    pub(super) fn fit(&self, claim: &Claim, tool: &Tool) -> Fit {
        let alias = self.aliases.get(&claim.stem()).is_some_and(|names| names.contains(&tool.name));
        let verb = tool.words.contains(&claim.verb)
            || tool.plain.contains(&claim.verb)
            || (self.synonyms && family(&claim.verb).any(|verb| tool.words.contains(verb)));
        let named = |noun: &String| tool.words.contains(noun) || tool.has_initials(noun);
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
}

fn family(verb: &str) -> impl Iterator<Item = &'static str> {
    FAMILIES.into_iter().filter(move |family| family.contains(&verb)).flatten().copied()
}

/// Which tools and claims change something.
#[derive(Debug, Clone, Default)]
pub(super) struct Mutating {
    pub(super) verbs: BTreeSet<String>,
    pub(super) tools: BTreeSet<String>,
    pub(super) readonly: Vec<String>,
}

impl Mutating {
    pub(super) fn new(own_verbs: &[String], tools: &[String], readonly: &[String]) -> Self {
        let own = own_verbs.iter().map(|verb| verb.to_lowercase());
        Self {
            verbs: VERBS.into_iter().map(str::to_owned).chain(own).collect(),
            tools: tools.iter().cloned().collect(),
            readonly: readonly.to_vec(),
        }
    }

    pub(super) fn tool(&self, tool: &Tool) -> bool {
        if self.readonly.contains(&tool.name) {
            return false;
        }
        self.tools.contains(&tool.name) || tool.plain.iter().any(|word| self.verbs.contains(word))
    }

    pub(super) fn claim(&self, claim: &Claim) -> bool {
        let harmless = |name: &String| {
            let words: BTreeSet<_> = words::name_words(name).iter().map(|word| words::singular(word)).collect();
            words.contains(&claim.verb) && claim.nouns.iter().all(|noun| words.contains(noun))
        };
        !self.readonly.iter().any(harmless)
    }
}
