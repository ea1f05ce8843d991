//! What changes while a server runs: counters of answers and faults, and sessions.

use std::collections::BTreeSet;

use crate::fault::Faults;
use crate::spec::Spec;

/// Counters of one server. All connections share them.
#[derive(Debug)]
pub struct Counters {
    /// The next answer of each playlist.
    played: Vec<usize>,
    /// Calls that each fault has affected.
    hits: Vec<u64>,
}

impl Counters {
    pub(crate) fn new(spec: &Spec, faults: &Faults) -> Self {
        Self { played: vec![0; spec.playlists], hits: vec![0; faults.len()] }
    }

    /// The index of the next answer of a playlist; the last one repeats.
    pub(crate) fn play(&mut self, playlist: usize, length: usize) -> usize {
        let Some(next) = self.played.get_mut(playlist) else { return 0 };
        let at = *next;
        // It stays at the last one, so it cannot overflow.
        *next = (at + 1).min(length - 1);
        at
    }

    /// How many calls a fault affected before this one.
    pub(crate) fn count_hit(&mut self, fault: usize) -> u64 {
        let Some(count) = self.hits.get_mut(fault) else { return 0 };
        let before = *count;
        *count = before.saturating_add(1);
        before
    }
}

/// One client of the legacy era.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) initialized: bool,
}

/// Sessions of the legacy era over HTTP. Their ids are sequential: a mock has no secrets.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    last: u64,
    open: BTreeSet<u64>,
}

/// Most sessions that are kept. Clients that never close theirs evict the oldest.
const MAX_SESSIONS: usize = 10_000;

impl Sessions {
    pub(crate) fn open(&mut self) -> String {
        self.last += 1;
        self.open.insert(self.last);
        if self.open.len() > MAX_SESSIONS {
            self.open.pop_first();
        }
        format!("mock-{}", self.last)
    }

    fn number(id: &str) -> Option<u64> {
        let digits = id.strip_prefix("mock-")?;
        // `mock-+1` and `mock-01` are not valid ids.
        digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        Self::number(id).is_some_and(|number| self.open.contains(&number))
    }

    /// Closes a session; whether it existed.
    pub(crate) fn close(&mut self, id: &str) -> bool {
        Self::number(id).is_some_and(|number| self.open.remove(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_end_and_the_oldest_is_evicted() {
        let mut sessions = Sessions::default();
        let first = sessions.open();
        let second = sessions.open();
        assert_eq!((first.as_str(), second.as_str()), ("mock-1", "mock-2"));
        assert!(sessions.has("mock-1") && !sessions.has("mock-01") && !sessions.has("mock-+1") && !sessions.has("1"));
        assert!(sessions.close("mock-1") && !sessions.close("mock-1") && !sessions.has("mock-1"));
        for _ in 0..MAX_SESSIONS {
            sessions.open();
        }
        assert!(!sessions.has("mock-2"));
        assert_eq!(sessions.open.len(), MAX_SESSIONS);
    }
}
