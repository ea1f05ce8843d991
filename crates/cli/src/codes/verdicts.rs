//! Verdicts that are right and look wrong at first.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 21] = [
    entry(
        Code::NotAssessable,
        "A check is unassessable",
        "not assessable: the final response was not recorded",
        "The recording lacks something that the verdict hangs on: calls, arguments, answers or the closing message. What is not \
         recorded is unknown, and neither a pass nor a failure may rest on it. It counts as a failure: exit code 1.",
        &[
            "Look at what the reason says is missing, and record it: many exporters leave arguments and results out unless told.",
            "`mcptest convert FILE` shows what was understood of a recording.",
            "Or judge by a gate that does not need it: `trajectory` without `args` and `status` reads names alone.",
        ],
    ),
    entry(
        Code::AbsorbedRun,
        "A run failed and is absorbed",
        "~ ABSORBED  finds it",
        "The test has a `reliability:` block, which says how often runs may fail. A failed run does not fail the test by itself then; \
         the row with `(reliability)` decides.",
        &["Look at the row of `reliability` for the verdict.", "If every single run has to pass, remove the block."],
    ),
    entry(
        Code::ReliesOnProse,
        "The verdict rests on prose",
        "warning[relies-on-prose]: the verdict of `weather` rests on prose",
        "Every assertion of the test reads what the model said, and none what it did. A model that did nothing and says the right \
         words passes.",
        &[
            "Add a check of what was done: `trajectory:`, or `expect:` on `tool_calls` or `tool_results`.",
            "`narrative:` holds the closing message against the calls.",
        ],
    ),
    entry(
        Code::ClaimWithoutCall,
        "The closing message claims what no call did",
        "\"deleted the note\": no call did this (it takes one to delete, remove, destroy or drop); nearest: search (tool_calls[0]) only reads",
        "`narrative` found a sentence that says something was changed, and no successful call that could have done it. The message \
         names the nearest calls and why each does not count: it only reads, it does something else, or it does not \
         name the object that the claim names. Either the agent said more than it did, or a tool did it whose name and arguments \
         do not show it.",
        &[
            "Look at the evidence below: was it done?",
            "If a call did it in a way that cannot be read, add it below `narrative:`, as in `aliases: { delete_note: purge }`.",
            "If the sentence is about something that changes nothing, name the tool in `readonly_tools:`.",
        ],
    ),
    entry(
        Code::ClaimOfFailedCall,
        "The closing message claims a call that failed",
        "\"deleted the note\": the call that would have done this failed (delete_note, tool_calls[0])",
        "The call is there, and its answer was an error. An agent that reports it as done tells the user something wrong.",
        &["Look at the answer of the call in the evidence.", "Have the agent report that it failed, or try again."],
    ),
    entry(
        Code::DivergenceOverLimit,
        "The divergence is over its limit",
        "divergence 1.00 is over the limit of 0",
        "The score counts everything on which message and calls differ: claims without a call, tools that are not mentioned, and \
         values that do not match. An agent that does not list all of its reads has some divergence.",
        &[
            "Look at the counts in the line of the gate.",
            "Raise `max_divergence_score:`, or assert on `narrative.claimed_but_absent` alone.",
        ],
    ),
    entry(
        Code::SelectsNothing,
        "A target selects nothing",
        "`tool_calls[1].name` selects nothing beyond `tool_calls`: no index 1 in a list of 1",
        "The path leads to nothing in this trace. That fails also under `not`, since nothing was looked at. The message says how far \
         the path got.",
        &[
            "Use `[*]` where any item is meant: `tool_calls[*].name`.",
            "`mcptest explain TARGET` says what its absence means.",
        ],
    ),
    entry(
        Code::CannotBeJudged,
        "A matcher cannot judge a value",
        "`tool_calls` cannot be judged by regex /x/: element 0 is an object with 5 keys, not text",
        "The value is of a type that the matcher has nothing to say about. That fails also under `not`.",
        &["Make the target more precise, down to the text or number that is meant, or use `schema`."],
    ),
    entry(
        Code::MissingCall,
        "An expected call was not recorded",
        "calls[1] (delete_note) is missing: the trace has only 1 call",
        "The reference of `trajectory` demands a call that did not happen, or not at this place. The reason says which recorded call \
         is nearest, and where it differs.",
        &[
            "Look at the evidence: did the agent stop early, or use another tool?",
            "If another order is fine, use `mode: unordered`; if the call may be left out, `optional: true`.",
        ],
    ),
    entry(
        Code::ExtraCall,
        "A call is one too many",
        "tool_calls[1] (delete_note) is an extra call: the reference has 1",
        "`strict`, which is the default, allows exactly the calls of the reference; so does `subset`. Agents often look something up \
         twice.",
        &[
            "If further calls do no harm, use `mode: subsequence`, `unordered` or `superset`, with `max_extra:` as a bound.",
            "Otherwise it is what the test is for.",
        ],
    ),
    entry(
        Code::CallMismatch,
        "A call is not the expected one",
        "tool_calls[0] (search) differs from calls[0] at /args/q",
        "The call at this position has another name, server, status or other arguments. The lines below show each place with what was \
         expected and what was recorded.",
        &[
            "Use `args: { subset: .. }` when only some arguments matter, `schema` when their shape does.",
            "Leave arguments that differ from run to run out with `ignore_args:`.",
        ],
    ),
    entry(
        Code::WrongOrder,
        "A call came before the one it depends on",
        "delete_note -> search: tool_calls[0] (search) has no call of delete_note before it",
        "An edge of `trajectory_axes` demands another call before this one. With `required: true` the later call has to happen at all.",
        &["Look at the order in the evidence.", "Remove `required: true` where a run may do without the call."],
    ),
    entry(
        Code::WastedCalls,
        "Calls were wasted",
        "golden_path: efficiency 0.67 of 1.00: 1 extra step, 0 backtracks, 0 repeated tools",
        "`golden_path` counts calls beyond the length of the path, returns to an earlier tool and calls of the tool just used. The \
         default passes without waste only.",
        &[
            "Set `allow_extra_steps: true`, `penalize_backtracking: false` or `penalize_repeated_tools: false`.",
            "Or ask for less: `expect: [{ target: golden_path.penalty, matcher: { schema: { minimum: 0.5 } } }]`.",
        ],
    ),
    entry(
        Code::FaultNotHit,
        "No call met the fault",
        "no call hit a fault, so nothing was tested",
        "The agent never called the tool that the fault strikes, so nothing is known about its recovery.",
        &[
            "Check the `target:` of the fault, and that the prompt leads to the tool.",
            "`require_hit: false` lets runs pass that never meet it.",
        ],
    ),
    entry(
        Code::NotRecovered,
        "The agent did not recover in time",
        "no call succeeded after the first fault",
        "Recovered is a run that ends by itself with an answer. `require_call`, `max_recovery_ms` and `require_clean_timeout` ask for \
         more. Times are virtual: what the fault says, not what a clock showed.",
        &[
            "Look at the evidence for what the agent did after the fault.",
            "Leave the parameter out that asks for more than is meant.",
        ],
    ),
    entry(
        Code::ReliabilityFailed,
        "`reliability` fails although most runs pass",
        "`reliability.passhat_k` is 0, expected at least 100",
        "Without `expect:` every run has to pass. A pass rate of 90 percent fails that.",
        &[
            "Say what is enough: `expect: [{ target: reliability.pass_rate, matcher: { schema: { minimum: 80 } } }]`.",
            "`mcptest runs` says how sure so many runs make a rate.",
        ],
    ),
    entry(
        Code::UnstableRuns,
        "Runs are not steady",
        "`stability.weakest_score` is 0, expected at least 0.5",
        "The weakest of the four sub-scores of the worst run counts, and the line names it. An agent that uses many different tools \
         has a low `tool_usage_stability` by design.",
        &[
            "Look at which sub-score is low; `mcptest explain stability` says what each measures.",
            "Assert on what matters to the test, such as `stability.tool_sequence_similarity`.",
        ],
    ),
    entry(
        Code::RunsWithErrors,
        "A gate over runs is an error",
        "1 of 2 runs could not be judged",
        "A pass rate over the runs that happened to work would look better than it is. So gates over runs are errors when a run is \
         one.",
        &["Mend what the run says first; often a recording is missing."],
    ),
    entry(
        Code::AssertionFailed,
        "An assertion does not hold",
        "`tool_names` is [\"search\"], expected contains \"delete_note\"",
        "The value that the target selects is not what the matcher asks for.",
        &["Compare the two values in the message; `mcptest explain MATCHER` says when a matcher holds."],
    ),
    entry(
        Code::RunCutOff,
        "A run ended at a limit",
        "\"stop_reason\": \"max_turns\"",
        "The run did not end by itself: the agent still called tools at turn `max_turns`, or a reply was cut at `max_tokens`. What it \
         would have done next is not known, and `recovery` counts it as not recovered.",
        &[
            "Raise `max_turns:` or `max_tokens:` of the test, and record again.",
            "Look whether the agent goes in circles.",
        ],
    ),
    entry(
        Code::SkippedTests,
        "Tests were skipped",
        "- SKIPPED   second",
        "The run stopped before them: `--fail-fast` met a failure, a budget was reached, or somebody pressed Ctrl-C. Nothing is known \
         about them.",
        &["Run again without `--fail-fast`, or with a larger budget."],
    ),
];
