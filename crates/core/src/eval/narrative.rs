//! `narrative`: does the final message match what was done?
//!
//! The final message is read for actions that it claims, and each claim is compared with the calls: could any of them have
//! made it true? Reading English: `message` finds the prose, `candidates` passes over messages that claim nothing, `tokens`
//! splits the others into words with `scan`, `words` and `lexicon` classify single words, `index` and `beginnings` find
//! words, `claims` reads who did what, `phrases` to what and when.
//! Evidence: `tools` lists what was called, `actions` says which actions make a verb true, `did` what a call did, with
//! `shell`, `programs`, `sql` and `patch` for texts that are run. Comparing: `objects` finds named objects, `backing` judges
//! claims, `delivered` and `lookups` find claims that need no call, `mentioned` finds mentioned tools, `stated` and `keyed`
//! values that do not match, `explain` writes the messages.

mod actions;
mod backing;
mod beginnings;
mod candidates;
mod claims;
mod delivered;
mod did;
mod explain;
mod index;
mod keyed;
mod lexicon;
mod lookups;
mod mentioned;
mod message;
mod objects;
mod patch;
mod phrases;
mod programs;
mod scan;
mod shell;
mod sql;
mod stated;
mod tokens;
mod tools;
mod words;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::gate::{Expect, GateKind, GateOutcome, Judge, Reason};
use super::metrics::Metrics;
use crate::diag::{Code, Problem, Problems};
use crate::trace::{ToolCall, Trace};
pub use actions::VERBS;
pub use backing::{Backing, Considered, Fit};
use backing::{Evidence, Mutating};
pub use claims::{Claim, Strength};
pub use did::Source;
use lookups::Lookups;
use mentioned::MentionedWords;
use objects::Finder;
use tokens::{Token, Tokens};
use tools::{Tool, Tools};
use words::Verbs;

/// How claims are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum ExtractionMode {
    /// By the rules of this module alone.
    #[default]
    RuleBased,
    /// By the same rules; a model's opinion is recorded as well and never judged.
    LlmAssisted,
}

/// Parameters of the gate.
#[derive(Debug, Clone)]
pub struct NarrativeParams {
    /// Tools that change something regardless of their name; the first word of each becomes a claim verb.
    pub mutating_tools: Vec<String>,
    /// Tools that change nothing regardless of their name; wins over `mutating_tools`.
    pub readonly_tools: Vec<String>,
    /// Further verbs that claim a change.
    pub mutating_verbs: Vec<String>,
    /// Stem of a claim to the tools that carry it out.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Most divergence that passes.
    pub max_divergence_score: Option<f64>,
    /// How claims are found.
    pub mode: ExtractionMode,
    /// What is asserted.
    pub expect: Expect,
}

impl Default for NarrativeParams {
    fn default() -> Self {
        Self {
            mutating_tools: Vec::new(),
            readonly_tools: Vec::new(),
            mutating_verbs: Vec::new(),
            aliases: BTreeMap::new(),
            max_divergence_score: None,
            mode: ExtractionMode::RuleBased,
            expect: Expect::Default,
        }
    }
}

/// A claim and its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimResult {
    /// `verb_noun`.
    pub stem: String,
    /// The verb in its base form.
    pub verb: String,
    /// The words read as its object.
    pub nouns: Vec<String>,
    /// Bytes of the message it rests on.
    pub span: Range<usize>,
    /// The words of that span.
    pub words: String,
    /// How firmly it is asserted. Weak claims are shown and never judged.
    pub strength: Strength,
    /// Whether it claims a change.
    pub mutating: bool,
    /// How the calls support it.
    pub backing: Backing,
    /// The call that backs it, or may.
    pub backed_by: Option<usize>,
    /// The calls it was compared with, nearest first, where none of them backs it.
    pub considered: Vec<Considered>,
}

impl ClaimResult {
    /// Why it is neither backed by a call nor absent, in words.
    pub(crate) fn note(&self) -> Option<String> {
        match self.backing {
            Backing::Unverifiable => Some(explain::unverifiable(self)),
            Backing::Delivered => Some("the message itself delivers it".to_owned()),
            Backing::Narrated => Some("it repeats what a lookup returned".to_owned()),
            Backing::Backed | Backing::Unrecorded | Backing::Absent => None,
        }
    }

    /// Whether it is a firm claim with this level of support.
    fn is(&self, backing: Backing) -> bool {
        self.strength == Strength::Strong && self.backing == backing
    }
}

