//! `mcptest runs`: how many runs a pass rate needs.

use mcptest_core::diag::{Code, Failure};
use mcptest_core::eval::{Confidence, ReliabilityError, confidence_band, recommend_runs};

use super::Stop;
use crate::args::Runs;
use crate::console::Console;
use crate::exit;

/// Numbers of runs that people try.
const COMMON: [u64; 11] = [3, 5, 10, 20, 30, 50, 100, 200, 385, 500, 1000];
const LEVELS: [Confidence; 3] = [Confidence::P90, Confidence::P95, Confidence::P99];

pub(super) fn run(typed: &Runs, console: &mut Console<'_>) -> Result<u8, Stop> {
    let text = text(typed).map_err(|error| {
        let message = match error {
            // It was typed in percent.
            ReliabilityError::HalfWidth(width) => {
                format!("--half-width must be above 0 and at most 50, found {}", 100.0 * width)
            }
            error => error.to_string(),
        };
        Failure::error((), message).code(Code::BadArgument)
    })?;
    console.out.print(&text)?;
    Ok(exit::OK)
}

fn text(typed: &Runs) -> Result<String, ReliabilityError> {
    let level = Confidence::from_percent(typed.confidence)?;
    let (z, percent) = (level.z(), level.percent());
    if let Some(width) = typed.half_width {
        let runs = recommend_runs(width / 100.0, percent)?;
        return Ok(format!(
            "{runs}\n{runs} runs give a pass rate to within {width} % at {percent} % confidence: ({z} / {})^2 / 4, rounded up\n",
            width / 100.0
        ));
    }
    if let Some(runs) = typed.count {
        let width = 100.0 * confidence_band(runs, percent)?;
        return Ok(format!(
            "{width:.1} %\n{runs} runs give a pass rate to within {width:.1} % at {percent} % confidence: {z} * sqrt(1 / (4 * {runs}))\n"
        ));
    }
    table()
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
