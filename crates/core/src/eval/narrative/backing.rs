//! Which calls could have made a claim true, and why the others could not.
//!
//! Calls are put into an index once: by action, by the names in their arguments, by the words of their tools. A claim is
//! then a few lookups, so the cost is linear in calls and claims.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Serialize;

use super::actions::{self, Actions, MOST};
use super::claims::Claim;
use super::did::{Did, Hides, Source};
use super::objects::{Finder, Kind, Object};
use super::tokens::Token;
use super::tools::{self, Tools, Word};
use super::words::{self, Class};
use crate::trace::{ToolCall, ToolResult, Trace};

/// Most different actions that are remembered of calls which have the same name in their arguments.
const MAX_PER_NAME: usize = 32;
/// Most calls named in the evidence of one claim.
const MAX_CONSIDERED: usize = 3;

/// Verbs that an edit of content can make true: "I removed the helper" is true if a file was written.
static CONTENT_VERBS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    "create add insert append write save update edit modify change replace remove delete drop fix rename set \
    put generate convert fill merge move configure label mark enable disable link adjust swap store resolve assign tag apply \
    restore revert export upgrade downgrade reset comment import attach copy"
        .split_whitespace()
        .collect()
});

/// Media for sending messages. A channel message is not a direct message.
const MEDIA: [&[&str]; 5] = [
    &["email", "emails", "mail", "gmail", "outlook"],
    &["channel", "channels"],
    &["direct", "dm", "dms"],
    &["sms"],
    &["tweet"],
];

/// The media that some words name, as bits; the lowest is not used.
fn media<'w>(words: impl Iterator<Item = &'w str>) -> u8 {
    let mut found = 0;
    for word in words {
        if let Some(place) = MEDIA.iter().position(|names| names.contains(&word)) {
            found |= 2 << place;
        }
    }
    found
}

/// The words behind a claim's verb, up to where another thought begins: "posted it to the channel asking for a DM".
fn phrase_behind<'t>(claim: &Claim, tokens: &'t [Token<'_>]) -> impl Iterator<Item = &'t str> {
    let behind = &tokens[claim.at + 1..claim.sentence.end.max(claim.at + 1)];
    let ends = |token: &&Token<'_>| {
        token.ends_clause()
            || matches!(token.class(), Some(Class::Relative | Class::Opener | Class::Conjunction | Class::Condition))
            || token.text == "that"
            || token.text.len() > 4 && token.text.ends_with("ing") && token.text != "following"
    };
    behind
        .iter()
        .take(16)
        .take_while(move |token| !ends(token))
        .filter(|token| token.class().is_some())
        .map(|token| token.text.as_ref())
}

/// Verbs for what becomes part of something, or ceases to be.
const PART_VERBS: [&str; 4] = ["add", "remove", "insert", "attach"];

/// Every word of a call: of its tool, of the names of its arguments and of their short values.
fn each_word_of(call: &ToolCall, use_word: &mut dyn FnMut(&str)) {
    words::each_word(&call.name).for_each(|word| use_word(&word));
    let mut waiting: Vec<&serde_json::Value> = call.args.iter().collect();
    while let Some(value) = waiting.pop() {
        match value {
            serde_json::Value::Object(entries) => {
                for (key, value) in entries {
                    words::each_word(key).for_each(|word| use_word(&word));
                    waiting.push(value);
                }
            }
            serde_json::Value::Array(items) => waiting.extend(items),
            serde_json::Value::String(text) if text.len() <= 80 => {
                words::each_word(text).for_each(|word| use_word(&word));
            }
            _ => {}
        }
    }
}

/// How the calls support a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// A call that did not fail could have made it true.
    Backed,
    /// The message itself delivers what it says was made.
    Delivered,
    /// It repeats what a lookup returned.
    Narrated,
    /// A call that hides what it did may have made it true.
    Unverifiable,
    /// Only calls whose result was not recorded could have made it true.
    Unrecorded,
    /// No call could have made it true.
    Absent,
}

/// Why a call does not make a claim true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// It would have, but it failed.
    Failed,
    /// It would have, but whether it failed was not recorded.
    Unrecorded,
    /// It did this to an object other than the named one.
    OtherObject(String),
    /// It did another action.
    OtherAction,
    /// It failed, and would have done another action.
    OtherFailed,
    /// It changed nothing.
    ReadsOnly,
    /// What it did cannot be read.
    Hidden(String),
}

