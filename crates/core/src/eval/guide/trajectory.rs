//! About `trajectory`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "It compares the recorded tool calls of a run with a list of expected calls. An expectation names a tool and may \
               ask for its server, for how the call ended and for its arguments (`exact`, `subset`, `schema`, or `match` for \
               single ones). `mode` says how the two lists line up: `strict` (these calls in this order and no others), \
               `subsequence` (in this order, others between), `unordered` and `superset` (each of these, in any order, others \
               allowed), `subset` (nothing but these). Every recorded call meets at most one expectation.",
    example: "\
# The order is looked up, and the same order is paid back. One further call is forgiven.
trajectory:
  mode: subsequence
  max_extra: 1
  calls:
    - name: find_order
      args: { exact: { order: \"1043\" } }
    - { name: ask_customer, optional: true }      # fine when it happens, fine when it does not
    - name: refund_order
      status: ok                                  # a refund that failed is no refund
      args: { match: { order: { exact: \"1043\" }, amount: { near: { value: 12, tolerance: 1 } } } }
",
    reading: &[
        "`2 of 2 expected calls matched, unordered` is a pass: it counts the expectations that have a call. An optional one \
         that was left out is missing from the first number and is no mistake.",
        "`3 mismatches, strict` is a failure, and each mismatch has a line of its own. `calls[1]` is the second entry of your \
         list, `tool_calls[1]` the second recorded call; both count from 0.",
        "`tool_calls[1] is find_order, expected refund_order`: in `strict` positions are compared one by one, so one call too \
         many early on makes every later position wrong. If other calls may come between, use `subsequence`.",
        "`nearest is tool_calls[0], which differs at /args/amount`: the tool was called with other arguments. The lines below \
         show both values. If the argument may vary, use `match`, `subset`, `schema` or `ignore_args`.",
        "`/args/to: .. selects nothing` is a path of `match` that the recorded arguments do not have. Such a call does not \
         fit, even under `not`.",
        "`calls[0], calls[1] compete for tool_calls[2]`: each expectation could be met, but not all of them, because they need \
         the same call. Either a call is missing or an expectation stands there twice.",
        "`that tool was not called` names a tool that no recorded call has. Check the spelling first: names carry no server \
         prefix.",
        "`within_turn: any_order` is for models that ask for several calls in one turn: in `strict` and `subsequence` the order \
         of calls of one turn does not count then, and the order of turns still does.",
        "`trajectory.mismatch_count` is for assertions that tolerate some mismatches; `trajectory.passed` tolerates none.",
        "Unassessable means that a call may fit, and what would tell was not recorded: its arguments, its \
         result, its server, or with `within_turn: any_order` its turn.",
    ],
    formula: "\
fits         same tool; server, status and args are as the expectation asks
  exact      args equal the value
  subset     args contain the value: its keys, and of its lists the items as a bag, in any order
  schema     args are valid against the schema
  match      each path selects something in args, and its matcher holds of that
strict       call i fits expectation i, none is missing, none is left over; optional ones may be
             skipped
subsequence  every required expectation has a call of its own, in this order
unordered    every required expectation has a call of its own, in any order; superset is the same
subset       every call has an expectation of its own; expectations may be left over
within_turn  any_order: strict or subsequence holds for some order of the calls inside each turn

not allowed    = strict, subset: calls left over; otherwise calls left over beyond max_extra
mismatch_count = required expectations without a call + calls not allowed
                 (strict without optional calls: wrong positions + missing calls + extra calls)
passed         = 1 when mismatch_count is 0, else 0
An empty list of calls passes whatever was called, except in subset and beyond max_extra.

Example: expected search with any args, then search {q: a}; recorded search {q: a}, then
search {q: b}.
unordered    the second expectation fits the first call only, so the first one takes the other:
             2 of 2 expected calls matched, mismatch_count 0
strict       the second position differs in its args: mismatch_count 1",
    limits: &[
        "It judges calls, not outcomes: the right calls with the right arguments can still leave the world in the wrong state.",
        "It knows the ways that you wrote down. An agent that found another good way fails; loosen the mode, mark calls as \
         optional, or ask for order and data flow only with `trajectory_axes`.",
        "Calls of one turn are made together and are listed in the order in which the model named them. `strict` and \
         `subsequence` take that order at its word unless `within_turn: any_order` says that it does not count. A turn is a \
         stretch of calls with the same `turn`.",
        "`subset` passes when nothing was called at all. Add an assertion that something was.",
        "More than 67,108,864 pairs of expected and recorded calls in an alignment that keeps order are refused with an error; \
         with `within_turn: any_order` more than 16,777,216 pairs of expected calls and turns, or a search of more than \
         134,217,728 steps.",
    ],
    source: "The modes are the usual ways to compare an agent's calls with a reference. One-to-one modes are decided by a \
             maximum bipartite matching (Hopcroft and Karp 1973), so no order of the list can turn a pass into a failure, and \
             a failure is proved by a set of expectations that share too few calls (Hall 1935). Alignments that keep order \
             are found by dynamic programming, with a matching inside each turn where its order does not count. Equality of arguments is that of JSON values: `1` equals `1.0`, and the order \
             of keys does not count.",
};
