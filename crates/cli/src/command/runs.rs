//! `mcptest runs`: how many runs a pass rate needs.

use mcptest_core::diag::{Code, Failure};
use mcptest_core::eval::{Confidence, ReliabilityError, confidence_band, recommend_runs};
use mcptest_core::stats::{Chances, FixedPlan, SequentialPlan, e_above, straight_passes};

use super::Stop;
use crate::args::Runs;
use crate::console::Console;
use crate::exit;

/// Numbers of runs that people try.
const COMMON: [u64; 11] = [3, 5, 10, 20, 30, 50, 100, 200, 385, 500, 1000];
const LEVELS: [Confidence; 3] = [Confidence::P90, Confidence::P95, Confidence::P99];

/// Most runs that are counted.
const MOST: u64 = 1_000_000;

/// Most runs of a plan whose chances are computed step by step.
const MOST_STEPS: u64 = 5_000;

/// Numbers of allowed failures that are shown.
const ALLOWED: [u64; 9] = [0, 1, 2, 3, 5, 8, 13, 21, 34];

/// A plan is good enough when a better agent passes this often.
const GOOD: f64 = 0.9;

pub(super) fn run(typed: &Runs, console: &mut Console<'_>) -> Result<u8, Stop> {
    let text = text(typed).map_err(|message| Failure::error((), message).code(Code::BadArgument))?;
    console.out.print(&text)?;
    Ok(exit::OK)
}

fn text(typed: &Runs) -> Result<String, String> {
    let wrong = |error: ReliabilityError| match error {
        // It was typed in percent.
        ReliabilityError::HalfWidth(width) => {
            format!("--half-width must be above 0 and at most 50, found {}", 100.0 * width)
        }
        error => error.to_string(),
    };
    let level = Confidence::from_percent(typed.confidence).map_err(wrong)?;
    let (z, percent) = (level.z(), level.percent());
    if let Some(rate) = typed.at_least {
        return shown(typed, rate, level);
    }
    if let Some(width) = typed.half_width {
        let runs = recommend_runs(width / 100.0, percent).map_err(wrong)?;
        return Ok(format!(
            "{runs}\n{runs} runs give a pass rate to within {width} % at {percent} % confidence: ({z} / {})^2 / 4, rounded up\n",
            width / 100.0
        ));
    }
    if let Some(runs) = typed.count {
        let width = 100.0 * confidence_band(runs, percent).map_err(wrong)?;
        return Ok(format!(
            "{width:.1} %\n{runs} runs give a pass rate to within {width:.1} % at {percent} % confidence: {z} * sqrt(1 / (4 * {runs}))\n"
        ));
    }
    table().map_err(wrong)
}

