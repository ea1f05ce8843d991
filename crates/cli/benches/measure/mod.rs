//! What the benchmarks of the command line share: how long their work takes.

use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub(crate) struct Took {
    /// Of all processors, including those of the programs that were started and have ended.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

/// The least that some work took, out of this many times.
pub(crate) fn best(times: usize, mut work: impl FnMut()) -> Took {
    let mut best = Took { cpu: Duration::MAX, wall: Duration::MAX };
    for _ in 0..times {
        let (begun, cpu) = (Instant::now(), processor_time());
        work();
        let took = Took { cpu: processor_time().saturating_sub(cpu), wall: begun.elapsed() };
        best = Took { cpu: best.cpu.min(took.cpu), wall: best.wall.min(took.wall) };
    }
    best
}

/// In steps of 10 ms.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    let ticks: u64 = fields.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
