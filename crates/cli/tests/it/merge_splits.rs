//! A corpus that is scored in random parts and merged, against one process that reads all of it.
//!
//! Groups, summary and exit code must be the same, regardless of what is in the parts: records without a group, records that cannot be
//! read, inputs that are not there, empty parts. `MERGE_SPLITS=10000` tries that many splits.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Folder, Random};

/// What was found in one go.
#[derive(Debug, PartialEq)]
struct Found {
    groups: Vec<String>,
    /// The last lines of the report.
    summary: Vec<String>,
    code: ExitCode,
}

/// Runs the program in this process, which takes a hundredth of the time of another one.
fn run(line: &[String]) -> (ExitCode, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = ["mcptest".to_owned(), "score".to_owned()].into_iter().chain(line.iter().cloned());
    let code = mcptest::run(words.map(Into::into), &|_| None, &[], &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// The groups and the end of what was printed. What could not be read is quoted where it was read, and counted everywhere.
fn found((code, out, err): (ExitCode, String, String)) -> Found {
    let groups = out.lines().filter(|line| line.starts_with("{\"group\":")).map(str::to_owned).collect();
    let mut summary: Vec<String> = Vec::new();
    let mut is_quoted = false;
    for line in err.lines() {
        let is_fault = (line.starts_with("error: ") || line.starts_with("error[")) && line != NOTHING;
        is_quoted = is_fault || (is_quoted && line.starts_with("hint: "));
        if !is_quoted {
            summary.push(line.to_owned());
        }
    }
    Found { groups, summary, code }
}

const NOTHING: &str = "error[empty-input]: no traces in these inputs";

/// Gates for every kind of verdict: of traces, of groups, of both, of none.
const GATES: [&str; 8] = [
    "",
    "narrative: {}\n",
    "stability: {}\n",
    "reliability: {}\nnarrative: {}\n",
    "reliability: {}\n",
    "stability: {}\nreliability: { expect: [{ target: reliability.pass_rate, matcher: { schema: { minimum: 40 } } }] }\ntrajectory: { mode: superset, calls: [{ name: find }] }\n",
    "trajectory: { calls: [{ name: find, status: ok }] }\nexpect:\n  - { target: final_response, matcher: { contains: done } }\n",
    "stability: {}\nexpect:\n  - { target: \"tool_calls[0].args\", matcher: { exact: { q: 1 } } }\n",
];

/// One record, with as much or as little in it as records have.
fn record(random: &mut Random, may_group: bool) -> String {
    match random.below(14) {
        0 => return "{\"tool_calls\": [".to_owned() + &"x".repeat(random.below(3)),
        1 => return json!({ "tool_calls": random.below(3), "group": may_group.then_some("g1") }).to_string(),
        _ => {}
    }
    let mut out = json!({});
    if may_group && random.below(5) > 0 {
        out["group"] = json!(format!("g{}", random.below(4)));
    }
    if random.below(6) > 0 {
        out["task"] = json!(random.below(3));
    }
    match random.below(5) {
        0 => {}
        1 => out["reward"] = Value::Null,
        reward => out["reward"] = json!(reward % 2),
    }
    if random.below(8) > 0 {
        let calls = random.below(5);
        let names = ["find", "send", "delete"];
        let call = |random: &mut Random| {
            let mut call = json!({ "name": names[random.below(3)] });
            if random.below(4) > 0 {
                call["args"] = json!({ "q": random.below(3) });
            }
            call
        };
        out["tool_calls"] = (0..calls).map(|_| call(random)).collect();
        if random.below(4) > 0 {
            let result = |random: &mut Random| match random.below(5) {
                0 => Value::Null,
                error => json!({ "is_error": error == 1, "content": [] }),
            };
            out["tool_results"] = (0..calls).map(|_| result(random)).collect();
        }
    }
    if random.below(3) > 0 {
        let turns = random.below(4);
        let turn = |at: usize| json!({ "role": "assistant", "content": "word ".repeat(at * 7 % 5) });
        let tokens = json!({ "input": random.below(1000), "output": random.below(100) });
        out["conversation"] = json!({ "turns": (0..turns).map(turn).collect::<Vec<_>>(), "tokens": tokens });
    }
    if random.below(4) > 0 {
        out["final_response"] = json!(["done", "I sent the mail.", "I deleted 3 files.", ""][random.below(4)]);
    }
    out.to_string()
}

/// Random rules to judge by, with their gates in a file of this name.
fn rules(here: &Folder, file: &str, random: &mut Random) -> (Vec<String>, &'static str) {
    let mut rules: Vec<String> = Vec::new();
    let gates = GATES[random.below(GATES.len())];
    let is_outcome = random.below(3) == 0 || gates == "reliability: {}\n";
    if !gates.is_empty() {
        here.write(file, gates.as_bytes());
        rules.extend(["--gates".to_owned(), here.0.join(file).to_str().unwrap().to_owned()]);
    }
    if is_outcome {
        rules.extend(["--outcome", "reward", "--outcome-pass", "1"].map(str::to_owned));
    }
    (rules, gates)
}

/// Scores a random corpus in one piece and in parts; if `differs`, a part of the parts by other rules.
fn split(here: &Folder, random: &mut Random, differs: bool) -> (Found, Found, String) {
    let (rules, gates) = rules(here, "gates.yml", random);
    let (others, _) = if differs { self::rules(here, "other.yml", random) } else { (rules.clone(), gates) };
    let mut reading = vec!["--jobs".to_owned(), "1".to_owned(), "--from".to_owned(), "envelope".to_owned()];
    // Parts without a group have only the lines of traces.
    let may_group = !differs || random.below(2) == 0;
    if may_group && random.below(3) == 0 {
        reading.extend(["--group-by".to_owned(), "task".to_owned()]);
    }
    let parts = 1 + random.below(5);
    let mut inputs = Vec::new();
    let mut scored = Vec::new();
    for at in 0..parts {
        let name = format!("in-{at}.jsonl");
        let path = here.0.join(&name).to_str().unwrap().to_owned();
        let _ = std::fs::remove_file(&path);
        // Some inputs are not there, and some have nothing in them.
        match random.below(12) {
            0 => {}
            1 => here.write(&name, b""),
            _ => {
                let records: Vec<String> = (0..random.below(8)).map(|_| record(random, may_group)).collect();
                here.write(&name, (records.join("\n") + "\n").as_bytes());
            }
        }
        inputs.push(path);
    }
    let whole = found(run(&[&inputs[..], &rules, &reading].concat()));
    // A part has one input or several.
    let mut left = &inputs[..];
    while !left.is_empty() {
        let (some, rest) = left.split_at(1 + random.below(left.len()));
        let judged_by = if random.below(2) == 0 { &rules } else { &others };
        let (_, out, _) = run(&[some, &judged_by[..], &reading].concat());
        let name = format!("part-{}.jsonl", scored.len());
        here.write(&name, out.as_bytes());
        scored.push(here.0.join(name).to_str().unwrap().to_owned());
        left = rest;
    }
    let merge = ["--merge".to_owned(), "--jobs".to_owned(), "1".to_owned()];
    let merged = found(run(&[&scored[..], &rules, &merge].concat()));
    (whole, merged, format!("{gates}{reading:?} {rules:?} {others:?} {inputs:?} {scored:?}"))
}

#[expect(clippy::disallowed_methods, reason = "a switch for whoever wants to try more")]
fn count() -> u64 {
    std::env::var("MERGE_SPLITS").ok().map_or(120, |count| count.parse().unwrap())
}

#[test]
fn parts_of_any_split_merge_to_the_result_of_one_process() {
    let here = Folder::with(&[]);
    let mut codes = std::collections::BTreeMap::new();
    for seed in 0..count() {
        let (whole, mut merged, what) = split(&here, &mut Random::new(seed), false);
        // A part without anything is reported of.
        merged.summary.retain(|line| !line.ends_with(": this part is empty"));
        assert_eq!(merged, whole, "split {seed}: {what}");
        *codes.entry(format!("{:?}", whole.code)).or_insert(0) += 1;
    }
    assert_eq!(codes.len(), 3, "every exit code is met: {codes:?}");
}

#[test]
fn parts_that_were_judged_by_other_gates_are_an_error_or_make_no_difference() {
    let here = Folder::with(&[]);
    let error = ExitCode::from(2);
    let (mut rejected, mut same) = (0, 0);
    for seed in 0..count() {
        let (whole, mut merged, what) = split(&here, &mut Random::new(seed), true);
        if merged.code == error && whole.code != error {
            rejected += 1;
            continue;
        }
        merged.summary.retain(|line| !line.ends_with(": this part is empty"));
        if merged.code != error {
            assert_eq!(merged, whole, "split {seed}: {what}");
            same += 1;
        }
    }
    assert!(rejected > 0 && same > 0, "{rejected} rejected, {same} the same");
}
