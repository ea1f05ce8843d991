//! Documentation of `trajectory`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "Compares the recorded tool calls of a run with a list of expected calls. An expectation names a \
               tool and can also check its server, its status and its arguments (`exact`, `subset`, `schema`, or \
               `match` for single ones). `mode` defines how the two lists line up: `strict` (these calls in this \
               order and no others), `subsequence` (in this order, others in between), `unordered` and `superset` \
               (each of these, in any order, others allowed), `subset` (only these). Every recorded call satisfies \
               at most one expectation.",
    example: "\
# Look up the order and refund the same order. One more call is allowed.
trajectory:
  mode: subsequence
  max_extra: 1
  calls:
    - name: find_order
      args: { exact: { order: \"1043\" } }
    - { name: ask_customer, optional: true }      # allowed, not required
    - name: refund_order
      status: ok                                  # a failed refund does not count
      args: { match: { order: { exact: \"1043\" }, amount: { near: { value: 12, tolerance: 1 } } } }
",
    reading: &[
        "`2 of 2 expected calls matched (unordered)` is a pass. It counts the expectations that have a call. An \
         optional one without a call is missing from the first number and is not an error.",
        "`3 mismatches (strict)` is a failure, and each mismatch has its own line. `calls[1]` is the second entry \
         of your list, `tool_calls[1]` is the second recorded call; both count from 0.",
        "`tool_calls[1] is find_order, expected refund_order`: `strict` compares position by position, so one \
         extra call early on makes every later position wrong. If other calls may come in between, use \
         `subsequence`.",
        "`nearest is tool_calls[0], which differs at /args/amount`: the tool was called with other arguments. The \
         lines below show both values. If the argument may vary, use `match`, `subset`, `schema` or `ignore_args`.",
        "`/args/to: .. selects nothing`: a path of `match` is not in the recorded arguments. Such a call does not \
         match, even under `not`.",
        "`calls[0], calls[1] compete for tool_calls[2]`: each expectation could be met, but not all of them, \
         because they need the same call. Either a call is missing or an expectation is listed twice.",
        "`that tool was not called`: no recorded call has this name. Check the spelling first: names have no \
         server prefix.",
        "`within_turn: any_order` is for models that make several calls in one turn: `strict` and `subsequence` \
         then ignore the order of calls within a turn, but not the order of turns.",
        "Use `trajectory.mismatch_count` in assertions that tolerate some mismatches; `trajectory.passed` \
         tolerates none.",
        "Unassessable means that a call may match, but the deciding evidence was not recorded: its arguments, its \
         result, its server, or, with `within_turn: any_order`, its turn.",
    ],
    formula: "\
matches      same tool; server, status and args are as expected
  exact      args equal the value
  subset     args contain the value: its keys, and the items of its lists in any order
  schema     args are valid against the schema
  match      each path selects something in args, and its matcher holds for it
strict       call i matches expectation i, none is missing, none is left over; optional ones may
             be skipped
subsequence  every required expectation has its own call, in this order
unordered    every required expectation has its own call, in any order; superset is the same
subset       every call has its own expectation; expectations may be left over
within_turn  any_order: strict or subsequence holds for some order of the calls within each turn

not allowed    = strict, subset: calls left over; otherwise calls left over beyond max_extra
mismatch_count = required expectations without a call + calls not allowed
                 (strict without optional calls: wrong positions + missing calls + extra calls)
passed         = 1 when mismatch_count is 0, else 0
An empty list of calls passes any calls, except in subset and beyond max_extra.

Example: expected search with any args, then search {q: a}; recorded search {q: a}, then
search {q: b}.
unordered    the second expectation only matches the first call, so the first one takes the other:
             2 of 2 expected calls matched, mismatch_count 0
strict       the second position differs in its args: mismatch_count 1",
    limits: &[
        "It checks calls, not outcomes: the right calls with the right arguments can still leave the system in the \
         wrong state.",
        "It knows only the paths that you wrote down. An agent that finds another good path fails. Loosen the \
         mode, mark calls as optional, or check only order and data flow with `trajectory_axes`.",
        "Calls of one turn are made together and are listed in the order in which the model wrote them. `strict` \
         and `subsequence` check that order unless `within_turn: any_order` is set. A turn is a stretch of calls \
         with the same `turn`. Turns need not rise, so a call without a `turn` can belong to any turn, even between \
         two calls of the same one.",
        "`subset` passes when nothing was called at all. Add an assertion that something was.",
        "More than 67,108,864 pairs of expected and recorded calls in an ordered alignment are an error. With \
         `within_turn: any_order`, so are more than 16,777,216 pairs of expected calls and turns, or a search of \
         more than 134,217,728 steps.",
    ],
    source: "The modes are the usual options for comparing an agent's calls with a reference. One-to-one modes use \
             a maximum bipartite matching (Hopcroft and Karp 1973), so the order of the list never turns a pass \
             into a failure, and a set of expectations that share too few calls proves a failure (Hall 1935). \
             Ordered alignments use dynamic programming, with a matching inside each turn if its order does not \
             count. Arguments are equal as JSON values: `1` equals `1.0`, and key order does not matter.",
};
