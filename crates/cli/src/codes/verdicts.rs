//! Verdicts that are right and look wrong at first.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 22] = [
    entry(
        Code::NotAssessable,
        "A check is unassessable",
        "not assessable: the final response was not recorded",
        "The recording lacks evidence that the verdict depends on: calls, arguments, results or the final message. Missing \
         evidence is unknown, and neither a pass nor a failure can rest on it. It counts as a failure: exit code 1.",
        &[
            "Check what the reason says is missing, and record it: many exporters omit arguments and results by default.",
            "`mcptest convert FILE` shows how mcptest reads a recording.",
            "Or use a gate that does not need it: `trajectory` without `args` and `status` reads names only.",
        ],
    ),
    entry(
        Code::AbsorbedRun,
        "A run failed and was absorbed",
        "~ ABSORBED  finds it",
        "The test has a `reliability:` block, which says how often runs may fail. A failed run does not fail the test by \
         itself; the line with `(reliability)` decides.",
        &["Check the line of `reliability` for the verdict.", "If every run must pass, remove the block."],
    ),
    entry(
        Code::ReliesOnProse,
        "The verdict rests on prose",
        "warning[relies-on-prose]: the verdict of `weather` rests on prose",
        "Every assertion of the test reads what the model said, and none reads what it did. A model that does nothing and says \
         the right words passes.",
        &[
            "Add a check of the calls: `trajectory:`, or `expect:` on `tool_calls` or `tool_results`.",
            "`narrative:` compares the final message with the calls.",
        ],
    ),
    entry(
        Code::ClaimWithoutCall,
        "The final message claims something that no call did",
        "\"deleted the note\": no call did this (expected a call to delete, remove, destroy or drop); nearest: search (tool_calls[0]) only reads",
        "`narrative` found a sentence that says something was changed, and no successful call that could have done it. The \
         message names the nearest calls and why each does not count: it only reads, it does something else, or it does not \
         name the object of the claim. Either the agent claimed more than it did, or a tool did it whose name and arguments do \
         not show it.",
        &[
            "Check the evidence below the message: was it done?",
            "If a call did it in a way that mcptest cannot read, add it to `narrative:`, as in `aliases: { delete_note: purge \
             }`.",
            "If the tool changes nothing, list it in `readonly_tools:`.",
        ],
    ),
    entry(
        Code::ClaimOfFailedCall,
        "The final message claims a call that failed",
        "\"deleted the note\": the call that would have done this failed (delete_note, tool_calls[0])",
        "The call was made, but its result was an error. An agent that reports it as done misleads the user.",
        &["Check the result of the call in the evidence.", "Make the agent report the failure, or retry."],
    ),
    entry(
        Code::DivergenceOverLimit,
        "The divergence exceeds its limit",
        "divergence 1.00 is over the limit of 0",
        "The score counts every difference between message and calls: claims without a call, tools that are not mentioned, and \
         values that do not match. An agent that does not mention all of its lookups has some divergence.",
        &[
            "Check the counts in the line of the gate.",
            "Raise `max_divergence_score:`, or assert on `narrative.claimed_but_absent` alone.",
        ],
    ),
    entry(
        Code::SelectsNothing,
        "A target selects nothing",
        "`tool_calls[1].name` selects nothing beyond `tool_calls`: no index 1 in a list of 1",
        "The path does not exist in this trace. This fails under `not` as well, since nothing was checked. The message says \
         how far the path got.",
        &[
            "Use `[*]` for any item: `tool_calls[*].name`.",
            "`mcptest explain TARGET` describes a target and what it means if it is absent.",
        ],
    ),
    entry(
        Code::CannotBeJudged,
        "A matcher cannot judge a value",
        "`tool_calls` cannot be judged by regex /x/: element 0 is an object with 5 keys, not text",
        "The matcher does not apply to a value of this type. This fails under `not` as well.",
        &["Make the target more precise, down to the text or number, or use `schema`."],
    ),
    entry(
        Code::MissingCall,
        "An expected call was not recorded",
        "calls[1] (delete_note) is missing: the trace has only 1 call",
        "The reference of `trajectory` requires a call that was not made, or not at this position. The reason names the \
         nearest recorded call and where it differs.",
        &[
            "Check the evidence: did the agent stop early, or use another tool?",
            "If the order does not matter, use `mode: unordered`. If the call may be left out, use `optional: true`.",
        ],
    ),
    entry(
        Code::ExtraCall,
        "There is an extra call",
        "tool_calls[1] (delete_note) is an extra call: the reference has 1",
        "`strict`, the default, allows exactly the calls of the reference, and so does `subset`. Agents often look something \
         up twice.",
        &[
            "If extra calls are fine, use `mode: subsequence`, `unordered` or `superset`, with `max_extra:` as a limit.",
            "Otherwise the test has found what it is for.",
        ],
    ),
    entry(
        Code::CallMismatch,
        "A call differs from the expected one",
        "tool_calls[0] (search) differs from calls[0] at /args/q",
        "The call at this position has another name, server, status or other arguments. The lines below the message show \
         expected and actual values.",
        &[
            "Use `args: { subset: .. }` if only some arguments matter, or `schema` if only their shape matters.",
            "Exclude arguments that differ from run to run with `ignore_args:`.",
        ],
    ),
    entry(
        Code::WrongOrder,
        "A call came before the one it depends on",
        "delete_note -> search: tool_calls[0] (search) has no call of delete_note before it",
        "An edge of `trajectory_axes` requires another call before this one. With `required: true` the later call must be \
         made.",
        &["Check the order in the evidence.", "Remove `required: true` if a run may skip the call."],
    ),
    entry(
        Code::WastedCalls,
        "Calls were wasted",
        "golden_path: efficiency 0.67 of 1.00: 1 extra step, 0 backtracks, 0 repeated tools",
        "`golden_path` counts calls beyond the length of the path, returns to an earlier tool, and repeated calls of the same \
         tool. By default any waste fails.",
        &[
            "Set `allow_extra_steps: true`, `penalize_backtracking: false` or `penalize_repeated_tools: false`.",
            "Or allow some waste: `expect: [{ target: golden_path.penalty, matcher: { schema: { minimum: 0.5 } } }]`.",
        ],
    ),
    entry(
        Code::FaultNotHit,
        "No call hit the fault",
        "no call hit a fault, so nothing was tested",
        "The agent never called the tool that the fault targets, so its recovery was not tested.",
        &[
            "Check the `target:` of the fault, and that the prompt needs the tool.",
            "`require_hit: false` lets runs pass that never hit a fault.",
        ],
    ),
    entry(
        Code::NotRecovered,
        "The agent did not recover in time",
        "no call succeeded after the first fault",
        "A run has recovered if it ends on its own with an answer. `require_call`, `max_recovery_ms` and \
         `require_clean_timeout` require more. Times are virtual: they come from the fault, not from a clock.",
        &[
            "Check in the evidence what the agent did after the fault.",
            "Remove the parameter that requires more than you need.",
        ],
    ),
    entry(
        Code::ReliabilityFailed,
        "`reliability` fails although most runs pass",
        "`reliability.passhat_k` is 0, expected at least 100",
        "Without `expect:` every run must pass. A pass rate of 90 percent fails.",
        &[
            "Ask for proof of a rate: `reliability: { at_least: 0.8 }`.",
            "Or set a bound on what was observed: `expect: [{ target: reliability.pass_rate, matcher: { schema: { minimum: 80 } } }]`.",
            "`mcptest runs` shows how precise the pass rate of N runs is.",
        ],
    ),
    entry(
        Code::TooFewRuns,
        "`reliability` is inconclusive",
        "2 of 2 runs passed; the true rate is between 22.4% and 100.0% at 95% confidence (required: at least 90%): not enough to tell; 27 more straight passes would show 90%",
        "`at_least` asks for proof at a confidence level, and so few runs prove neither that the pass rate is high enough nor \
         that it is too low. Even an agent that always passes needs 29 runs to show 90 % at 95 % confidence.",
        &[
            "`mcptest runs --at-least 90` computes how many runs it takes, and how likely a good agent passes with them.",
            "Raise `runs:`, or let runs stop by themselves: `runs: { min: 5, max: 200, stop: settled }`.",
            "Lower `at_least` or `confidence`, or accept it for now with `--allow-inconclusive`.",
        ],
    ),
    entry(
        Code::UnstableRuns,
        "Runs are unstable",
        "`stability.weakest_score` is 0, expected at least 0.5",
        "The gate checks the weakest of the four sub-scores of the worst run; the line names it. An agent that uses many \
         different tools has a low `tool_usage_stability` by design.",
        &[
            "Check which sub-score is low; `mcptest explain stability` says what each measures.",
            "Assert on what matters to the test, such as `stability.tool_sequence_similarity`.",
        ],
    ),
    entry(
        Code::RunsWithErrors,
        "A gate over runs has an error",
        "1 of 2 runs could not be judged",
        "A pass rate over only the runs that worked would look better than it is. So gates over runs are errors if a run is \
         one.",
        &["Fix the error of the run first; often a recording is missing."],
    ),
    entry(
        Code::AssertionFailed,
        "An assertion failed",
        "`tool_names` is [\"search\"], expected contains \"delete_note\"",
        "The value of the target does not match.",
        &["Compare expected and actual values in the message; `mcptest explain MATCHER` describes a matcher."],
    ),
    entry(
        Code::RunCutOff,
        "A run ended at a limit",
        "\"stop_reason\": \"max_turns\"",
        "The run did not end on its own: the agent still called tools at turn `max_turns`, or a reply was cut off at \
         `max_tokens`. What it would have done next is unknown, and `recovery` counts it as not recovered.",
        &["Raise `max_turns:` or `max_tokens:` of the test, and re-record.", "Check whether the agent loops."],
    ),
    entry(
        Code::SkippedTests,
        "Tests were skipped",
        "- SKIPPED   second",
        "The run stopped before them: a test failed under `--fail-fast`, a budget was reached, or Ctrl-C was pressed.",
        &["Run again without `--fail-fast`, or with a larger budget."],
    ),
];
