//! Words that the program and its documents use, and that no other table has: modes, origins of rows, words of reports.

use super::page::Page;

/// A word and what it means.
struct Entry {
    name: &'static str,
    /// Other spellings.
    also: &'static [&'static str],
    /// What kind of word it is.
    what: &'static str,
    meaning: &'static str,
    /// What else `mcptest explain` says about it.
    see: &'static [&'static str],
}

const fn entry(
    name: &'static str,
    also: &'static [&'static str],
    what: &'static str,
    meaning: &'static str,
    see: &'static [&'static str],
) -> Entry {
    Entry { name, also, what, meaning, see }
}

const MODE: &str = "a mode of `trajectory`";
const ORIGIN: &str = "where the trace of a row comes from";
const REPORT: &str = "a word of reports";
const TERM: &str = "a word of this program";

static ENTRIES: [Entry; 34] = [
    entry(
        "strict",
        &["mode strict"],
        MODE,
        "The recorded calls are the expected ones, in this order, and there are no others. It is the mode unless another is given. \
         Positions are compared one by one; only expectations with `optional: true` may be skipped.",
        &["trajectory", "trajectory.mode", "extra-call"],
    ),
    entry(
        "subsequence",
        &["mode subsequence"],
        MODE,
        "Every expected call was made, in this order, and other calls may come between. `max_extra` bounds how many others.",
        &["trajectory", "trajectory.mode", "max_extra"],
    ),
    entry(
        "unordered",
        &["mode unordered"],
        MODE,
        "Every expected call was made, in any order, each by a call of its own. Other calls are allowed; `max_extra` bounds how many.",
        &["trajectory", "trajectory.mode", "max_extra"],
    ),
    entry(
        "superset",
        &["mode superset"],
        MODE,
        "The recorded calls hold all of the expected ones, in any order, and may hold others. It judges as `unordered` does.",
        &["trajectory", "trajectory.mode", "max_extra"],
    ),
    entry(
        "subset",
        &["mode subset"],
        MODE,
        "Nothing but expected calls was made, each at most once; expected calls may be missing. A run without any call passes, so \
         add an assertion that something was called. `subset` below `args` is another thing: arguments that must be there, among \
         others.",
        &["trajectory", "trajectory.mode"],
    ),
    entry(
        "any_order",
        &["any order", "within_turn any_order"],
        "a value of `within_turn`",
        "Calls that the model made in one turn may come in any order; calls of different turns may not. It belongs to `strict` and \
         `subsequence`, and reads the `turn` of the recorded calls: where that was not recorded and decides, the run is unassessable.",
        &["trajectory", "trajectory.within_turn", "unassessable"],
    ),
    entry(
        "match",
        &["args match"],
        "a rule for the arguments of an expected call",
        "A matcher on single arguments: `args: { match: { city: { regex: ^Os }, price: { near: { value: 9.9, tolerance: 0.1 } } } }`. \
         Each path starts in the arguments. A path that selects nothing does not fit, even under `not`. The other rules: `exact` asks \
         for these arguments and no others, `subset` for these among others, `schema` for arguments that are valid against a JSON Schema.",
        &["trajectory", "regex", "near"],
    ),
    entry(
        "replayed",
        &["replay", "replays"],
        ORIGIN,
        "The trace was read from a cassette. No model was asked and no server started, so the verdict is the same on every machine \
         and costs nothing.",
        &["cassette", "live", "scripted"],
    ),
    entry(
        "live",
        &["--live"],
        ORIGIN,
        "A model and servers were asked just now, with `--live` or `--record`, and the next time they may answer otherwise. \
         `--record` keeps what they answered as cassettes; `--live` keeps nothing.",
        &["cassette", "replayed"],
    ),
    entry(
        "scripted",
        &[],
        ORIGIN,
        "The turns of the model were read from a script, and the servers were started just now. It needs no key. It tells that \
         suite and servers work, and nothing about a model.",
        &["script", "replayed"],
    ),
    entry(
        "edited",
        &["replayed, edited", "accepted"],
        REPORT,
        "The cassette was edited after it was recorded, and `mcptest cassette accept` accepted that. What is judged is what somebody \
         wrote, not what a run did. A gate over runs says it when that is so of one of them. Recording the run again clears it.",
        &["cassette", "replayed", "edited-cassette"],
    ),
    entry(
        "REFUSED",
        &["suite refused"],
        REPORT,
        "The suite file has mistakes, which stand below this line, and none of its tests was run. Exit code 2. It is no verdict \
         about an agent: mend the file, or ask `mcptest validate` for all mistakes of all files.",
        &["error", "2"],
    ),
    entry(
        "unmentioned",
        &[],
        "a word of the gate `narrative`",
        "So many tools were called of which the closing message says nothing. That counts in the divergence and fails nothing by \
         itself.",
        &["narrative", "narrative.present_but_unclaimed"],
    ),
    entry(
        "absent",
        &[],
        REPORT,
        "In the line of `narrative`: so many claims of the closing message have no call that backs them. Of evidence: it was not \
         recorded, so it is unknown, which is neither empty nor zero.",
        &["narrative.claimed_but_absent", "unassessable"],
    ),
    entry(
        "edges held",
        &["edge", "edges", "edge held", "held"],
        "words of the gate `trajectory_axes`",
        "An edge is one entry of `dependencies` or `order`: this call before that one, or this argument out of that answer. It is \
         held when the recorded calls obey it.",
        &["trajectory_axes", "not exercised"],
    ),
    entry(
        "not exercised",
        &["unexercised", "exercised"],
        "words of the gate `trajectory_axes`",
        "The later tool of an edge was never called, so there was nothing to break. It counts as held; `required: true` makes it \
         fail instead.",
        &["trajectory_axes", "trajectory.edges_exercised"],
    ),
    entry(
        "not judged",
        &["unjudged"],
        REPORT,
        "Nothing was asserted. `mcptest score` without `--gates` measures traces and gives no verdict; an opinion of a model that \
         is called advisory is printed and never decides.",
        &["gate", "verdict"],
    ),
    entry(
        "SUITE_DIR",
        &["${SUITE_DIR}", "$SUITE_DIR", "suite dir"],
        "a reference in suites",
        "`${SUITE_DIR}` stands for the folder of the suite file. Write paths of servers with it, and they are found wherever \
         `mcptest run` is started. Cassettes keep the reference and not the folder, so they fit on every machine.",
        &["servers.command", "servers.cwd", "variables"],
    ),
    entry(
        "envelope",
        &["envelopes"],
        TERM,
        "A trace as JSON in the format of this project: `tool_calls`, `tool_results`, `final_response`, `conversation`. `mcptest \
         convert` writes envelopes of recordings in other formats, and `mcptest score` reads them.",
        &["trace", "tool_calls"],
    ),
    entry(
        "cassette",
        &["cassettes"],
        TERM,
        "A recorded run as a file: the trace, and what it was made from. `mcptest run --record` writes one for every run, and \
         `mcptest run` judges it without a model or a server. It is stale when test, model or servers of the suite have changed.",
        &["replayed", "stale-cassette", "no-recording"],
    ),
    entry(
        "gate",
        &["gates"],
        TERM,
        "A question about recorded runs with an answer in numbers. Each gate computes metrics and asserts on them: its default, or \
         what stands below its `expect:`. `mcptest explain` alone lists all gates.",
        &["trajectory", "narrative", "verdict"],
    ),
    entry(
        "verdict",
        &["verdicts"],
        TERM,
        "What a row of the report says: `pass`, `fail`, `unassessable`, `error`, `absorbed`, `skipped` or `unjudged`. The worst \
         of all rows decides on the exit code.",
        &["pass", "fail", "unassessable", "1"],
    ),
    entry(
        "trace",
        &["traces"],
        TERM,
        "What one run observably did: the calls with their arguments, the answers, the messages, the tokens, why it ended. Gates \
         and assertions read nothing else.",
        &["envelope", "tool_calls", "evidence"],
    ),
    entry(
        "suite",
        &["suites"],
        TERM,
        "A YAML file with servers, models and tests. `mcptest run` runs it, `mcptest validate` looks for mistakes in it, \
         `mcptest init` writes a first one.",
        &["agents", "servers", "cell"],
    ),
    entry(
        "target",
        &["targets"],
        TERM,
        "A path that says what an assertion looks at: into the trace, as in `tool_calls[0].args.city`, or at a metric, as in \
         `golden_path.penalty`.",
        &["tool_calls", "unknown-target", "selects-nothing"],
    ),
    entry(
        "script",
        &["scripts"],
        TERM,
        "A YAML file that stands in for a model: what it says and which tools it calls, turn by turn. A test uses it through \
         `provider: script`. It is for tests of suites and servers, since no model takes part.",
        &["scripted", "script-too-short"],
    ),
    entry(
        "mock",
        &["mock server", "mcptest mock"],
        TERM,
        "A server that answers with what a file says: `mcptest mock --tools-from FILE`. It stands in for a real one where that \
         would be slow, costly or dangerous, and misbehaves on request with `--fault`.",
        &["mock_server", "fault"],
    ),
    entry(
        "run",
        &["runs of a test"],
        TERM,
        "One conversation of an agent with a model, from the prompt to the closing message. A test may have several with `runs:`; \
         `#2` behind the name of a row is the second.",
        &["trace", "agents.runs", "reliability"],
    ),
    entry(
        "cell",
        &["cells"],
        TERM,
        "One test with one model, and all of its runs. A test with two models has two cells, each with rows of its own.",
        &["run", "row"],
    ),
    entry(
        "row",
        &["rows"],
        TERM,
        "One verdict of the report: one run of a test, or what a gate says of all runs together, such as `(reliability)`.",
        &["verdict", "cell"],
    ),
    entry(
        "fault",
        &["faults"],
        TERM,
        "Something that goes wrong on purpose. Faults of a suite strike calls before they reach a server, in virtual time; those of \
         `mcptest mock` are real misbehaviour of a server.",
        &["recovery", "receipt", "hang"],
    ),
    entry(
        "receipt",
        &["receipts"],
        REPORT,
        "The line of a row about an injected fault: which calls it was injected into, how often it was met, and what the run \
         recovered by.",
        &["fault", "recovery"],
    ),
    entry(
        "divergence",
        &["divergence score"],
        "a word of the gate `narrative`",
        "How far the closing message and the calls are apart: 0 is agreement, 1 is none. It is the share of claims without a call, \
         tools without a word and values that do not match among all calls and claims.",
        &["narrative", "narrative.divergence_score", "divergence-over-limit"],
    ),
    entry(
        "evidence",
        &[],
        TERM,
        "What was recorded outside of the model's words: calls, arguments, answers, tokens. Verdicts rest on it. What is missing is \
         unknown, and a verdict that hangs on it is `unassessable`.",
        &["trace", "unassessable", "not-assessable"],
    ),
];