/// A call that a claim was compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Considered {
    /// The call.
    pub call: usize,
    /// Its tool.
    pub tool: String,
    /// Why it does not make the claim true.
    pub fit: Fit,
    /// The source of an action: the tool's name, a command, a statement.
    pub source: Source,
    /// The words of that.
    pub shown: String,
}

/// The first call of each outcome.
#[derive(Debug, Clone, Copy, Default)]
struct CallOutcomes {
    succeeded: Option<usize>,
    unrecorded: Option<usize>,
    failed: Option<usize>,
    /// The first that succeeded and names no object of a claim, by the kind of the object.
    neutral: [Option<usize>; Kind::ALL.len()],
}

impl CallOutcomes {
    fn note(&mut self, call: usize, failed: Option<bool>) {
        let place = match failed {
            Some(false) => &mut self.succeeded,
            Some(true) => &mut self.failed,
            None => &mut self.unrecorded,
        };
        place.get_or_insert(call);
    }

    fn merge(&mut self, other: &Self) {
        let first = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
        self.succeeded = first(self.succeeded, other.succeeded);
        self.unrecorded = first(self.unrecorded, other.unrecorded);
        self.failed = first(self.failed, other.failed);
        for (own, other) in self.neutral.iter_mut().zip(other.neutral) {
            *own = first(*own, other);
        }
    }
}

/// The calls of each action that any call did: of hundreds of actions a trace has a few.
struct ByAction {
    /// How many entries there were when the entry of each action was added; 0 for none.
    places: [u16; MOST + 1],
    outcomes: Vec<CallOutcomes>,
}

impl ByAction {
    fn merge(&mut self, action: usize, outcomes: &CallOutcomes) {
        match usize::from(self.places[action]).checked_sub(1) {
            Some(place) => self.outcomes[place].merge(outcomes),
            None => {
                self.outcomes.push(*outcomes);
                self.places[action] = u16::try_from(self.outcomes.len()).unwrap_or(u16::MAX);
            }
        }
    }

    fn merge_into(&self, action: usize, all: &mut CallOutcomes) {
        if let Some(place) = usize::from(self.places[action]).checked_sub(1) {
            all.merge(&self.outcomes[place]);
        }
    }
}

/// A call that has a name in its arguments.
#[derive(Debug, Clone, Copy)]
struct Naming {
    call: usize,
    actions: Actions,
    writes_content: bool,
    failed: Option<bool>,
}