/// How many runs show a pass rate, and how likely a better agent shows it.
fn shown(typed: &Runs, at_least: f64, level: Confidence) -> Result<String, String> {
    let above_zero = |name: &str, percent: f64| {
        let is_sound = percent > 0.0 && percent < 100.0;
        is_sound
            .then_some(percent / 100.0)
            .ok_or_else(|| format!("{name} must be above 0 and below 100, found {percent}"))
    };
    let rate = above_zero("--at-least", at_least)?;
    let truth_percent = typed.rate.unwrap_or(f64::midpoint(at_least, 100.0));
    let truth = above_zero("--rate", truth_percent)?;
    if typed.count == Some(0) {
        return Err(ReliabilityError::NoRuns.to_string());
    }
    let (error, percent) = (level.error(), level.percent());
    let too_many = || format!("--at-least {at_least} asks for more than {MOST} runs");
    let straight = straight_passes(rate, error, MOST).ok_or_else(too_many)?;
    let settled = settling_passes(rate, error).ok_or_else(too_many)?;
    let agent = format!("An agent that truly passes {truth_percent} % of its runs");
    let mut out = String::new();
    if typed.stop.is_some() {
        out.push_str(&format!(
            "{settled}\n{settled} straight passes settle a pass rate of at least {at_least} % at {percent} % confidence, \
             however often one looks:\nthe e-value after them is {:.2}, at least {}. For a fixed number of runs it takes {straight}.\n",
            e_above(settled, settled, rate),
            100 / (100 - percent),
        ));
        out.push_str(&format!("{agent}, stopped as soon as it is settled, after at most `max` runs:\n"));
        out.push_str("   max    pass      fail      inconclusive   mean runs\n");
        let most: Vec<u64> = match typed.count {
            Some(runs) => vec![runs],
            None => [1, 2, 4, 8].iter().map(|times| settled * times).filter(|runs| *runs <= MOST_STEPS).collect(),
        };
        for max in most {
            if max > MOST_STEPS {
                return Err(format!("--runs with --stop settled must be at most {MOST_STEPS}, found {max}"));
            }
            let chances = SequentialPlan::new(1, max, rate, error).chances(truth);
            out.push_str(&format!("{max:>6}{}   {:>9.1}\n", answers(&chances), chances.runs));
        }
        return Ok(out);
    }
    out.push_str(&format!(
        "{straight}\n{straight} straight passes show a pass rate of at least {at_least} % at {percent} % confidence: \
         {rate}^{straight} is at most {error}\n"
    ));
    out.push_str(&format!("{agent} gets these answers:\n"));
    out.push_str("  runs   may fail    pass      fail      inconclusive\n");
    let mut line = |plan: &FixedPlan| {
        let chances = plan.chances(truth);
        let failures = plan.pass_from.map_or_else(|| "-".to_owned(), |passes| (plan.runs - passes).to_string());
        out.push_str(&format!("{:>6}   {failures:>8}{}\n", plan.runs, answers(&chances)));
        chances.pass
    };
    match typed.count {
        Some(runs) if runs > MOST => return Err(format!("--runs must be at most {MOST}, found {runs}")),
        Some(runs) => {
            line(&FixedPlan::new(runs, rate, error));
        }
        None => {
            let mut runs = straight;
            for failures in ALLOWED {
                // The smallest number of runs that may include this number of failures.
                while runs <= MOST_STEPS && !allows(runs, failures, rate, error) {
                    runs += 1;
                }
                if runs > MOST_STEPS.max(straight) || line(&FixedPlan::new(runs, rate, error)) >= GOOD {
                    break;
                }
            }
        }
    }
    out.push_str(&format!("With `stop: settled`, {settled} straight passes settle it: --stop settled\n"));
    Ok(out)
}

/// Whether runs with this number of failures still prove the rate.
fn allows(runs: u64, failures: u64, rate: f64, error: f64) -> bool {
    runs > failures && mcptest_core::stats::binomial_at_least(runs - failures, runs, rate) <= error
}

/// The fewest straight passes that settle a pass rate.
fn settling_passes(rate: f64, error: f64) -> Option<u64> {
    let settles = |runs: u64| e_above(runs, runs, rate) * error >= 1.0;
    let (mut low, mut high) = (1, MOST);
    if !settles(high) {
        return None;
    }
    while low < high {
        let middle = u64::midpoint(low, high);
        if settles(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

fn answers(chances: &Chances) -> String {
    let Chances { pass, fail, inconclusive, .. } = chances;
    format!("   {:>5.1} %   {:>5.1} %   {:>10.1} %", 100.0 * pass, 100.0 * fail, 100.0 * inconclusive)
}

/// How far off a rate may be, for common numbers of runs.
fn table() -> Result<String, ReliabilityError> {
    let mut out = "runs   90 %     95 %     99 %\n".to_owned();
    for runs in COMMON {
        out.push_str(&format!("{runs:>4}"));
        for level in LEVELS {
            out.push_str(&format!("   {:>4.1} %", 100.0 * confidence_band(runs, level.percent())?));
        }
        out.push('\n');
    }
    out.push_str("Each cell: how far the measured pass rate may be from the true rate, at that confidence.\n");
    Ok(out)
}
