//! Which runs a selection means.

use mcptest_runner::plan::{Selection, plan};

use crate::support::{file, suite};

const SUITE: &str = "\
models: { a: { provider: script, script: a.yml }, b: { provider: script, script: b.yml } }
agents:
  - { name: finds a room, models: [a, b], prompt: p, tags: [hotel, slow], runs: 3, expect: &e [{ target: tool_names, matcher: { exact: [] } }] }
  - { name: books a room, model: a, prompt: p, tags: [hotel], expect: *e }
  - { name: sends a mail, model: b, prompt: p, expect: *e }
";

fn check(selection: &Selection<'_>, expected: &[&str]) {
    let files = [file("one.yml", suite(SUITE))];
    let plan = plan(&files, selection);
    let found: Vec<String> = plan
        .cells
        .iter()
        .map(|planned| format!("{} on {} x{}", planned.cell.test.name, planned.cell.model, planned.runs))
        .collect();
    assert_eq!(found, expected);
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn names_tags_models_and_runs_narrow_what_is_meant() {
    let all = ["finds a room on a x3", "finds a room on b x3", "books a room on a x1", "sends a mail on b x1"];
    check(&Selection::default(), &all);
    let room = |name: &str| name.contains("a room");
    check(&Selection { named: Some(&room), ..Selection::default() }, &all[..3]);
    check(&Selection { tags: words(&["hotel"]), ..Selection::default() }, &all[..3]);
    check(&Selection { tags: words(&["slow", "none"]), ..Selection::default() }, &all[..2]);
    check(&Selection { skip_tags: words(&["slow"]), ..Selection::default() }, &all[2..]);
    check(&Selection { models: words(&["b"]), ..Selection::default() }, &[all[1], all[3]]);
    check(
        &Selection { runs: Some(2), models: words(&["a"]), ..Selection::default() },
        &["finds a room on a x2", "books a room on a x2"],
    );
    check(&Selection { tags: words(&["nobody"]), ..Selection::default() }, &[]);
}

#[test]
fn every_test_is_in_exactly_one_share_and_stays_there_when_others_are_added() {
    let files = [file("one.yml", suite(SUITE))];
    let whole = plan(&files, &Selection::default());
    let mut seen: Vec<&str> = Vec::new();
    for share in 1..=4 {
        let part = plan(&files, &Selection { partition: Some((share, 4)), ..Selection::default() });
        let mut names: Vec<&str> = part.cells.iter().map(|planned| planned.cell.test.name.as_str()).collect();
        names.dedup();
        assert_eq!(names.len() + part.elsewhere, 3);
        seen.extend(names);
    }
    seen.sort_unstable();
    assert_eq!(seen, ["books a room", "finds a room", "sends a mail"]);
    assert_eq!(whole.elsewhere, 0);
    let fewer = SUITE.replace("  - { name: books a room", "  - { name: something else");
    let fewer = [file("one.yml", suite(&fewer))];
    for share in 1..=4 {
        let kept = |files| {
            let part = plan(files, &Selection { partition: Some((share, 4)), ..Selection::default() });
            part.cells.iter().any(|planned| planned.cell.test.name == "sends a mail")
        };
        assert_eq!(kept(&files), kept(&fewer));
    }
}