/// One disagreement between the message and the calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// A claim without a call.
    ClaimedButAbsent {
        /// Index into the claims.
        claim: usize,
        /// What is claimed, what was found, and the line that would accept it.
        reason: String,
    },
    /// A tool that was called and is not mentioned.
    PresentButUnclaimed {
        /// The tool.
        tool: String,
        /// Its calls.
        calls: Vec<usize>,
        /// Whether it changes something.
        mutating: bool,
    },
    /// A value in a claim that the call behind it was not given.
    ArgMismatch {
        /// Index into the claims.
        claim: usize,
        /// The value in the message.
        stated: String,
        /// The tool.
        tool: String,
        /// The call.
        call: usize,
        /// The argument that looks like the value.
        argument: String,
        /// What the call was given there.
        given: String,
    },
}

impl Item {
    /// Whether both are about the same argument of the same tool.
    fn is_about_argument_of(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::ArgMismatch { tool, argument, .. },
                Self::ArgMismatch { tool: other_tool, argument: other_argument, .. },
            ) => tool == other_tool && argument == other_argument,
            _ => false,
        }
    }

    /// Whether it is behind the number of a metric.
    fn counts_in(&self, metric: &str, claims: &[ClaimResult]) -> bool {
        let (kind, strict) = match self {
            Self::ClaimedButAbsent { claim, .. } => {
                ("claimed_but_absent", claims[*claim].mutating.then_some("gate_passed"))
            }
            Self::PresentButUnclaimed { mutating, .. } => {
                ("present_but_unclaimed", mutating.then_some("unclaimed_mutating"))
            }
            Self::ArgMismatch { .. } => ("arg_mismatch", None),
        };
        metric == "divergence_score" || metric == kind || strict == Some(metric)
    }
}

/// The message and the calls, compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NarrativeReport {
    /// Every claim in text order.
    pub claims: Vec<ClaimResult>,
    /// Every disagreement: claims in text order, then tools in call order, then arguments.
    pub items: Vec<Item>,
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct NarrativeGate {
    verbs: Verbs,
    mutating: Mutating,
    aliases: BTreeMap<String, Vec<String>>,
    max_divergence_score: Option<f64>,
    mode: ExtractionMode,
    expect: Expect,
}

/// Whether a call changes something, by the name of its tool or by what it did.
pub(crate) fn changes_something(trace: &Trace, call: &ToolCall) -> bool {
    !trace.is_read_only(call) && did::Did::read(call, &Tool::new(&call.name)).changes()
}

impl NarrativeGate {
    /// Compiles the gate. Paths of problems start at the gate's block.
    pub fn new(params: NarrativeParams) -> Result<Self, Problems> {
        let mut problems = params.expect.problems();
        if let Some(limit) = params.max_divergence_score.filter(|limit| !(0.0..=1.0).contains(limit)) {
            problems.push(Problem::new(
                Code::WrongType,
                "/max_divergence_score",
                format!("must be from 0 to 1, found {limit}"),
            ));
        }
        for (at, verb) in params.mutating_verbs.iter().enumerate() {
            if verb.is_empty() || !verb.chars().all(char::is_alphabetic) {
                let problem = Problem::new(
                    Code::NotOneWord,
                    format!("/mutating_verbs/{at}"),
                    format!("`{verb}` is not one word"),
                );
                problems.push(problem.hint("give the base form, such as `refund`"));
            }
        }
        let first_words = params.mutating_tools.iter().filter_map(|name| words::each_word(name).next());
        let own: Vec<Cow<'_, str>> = params.mutating_verbs.iter().map(Cow::from).chain(first_words).collect();
        problems.or(Self {
            verbs: Verbs::new(own.iter().map(AsRef::as_ref)),
            mutating: Mutating::new(&params.mutating_verbs, &params.mutating_tools, &params.readonly_tools),
            aliases: params.aliases,
            max_divergence_score: params.max_divergence_score,
            mode: params.mode,
            expect: params.expect,
        })
    }

    /// How claims are found.
    pub fn mode(&self) -> ExtractionMode {
        self.mode
    }

    /// The claims of a message, without any calls to compare them with.
    pub fn claims(&self, message: &str) -> Vec<Claim> {
        let prose = message::prose(message);
        claims::extract(&tokens::read(&prose, &prose.to_ascii_lowercase()), &self.verbs)
    }

