//! The narrative gate over the sentences in `narrative/`: a new case is a block in a file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcptest_core::eval::narrative::Item;
use mcptest_core::eval::{Narrative, NarrativeParams};
use mcptest_core::{Trace, Verdict};
use serde_json::{Value, json};

/// One block of a file: what was said, what was done, what should be found.
struct Case {
    title: String,
    lines: BTreeMap<String, String>,
}

impl Case {
    fn get(&self, key: &str) -> &str {
        self.lines.get(key).unwrap_or_else(|| panic!("{}: no line `{key}:`", self.title))
    }

    fn list(&self, key: &str) -> Vec<String> {
        let line = self.lines.get(key).map_or("", String::as_str);
        line.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let mut letters = self.get("text").chars();
        while let Some(c) = letters.next() {
            match c {
                '\\' => match letters.next() {
                    Some('n') => out.push('\n'),
                    Some(other) => out.push(other),
                    None => {}
                },
                c => out.push(c),
            }
        }
        out
    }

    fn trace(&self) -> Trace {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for call in self.get("calls").split(" ; ").map(str::trim).filter(|call| !call.is_empty()) {
            let failed = call.starts_with('!');
            let (name, args) =
                call.trim_start_matches('!').split_once(' ').unwrap_or((call.trim_start_matches('!'), "{}"));
            let args: Value = serde_json::from_str(args).unwrap_or_else(|error| panic!("{}: {error}", self.title));
            calls.push(json!({ "name": name, "server": "s", "args": args }));
            results.push(json!({ "is_error": failed, "content": [] }));
        }
        let envelope = json!({ "tool_calls": calls, "tool_results": results, "final_response": self.text() });
        Trace::read(&envelope).unwrap_or_else(|error| panic!("{}: {error}", self.title))
    }

    fn params(&self) -> NarrativeParams {
        let pair = |pair: String| {
            let (stem, tool) = pair.split_once('=').unwrap_or_else(|| panic!("{}: alias {pair}", self.title));
            (stem.trim().to_owned(), vec![tool.trim().to_owned()])
        };
        NarrativeParams {
            mutating_tools: self.list("mutating_tools"),
            readonly_tools: self.list("readonly_tools"),
            mutating_verbs: self.list("mutating_verbs"),
            aliases: self.list("aliases").into_iter().map(pair).collect(),
            synonyms: self.lines.get("synonyms").is_none_or(|word| word != "false"),
            max_divergence_score: self.lines.get("max_divergence_score").map(|score| score.parse().unwrap()),
            ..NarrativeParams::default()
        }
    }

    /// What the gate finds, in the format of the files.
    fn found(&self) -> BTreeMap<&'static str, String> {
        let gate = Narrative::new(self.params()).unwrap_or_else(|problems| panic!("{}: {problems}", self.title));
        let outcome = gate.evaluate(&self.trace());
        let report = &outcome.detail;
        let (mut absent, mut unclaimed, mut mismatch) = (Vec::new(), Vec::new(), Vec::new());
        for item in &report.items {
            match item {
                Item::ClaimedButAbsent { claim, .. } => absent.push(report.claims[*claim].stem.clone()),
                Item::PresentButUnclaimed { tool, .. } => unclaimed.push(tool.clone()),
                Item::ArgMismatch { tool, argument, .. } => mismatch.push(format!("{tool}.{argument}")),
            }
        }
        let claims: Vec<_> = report.claims.iter().map(|claim| claim.stem.clone()).collect();
        let gate = if outcome.verdict == Verdict::Pass { "pass" } else { "fail" };
        BTreeMap::from([
            ("claims", claims.join(", ")),
            ("absent", absent.join(", ")),
            ("unclaimed", unclaimed.join(", ")),
            ("mismatch", mismatch.join(", ")),
            ("gate", gate.to_owned()),
        ])
    }
}

fn cases(text: &str) -> Vec<Case> {
    let mut out: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix("== ") {
            out.push(Case { title: title.to_owned(), lines: BTreeMap::new() });
        } else {
            let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("not `key: value`: {line}"));
            let case = out.last_mut().unwrap_or_else(|| panic!("a line before the first title: {line}"));
            case.lines.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    out
}

/// Runs every case of a text; returns how many there are and what is wrong.
fn run(file: &str, text: &str) -> (usize, String) {
    let cases = cases(text);
    let mut wrong = String::new();
    for case in &cases {
        let found = case.found();
        let differs: Vec<_> = found
            .iter()
            .filter(|(key, value)| case.list(key).join(", ") != **value)
            .map(|(key, value)| format!("  {key}: found [{value}], expected [{}]", case.get(key)))
            .collect();
        if !differs.is_empty() {
            let _ = writeln!(
                wrong,
                "{file}: {}\n  {}\n  calls: {}\n{}",
                case.title,
                case.get("text"),
                case.get("calls"),
                differs.join("\n")
            );
        }
    }
    (cases.len(), wrong)
}

#[test]
fn every_sentence_gives_its_claims_items_and_gate() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/narrative");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut total, mut wrong) = (0, String::new());
    for file in files {
        let (count, report) =
            run(&file.file_name().unwrap().to_string_lossy(), &std::fs::read_to_string(&file).unwrap());
        total += count;
        wrong.push_str(&report);
    }
    assert!(total >= 200, "only {total} cases were found");
    assert!(wrong.is_empty(), "{total} cases, wrong:\n{wrong}");
}
