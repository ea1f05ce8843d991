//! Documentation of `stability`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "Evaluates all runs of a test in two ways. Within each run, it scores four signs of an unsteady \
               session: many different tools, answers of very different length, repeated calls, and many tokens \
               for few distinct calls. The weakest of the four is the score of the run. Across runs, it compares \
               the paths: the sequence of tools, their arguments, and where two runs first differ. In a suite, it \
               needs at least two runs.",
    example: "\
# Ask the same question several times: the agent takes much the same path with the same arguments.
stability:
  dimensions: [response_consistency, redundancy, cost_per_progress]
  expect:
    - target: stability.tool_sequence_similarity
      matcher: { schema: { minimum: 0.75 } }
    - target: stability.argument_consistency
      matcher: { schema: { minimum: 0.9 } }
    - target: stability.early_divergence
      matcher: { exact: 0 }
",
    reading: &[
        "`weakest score 0.50 of 1.00 (run 2: redundancy, 1 distinct of 2 calls)`: the worst run scores 0.50. The parentheses name the \
         run, the sub-score and the facts. Runs count from 1.",
        "Every score is from 0 to 1, and 1 is steady. By default, no sub-score of any run may be below 0.5.",
        "A low `tool_usage_stability` means many different tools for the number of calls. A task that needs \
         another tool at every step scores 0 here even if it goes well: leave it out with `dimensions:`, as \
         the example does.",
        "A `tool_sequence_similarity` of 0.83 means that two runs, on average, share a common sequence that makes \
         up 83 percent of their calls. The report shows where the paths differ.",
        "An `argument_consistency` of 0.5 with a similarity of 1 means that all runs call the same tools in the \
         same order, but half of the time with other arguments: look at what the prompt leaves open.",
        "An `early_divergence` of 1 means that most runs that differ do so at their first or second call: they \
         understand the task differently. Runs that differ late agree about the task and differ in the details.",
        "`without cost_per_progress (run 1: the tokens were not recorded)`: that sub-score is excluded from the \
         weakest one.",
    ],
    formula: "\
of one run
  tool_usage_stability = 1 - (tools - 1) / (calls - 1); 1 with fewer than two calls
  response_consistency = 1 - deviation / mean, at least 0, of the lengths in characters of
                         assistant turns with text (population standard deviation); 1 with fewer
                         than two texts
  redundancy           = calls that differ in tool, server or args / calls; 1 without calls
  cost_per_progress    = 2000 / max(2000, tokens / differing calls); 1 without tokens, 0 for
                         tokens without calls
  all four are 1 with fewer than two calls and fewer than two assistant turns; the weakest is the
  minimum of the four
of all runs
  score, weakest_score, variance = mean, minimum and population variance of each run's weakest
                                   of the sub-scores in dimensions
  every sub-score                = its minimum over the runs
of all pairs of runs, as a mean
  tool_sequence_similarity = 2 * longest common subsequence / (calls of one + calls of the other);
                             1 if neither has calls
  argument_consistency     = positions with the same tool and equal args / positions with the same
                             tool; 1 if there are none
  early_divergence         = 1 if more than half of the pairs that differ do so at their first or
                             second call

Example: run 1 calls find {id: 1}, find {id: 2}, refund {id: 1}, and run 2 calls find {id: 1},
refund {id: 1}; both use few tokens and say little.
tool_usage_stability 1 - 1 / 2 = 0.50 and 1 - 1 / 1 = 0.00; the other sub-scores are 1
score 0.25, weakest_score 0.00, variance 0.0625
tool_sequence_similarity 2 * 2 / 5 = 0.80, argument_consistency 1 / 1 = 1.00, early_divergence 1",
    limits: &[
        "It says nothing about correctness: an agent that does the same wrong thing in every run is perfectly \
         stable. Combine it with `trajectory`, assertions or `reliability`.",
        "A few runs are a small sample. Three runs make three pairs, and one odd run spoils two of them.",
        "`response_consistency` compares lengths, not meaning.",
        "2000 tokens per distinct call is a fixed reference. Long prompts or large tool results lower \
         `cost_per_progress` without any drift.",
        "`argument_consistency` compares position by position, so an extra call early on shifts everything after \
         it.",
        "More than 2000 different paths are not compared; the metrics across runs then have no value. \
         `tool_sequence_similarity` also has none if comparing takes more than 5 billion steps of 64 calls, such as \
         200 different paths of 4000 calls.",
    ],
    source: "The sub-scores and how they are combined are specific to mcptest. The similarity of two sequences is \
             twice the length of their longest common subsequence divided by the sum of their lengths (a Dice \
             coefficient for sequences). Arguments are compared as canonical JSON.",
};