/// What the calls of a trace did, indexed for lookups.
pub(super) struct Evidence<'a> {
    calls: &'a [ToolCall],
    pub(super) dids: Vec<Did<'a>>,
    failed: Vec<Option<bool>>,
    pub(super) tools: &'a Tools<'a>,
    /// The calls of each tool.
    by_tool: Vec<CallOutcomes>,
    /// By the number of the action; the last entry is for calls that wrote content.
    by_action: ByAction,
    /// Calls that notify someone, by medium; the first entry is for calls that name none.
    by_medium: [CallOutcomes; MEDIA.len() + 1],
    by_name: Vec<Vec<Naming>>,
    by_root: BTreeMap<&'a str, CallOutcomes>,
    /// The same for calls that changed something, or hide whether they did.
    doing: BTreeMap<&'a str, CallOutcomes>,
    /// Calls that changed parts of something, by the words of their tools and arguments.
    about: BTreeMap<String, CallOutcomes>,
    /// Calls that hide everything they did.
    hidden: CallOutcomes,
    /// Roots of words of tools that only their name could explain.
    unnamed: BTreeMap<&'a str, CallOutcomes>,
    last_change: Option<usize>,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(
        trace: &'a Trace,
        calls: &'a [ToolCall],
        tools: &'a Tools<'a>,
        mutating: &Mutating,
        finder: &Finder<'_>,
    ) -> Self {
        let mut evidence = Self {
            calls,
            dids: Vec::with_capacity(calls.len()),
            failed: Vec::with_capacity(calls.len()),
            tools,
            by_tool: vec![CallOutcomes::default(); tools.list.len()],
            by_action: ByAction { places: [0; MOST + 1], outcomes: Vec::new() },
            by_medium: Default::default(),
            by_name: vec![Vec::new(); finder.len()],
            by_root: BTreeMap::new(),
            doing: BTreeMap::new(),
            about: BTreeMap::new(),
            hidden: CallOutcomes::default(),
            unnamed: BTreeMap::new(),
            last_change: None,
        };
        for (at, call) in calls.iter().enumerate() {
            let failed = trace.result(at).and_then(ToolResult::failed);
            let tool = tools.of(at);
            evidence.by_tool[tool].note(at, failed);
            let did = tools::did(call, &tools.list[tool], trace, mutating);
            evidence.add(at, tool, did, failed, finder);
        }
        evidence
    }

    fn add(&mut self, at: usize, tool: usize, did: Did<'a>, failed: Option<bool>, finder: &Finder<'_>) {
        let named = finder.find(self.calls[at].args.as_ref());
        let tool = &self.tools.list[tool];
        let mut outcomes = CallOutcomes::default();
        outcomes.note(at, failed);
        if failed == Some(false) {
            for (kind, neutral) in Kind::ALL.into_iter().zip(&mut outcomes.neutral) {
                let has_kind = named.iter().any(|name| finder.kind(*name) == kind);
                let any_edit = did.writes_content && kind != Kind::Path;
                *neutral = (!has_kind || any_edit).then_some(at);
            }
        }
        for action in did.actions.ids() {
            self.by_action.merge(action, &outcomes);
        }
        if did.writes_content {
            self.by_action.merge(MOST, &outcomes);
        }
        if did.actions.meets(actions::notifications()) {
            let media = media(tool.words.iter().map(|word| word.plain.as_ref()));
            for (place, entry) in self.by_medium.iter_mut().enumerate() {
                if if place == 0 { media == 0 } else { media & (1 << place) != 0 } {
                    entry.merge(&outcomes);
                }
            }
        }
        if did.actions.meets(actions::changing_parts()) && !did.writes_content {
            let about = &mut self.about;
            each_word_of(&self.calls[at], &mut |word| {
                if word.len() >= 3 {
                    about.entry(words::root(word).into_owned()).or_default().merge(&outcomes);
                }
            });
        }
        for name in named {
            let entries = &mut self.by_name[name];
            let is_new = |entry: &Naming| {
                entry.actions != did.actions || entry.failed != failed || entry.writes_content != did.writes_content
            };
            if entries.len() < MAX_PER_NAME && entries.iter().all(is_new) {
                entries.push(Naming { call: at, actions: did.actions, writes_content: did.writes_content, failed });
            }
        }
        match &did.hides {
            Some(Hides::Everything(_)) => self.hidden.merge(&outcomes),
            Some(Hides::ItsName) if tool.calls.iter().take(2).any(|call| *call == at) || failed != Some(true) => {
                for word in &tool.words {
                    self.unnamed.entry(&word.root).or_default().merge(&outcomes);
                }
            }
            _ => {}
        }
        let does = did.changes() || did.hides.is_some();
        for word in &tool.words {
            self.by_root.entry(&word.root).or_default().merge(&outcomes);
            if does {
                self.doing.entry(&word.root).or_default().merge(&outcomes);
            }
        }
        if did.changes() && failed != Some(true) {
            self.last_change = Some(at);
        }
        self.dids.push(did);
        self.failed.push(failed);
    }

    pub(super) fn succeeded(&self, call: usize) -> bool {
        self.failed[call] == Some(false)
    }

    /// Calls that could have made a claim true, judged by their actions.
    fn candidates(&self, wanted: &Wanted) -> CallOutcomes {
        let mut outcomes = CallOutcomes::default();
        // A claim that names a medium needs a call that names the same, or none.
        let by_medium = wanted.media != 0 && wanted.actions.meets(actions::notifications());
        let direct =
            if wanted.parts.is_empty() { wanted.actions } else { wanted.actions.without(actions::changing_parts()) };
        // For verbs that notify someone, the medium must match. For other verbs ("added Ada to the channel") it only limits
        // the calls that notify someone.
        let direct = match by_medium {
            true if wanted.tells => Actions::NONE,
            true => direct.without(actions::notifications()),
            false => direct,
        };
        for action in direct.ids() {
            self.by_action.merge_into(action, &mut outcomes);
        }
        for (place, entry) in self.by_medium.iter().enumerate().filter(|_| by_medium) {
            if place == 0 || wanted.media & (1 << place) != 0 {
                outcomes.merge(entry);
            }
        }
        for noun in &wanted.parts {
            self.merge_about(noun, &mut outcomes);
        }
        // "A certificate has been added": `send_certificate` brought it about.
        if let Some(found) = wanted.added.as_deref().and_then(|root| self.doing.get(root)) {
            outcomes.merge(found);
        }
        if wanted.content {
            self.by_action.merge_into(MOST, &mut outcomes);
        }
        if let Some(own) = wanted.root.as_deref().and_then(|root| self.doing.get(root)) {
            outcomes.merge(own);
        }
        outcomes
    }

    /// Calls about a noun: a word of theirs begins with it, or it begins with a word of theirs (bag, baggage).
    fn merge_about(&self, root: &str, outcomes: &mut CallOutcomes) {
        let longer =
            self.about.range(root.to_owned()..).take(MAX_PER_NAME).take_while(|(word, _)| word.starts_with(root));
        longer.for_each(|(_, found)| outcomes.merge(found));
        for (end, _) in root.char_indices().skip(3) {
            if let Some(found) = self.about.get(&root[..end]) {
                outcomes.merge(found);
            }
        }
    }

    /// Compares a claim with the calls.
    pub(super) fn judge(
        &self,
        claim: &Claim,
        objects: &[Object],
        tokens: &[Token<'_>],
        finder: &Finder<'_>,
        aliases: &[String],
    ) -> Judged {
        let mut alias = CallOutcomes::default();
        for place in aliases.iter().filter_map(|name| self.tools.place(name)) {
            alias.merge(&self.by_tool[place]);
        }
        if let Some(call) = alias.succeeded {
            return Judged::by(Backing::Backed, call);
        }
        let wanted = Wanted::new(claim, objects, tokens);
        let mut all = self.candidates(&wanted);
        let mut other_object = None;
        let mut backed_by = all.succeeded;
        let numbered = || objects.iter().filter_map(|object| Some((object, finder.number(object)?)));
        // One quoted name is enough: the others may describe it.
        let on_any_name = numbered().filter(|(object, _)| object.kind == Kind::Name).any(|(_, number)| {
            self.by_name[number].iter().any(|entry| entry.failed == Some(false) && wanted.is_met(entry))
        });
        for (object, number) in numbered().filter(|(object, _)| object.kind != Kind::Name || !on_any_name) {
            let on_it = self.by_name[number].iter().find(|entry| entry.failed == Some(false) && wanted.is_met(entry));
            match on_it.map(|entry| entry.call).or(all.neutral[object.kind as usize]) {
                Some(call) => backed_by = Some(on_it.map_or(call, |entry| entry.call)),
                None => {
                    other_object = all.succeeded.map(|call| (call, object.name.clone()));
                    backed_by = None;
                    break;
                }
            }
        }
        if let Some(call) = backed_by {
            return Judged::by(Backing::Backed, call);
        }
        all.merge(&CallOutcomes { neutral: Default::default(), succeeded: None, ..alias });
        if let Some(call) =
            self.hidden.succeeded.or_else(|| self.by_words(claim).and_then(|outcomes| outcomes.succeeded))
        {
            let fit = match &self.dids[call].hides {
                Some(Hides::Everything(why)) => Fit::Hidden(why.clone()),
                _ => Fit::Hidden("its name has no verb".to_owned()),
            };
            return Judged {
                backing: Backing::Unverifiable,
                call: Some(call),
                considered: vec![self.considered(call, fit)],
            };
        }
        let unknown =
            [all.unrecorded, self.hidden.unrecorded, self.by_words(claim).and_then(|outcomes| outcomes.unrecorded)];
        if let Some(call) = unknown.into_iter().flatten().min() {
            return Judged {
                backing: Backing::Unrecorded,
                call: Some(call),
                considered: vec![self.considered(call, Fit::Unrecorded)],
            };
        }
        let considered = self.nearest(claim, &all, other_object, numbered().map(|(_, number)| number));
        Judged { backing: Backing::Absent, call: None, considered }
    }

    /// Calls of tools whose name has no verb and shares a word with the claim.
    fn by_words(&self, claim: &Claim) -> Option<&CallOutcomes> {
        let shared = claim.nouns.iter().map(String::as_str).chain([claim.verb.as_str()]);
        shared
            .filter_map(|word| self.unnamed.get(words::root(word).as_ref()))
            .find(|outcomes| outcomes.failed.is_none() || outcomes.succeeded.is_some())
    }

    /// The calls that came nearest to a claim that no call made true.
    fn nearest(
        &self,
        claim: &Claim,
        all: &CallOutcomes,
        other_object: Option<(usize, String)>,
        names: impl Iterator<Item = usize>,
    ) -> Vec<Considered> {
        let mut out: Vec<Considered> = Vec::new();
        let mut add = |call: Option<usize>, fit: Option<Fit>| {
            if let Some(call) = call
                && out.len() < MAX_CONSIDERED
                && out.iter().all(|one| one.call != call)
            {
                out.push(self.considered(call, fit.unwrap_or_else(|| self.other(call))));
            }
        };
        if let Some((call, name)) = other_object {
            add(Some(call), Some(Fit::OtherObject(name)));
        }
        add(all.failed, Some(Fit::Failed));
        for name in names {
            add(self.by_name[name].last().map(|entry| entry.call), None);
        }
        add(self.last_change, None);
        for noun in claim.nouns.iter().rev() {
            add(
                self.by_root
                    .get(words::root(noun).as_ref())
                    .and_then(|outcomes| outcomes.succeeded.or(outcomes.failed)),
                None,
            );
        }
        if out.is_empty() {
            let mut last = |call: Option<usize>| {
                if let Some(call) = call {
                    out.push(self.considered(call, self.other(call)));
                }
            };
            last(self.calls.len().checked_sub(1));
        }
        out
    }

    /// Why a call with another action does not count.
    fn other(&self, call: usize) -> Fit {
        match (&self.failed[call], self.dids[call].changes()) {
            (Some(true), _) => Fit::OtherFailed,
            (_, true) => Fit::OtherAction,
            (_, false) => Fit::ReadsOnly,
        }
    }

    fn considered(&self, call: usize, fit: Fit) -> Considered {
        let did = &self.dids[call];
        Considered {
            call,
            tool: self.calls[call].name.clone(),
            fit,
            source: did.source,
            shown: did.shown.clone().into_owned(),
        }
    }
}

