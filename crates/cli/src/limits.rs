//! How many runs fit under the system's limit on open files: each has pipes and connections of its own.

/// What the program itself keeps open: streams, reports, locks and what its threads wait on.
const OWN: u64 = 32;
/// What a run opens beside its servers: its model, its script, its cassette.
const PER_RUN: u64 = 3;
/// What a server takes at most: three pipes, a handle on its process, and the other ends while it is started.
const PER_SERVER: u64 = 8;

/// Fewer runs at once than were asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fewer {
    pub(crate) jobs: usize,
    /// The limit that forbids more.
    pub(crate) limit: u64,
}

/// Makes room for `jobs` runs with up to `servers` servers each, as far as the system allows; fewer where it does not.
pub(crate) fn make_room(jobs: usize, servers: usize) -> Result<(), Fewer> {
    let each = PER_RUN + PER_SERVER * servers as u64;
    let needed = OWN.saturating_add(each.saturating_mul(jobs as u64));
    match raised(needed) {
        Some(limit) if limit < needed => {
            let jobs = usize::try_from(limit.saturating_sub(OWN) / each).unwrap_or(jobs).max(1);
            Err(Fewer { jobs, limit })
        }
        _ => Ok(()),
    }
}

/// The limit on open files, raised to what is needed where that is permitted and no further: servers inherit it, and some
/// programs take time by it. Nothing where there is none.
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
