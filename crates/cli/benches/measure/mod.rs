//! What the benchmarks of the command line share: times and memory of what they run.

use std::process::{Command, Output, Stdio};
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

/// Runs a command without its standard output. Returns its peak memory in bytes, as of the last look at it.
pub(crate) fn memory(command: &mut Command) -> (Output, u64) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // A full pipe would stop the command.
    let mut pipe = child.stderr.take().unwrap();
    let stderr = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut pipe, &mut text).unwrap();
        text
    });
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The file is there until the process was waited for. It has no such line once the process has ended.
    while let Some(size) = high_water_mark(&std::fs::read_to_string(&path).unwrap()) {
        peak = size;
        std::thread::sleep(Duration::from_millis(1));
    }
    let status = child.wait().unwrap();
    assert!(peak > 0, "the command ended before its memory could be read");
    (Output { status, stdout: Vec::new(), stderr: stderr.join().unwrap() }, peak)
}

/// The most memory that the process had so far.
fn high_water_mark(status: &str) -> Option<u64> {
    let size = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(size.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10)
}
