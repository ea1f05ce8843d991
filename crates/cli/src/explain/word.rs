//! Words of closed sets: verdicts, exit codes, reporters, faults, reasons why runs end, matchers.

use mcptest_core::diag::Code;
use mcptest_core::matcher::MATCHERS;
use mcptest_core::trace::FaultKind;

use super::page::Page;
use crate::{exit, report};

/// A word, what it means, and where to read more.
struct Word {
    name: &'static str,
    meaning: &'static str,
    /// Codes that are about it.
    see: &'static [Code],
}

const fn word(name: &'static str, meaning: &'static str, see: &'static [Code]) -> Word {
    Word { name, meaning, see }
}

/// Verdicts of rows, in the order of the table of verdicts.
static VERDICTS: [Word; 8] = [
    word("pass", "All checks passed, on recorded evidence.", &[]),
    word(
        "fail",
        "A check failed. The reason, the evidence and the place in the suite are below the line. Exit code 1.",
        &[Code::MissingCall, Code::ExtraCall, Code::ClaimWithoutCall],
    ),
    word(
        "inconclusive",
        "`reliability` has `at_least`, and the runs neither show that the pass rate is high enough nor that it is too low. It \
         counts as a failure, exit code 1, unless `--allow-inconclusive` is given.",
        &[Code::TooFewRuns],
    ),
    word(
        "unassessable",
        "The recording lacks evidence that the verdict depends on. Missing evidence is unknown: neither a pass nor a failure \
         can rest on it. It counts as a failure, exit code 1, so that an incomplete recording never looks like a good run.",
        &[Code::NotAssessable],
    ),
    word(
        "error",
        "The run could not be executed or judged: a missing cassette, a server that does not start, a model that does not \
         answer. Nothing is known about the agent. Exit code 2.",
        &[Code::NoRecording, Code::StaleCassette, Code::RunsWithErrors],
    ),
    word(
        "absorbed",
        "The run failed, and the test has a `reliability:` block that says how often runs may fail. It does not fail the test \
         by itself; the line with `(reliability)` decides.",
        &[Code::AbsorbedRun, Code::ReliabilityFailed],
    ),
    word(
        "skipped",
        "It was not run: a test failed under `--fail-fast`, a budget was reached, or the run was stopped.",
        &[Code::SkippedTests, Code::BudgetExceeded],
    ),
    word(
        "unjudged",
        "No gate judges it: all gates are about groups of runs, or a gate over runs only measures. It is neither a pass nor a \
         failure, and null in JSON.",
        &[],
    ),
];

/// Faults of a suite, in the order of [`FaultKind`].
static FAULTS: [Word; 11] = [
    word(
        "hang",
        "The call is not sent and never answered: the agent sees a timeout after `max_detection_ms`.",
        &[Code::FaultNotHit],
    ),
    word("wedged", "Like `hang`, with its own name in reports: a server that is stuck.", &[Code::FaultNotHit]),
    word(
        "slow",
        "The answer is `delay_ms` late. From `max_detection_ms` on that is a timeout, below it a late but good answer.",
        &[Code::FaultWithinTimeout],
    ),
    word("recover_after", "The first `failures` calls time out; later calls are answered.", &[Code::NotRecovered]),
    word("error", "The call fails with a protocol error.", &[Code::NotRecovered]),
    word("is_error", "The tool answers with an error result.", &[Code::NotRecovered]),
    word("drop", "The connection breaks instead of an answer.", &[Code::NotRecovered]),
    word(
        "model_error",
        "The model of a program answers with the HTTP status `status`, `failures` times or always.",
        &[Code::NotRecovered],
    ),
    word("model_slow", "The model of a program answers `delay_ms` late.", &[Code::NotRecovered]),
    word("model_cut", "The reply of a program's model breaks off after `events` events.", &[Code::NotRecovered]),
    word("model_garbage", "The model of a program answers with text that is not a reply.", &[Code::NotRecovered]),
];

/// Why runs end, in the order of the table of reasons.
static STOPS: [Word; 5] = [
    word("completed", "The model finished on its own.", &[]),
    word(
        "max_turns",
        "The agent still called tools at its last turn; `max_turns:` of the test is that limit.",
        &[Code::RunCutOff],
    ),
    word("max_tokens", "A reply was cut off at `max_tokens:` of the test.", &[Code::RunCutOff]),
    word("refused", "The model refused to continue.", &[]),
    word("error", "The run failed with an error.", &[]),
];

/// Exit codes of the program.
static CODES: [(u8, &str); 5] = [
    (exit::OK, "All checks passed."),
    (exit::FAILED, "A check failed, or evidence was missing: a verdict is `fail`, `inconclusive` or `unassessable`."),
    (
        exit::ERROR,
        "Something could not run: an error in a suite, a missing or stale cassette, a server or model that cannot be reached, \
         an invalid option, no test selected, a report that cannot be written. It takes precedence over 1; failures are still \
         in the report.",
    ),
    (exit::CRASHED, "The fault `crash` of `mcptest mock` ended the process."),
    (exit::INTERRUPTED, "Ctrl-C was pressed twice. After the first one the run ends in order, with exit code 2."),
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let words = VERDICTS.iter().chain(&FAULTS).chain(&STOPS).map(|word| word.name);
    words.chain(mcptest_mock::KINDS.iter().map(|kind| kind.name)).chain(report::reporters().map(|(name, _)| name))
}

