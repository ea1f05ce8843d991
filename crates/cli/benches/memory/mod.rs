//! What the benchmarks of the command line share: how much memory the program needs.

use std::process::{Command, Output, Stdio};

/// Runs a command without its standard output. Returns its peak memory in bytes, as of the last look at it.
pub(crate) fn peak(command: &mut Command) -> (Output, u64) {
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
        std::thread::sleep(std::time::Duration::from_millis(1));
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