/// Names of all words.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// The word of a name or of another spelling of it.
pub(super) fn explain(asked: &str, page: &mut Page) {
    // A line of a suite, `mode: strict`, is asked for as often as the words.
    let asked = asked.replace(':', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let is_meant = |name: &str| name.eq_ignore_ascii_case(&asked);
    for entry in ENTRIES.iter().filter(|entry| is_meant(entry.name) || entry.also.iter().any(|name| is_meant(name))) {
        page.subject(entry.name, entry.what);
        page.text(entry.meaning);
        let see: Vec<String> = entry.see.iter().map(|name| format!("`{name}`")).collect();
        page.text(&format!("See also, with `mcptest explain`: {}.", see.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mcptest_core::report::Origin;

    use super::*;

    #[test]
    fn every_spelling_means_one_word_and_what_is_pointed_to_is_there() {
        let mut seen = BTreeSet::new();
        for entry in &ENTRIES {
            for name in entry.also.iter().chain([&entry.name]) {
                assert!(seen.insert(name.to_lowercase()), "{name} is there twice");
            }
            assert!(!entry.see.is_empty(), "{}", entry.name);
            for name in entry.see {
                assert_ne!(*name, entry.name);
                assert!(super::super::explain(name, false).is_ok(), "{}: {name}", entry.name);
            }
        }
    }

    #[test]
    fn every_mode_and_every_origin_is_a_word() {
        let of =
            |what: &str| ENTRIES.iter().filter(|entry| entry.what == what).map(|entry| entry.name).collect::<Vec<_>>();
        assert_eq!(of(ORIGIN), Origin::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>());
        assert_eq!(of(MODE), mcptest_core::eval::MatchMode::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>());
    }
}
