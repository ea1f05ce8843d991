//! Documentation of `golden_path`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "Counts wasted calls in a run: calls beyond the length of an ideal path, immediate repeats of a \
               tool, and returns to a tool used earlier. It reads only the names of the recorded calls and the \
               length of the path. Each kind of waste can be allowed.",
    example: "\
# Looking up an order and refunding it takes two calls. A repeated lookup is fine,
# backtracking is not.
golden_path:
  calls: [find_order, refund_order]
  penalize_repeated_tools: false
  expect:
    - target: golden_path.penalty
      matcher: { schema: { minimum: 0.5 } }
",
    reading: &[
        "`efficiency 0.50 of 1.00: 1 extra step, 0 backtracks, 1 repeated tool`: higher is better, and 1.00 means no waste. A \
         waste of 1 gives 0.67, 2 gives 0.50, 4 gives 0.33. One call can be waste of two kinds, as here, and then \
         counts twice.",
        "The counts include waste that is allowed. A penalty of 1.00 with an extra step means that extra steps are \
         allowed.",
        "By default, any penalized waste fails. To allow some, assert on `golden_path.penalty` or on one of the \
         counts.",
        "Repeated tools: the agent calls the same tool again, often because it did not understand the result, or \
         because the tool handles one item at a time. In the second case set `penalize_repeated_tools: false`.",
        "Backtracks: the agent returns to a tool that it had left. If the task is a loop, such as looking up and \
         updating each of several orders, set `penalize_backtracking: false`.",
    ],
    formula: "\
extra_steps    = recorded calls - length of the path, at least 0
repeated_tools = calls to the same tool as the call before
backtracks     = calls to a tool used earlier, other than the tool of the call before
waste          = extra_steps (unless allow_extra_steps) + backtracks (if penalize_backtracking)
                 + repeated_tools (if penalize_repeated_tools)
penalty        = 1 / (1 + waste / 2)
passed         = 1 when waste is 0, else 0

Example: path find, refund; recorded find, find, refund, find.
extra_steps 2, repeated_tools 1, backtracks 1, waste 4, penalty 1 / (1 + 4 / 2) = 0.33",
    limits: &[
        "The names in the path are not compared with the calls: calling other tools, or too few, costs nothing \
         here. Use `trajectory` to check which calls were made.",
        "Arguments are not read. Two calls to one tool count as a repeat even if their arguments differ. \
         `stability.redundancy` counts identical calls.",
        "Retries of failed calls count as repeats, so a flaky tool looks like a wasteful agent.",
    ],
    source: "Specific to mcptest: counts, and a penalty that falls with every wasted call and never reaches 0.",
};
