//! `narrative`: does the closing story match the deeds?
//!
//! The final message is read for deeds it claims, each claim is held against the calls, and every disagreement is an
//! item with the words it rests on. `words` knows single words, `lexicon` what is known of one, `index` finds values by
//! word, `tokens` makes words of a message, `claims` reads who did what, `phrases` to what and when, `backing` compares
//! claims with calls, `stated` finds mentioned tools and stated values.

mod backing;
mod claims;
mod index;
mod lexicon;
mod phrases;
mod stated;
mod tokens;
mod words;

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::gate::{Expect, GateOutcome, Judge, Metrics, Why, plural};
use super::table::GateKind;
use crate::diag::{Problem, Problems};
use crate::json;
use crate::trace::{ToolCall, Trace};
pub use backing::Fit;
use backing::{Mutating, Rules, Tool};
pub use claims::Claim;
use stated::{Heard, Said};
use tokens::Token;
use words::Verbs;
pub use words::{FAMILIES, PROSE_NOUNS, VERBS};

/// Most tools named in the evidence of one item.
const MAX_CONSIDERED: usize = 8;

/// Most values named that calls were given in place of the one stated.
const MAX_GIVEN: usize = 3;

/// How claims are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum ExtractionMode {
    /// By the rules of this module alone.
    #[default]
    RuleBased,
    /// By the same rules; a model's opinion is recorded beside them and never judged.
    LlmAssisted,
}

/// Parameters of the gate.
#[derive(Debug, Clone)]
pub struct NarrativeParams {
    /// Tools that change something whatever their name; the first word of each becomes a claim verb.
    pub mutating_tools: Vec<String>,
    /// Tools that change nothing whatever their name; wins over `mutating_tools`.
    pub readonly_tools: Vec<String>,
    /// Further verbs that claim a change.
    pub mutating_verbs: Vec<String>,
    /// Stem of a claim to the tools that carry it out.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Whether a verb of the same family backs a claim.
    pub synonyms: bool,
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
            synonyms: true,
            max_divergence_score: None,
            mode: ExtractionMode::RuleBased,
            expect: Expect::Default,
        }
    }
}

/// What a claim was held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Considered {
    /// The tool.
    pub tool: String,
    /// Its calls.
    pub calls: Vec<usize>,
    /// Whether and why not it backs the claim.
    pub fit: Fit,
}

/// A claim and what became of it.
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
    /// Whether it claims a change.
    pub mutating: bool,
    /// The call that backs it.
    pub backed_by: Option<usize>,
    /// Whether it is backed; `None` when the results that would tell were not recorded.
    pub backed: Option<bool>,
    /// The tools it was held against, nearest first, where none of them backs it.
    pub considered: Vec<Considered>,
}

/// One disagreement between story and deeds.
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
    /// A stated value that no call was given.
    ArgMismatch {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// The value in the message.
        stated: String,
        /// Its calls.
        calls: Vec<usize>,
    },
}

impl Item {
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

    /// The disagreement in one line.
    fn words(&self, calls: &[ToolCall]) -> String {
        match self {
            Self::ClaimedButAbsent { reason, .. } => reason.clone(),
            Self::PresentButUnclaimed { tool, calls, .. } => {
                format!("{tool} was called ({}) and is not mentioned", places(calls))
            }
            Self::ArgMismatch { tool, argument, stated, calls: of_tool } => {
                let mut given: Vec<String> = Vec::new();
                for value in of_tool.iter().filter_map(|at| calls[*at].args.as_ref()?.get(argument)) {
                    let shown = json::excerpt(value, 40);
                    if given.len() < MAX_GIVEN && !given.contains(&shown) {
                        given.push(shown);
                    }
                }
                let (stated, given) = (json::cut(stated, 60), given.join(", "));
                format!(
                    "the message states {argument} \"{stated}\", but {tool} was given {given} ({})",
                    places(of_tool)
                )
            }
        }
    }
}

/// `tool_calls[1] and 2 more`.
fn places(calls: &[usize]) -> String {
    let first = calls.first().map_or_else(String::new, |at| format!("tool_calls[{at}]"));
    if calls.len() > 1 { format!("{first} and {} more", calls.len() - 1) } else { first }
}

/// Story and deeds, compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NarrativeReport {
    /// Every claim in text order.
    pub claims: Vec<ClaimResult>,
    /// Every disagreement: claims in text order, then tools in call order, then arguments.
    pub items: Vec<Item>,
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct Narrative {
    verbs: Verbs,
    mutating: Mutating,
    rules: Rules,
    max_divergence_score: Option<f64>,
    mode: ExtractionMode,
    expect: Expect,
}

