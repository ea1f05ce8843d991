//! Whether recordings outlive a recorder that is killed a thousand times: `cargo bench -p mcptest --bench crash`.
//!
//! The moments come from a seed, which is printed; `CRASH_SEED` sets it. The test of the same name does this less often.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark prints and reads its settings, and stops where it cannot go on"
)]

#[cfg(target_os = "linux")]
#[path = "../tests/it/crash/kills.rs"]
mod kills;

#[cfg(target_os = "linux")]
fn main() {
    use kills::{Seen, World};

    /// Kills in each of two folders.
    const TIMES: u32 = 500;

    let given = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
    println!("CRASH_SEED={seed}");
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let total = std::thread::scope(|scope| {
        let torture = |(at, folder): (u64, &tempfile::TempDir)| {
            let place = folder.path().to_owned();
            scope.spawn(move || World::new(&place).torture(TIMES, seed + at))
        };
        let threads: Vec<_> = (0..).zip(&folders).map(torture).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(Seen::default(), Seen::and)
    });
    let Seen { killed, old, new, strays } = total;
    println!(
        "{killed} of {} recorders were killed before their end, {strays} of them while a file was written",
        2 * TIMES
    );
    println!("{old} recordings were the old ones, {new} the new ones, and none was anything else");
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: it looks for processes in /proc, which is there on Linux");
}
