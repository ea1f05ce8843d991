//! Runs that cannot be changed by `mcptest mutate`.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 2] = [
    entry(
        Code::FailsUnchanged,
        "A run does not pass before it is changed",
        "error[fails-unchanged]: ok.jsonl [0]: `trajectory` fails before any change: tool_calls[0] is a, expected b",
        "`mcptest mutate` changes runs that pass, and looks for checks that no longer do. A check that fails from the start \
         catches nothing. The other runs are changed and judged all the same, and the exit code is 2.",
        &[
            "Look at the run: `mcptest run SUITE`, or `mcptest score --gates GATES TRACES`.",
            "Correct the check, or record the run again.",
            "`--filter` selects the tests or traces that pass.",
        ],
    ),
    entry(
        Code::NoMutants,
        "There is nothing to change",
        "error[no-mutants]: none of the operators applies to these runs, so nothing was tested",
        "Every operator needs something: a call, an argument, a result, a message, a group of runs. If none applies, no check was \
         tested, and that must not look like success.",
        &[
            "Leave out `--operators` and `--filter`.",
            "`flip-outcome` needs a `reliability` gate and runs in groups: `--group-by`.",
        ],
    ),
];
