//! Documentation of `reliability`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "Evaluates the outcomes of all runs of a test. A run passes if its own assertions and gates do. With \
               this gate, a failing run is absorbed, and the gate decides instead. It reports the pass rate with a \
               confidence interval, the probability that at least one of k runs passes, and the probability that \
               all of k runs pass. With `at_least`, it says whether the runs show that pass rate: yes (pass), no \
               (fail), or not yet (inconclusive, exit code 1 unless `--allow-inconclusive` is given).",
    example: "\
# The runs must show that the agent passes at least 60 % of the time, at 95 % confidence.
reliability:
  confidence: 95
  at_least: 0.6
  expect:                                     # counts in addition
    - target: reliability.pass_at[2]          # a user who can ask twice gets an answer
      matcher: { schema: { minimum: 95 } }
",
    reading: &[
        "`8 of 10 runs passed, 80.0% (95% interval 49.0% to 94.3%)`: the observed rate, and the range that the true rate \
         is likely in. A wide interval calls for more runs, not for a better agent: `mcptest runs` computes how \
         many.",
        "By default, every run must pass. To accept some failures, set `at_least`, or assert on a metric.",
        "`29 of 29 runs passed; the true rate is at least 90.2% at 95% confidence (required: at least 90%)`: proof. \
         Among agents with a lower rate, at most 1 in 20 gets so far by luck. 28 of 28 runs are inconclusive: \
         neither proof that the rate is high enough nor that it is too low.",
        "`runs: { min: 5, max: 200, stop: settled }` runs until `at_least` is shown or refuted. Evidence is counted in \
         the order of run numbers, and the first prefix that suffices decides for good. Such bounds hold however \
         often one looks, which costs some runs: 43 straight passes instead of 29 for 90 %. Agents that are far from \
         the required rate settle after a few runs.",
        "`pass_at[k]` is for people and retries: one good run in k is enough. `pass_hat[k]` is for unattended use: \
         k good runs in a row. At 8 of 10, `pass_at[2]` is 97.8 and `pass_hat[3]` only 46.7.",
        "The lists start with k = 0, so `[3]` means three runs. `decay_curve[0]` is the first run.",
        "If the gate fails, look at the absorbed runs above it: each shows what it failed on, and the paths show \
         whether failures have something in common.",
        "A low `graceful_degradation` with a high rate means that late runs fail: something runs out, such as a \
         quota, or state is shared. Runs should be independent.",
        "A run that could not be carried out is an error, not a failure, and there is no rate.",
    ],
    formula: "\
n runs, c passed, p = c / n; z = 1.645, 1.960, 2.576 and e = 0.1, 0.05, 0.01 at 90, 95, 99 %
pass_rate              = 100 * p
wilson_low, wilson_high
                       = 100 * (p + z^2 / 2n -+ z * sqrt(p * (1 - p) / n + z^2 / 4n^2))
                         / (1 + z^2 / n)
lower_bound            = 100 * the rate at which c or more of n runs pass with chance e;
                         with stop: settled, that against which the e-value is 1 / e
upper_bound            = 100 * the rate at which c or fewer of n runs pass with chance e
e-value (for a rate above r; upper_bound uses its mirror image)
                       = integral from r to 1 of (q/r)^c ((1-q)/(1-r))^(n-c) dq / (1-r)
pass_at[k]             = 100 * (1 - C(n - c, k) / C(n, k)); C(a, b) is the binomial coefficient
pass_hat[k]            = 100 * C(c, k) / C(n, k)
decay_curve[i]         = 100 * (passes / k)^k over the first k = i + 1 runs, truncated
passhat_k              = the last entry of decay_curve
pass_at_k              = 100 if c > 0, else 0
all_passed             = 1 if c = n, else 0
variance_amplification = 100 * sqrt(p * (1 - p)) / 0.5, rounded
graceful_degradation   = 100 * sum of positions of passed runs / sum of all positions, rounded;
                         positions count from 1

Example: ten runs, all passed except the fourth and the eighth.
pass_rate 80.0, wilson_low 49.0, wilson_high 94.3, lower_bound 49.3, upper_bound 96.3
pass_at[2] 1 - 2/10 * 1/9 = 97.78 %, pass_hat[3] 8/10 * 7/9 * 6/8 = 46.67 %
passhat_k 0.8^10 = 10 %, variance_amplification 80, graceful_degradation (55 - 12) / 55 = 78 %",
    limits: &[
        "A few runs say little. Three of three is 100 percent, but the interval begins at 43.9.",
        "`lower_bound` and `upper_bound` for a fixed number of runs are not valid for runs that were stopped when \
         they looked good, in `mcptest score` too. Use `stop: settled` for that.",
        "The numbers assume that runs are independent and identical. Runs that share a cache, an account or a time \
         of day are not.",
        "Replayed recordings give the same outcomes every time: the rate is the one at the time of recording.",
        "`passhat_k` and `decay_curve` raise a rate to a power and are biased for few runs; `pass_hat` is not. \
         They are included because they are easy to read.",
        "It counts passes of the checks that you wrote. A loose check makes any agent look reliable.",
        "With more than 10,000 runs, the metrics with an entry per run have no value.",
    ],
    source: "The interval is Wilson's (1927, Journal of the American Statistical Association 22, 209-212). The bounds are \
             those of Clopper and Pearson (1934, Biometrika 26, 404-413), and e-processes with a uniform mixture \
             (Robbins 1970, Annals of Mathematical Statistics 41, 1397-1409; Ramdas et al. 2023, Statistical Science \
             38, 576-601). \
             `pass_at` is the unbiased estimator of pass@k by Chen et al. (2021, arXiv:2107.03374), and `pass_hat` \
             is that of pass^k by Yao et al. in tau-bench (2024, arXiv:2406.12045). `variance_amplification`, \
             `graceful_degradation` and `decay_curve` are specific to mcptest.",
};
