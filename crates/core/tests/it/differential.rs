//! Gates against a brute-force implementation that was written from their description and shares no code with them.
//!
//! Each case is a small run with all evidence, and the same run with parts missing. On the whole run a gate must agree with
//! the brute force. On the partial run its verdict must be sound: a pass or a failure must be right for every run that differs
//! in the missing parts only. And it must be the verdict that the rules about missing evidence give for that gate.
//!
//! `DIFFERENTIAL_CASES` sets the number of cases per gate, `DIFFERENTIAL_SEED` the first seed.

mod axes;
mod golden_path;
mod program;
mod recovery;
mod reliability;
mod rng;
mod stability;
mod trajectory;
mod world;

use mcptest_core::Verdict;
use rng::Rng;

/// Cases for each gate in the usual tests.
const FEW: u64 = 1_500;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Runs all cases of a gate. The seed of a case is part of what its failure says.
fn each_case(check: impl Fn(u64, &mut Rng)) {
    let start = number("DIFFERENTIAL_SEED", 0);
    for seed in start..start + number("DIFFERENTIAL_CASES", FEW) {
        // Neighboring seeds give unlike cases.
        let mut rng = Rng(seed.wrapping_mul(0xd134_2543_de82_ef95));
        check(seed, &mut rng);
    }
}

/// A verdict applies to every run that could have left the same recording.
fn assert_sound(verdict: Verdict, whole: Verdict, context: &dyn Fn() -> String) {
    match verdict {
        Verdict::Pass | Verdict::Fail => assert_eq!(verdict, whole, "{}", context()),
        Verdict::Unassessable => {}
        Verdict::Inconclusive => panic!("no gate over one run is inconclusive: {}", context()),
        Verdict::Error => panic!("an error: {}", context()),
    }
}
