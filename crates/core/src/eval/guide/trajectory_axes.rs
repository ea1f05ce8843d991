//! Documentation of `trajectory_axes`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "Checks two things about the recorded calls of a run. Order: a tool was not called before another \
               one. Data flow: a call that needs the result of another tool came after it, and, with `via`, the \
               value it used appears in that tool's result. It does not matter which other calls were made, or how \
               many.",
    example: "\
trajectory_axes:
  dependencies:
    # The refunded amount must appear in the result of the lookup: a lucky guess fails.
    - { producer: find_order, consumer: refund_order, via: amount, required: true }
    # The path can select a list or an object: every value in it must have been returned.
    - { producer: search_files, consumer: read_files, via: paths }
  order:
    - { first: check_permission, second: delete_file }
",
    reading: &[
        "`2 of 3 edges satisfied, 1 not exercised`: an edge is one entry of `dependencies` or `order`. If its later \
         tool was never called, the edge was not exercised; it counts as held and is reported separately. \
         `required: true` makes it fail instead.",
        "`tool_calls[0] (delete_file) has no call of check_permission before it`: the earlier tool was never called. `ran \
         before any` means that it was called too late.",
        "`amount of tool_calls[1] (12) is not in any earlier successful result of find_order`: the value came from \
         somewhere else: the prompt, the model's memory, another tool, a failed call, or a call of the same turn, \
         whose result it cannot have seen.",
        "`whether that call came earlier is unknown: the turn of tool_calls[0] was not recorded`: calls of one \
         turn are made together, and without `turn` it is unknown whether these two were. The edge is \
         `unassessable`; record the turns.",
        "`has no argument amount`: `via` is a path in the consumer's arguments, such as `items[*].id`. Look at the \
         arguments in the evidence below the failure.",
        "`which cannot prove where it came from`: an empty text, true, false and null appear in too many results to be traced to \
         one of them.",
        "A satisfaction of 66 means that two thirds of the edges of that kind are satisfied, rounded down. To accept some \
         broken edges, assert on the percentage. To make sure that a test tests something, assert on \
         `trajectory.edges_exercised`.",
    ],
    formula: "\
held           the later tool was not called before the first call of the earlier one; with via
               also: every value at that path appears in a successful result of the producer,
               from an earlier call in another turn
not exercised  the later tool was never called; counts as held, with required: true as broken

dependency_satisfaction = floor(100 * dependencies that hold / dependencies), 100 without any
order_satisfaction      = the same for order
edges_exercised         = edges whose later tool was called

A value is in a result as a scalar of structured content or of JSON in a text, regardless of its
length. In JSON, numbers count by value: 12 is found in 12.0. A value of three characters or more
can also be anywhere in a text, but never inside a longer word, number or path: no letter, digit,
_ - or / touches it and no . or \\ comes before it; a . : or ' next to it is not followed by
more of the word, and a comma is not between digits. So 200 is in \"costs 200.\" and
\"200, or less\", but not in \"1,200\", \"200.50\" or \"A-200\".

A result is earlier if its call was made in an earlier turn. If a turn that decides this was not
recorded, the edge is unassessable.

Example: order a before b, b before c, c before a; recorded a, b, c.
The third is broken, because a ran before any c:
order_satisfaction floor(100 * 2 / 3) = 66, edges_exercised 3",
    limits: &[
        "A value that appears in an earlier result need not have been taken from there. `via` proves that the \
         agent could have read it, which is more than order proves and less than a proof of where it came from.",
        "Values are matched as they are. An agent that computes with what it read, such as a sum or a date in \
         another format, breaks the edge; leave out `via` there.",
        "A short value such as `1` is in many results by chance, so in plain text it proves nothing. `via` works \
         best for identifiers.",
        "Only the first call of the earlier tool counts for order: calling it once allows every later call.",
        "Tools are compared by name, regardless of their server.",
    ],
    source: "Specific to mcptest. Order is the happened-before relation of one session. `via` is a simple form of \
             data provenance (which output an input was taken from), decided by searching for the value instead of \
             tracing the model.",
};