/// Whether a call could have made a claim true, judged by its actions.
pub(super) fn could(did: &Did<'_>, claim: &Claim) -> bool {
    did.actions.meets(actions::needed(&claim.verb, &claim.nouns))
        || (did.writes_content && CONTENT_VERBS.contains(claim.verb.as_str()))
}

/// What was found about a claim.
pub(super) struct Judged {
    pub(super) backing: Backing,
    /// The call that backs it, or may.
    pub(super) call: Option<usize>,
    pub(super) considered: Vec<Considered>,
}

impl Judged {
    fn by(backing: Backing, call: usize) -> Self {
        Self { backing, call: Some(call), considered: Vec::new() }
    }
}

/// What would make a claim true.
struct Wanted {
    actions: Actions,
    /// Whether writing content would.
    content: bool,
    /// Whether a tool named after the verb would, even if the verb is unknown.
    root: Option<String>,
    /// The media that the claim names, as bits.
    media: u8,
    /// Whether its verb means to notify someone.
    tells: bool,
    /// Roots of its nouns, where a change of a part is enough only if it is about one of them: "a bag has been added".
    parts: Vec<String>,
    /// The root of what was added: any change by a tool that is named after it is enough.
    added: Option<String>,
}

impl Wanted {
    fn new(claim: &Claim, objects: &[Object], tokens: &[Token<'_>]) -> Self {
        let is_file = objects.iter().any(|object| object.kind == Kind::Path);
        let is_content = CONTENT_VERBS.contains(claim.verb.as_str());
        let is_own = actions::word(&claim.verb).action.is_empty();
        Self {
            actions: actions::needed(&claim.verb, &claim.nouns),
            content: is_content && !(is_file && matches!(claim.verb.as_str(), "delete" | "move" | "copy")),
            root: is_own.then(|| words::root(&claim.verb).into_owned()),
            media: media(phrase_behind(claim, tokens)),
            tells: actions::word(&claim.verb).action.meets(actions::notifications()),
            added: claim.nouns.last().filter(|_| claim.verb == "add").map(|head| words::root(head).into_owned()),
            parts: if PART_VERBS.contains(&claim.verb.as_str()) {
                claim.nouns.iter().filter(|noun| noun.len() >= 3).map(|noun| words::root(noun).into_owned()).collect()
            } else {
                Vec::new()
            },
        }
    }

    fn is_met(&self, entry: &Naming) -> bool {
        entry.actions.meets(self.actions) || (self.content && entry.writes_content)
    }
}

/// Which tools and claims change something, as the author of the gate says.
#[derive(Debug, Clone, Default)]
pub(super) struct Mutating {
    /// The author's own verbs.
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

    pub(super) fn is_readonly(&self, name: &str) -> bool {
        self.readonly.contains_key(name)
    }

    /// Whether the author lists a tool as changing something.
    pub(super) fn by_name(&self, name: &str, words: &[Word<'_>]) -> bool {
        let says_so = |word: &Word<'_>| self.verbs.contains(word.plain.as_ref());
        !self.is_readonly(name) && (self.tools.contains(name) || words.iter().any(says_so))
    }

    pub(super) fn claim(&self, claim: &Claim) -> bool {
        let harmless = |words: &BTreeSet<String>| {
            words.contains(&claim.verb) && claim.nouns.iter().all(|noun| words.contains(noun))
        };
        !self.readonly.values().any(harmless)
    }
}