/// The lists of words, for the overview.
pub(super) fn overview(page: &mut Page) {
    let list = |words: &[Word]| words.iter().map(|word| word.name).collect::<Vec<_>>().join(", ");
    page.item("verdicts", &list(&VERDICTS));
    page.item("faults", &format!("of suites: {}", list(&FAULTS)));
    page.item(
        "",
        &format!("of the mock: {}", mcptest_mock::KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")),
    );
    page.item("stop reasons", &list(&STOPS));
    page.item("reporters", &report::reporters().map(|(name, _)| name).collect::<Vec<_>>().join(", "));
    page.item("exit codes", &CODES.iter().map(|(code, _)| code.to_string()).collect::<Vec<_>>().join(", "));
}

/// The exit code of a number, also as `exit code 2` or `exit status 2`.
pub(super) fn exit_code(name: &str, page: &mut Page) {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ([number] | ["exit" | "code", number] | ["exit", "code" | "status", number]) = words.as_slice() else {
        return;
    };
    let Some((code, meaning)) = CODES.iter().find(|(code, _)| number.parse() == Ok(*code)) else { return };
    page.subject(&code.to_string(), "an exit code");
    page.text(meaning);
    page.text("The worst result decides: 2 over 1 over 0.");
}

/// The verdict of a name, in any case.
pub(super) fn verdict(name: &str, page: &mut Page) {
    list(&name.to_lowercase(), &VERDICTS, "a verdict", page);
}

/// Everything else that a word can be.
pub(super) fn explain(name: &str, page: &mut Page) {
    let name = name.to_lowercase();
    if let Some(matcher) = MATCHERS.iter().find(|matcher| matcher.name == name) {
        page.subject(matcher.name, "a matcher");
        page.text(&format!("It matches when {}.", matcher.holds));
        page.text("A value of another type fails the assertion, under `not` as well.");
        page.heading("Example");
        page.code(&format!("expect:\n  - {{ target: {}, matcher: {} }}", target(matcher.name), matcher.example));
    }
    verdict(&name, page);
    list(&name, &FAULTS, "a fault that a suite injects", page);
    if let Some(kind) = FAULTS.iter().find(|word| word.name == name).and_then(|word| FaultKind::from_word(word.name)) {
        let number = match kind {
            FaultKind::Slow => ", delay_ms: 5000",
            FaultKind::RecoverAfter => ", failures: 2",
            FaultKind::ModelError => ", status: 529, failures: 1",
            FaultKind::ModelSlow => ", delay_ms: 5000, failures: 1",
            FaultKind::ModelCut => ", events: 3, failures: 1",
            FaultKind::ModelGarbage => ", failures: 1",
            _ => "",
        };
        let (name, target) =
            if kind.targets_model() { ("bad-model", "model: true") } else { ("dead-search", "tool: search") };
        page.heading("Example");
        page.code(&format!("faults:\n  - {{ name: {name}, target: {{ {target} }}, kind: {kind}{number} }}"));
    }
    if let Some(kind) = mcptest_mock::KINDS.iter().find(|kind| kind.name == name) {
        page.subject(&kind.spelling(), "a fault of `mcptest mock`");
        page.text(&format!("It {}.", kind.meaning));
        page.heading("Example");
        let fault = match kind.number {
            Some(number) => format!("{}:{}", kind.name, number.least.max(2)),
            None => kind.name.to_owned(),
        };
        page.code(&format!("mcptest mock --tools-from tools.yml --fault search={fault}"));
    }
    list(&name, &STOPS, "why a run ended, `conversation.stop_reason`", page);
    if let Some((name, meaning)) = report::reporters().find(|(known, _)| *known == name) {
        page.subject(name, "a reporter");
        page.text(meaning);
        page.heading("Example");
        page.code(&format!("mcptest run tests/ --reporter {name}=PATH"));
    }
}

/// A target that a matcher is used with.
fn target(matcher: &str) -> &'static str {
    match matcher {
        "exact" => "'tool_calls[0].name'",
        "contains" | "icontains" => "'tool_calls[0].args.city'",
        "regex" => "'tool_calls[0].args.invoice'",
        "near" => "'tool_calls[0].args.price'",
        "schema" => "conversation.tokens.total",
        _ => "tool_names",
    }
}

fn list(name: &str, words: &'static [Word], what: &str, page: &mut Page) {
    for word in words.iter().filter(|word| word.name == name) {
        page.subject(word.name, what);
        page.text(word.meaning);
        if !word.see.is_empty() {
            let codes: Vec<String> = word.see.iter().map(|code| format!("`{}`", code.as_str())).collect();
            page.text(&format!("See also, with `mcptest explain`: {}.", codes.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use mcptest_core::report::RowVerdict;
    use mcptest_core::trace::StopReason;

    use super::*;

    #[test]
    fn every_word_of_every_closed_set_is_in_its_table() {
        let names = |words: &[Word]| words.iter().map(|word| word.name).collect::<Vec<_>>();
        assert_eq!(names(&VERDICTS), RowVerdict::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>());
        assert_eq!(names(&FAULTS), FaultKind::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>());
        assert_eq!(names(&STOPS), StopReason::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>());
    }
}