impl Narrative {
    /// Compiles the gate. Paths of problems start at the gate's block.
    pub fn new(params: NarrativeParams) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        if let Some(limit) = params.max_divergence_score.filter(|limit| !(0.0..=1.0).contains(limit)) {
            problems.push(Problem::new("/max_divergence_score", format!("must be from 0 to 1, found {limit}")));
        }
        for (at, verb) in params.mutating_verbs.iter().enumerate() {
            if verb.is_empty() || !verb.chars().all(char::is_alphabetic) {
                let problem = Problem::new(format!("/mutating_verbs/{at}"), format!("`{verb}` is not one word"));
                problems.push(problem.hint("give the base form, such as `refund`"));
            }
        }
        let first_words = params.mutating_tools.iter().filter_map(|name| words::each_word(name).next());
        let own: Vec<Cow<'_, str>> = params.mutating_verbs.iter().map(Cow::from).chain(first_words).collect();
        problems.or(Self {
            verbs: Verbs::new(own.iter().map(AsRef::as_ref)),
            mutating: Mutating::new(&params.mutating_verbs, &params.mutating_tools, &params.readonly_tools),
            rules: Rules { synonyms: params.synonyms, aliases: params.aliases },
            max_divergence_score: params.max_divergence_score,
            mode: params.mode,
            expect: params.expect,
        })
    }

    /// How claims are found.
    pub fn mode(&self) -> ExtractionMode {
        self.mode
    }

    /// The claims of a message, without any calls to hold them against.
    pub fn claims(&self, message: &str) -> Vec<Claim> {
        self.extract(&tokens::read(message), &[])
    }

    fn extract(&self, tokens: &[Token<'_>], tools: &[Tool<'_>]) -> Vec<Claim> {
        // Writing prose is no deed, unless a tool is about such a thing: its name has the word after its verb.
        let is_deed = |noun: &str| {
            let tool_has = |tool: &Tool<'_>| tool.words.iter().skip(1).any(|word| word.singular == noun);
            !PROSE_NOUNS.contains(&noun) || tools.iter().any(tool_has)
        };
        claims::extract(tokens, &self.verbs, &is_deed)
    }

    /// Scores a run.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<NarrativeReport> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<NarrativeReport> {
        let gate = GateKind::Narrative.info();
        let mut metrics = Metrics::of(gate);
        let tools = backing::tools(trace, &self.mutating);
        let (Some(message), Some(calls), Some(tools)) = (&trace.final_response, &trace.tool_calls, tools) else {
            let missing = if trace.tool_calls.is_none() { "tool calls were" } else { "final response was" };
            let why = format!("the {missing} not recorded");
            let metrics = Metrics::without_evidence(gate, &why);
            judge.unassessable("narrative", format!("not assessable: {why}"));
            return judge.outcome(metrics, format!("not assessable: {why}"), NarrativeReport::default());
        };
        let report = self.compare(message, calls, &tools);
        let open = report.claims.iter().find(|claim| claim.backed.is_none());
        let count = |wanted: fn(&Item) -> bool| report.items.iter().filter(|item| wanted(item)).count();
        let absent = count(|item| matches!(item, Item::ClaimedButAbsent { .. }));
        let lies = report.claims.iter().filter(|claim| claim.backed == Some(false) && claim.mutating).count();
        metrics.set("present_but_unclaimed", count(|item| matches!(item, Item::PresentButUnclaimed { .. })));
        metrics.set("arg_mismatch", count(|item| matches!(item, Item::ArgMismatch { .. })));
        metrics
            .set("unclaimed_mutating", count(|item| matches!(item, Item::PresentButUnclaimed { mutating: true, .. })));
        let all = calls.len() + report.claims.len();
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
        let too_far = over.map(|limit| format!("divergence {score:.2} is over the limit of {limit}"));
        judge.expect(gate, &self.expect, &metrics, |metric| {
            // What is over a limit is a failure of its own where the author says what else to expect.
            let too_far = too_far.clone().filter(|_| metric == "gate_passed" && matches!(self.expect, Expect::Default));
            let behind = report.items.iter().filter(|item| item.counts_in(metric, &report.claims));
            behind.map(|item| item.words(calls)).chain(too_far).map(Why::from).collect()
        });
        if let (Expect::Own(_), Some(too_far)) = (&self.expect, too_far) {
            judge.fail("max_divergence_score", too_far);
        } else if let (Expect::Own(_), Some(_), Some(open)) = (&self.expect, self.max_divergence_score, open) {
            judge
                .unassessable("max_divergence_score", format!("whether \"{}\" is backed was not recorded", open.words));
        }
        judge.told(metrics, report, |report| line(report, score))
    }

    fn compare(&self, message: &str, calls: &[ToolCall], tools: &[Tool<'_>]) -> NarrativeReport {
        let tokens = tokens::read(message);
        let claims: Vec<_> =
            self.extract(&tokens, tools).into_iter().map(|claim| self.hold(claim, message, tools)).collect();
        let mut items = Vec::new();
        for (at, claim) in claims.iter().enumerate().filter(|(_, claim)| claim.backed == Some(false)) {
            items.push(Item::ClaimedButAbsent { claim: at, reason: reason(claim) });
        }
        let heard = Heard::new(&tokens, tools);
        let mut arguments: Vec<(&Tool<'_>, &str)> = Vec::new();
        for tool in tools {
            if heard.mentions(tool) {
                arguments.extend(stated::scalar_keys(calls, tool).into_iter().map(|key| (tool, key)));
            } else {
                let (tool, calls, mutating) = (tool.name.to_owned(), tool.calls.clone(), tool.mutating);
                items.push(Item::PresentButUnclaimed { tool, calls, mutating });
            }
        }
        let said = Said::new(message, &tokens, arguments.iter().map(|(_, argument)| *argument));
        for (tool, argument) in arguments {
            // Few messages state values, so what was given is put together when one is.
            let given = LazyCell::new(|| stated::given(calls, tool, argument));
            if let Some(stated) = said.contradicts(argument, |value| stated::agrees(value, &given)) {
                let (tool, calls, argument) = (tool.name.to_owned(), tool.calls.clone(), argument.to_owned());
                items.push(Item::ArgMismatch { tool, argument, stated, calls });
            }
        }
        NarrativeReport { claims, items }
    }

    /// Holds a claim against every tool that was called.
    fn hold(&self, claim: Claim, message: &str, tools: &[Tool<'_>]) -> ClaimResult {
        let stem = claim.stem();
        // Among tools that do not fit, one whose name begins like the object or that changes something is nearer.
        let alike = |tool: &Tool<'_>| {
            let begins = |a: &str, b: &str| a.len() >= 3 && b.len() >= 3 && (a.starts_with(b) || b.starts_with(a));
            claim.nouns.iter().any(|noun| tool.words.iter().any(|word| begins(noun, &word.singular)))
        };
        let mut considered: Vec<_> = self
            .rules
            .fits(&claim, &stem, tools)
            .zip(tools)
            .map(|(fit, tool)| ((fit as u8, !alike(tool), !tool.mutating), fit, tool))
            .collect();
        considered.sort_by_key(|(nearness, _, _)| *nearness);
        let best = considered.first().map(|(_, fit, tool)| (*fit, *tool));
        let (backed, backed_by) = match best {
            Some((Fit::Backs, tool)) => (Some(true), tool.succeeded),
            Some((Fit::MayBack, tool)) => (None, tool.unrecorded),
            _ => (Some(false), None),
        };
        ClaimResult {
            stem,
            mutating: self.mutating.claim(&claim),
            words: message[claim.span.clone()].to_owned(),
            verb: claim.verb,
            nouns: claim.nouns,
            span: claim.span,
            backed_by,
            backed,
            considered: considered
                .into_iter()
                .take(if backed == Some(true) { 0 } else { MAX_CONSIDERED })
                .map(|(_, fit, tool)| Considered { tool: tool.name.to_owned(), calls: tool.calls.clone(), fit })
                .collect(),
        }
    }
}

/// The numbers of a run in one line.
fn line(report: &NarrativeReport, score: f64) -> String {
    let count = |wanted: fn(&Item) -> bool| report.items.iter().filter(|item| wanted(item)).count();
    let absent = count(|item| matches!(item, Item::ClaimedButAbsent { .. }));
    let mut line = match report.claims.len() {
        0 => "no claims".to_owned(),
        all => format!("{absent} of {} without a call", plural(all, "claim")),
    };
    let unmentioned = count(|item| matches!(item, Item::PresentButUnclaimed { .. }));
    if unmentioned > 0 {
        line.push_str(&format!(", {} unmentioned", plural(unmentioned, "tool")));
    }
    let at_odds = count(|item| matches!(item, Item::ArgMismatch { .. }));
    if at_odds > 0 {
        line.push_str(&format!(", {} at odds", plural(at_odds, "argument")));
    }
    line.push_str(&format!(", divergence {score:.2}"));
    if let Some(open) = report.claims.iter().find(|claim| claim.backed.is_none()) {
        // The numbers above leave this claim out.
        line.push_str(&format!("; whether \"{}\" is backed was not recorded", json::cut(&open.words, 60)));
    }
    line
}

/// What is claimed, what was found instead, and the line that would accept it where a call may have done it.
fn reason(claim: &ClaimResult) -> String {
    let (stem, words) = (claim.stem.as_str(), json::cut(&claim.words, 120));
    let near = claim.considered.first();
    let tool = near.map_or("", |near| near.tool.as_str());
    // Put together without formatting: in a corpus there may be one of these for every trace.
    let found: [&str; 2] = match near.map(|near| near.fit) {
        Some(Fit::Failed) => {
            return ["\"", &words, "\" claims ", stem, ", but every call of ", tool, " failed"].concat();
        }
        None => ["no tool was called", ""],
        Some(Fit::Unrelated) => ["no call says so", ""],
        Some(_) if words::only_looks(tool) => ["no call says so; nearest is ", tool],
        Some(_) => ["nearest is ", tool],
    };
    // A lookup did not do it under any name, and to say so would turn a lie into the truth.
    let doer = claim.considered.iter().map(|near| near.tool.as_str()).find(|tool| !words::only_looks(tool));
    let advice = doer.map(|doer| ["; if a call does it, say so: `aliases: { ", stem, ": ", doer, " }`"]);
    let advice = advice.as_ref().map_or(&[][..], |parts| &parts[..]);
    [&["\"", &words, "\" claims ", stem, ": "][..], &found, advice].concat().concat()
}
