//! About `trajectory_axes`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "It reads two things off the recorded calls of a run and nothing else. Order: a tool was not called before \
               another one had been. Data flow: a call that needs what another tool returned came after it, and with `via` \
               the value it used stands in what that tool returned. Which calls there were besides, and how many, does not \
               matter.",
    example: "\
trajectory_axes:
  dependencies:
    # The amount paid back must stand in what the lookup returned: a lucky guess fails.
    - { producer: find_order, consumer: refund_order, via: amount, required: true }
    # A list or an object at the path is fine: every value in it must have been returned.
    - { producer: search_files, consumer: read_files, via: paths }
  order:
    - { first: check_permission, second: delete_file }
",
    reading: &[
        "`2 of 3 edges held, 1 not exercised`: an edge is one entry of `dependencies` or `order`. One whose later tool was \
         never called had nothing to break; it counts as held and is told apart. `required: true` makes it fail instead.",
        "`tool_calls[0] (delete_file) has no check_permission before it`: the earlier tool was never called. `ran before any` \
         means that it was called, too late.",
        "`amount of tool_calls[1] (12) stands in no earlier good result of find_order`: the value came from somewhere else: the \
         prompt, the model's memory, another tool, a failed call, or a call of the same turn, whose result it cannot have seen.",
        "`whether that call came earlier is unknown: the turn of tool_calls[0] was not recorded`: calls of one turn are made \
         together, and without `turn` nobody can tell whether these two were. The edge is `unassessable`; record the turns.",
        "`has no argument amount`: `via` is a path in the consumer's arguments, such as `items[*].id`. Look at the arguments in \
         the evidence below the failure.",
        "`which proves nothing`: an empty text, true, false and null stand in too many results to have come from one of them.",
        "A satisfaction of 66 means that two thirds of the edges of that kind hold, rounded down. To accept some broken edges \
         assert on the percent; to make sure that a test tests something, assert on `trajectory.edges_exercised`.",
    ],
    formula: "\
held           the later tool was not called before the first call of the earlier one; with via
               also: every value at that path stands in a good result of the producer, of an
               earlier call in another turn
not exercised  the later tool was never called; counts as held, with required: true as broken

dependency_satisfaction = floor(100 * dependencies that hold / dependencies), 100 without any
order_satisfaction      = the same for order
edges_exercised         = edges whose later tool was called

A value is in a result as a scalar of structured content or of JSON in a text, whatever its
length. In JSON numbers count by value: 12 is found in 12.0. A value of three characters or more
may also be anywhere in a text, but never inside a longer word, number or path: no letter, digit,
_ - or / touches it and no . comes before it; a . : or ' next to it is not followed by more of
the word, and a comma is not between digits. So 200 is in \"costs 200.\" and
\"200, or less\", and not in \"1,200\", \"200.50\" or \"A-200\".

A result is earlier when its call was made in an earlier turn. Where a turn that would tell was
not recorded, the edge is unassessable.

Example: order a before b, b before c, c before a; recorded a, b, c.
The third is broken, because a ran before any c:
order_satisfaction floor(100 * 2 / 3) = 66, edges_exercised 3",
    limits: &[
        "A value that stands in an earlier result need not have been taken from there. `via` proves that the agent could have \
         read it, which is more than order proves and less than a motive.",
        "Values are looked for as they are. An agent that computes with what it read, a sum, a date in another format, breaks \
         the edge; leave `via` out there.",
        "A short value such as `1` is in many results by chance, so in plain text it proves nothing. `via` proves most for \
         identifiers.",
        "Only the first call of the earlier tool counts for order: calling it once allows every later call.",
        "Tools are compared by name, whichever server they belong to.",
    ],
    source: "The gate is our own. Order is the happened-before of one session; `via` is a plain form of data provenance \
             (which output an input was taken from), decided by looking for the value rather than by tracing the model.",
};
