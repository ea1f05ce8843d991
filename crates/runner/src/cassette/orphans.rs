//! Recordings of tests that a suite no longer has. After a test was renamed, they are found by their inputs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cassette, fingerprint, slug};
use crate::plan::SuiteFile;

/// Removed tests, by the fingerprints of their inputs.
#[derive(Debug, Default)]
pub struct Orphans(BTreeMap<String, String>);

impl Orphans {
    /// Those in the folder of a suite. Unreadable recordings are ignored.
    pub fn of(file: &SuiteFile) -> Self {
        let mut out = BTreeMap::new();
        let tests: BTreeSet<&str> = file.suite.agents.iter().map(|test| test.name.as_str()).collect();
        let known: BTreeSet<String> = tests.iter().map(|test| slug(test)).collect();
        for path in file.cassettes().first_runs(&known).unwrap_or_else(|_| Vec::new()) {
            if let Ok(found) = Cassette::open_as(&path, file.trust)
                && !tests.contains(found.test.as_str())
            {
                out.entry(fingerprint(&found.inputs)).or_insert(found.test);
            }
        }
        Self(out)
    }

    /// The test that was recorded with these inputs.
    pub fn with(&self, fingerprint: &str) -> Option<&str> {
        self.0.get(fingerprint).map(String::as_str)
    }
}
