//! About `stability`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "It looks at all runs of a test in two ways. Inside each run it scores four signs of a session that comes \
               apart: many different tools, answers of very different length, repeated calls, and many tokens for few \
               distinct calls; the weakest of the four is the score of the run. Across runs it compares the ways that were \
               taken: the sequence of tools, their arguments, and where two runs first part. It needs at least two runs in \
               a suite.",
    example: "\
# The same question several times: the agent takes much the same way and asks for the same things.
stability:
  expect:
    - target: stability.tool_sequence_similarity
      matcher: { schema: { minimum: 0.75 } }
    - target: stability.argument_consistency
      matcher: { schema: { minimum: 0.9 } }
    - target: stability.early_divergence
      matcher: { exact: 0 }
",
    reading: &[
        "`0.50 (run 2: redundancy, 1 distinct of 2 calls)`: the worst run scores 0.50, and the bracket names the run, the \
         sub-score and the facts. Runs count from 1.",
        "Every score is from 0 to 1, and 1 is steady. The default asks that no sub-score of any run is below 0.5.",
        "A low `tool_usage_stability` means many different tools for the number of calls. An errand that needs another tool at \
         every step scores 0 here however well it goes: assert on other metrics for such a test, as the example does.",
        "A `tool_sequence_similarity` of 0.83 means that two runs, on average, share a common sequence that makes up 83 percent \
         of their calls. The report shows where the paths part.",
        "An `argument_consistency` of 0.5 beside a similarity of 1 means that all runs call the same tools in the same order \
         and, half of the time, with other arguments: look at what the prompt leaves open.",
        "`early_divergence` of 1 means that most runs that differ do so at their first or second call: they understand the task \
         differently. Runs that part late agree about the task and differ in the details.",
        "`without cost_per_progress (run 1: the tokens were not recorded)`: that sub-score takes no part in the weakest one.",
    ],
    formula: "\
of one run
  tool_usage_stability = 1 - (tools - 1) / (calls - 1); 1 for less than two calls
  response_consistency = 1 - deviation / mean, at least 0, of the lengths in characters of
                         assistant turns with text (population standard deviation); 1 for less
                         than two texts
  redundancy           = calls that differ in tool, server or args / calls; 1 without calls
  cost_per_progress    = 2000 / max(2000, tokens / differing calls); 1 without tokens, 0 for
                         tokens without calls
  all four are 1 with less than two calls and less than two assistant turns; the weakest is the
  least of the four
of all runs
  score, weakest_score, variance = mean, least and population variance of the weakest of each run
  every sub-score                = its least over the runs
of all pairs of runs, as a mean
  tool_sequence_similarity = 2 * longest common subsequence / (calls of one + calls of the other);
                             1 for no calls at all
  argument_consistency     = positions with the same tool and equal args / positions with the same
                             tool; 1 without any
  early_divergence         = 1 when more than half of the pairs that part do so at their first or
                             second call

Example: run 1 calls find {id: 1}, find {id: 2}, refund {id: 1}, and run 2 calls find {id: 1},
refund {id: 1}; both use few tokens and say little.
tool_usage_stability 1 - 1 / 2 = 0.50 and 1 - 1 / 1 = 0.00; the other sub-scores are 1
score 0.25, weakest_score 0.00, variance 0.0625
tool_sequence_similarity 2 * 2 / 5 = 0.80, argument_consistency 1 / 1 = 1.00, early_divergence 1",
    limits: &[
        "It says nothing about being right: an agent that does the same wrong thing in every run is perfectly stable. Put \
         `trajectory`, assertions or `reliability` beside it.",
        "A few runs are a small sample. With three runs there are three pairs, and one odd run spoils two of them.",
        "`response_consistency` compares lengths, not meaning.",
        "2000 tokens per distinct call is a fixed yardstick. Long prompts or large tool results lower `cost_per_progress` \
         without any drift.",
        "Positions are compared one by one for `argument_consistency`, so an extra call early on moves everything after it.",
        "More than 2000 different ways are not compared with each other; the metrics across runs have no value then.",
    ],
    source: "The sub-scores and their fold are our own. The similarity of two sequences is twice the length of their longest \
             common subsequence over their summed lengths (a Dice coefficient of sequences); arguments are compared as \
             canonical JSON.",
};
