//! What loads but hardly means what it says.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 11] = [
    entry(
        Code::UnusedEntry,
        "A server or a fault is never used",
        "warning[unused-entry]: no test uses server `weather`",
        "It is declared and no test names it, so it does nothing. Often the name in the test is missing.",
        &["Name it in `servers:` or `inject:` of a test, or remove it."],
    ),
    entry(
        Code::UnusedPublicVariable,
        "A variable under `public:` is read by nothing",
        "warning[unused-public-variable]: nothing in this file uses variable `DATA_DRI`",
        "`public:` lists variables that servers, models or prompts read and whose values may be recorded. This one is in none of \
         them: often it is spelled differently there, and its value is still taken for a secret.",
        &["Correct the name, or remove it."],
    ),
    entry(
        Code::PassesOnEmptyTrace,
        "The test passes when the agent does nothing",
        "warning[passes-on-empty-trace]: `weather` passes when the agent makes no calls",
        "Every check of the test holds on a run without calls: `narrative`, an empty reference or `not` alone demand nothing. An \
         agent that is broken altogether would pass.",
        &["Add what must happen: a `trajectory:` with at least one call, or an `expect:` on `tool_calls`."],
    ),
    entry(
        Code::EmptyTrajectory,
        "A trajectory without calls asks nothing",
        "warning[empty-trajectory]: `trajectory` without calls passes on every trace",
        "An empty `calls:`, or one with optional calls only, means that nothing is required. Unless the mode or `max_extra` \
         forbids other calls, the gate cannot fail.",
        &[
            "Name what must be called in `calls:`.",
            "If no tool may be called at all, write `mode: subset` or `max_extra: 0`.",
        ],
    ),
    entry(
        Code::WastefulGoldenPath,
        "The golden path is itself wasteful",
        "warning[wasteful-golden-path]: the golden path is itself wasteful",
        "The path repeats a tool or returns to one, and that is what `golden_path` counts as waste. Not even a run that follows \
         it exactly can pass.",
        &["Set `penalize_repeated_tools: false` or `penalize_backtracking: false`, or shorten the path."],
    ),
    entry(
        Code::ReliabilityCannotPass,
        "`reliability` cannot pass",
        "warning[reliability-cannot-pass]: `reliability` cannot pass with 5 runs, regardless of their outcomes",
        "The bound is beyond what so few runs can show. Five passes of five give a lower bound of about 57 percent, never 90.",
        &["`mcptest runs` says how many runs it takes.", "Raise `runs:`, or ask for less."],
    ),
    entry(
        Code::ReliabilityAlwaysPasses,
        "`reliability` always passes",
        "warning[reliability-always-passes]: `reliability` passes even when every run fails",
        "The assertion holds for every outcome, so the block absorbs every failure and says nothing.",
        &["Ask for more, such as `reliability.pass_rate` with `schema: { minimum: 80 }`."],
    ),
    entry(
        Code::FaultWithinTimeout,
        "A slow fault answers within the budget",
        "warning[fault-within-timeout]: `late` delays answers by 2000 ms, within the budget of 3000 ms, so it never causes a timeout",
        "A call that is answered within `max_detection_ms` is a delay and no failure: without a `recovery:` block nothing looks at it, \
         and `require_call` and `require_clean_timeout` have nothing to ask for.",
        &["Raise `delay_ms:` to the budget or beyond, or lower `max_detection_ms:`."],
    ),
    entry(
        Code::FaultOnUnusedServer,
        "A fault strikes a server that the test does not use",
        "warning[fault-on-unused-server]: `dead-mail` targets server `mail`, which this test does not use",
        "No call of the test can meet the fault.",
        &["Add the server to `servers:` of the test, or inject another fault."],
    ),
    entry(
        Code::TemperatureRefused,
        "The model refuses `temperature`",
        "warning[temperature-refused]: `claude-sonnet-4-5` rejects `temperature`",
        "Current models of this provider refuse requests that set it, so recording would fail.",
        &["Remove `temperature:`. Recordings make runs repeatable, whatever the temperature."],
    ),
    entry(
        Code::UnknownProperty,
        "A rule or an answer of a mock server does not fit its schema",
        "warning[unknown-property]: the input schema has no property `citty`",
        "A rule looks at an argument that the tool does not take, so it never applies.",
        &["Correct the name in the rule, or add the property to `input_schema:`."],
    ),
];