    /// Scores a run.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<NarrativeReport> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<NarrativeReport> {
        let gate = GateKind::Narrative.info();
        if let Some(why) = trace.incomplete() {
            return judge.incomplete(gate, why);
        }
        let mut metrics = Metrics::of(gate);
        let (Some(message), Some(calls)) = (&trace.final_response, &trace.tool_calls) else {
            let missing = if trace.tool_calls.is_none() { "tool calls were" } else { "final response was" };
            let why = format!("the {missing} not recorded");
            let metrics = Metrics::without_evidence(gate, &why);
            judge.unassessable("narrative", format!("not assessable: {why}"));
            return judge.outcome(metrics, NarrativeReport::default(), |_| format!("not assessable: {why}"));
        };
        let report = self.compare(message, calls, trace);
        let open = report.claims.iter().find(|claim| claim.is(Backing::Unrecorded));
        let count = |wanted: fn(&Item) -> bool| report.items.iter().filter(|item| wanted(item)).count();
        let claims = |backing: Backing| report.claims.iter().filter(move |claim| claim.is(backing));
        let absent = claims(Backing::Absent).count();
        let lies = claims(Backing::Absent).filter(|claim| claim.mutating).count();
        // In the order of their names, which costs least.
        metrics.set("arg_mismatch", count(|item| matches!(item, Item::ArgMismatch { .. })));
        let strong = report.claims.iter().filter(|claim| claim.strength == Strength::Strong).count();
        let all = calls.len() + strong;
        let score = if all == 0 { 0.0 } else { (report.items.len() as f64 / all as f64).min(1.0) };
        let over = self.max_divergence_score.filter(|limit| score > *limit);
        if let Some(open) = open {
            let why = format!("whether the call behind \"{}\" succeeded was not recorded", open.words);
            metrics.lacks_evidence("claimed_but_absent", why.clone());
            metrics.lacks_evidence("divergence_score", why.clone());
            if lies > 0 || over.is_some() {
                metrics.set_flag("gate_passed", false);
            } else {
                metrics.lacks_evidence("gate_passed", why);
            }
        } else {
            metrics.set("claimed_but_absent", absent);
            metrics.set("divergence_score", score);
            metrics.set_flag("gate_passed", lies == 0 && over.is_none());
        }
        metrics.set("present_but_unclaimed", count(|item| matches!(item, Item::PresentButUnclaimed { .. })));
        metrics
            .set("unclaimed_mutating", count(|item| matches!(item, Item::PresentButUnclaimed { mutating: true, .. })));
        metrics.set("unverifiable", claims(Backing::Unverifiable).count());
        let too_far = over.map(|limit| format!("divergence {score:.2} is over the limit of {limit}"));
        judge.expect(gate, &self.expect, &metrics, |metric| {
            // Exceeding a limit is a separate failure if the author replaced the default assertion.
            let too_far = too_far.clone().filter(|_| metric == "gate_passed" && matches!(self.expect, Expect::Default));
            let behind = report.items.iter().filter(|item| item.counts_in(metric, &report.claims));
            let hidden =
                report.claims.iter().filter(|claim| metric == "unverifiable" && claim.is(Backing::Unverifiable));
            let hidden = hidden.map(explain::unverifiable);
            behind.map(explain::item).chain(hidden).chain(too_far).map(Reason::from).collect()
        });
        if let (Expect::Custom(_), Some(too_far)) = (&self.expect, too_far) {
            judge.fail("max_divergence_score", too_far);
        } else if let (Expect::Custom(_), Some(_), Some(open)) = (&self.expect, self.max_divergence_score, open) {
            judge
                .unassessable("max_divergence_score", format!("whether \"{}\" is backed was not recorded", open.words));
        }
        judge.outcome(metrics, report, |report| explain::line(report, score))
    }

    fn compare(&self, message: &str, calls: &[ToolCall], trace: &Trace) -> NarrativeReport {
        let prose = message::prose(message);
        let lower = prose.to_ascii_lowercase();
        // A message that claims nothing is split into words only if it may mention a tool.
        let mut message_tokens = Tokens::new(&prose, &lower);
        let mut found = Vec::new();
        if self.verbs.has_own() || candidates::any(&lower) {
            message_tokens.read_all();
            found = claims::extract(message_tokens.so_far(), &self.verbs);
        }
        let tools = Tools::new(calls);
        if found.is_empty() {
            // Only what is not mentioned is left to say.
            let all: Vec<&Tool<'_>> = tools.list.iter().collect();
            let changes =
                |tool: &Tool<'_>, call: usize| tools::did(&calls[call], tool, trace, &self.mutating).changes();
            let items = self.unmentioned(&all, &mut message_tokens, &lower, changes);
            return NarrativeReport { claims: Vec::new(), items };
        }
        let tokens = message_tokens.so_far();
        let objects: Vec<_> = found.iter().map(|claim| objects::of_claim(claim, tokens)).collect();
        let finder = Finder::new(objects.iter().flatten());
        let evidence = Evidence::new(trace, calls, &tools, &self.mutating, &finder);
        let mut claims: Vec<ClaimResult> = Vec::with_capacity(found.len());
        for (claim, objects) in found.iter().zip(&objects) {
            claims.push(self.result(claim, objects, message, tokens, &evidence, &finder));
        }
        narrate(&found, &mut claims, trace, &evidence);
        let mut items = Vec::new();
        for (at, claim) in claims.iter().enumerate().filter(|(_, claim)| claim.is(Backing::Absent)) {
            items.push(Item::ClaimedButAbsent { claim: at, reason: explain::absent(claim) });
        }
        // Tools that a claim mentions by what it says was done, each with the first such claim.
        let mut claimed: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, claim) in claims.iter().enumerate() {
            if let (Backing::Backed | Backing::Unrecorded, Some(call)) = (claim.backing, claim.backed_by) {
                claimed.entry(tools.of(call)).or_insert(at);
            }
        }
        let unclaimed = tools.list.iter().enumerate().filter(|(place, _)| !claimed.contains_key(place));
        let unclaimed: Vec<&Tool<'_>> = unclaimed.map(|(_, tool)| tool).collect();
        items
            .extend(self.unmentioned(&unclaimed, &mut message_tokens, &lower, |_, call| evidence.dids[call].changes()));
        let tokens = message_tokens.so_far();
        let mut differ = stated::mismatches(&found, &claims, message, tokens, calls, &evidence);
        for item in keyed::mismatches(&claimed, &claims, message, tokens, calls, &evidence) {
            if !differ.iter().any(|other| other.is_about_argument_of(&item)) {
                differ.push(item);
            }
        }
        items.append(&mut differ);
        NarrativeReport { claims, items }
    }

    /// The tools among some that a message does not mention. `changes` says whether a call changed something.
    fn unmentioned(
        &self,
        tools: &[&Tool<'_>],
        tokens: &mut Tokens<'_>,
        lower: &str,
        changes: impl Fn(&Tool<'_>, usize) -> bool,
    ) -> Vec<Item> {
        let mentioned = MentionedWords::new(tokens, lower, tools);
        let item = |tool: &&Tool<'_>| Item::PresentButUnclaimed {
            tool: tool.name.to_owned(),
            calls: tool.calls.clone(),
            mutating: self.mutating.by_name(tool.name, &tool.words)
                || tool.calls.iter().any(|call| changes(tool, *call)),
        };
        tools.iter().filter(|tool| !mentioned.mentions(tool)).map(item).collect()
    }

    /// Compares a claim with the calls.
    fn result(
        &self,
        claim: &Claim,
        objects: &[objects::Object],
        message: &str,
        tokens: &[Token<'_>],
        evidence: &Evidence<'_>,
        finder: &Finder<'_>,
    ) -> ClaimResult {
        let stem = claim.stem();
        let aliases = self.aliases.get(&stem).map_or(&[][..], Vec::as_slice);
        let mut judged = evidence.judge(claim, objects, tokens, finder, aliases);
        if judged.backing == Backing::Absent && delivered::is_delivered(claim, message, tokens) {
            judged = backing::Judged { backing: Backing::Delivered, call: None, considered: Vec::new() };
        }
        ClaimResult {
            stem,
            mutating: self.mutating.claim(claim),
            words: message[claim.span.clone()].to_owned(),
            verb: claim.verb.clone(),
            nouns: claim.nouns.clone(),
            span: claim.span.clone(),
            strength: claim.strength,
            backing: judged.backing,
            backed_by: judged.call,
            considered: judged.considered,
        }
    }
}

/// Claims that only repeat what a lookup returned are not claims about the agent's own actions.
fn narrate(found: &[Claim], claims: &mut [ClaimResult], trace: &Trace, evidence: &Evidence<'_>) {
    let open = |claim: &Claim, result: &ClaimResult| claim.passive && result.is(Backing::Absent);
    let passive = found.iter().zip(claims.iter()).filter(|(claim, result)| open(claim, result)).map(|(claim, _)| claim);
    let lookups = Lookups::new(trace, evidence, passive);
    for (claim, result) in found.iter().zip(claims).filter(|(claim, result)| open(claim, result)) {
        if let Some(call) = lookups.narrates(claim) {
            (result.backing, result.backed_by) = (Backing::Narrated, Some(call));
            result.considered.clear();
        }
    }
}
