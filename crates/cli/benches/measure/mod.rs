//! What the benchmarks of the command line share: times and memory of what they run.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub(crate) struct Took {
    /// Of all processors, including those of the programs that were started and have ended.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

/// The least that some work took, of this many times.
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

/// Runs a command without its standard output. Returns the most memory it had, as far as looking often tells.
pub(crate) fn memory(command: &mut Command) -> (Output, u64) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        // The file has no such line any more when the process has just ended.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let size = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = most.max(size.map_or(0, |size| size.trim().parse::<u64>().unwrap() << 10));
        std::thread::sleep(Duration::from_millis(1));
    }
    (child.wait_with_output().unwrap(), most)
}
