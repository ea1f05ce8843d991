//! About `golden_path`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "It counts wasted calls of a run: calls beyond the length of an ideal sequence, calls of the tool that was just \
               used, and returns to a tool that was used before. Only the names of the recorded calls and the length of the \
               sequence are read. Each kind of waste can be made free of charge.",
    example: "\
# Looking an order up and paying it back takes two calls. A second lookup is no reason to fail,
# wandering about is.
golden_path:
  calls: [find_order, refund_order]
  penalize_repeated_tools: false
  expect:
    - target: golden_path.penalty
      matcher: { schema: { minimum: 0.5 } }
",
    reading: &[
        "`penalty 0.50: 1 extra step, 0 backtracks, 1 repeated tool`: higher is better, and 1.00 is no waste. A waste of \
         1 gives 0.67, of 2 0.50, of 4 0.33. One call can be waste in two ways, as here, and then counts twice.",
        "The counts tell all waste, also what costs nothing: a penalty of 1.00 beside an extra step means that extra steps are \
         allowed.",
        "The default allows no waste that costs. To allow some, assert on `golden_path.penalty` or on one of the counts.",
        "Repeated tools: the agent asks the same tool again, often because it did not understand the answer or the tool takes \
         one item at a time. In the latter case set `penalize_repeated_tools: false`.",
        "Backtracks: the agent goes back to a tool it had left. If the errand is a loop, such as look up and act for each of \
         several orders, set `penalize_backtracking: false`.",
    ],
    formula: "\
extra_steps    = recorded calls - length of the path, at least 0
repeated_tools = calls of the tool that was just used
backtracks     = calls of a tool that was used before, other than the one just used
waste          = extra_steps (unless allow_extra_steps) + backtracks (if penalize_backtracking)
                 + repeated_tools (if penalize_repeated_tools)
penalty        = 1 / (1 + waste / 2)
passed         = 1 when waste is 0, else 0

Example: path find, refund; recorded find, find, refund, find.
extra_steps 2, repeated_tools 1, backtracks 1, waste 4, penalty 1 / (1 + 4 / 2) = 0.33",
    limits: &[
        "The names of the path are not compared with the calls: other tools, or too few calls, cost nothing here. Use \
         `trajectory` beside it for which calls there should be.",
        "Arguments are not read. Two calls of one tool count as a repetition though they ask for different things; \
         `stability.redundancy` counts calls that are the same in every respect.",
        "Calls that failed and were tried again count as repetition: a flaky tool looks like a wasteful agent.",
    ],
    source: "The measure is our own: counts, and a penalty that falls with every wasted call and never reaches 0.",
};
