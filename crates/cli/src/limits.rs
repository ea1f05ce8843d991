//! How many runs fit under the system's limit on open files: each has its own pipes and connections.

/// Open files of the program itself: streams, reports, locks and event handles.
const OWN: u64 = 32;
/// Open files of a run, not counting its servers: its model, its script, its cassette.
const PER_RUN: u64 = 3;
/// The most open files of a server: three pipes, a process handle, and the other pipe ends while it starts.
const PER_SERVER: u64 = 8;

/// The system allows fewer parallel runs than requested.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JobLimit {
    pub(crate) jobs: usize,
    pub(crate) limit: u64,
}

/// Raises the limit for `jobs` runs with up to `servers` servers each; an error if the system allows fewer.
pub(crate) fn make_room(jobs: usize, servers: usize) -> Result<(), JobLimit> {
    let each = PER_RUN + PER_SERVER * servers as u64;
    let needed = OWN.saturating_add(each.saturating_mul(jobs as u64));
    match raised(needed) {
        Some(limit) if limit < needed => {
            let jobs = usize::try_from(limit.saturating_sub(OWN) / each).unwrap_or(jobs).max(1);
            Err(JobLimit { jobs, limit })
        }
        _ => Ok(()),
    }
}

/// The limit on open files, raised to what is needed if permitted, and no further: servers inherit it, and some programs get
/// slow with a high limit. `None` if there is no limit.
#[cfg(unix)]
fn raised(needed: u64) -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let current = current?;
    let wanted = maximum.map_or(needed, |most| most.min(needed));
    if wanted <= current {
        return Some(current);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => Some(wanted),
        Err(_) => Some(current),
    }
}

/// Other systems have no such limit.
#[cfg(not(unix))]
fn raised(_: u64) -> Option<u64> {
    None
}
