//! Suites that load, but probably do not check what their author meant.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 11] = [
    entry(
        Code::UnusedEntry,
        "A server or a fault is never used",
        "warning[unused-entry]: no test uses server `weather`",
        "It is declared, but no test names it. The name is often missing in the test.",
        &["Name it in `servers:` or `inject:` of a test, or remove it."],
    ),
    entry(
        Code::UnusedPublicVariable,
        "A variable under `public:` is unused",
        "warning[unused-public-variable]: nothing in this file uses variable `DATA_DRI`",
        "`public:` lists variables that servers, models or prompts use and whose values may be recorded. Nothing uses this \
         one. It is often misspelled, and then the actual variable is still treated as a secret.",
        &["Fix the name, or remove it."],
    ),
    entry(
        Code::PassesOnEmptyTrace,
        "The test passes when the agent does nothing",
        "warning[passes-on-empty-trace]: `weather` passes when the agent makes no calls",
        "Every check of the test passes on a run without calls: `narrative`, an empty reference or `not` alone require \
         nothing. A completely broken agent would pass.",
        &["Add a check that requires a call: a `trajectory:` with at least one call, or an `expect:` on `tool_calls`."],
    ),
    entry(
        Code::EmptyTrajectory,
        "A trajectory without calls checks nothing",
        "warning[empty-trajectory]: `trajectory` without calls passes on every trace",
        "An empty `calls:`, or one with optional calls only, requires nothing. Unless the mode or `max_extra` forbids other \
         calls, the gate cannot fail.",
        &[
            "List the required calls in `calls:`.",
            "If no tool may be called at all, write `mode: subset` or `max_extra: 0`.",
        ],
    ),
    entry(
        Code::WastefulGoldenPath,
        "The golden path is itself wasteful",
        "warning[wasteful-golden-path]: the golden path is itself wasteful",
        "The path repeats a tool or returns to one, which `golden_path` counts as waste. Even a run that follows the path \
         exactly fails.",
        &["Set `penalize_repeated_tools: false` or `penalize_backtracking: false`, or shorten the path."],
    ),
    entry(
        Code::ReliabilityCannotPass,
        "`reliability` cannot pass",
        "warning[reliability-cannot-pass]: `reliability` cannot pass with 5 runs, regardless of their outcomes",
        "This number of runs cannot prove the required bound. Five passes of five give a lower bound of about 57 percent, not \
         90.",
        &["`mcptest runs` shows how many runs are needed.", "Raise `runs:`, or lower the bound."],
    ),
    entry(
        Code::ReliabilityAlwaysPasses,
        "`reliability` always passes",
        "warning[reliability-always-passes]: `reliability` passes even when every run fails",
        "The assertion passes for every outcome, so the block absorbs every failure.",
        &["Require more, such as `reliability.pass_rate` with `schema: { minimum: 80 }`."],
    ),
    entry(
        Code::FaultWithinTimeout,
        "A slow fault answers within the budget",
        "warning[fault-within-timeout]: `late` delays answers by 2000 ms, within the budget of 3000 ms, so it never causes a timeout",
        "A call that is answered within `max_detection_ms` is late, but not a failure. Without a `recovery:` block nothing \
         checks it, and `require_call` and `require_clean_timeout` do not apply.",
        &["Raise `delay_ms:` to the budget or beyond, or lower `max_detection_ms:`."],
    ),
    entry(
        Code::FaultOnUnusedServer,
        "A fault targets a server that the test does not use",
        "warning[fault-on-unused-server]: `dead-mail` targets server `mail`, which this test does not use",
        "No call of the test can hit the fault.",
        &["Add the server to `servers:` of the test, or inject another fault."],
    ),
    entry(
        Code::TemperatureRefused,
        "The model rejects `temperature`",
        "warning[temperature-refused]: `claude-sonnet-4-5` rejects `temperature`",
        "Current models of this provider reject requests that set it, so recording would fail.",
        &["Remove `temperature:`. Replays are repeatable regardless of the temperature."],
    ),
    entry(
        Code::UnknownProperty,
        "A rule of a mock server does not match its schema",
        "warning[unknown-property]: the input schema has no property `citty`",
        "A rule reads an argument that the tool does not have, so it never applies.",
        &["Fix the name in the rule, or add the property to `input_schema:`."],
    ),
];
