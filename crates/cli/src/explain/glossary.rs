//! Terms of the program and its documents that are in no other table: modes, origins of traces, terms in reports.

use super::page::Page;

/// A word and what it means.
struct Entry {
    name: &'static str,
    also: &'static [&'static str],
    /// What kind of word it is.
    what: &'static str,
    meaning: &'static str,
    /// Related entries of `mcptest explain`.
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
const ORIGIN: &str = "where a trace comes from";
const REPORT: &str = "a term in reports";
const TERM: &str = "a term";

static ENTRIES: [Entry; 35] = [
    entry(
        "strict",
        &["mode strict"],
        MODE,
        "The recorded calls are exactly the expected ones, in this order. This is the default. Calls are compared position by \
         position; only expectations with `optional: true` may be skipped.",
        &["trajectory", "trajectory.mode", "extra-call"],
    ),
    entry(
        "subsequence",
        &["mode subsequence"],
        MODE,
        "Every expected call was made, in this order, with other calls in between. `max_extra` limits the others.",
        &["trajectory", "trajectory.mode", "max_extra"],
    ),
    entry(
        "unordered",
        &["mode unordered"],
        MODE,
        "Every expected call was made, in any order, each by a separate call. Other calls are allowed; `max_extra` limits \
         them.",
        &["trajectory", "trajectory.mode", "max_extra"],
    ),
    entry(
        "superset",
        &["mode superset"],
        MODE,
        "The recorded calls include all expected ones, in any order, and may include others. Same as `unordered`.",
        &["trajectory", "trajectory.mode", "max_extra"],
    ),
    entry(
        "subset",
        &["mode subset"],
        MODE,
        "Only expected calls were made, each at most once; expected calls may be missing. A run without calls passes, so add \
         an assertion that something was called. `subset` under `args` is different: it lists arguments that must be there, \
         among others.",
        &["trajectory", "trajectory.mode"],
    ),
    entry(
        "any_order",
        &["any order", "within_turn any_order"],
        "a value of `within_turn`",
        "Calls that the model made in one turn may come in any order; calls of different turns may not. For `strict` and \
         `subsequence`. It reads the `turn` of the recorded calls; if that was not recorded and matters, the run is \
         unassessable.",
        &["trajectory", "trajectory.within_turn", "unassessable"],
    ),
    entry(
        "match",
        &["args match"],
        "a rule for the arguments of an expected call",
        "Matchers on single arguments: `args: { match: { city: { regex: ^Os }, price: { near: { value: 9.9, tolerance: 0.1 } } \
         } }`. Paths start in the arguments. A path that selects nothing does not match, even under `not`. Other rules: \
         `exact` requires these arguments and no others, `subset` these among others, `schema` arguments that are valid \
         against a JSON Schema.",
        &["trajectory", "regex", "near"],
    ),
    entry(
        "replayed",
        &["replay", "replays"],
        ORIGIN,
        "The trace was read from a cassette. No model was called and no server started, so the verdict is the same on every \
         machine and costs nothing.",
        &["cassette", "live", "scripted"],
    ),
    entry(
        "live",
        &["--live"],
        ORIGIN,
        "A model and servers were called, with `--live` or `--record`; the next time they may answer differently. `--record` \
         saves the run as a cassette; `--live` saves nothing.",
        &["cassette", "replayed"],
    ),
    entry(
        "scripted",
        &[],
        ORIGIN,
        "The turns of the model were read from a script; the servers were started. It needs no key. It shows that suite and \
         servers work, and says nothing about a model.",
        &["script", "replayed"],
    ),
    entry(
        "rerun",
        &["--rerun", "running again"],
        ORIGIN,
        "A program ran again with `--rerun`, and its model and servers answered from the recording of an earlier run. It shows what \
         today's code of the program does with the same answers, and needs no key and no network. Durations are the recorded ones.",
        &["replayed", "live", "rerun-diverged"],
    ),
    entry(
        "edited",
        &["replayed, edited", "rerun, edited", "accepted"],
        REPORT,
        "The cassette was edited after it was recorded, and `mcptest cassette accept` accepted the edit. So the verdict is \
         about edited text, not about what a run did. A gate over runs says it if any of its runs is edited. Re-recording \
         clears it.",
        &["cassette", "replayed", "edited-cassette"],
    ),
    entry(
        "REFUSED",
        &["suite refused"],
        REPORT,
        "The suite file has errors, which are listed below, and none of its tests was run. Exit code 2. It says nothing about \
         an agent: fix the file. `mcptest validate` lists the errors of all files.",
        &["error", "2"],
    ),
    entry(
        "unmentioned",
        &[],
        "a word of the gate `narrative`",
        "The number of tools that were called but not mentioned in the final message. It counts toward the divergence and \
         fails nothing by itself.",
        &["narrative", "narrative.present_but_unclaimed"],
    ),
    entry(
        "absent",
        &[],
        REPORT,
        "In the line of `narrative`: the number of claims in the final message that no call backs. About evidence: it was not \
         recorded, so it is unknown, which is neither empty nor zero.",
        &["narrative.claimed_but_absent", "unassessable"],
    ),
    entry(
        "edges satisfied",
        &["edge", "edges", "edge satisfied", "satisfied"],
        "words of the gate `trajectory_axes`",
        "An edge is one entry of `dependencies` or `order`: this call before that one, or this argument from that result. It is satisfied if the recorded calls follow it.",
        &["trajectory_axes", "not exercised"],
    ),
    entry(
        "not exercised",
        &["unexercised", "exercised"],
        "words of the gate `trajectory_axes`",
        "The later tool of an edge was never called, so nothing could violate it. It counts as satisfied; with `required: true` it \
         fails instead.",
        &["trajectory_axes", "trajectory.edges_exercised"],
    ),
    entry(
        "not judged",
        &["unjudged"],
        REPORT,
        "Nothing was checked. `mcptest score` without `--gates` measures traces and gives no verdicts. Advisory output of a \
         model is printed and never decides.",
        &["gate", "verdict"],
    ),
    entry(
        "SUITE_DIR",
        &["${SUITE_DIR}", "$SUITE_DIR", "suite dir"],
        "a reference in suites",
        "`${SUITE_DIR}` is the folder of the suite file. Use it in paths of servers, so that they are found wherever `mcptest \
         run` is started. Cassettes store the reference, not the folder, so they work on every machine.",
        &["servers.command", "servers.cwd", "variables"],
    ),
    entry(
        "envelope",
        &["envelopes"],
        TERM,
        "A trace in mcptest's own JSON format: `tool_calls`, `tool_results`, `final_response`, `conversation`. `mcptest \
         convert` converts recordings in other formats to envelopes, and `mcptest score` reads them.",
        &["trace", "tool_calls"],
    ),
    entry(
        "cassette",
        &["cassettes"],
        TERM,
        "A recorded run in a file: the trace and its inputs. `mcptest run --record` writes one per run, and `mcptest run` \
         judges it without a model or a server. It is stale if the test, model or servers in the suite have changed.",
        &["replayed", "stale-cassette", "no-recording"],
    ),
    entry(
        "gate",
        &["gates"],
        TERM,
        "A check on recorded runs with a numeric result. Each gate computes metrics and asserts on them: its default \
         assertion, or those in its `expect:`. `mcptest explain` alone lists all gates.",
        &["trajectory", "narrative", "verdict"],
    ),
    entry(
        "verdict",
        &["verdicts"],
        TERM,
        "The result of a run or of a gate over runs: `pass`, `fail`, `inconclusive`, `unassessable`, `error`, `absorbed`, `skipped` or \
         `unjudged`. The worst verdict decides the exit code.",
        &["pass", "fail", "unassessable", "1"],
    ),
    entry(
        "trace",
        &["traces"],
        TERM,
        "What one run observably did: calls with arguments, results, messages, tokens, and why it ended. Gates and assertions \
         read nothing else.",
        &["envelope", "tool_calls", "evidence"],
    ),
    entry(
        "suite",
        &["suites"],
        TERM,
        "A YAML file with servers, models and tests. `mcptest run` runs it, `mcptest validate` checks it, `mcptest init` \
         writes a first one.",
        &["agents", "servers", "cell"],
    ),
    entry(
        "target",
        &["targets"],
        TERM,
        "A path to the value that an assertion checks: in the trace, as in `tool_calls[0].args.city`, or a metric, as in \
         `golden_path.penalty`.",
        &["tool_calls", "unknown-target", "selects-nothing"],
    ),
    entry(
        "script",
        &["scripts"],
        TERM,
        "A YAML file that replaces a model: what it says and which tools it calls, turn by turn. A test uses it through \
         `provider: script`. It is for testing suites and servers without a model.",
        &["scripted", "script-too-short"],
    ),
    entry(
        "mock",
        &["mock server", "mcptest mock"],
        TERM,
        "A server whose answers come from a file: `mcptest mock --tools-from FILE`. It replaces a real server that would be \
         slow, costly or dangerous, and misbehaves on request with `--fault`.",
        &["mock_server", "fault"],
    ),
    entry(
        "run",
        &["runs of a test"],
        TERM,
        "One conversation of an agent with a model, from the prompt to the final message. A test may have several with \
         `runs:`; `#2` after a name is the second.",
        &["trace", "agents.runs", "reliability"],
    ),
    entry(
        "cell",
        &["cells"],
        TERM,
        "One test on one model, with all of its runs. A test with two models has two cells.",
        &["run", "row"],
    ),
    entry(
        "row",
        &["rows"],
        TERM,
        "One verdict in a report: one run of a test, or a gate over all runs, such as `(reliability)`.",
        &["verdict", "cell"],
    ),
    entry(
        "fault",
        &["faults"],
        TERM,
        "A deliberate failure. Faults of a suite are injected before a call reaches a server, in virtual time; those of \
         `mcptest mock` are real misbehavior of a server.",
        &["recovery", "receipt", "hang"],
    ),
    entry(
        "receipt",
        &["receipts"],
        REPORT,
        "The line about an injected fault: which calls it was injected into, how often it was hit, and how the run recovered.",
        &["fault", "recovery"],
    ),
    entry(
        "divergence",
        &["divergence score"],
        "a word of the gate `narrative`",
        "How far the final message and the calls differ: 0 is full agreement, 1 is none. It is the share of claims without a \
         call, unmentioned tools and mismatched values among all calls and claims.",
        &["narrative", "narrative.divergence_score", "divergence-over-limit"],
    ),
    entry(
        "evidence",
        &[],
        TERM,
        "What was recorded, other than the model's own text: calls, arguments, results, tokens. Verdicts are based on it. Missing \
         evidence is unknown, and a verdict that depends on it is `unassessable`.",
        &["trace", "unassessable", "not-assessable"],
    ),
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// The word of a name or of another spelling of it.
pub(super) fn explain(asked: &str, page: &mut Page) {
    // A line of a suite, `mode: strict`, works like the word.
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
    fn every_alias_is_unique_and_every_reference_resolves() {
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
