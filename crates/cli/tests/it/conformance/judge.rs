//! Holds the checks of scenarios against the list of what does not apply.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// One side of the protocol.
pub(super) struct Judge {
    scenarios: Vec<String>,
    not_applicable: Map<String, Value>,
    /// Entries of the list that were needed.
    needed: BTreeSet<String>,
    ran: BTreeSet<String>,
    findings: Vec<String>,
}

impl Judge {
    /// `scenarios` are all that the suite has for this side.
    pub(super) fn new(side: &str, scenarios: Vec<String>) -> Self {
        let list: Value = serde_json::from_str(include_str!("not_applicable.json")).unwrap();
        Self::with(&list[side], scenarios)
    }

    fn with(list: &Value, scenarios: Vec<String>) -> Self {
        let not_applicable = list.as_object().unwrap().clone();
        for (entry, reason) in &not_applicable {
            assert!(reason.as_str().is_some_and(|reason| !reason.is_empty()), "{entry} has no reason");
        }
        Self { scenarios, not_applicable, needed: BTreeSet::new(), ran: BTreeSet::new(), findings: Vec::new() }
    }

    /// The entry for a whole scenario, or for one check of it (`scenario:check`). An entry may end with `*`.
    fn entry(&self, name: &str) -> Option<String> {
        let fits = |entry: &str| match entry.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == entry,
        };
        self.not_applicable.keys().find(|entry| fits(entry)).cloned()
    }

    /// Whether a whole scenario does not apply.
    pub(super) fn leaves_out(&self, scenario: &str) -> bool {
        self.entry(scenario).is_some()
    }

    /// Takes in the checks of a scenario that ran.
    pub(super) fn take(&mut self, scenario: &str, revision: &str, checks: &[Value]) {
        self.ran.insert(scenario.to_owned());
        if checks.iter().all(|check| matches!(check["status"].as_str(), Some("INFO" | "SKIPPED"))) {
            match self.entry(scenario) {
                Some(entry) => drop(self.needed.insert(entry)),
                None => self.findings.push(format!("{scenario} in {revision} checked nothing")),
            }
        }
        for check in checks.iter().filter(|check| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING"))) {
            let id = check["id"].as_str().unwrap();
            match self.entry(scenario).or_else(|| self.entry(&format!("{scenario}:{id}"))) {
                Some(entry) => drop(self.needed.insert(entry)),
                None if is_only_late(check) => {}
                None => {
                    let why = check["errorMessage"].as_str().or(check["description"].as_str()).unwrap_or("?");
                    self.findings.push(format!("{scenario}:{id} in {revision}: {why}"));
                }
            }
        }
    }

    /// Fails where a check failed that is not on the list, an entry of the list was not needed, or a scenario was neither
    /// run nor on the list.
    pub(super) fn finish(self) {
        let findings = self.findings();
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }

    fn findings(mut self) -> Vec<String> {
        for scenario in &self.scenarios {
            match self.entry(scenario) {
                Some(entry) if !self.ran.contains(scenario) => drop(self.needed.insert(entry)),
                None if !self.ran.contains(scenario) => self.findings.push(format!("{scenario} was not run")),
                _ => {}
            }
        }
        for entry in self.not_applicable.keys().filter(|entry| !self.needed.contains(*entry)) {
            self.findings.push(format!("{entry} is on the list of what does not apply, and nothing needs it"));
        }
        self.findings
    }
}

/// A client that comes back too early is wrong. One that comes back late runs on a machine that has much to do.
fn is_only_late(check: &Value) -> bool {
    check["id"] == "client-sse-retry-timing" && check["details"]["tooEarly"] == false
}

#[test]
fn unlisted_unneeded_and_skipped_scenarios_are_found() {
    let list = json!({ "far/*": "x", "a:known": "x", "b": "x", "idle": "x", "a:fine": "x", "gone": "x" });
    let scenarios = ["a", "b", "idle", "new", "mute", "far/1"].map(str::to_owned).to_vec();
    let mut judge = Judge::with(&list, scenarios);
    assert!(judge.leaves_out("far/1") && judge.leaves_out("b") && !judge.leaves_out("a"));
    let check = |id: &str, status: &str| json!({ "id": id, "status": status, "errorMessage": "why" });
    let a =
        [("fine", "SUCCESS"), ("known", "FAILURE"), ("other", "FAILURE"), ("soft", "WARNING"), ("reported", "INFO")];
    judge.take("a", "r1", &a.map(|(id, status)| check(id, status)));
    judge.take("b", "r1", &[check("any", "FAILURE")]);
    for scenario in ["idle", "mute"] {
        judge.take(scenario, "r2", &[check("x", "INFO"), check("y", "SKIPPED")]);
    }
    let expected = [
        "a:other in r1: why",
        "a:soft in r1: why",
        "mute in r2 checked nothing",
        "new was not run",
        "a:fine is on the list of what does not apply, and nothing needs it",
        "gone is on the list of what does not apply, and nothing needs it",
    ];
    assert_eq!(judge.findings(), expected);
}
