//! The paths that the runs of a cell took, as text.

use mcptest_core::diag::printable;
use mcptest_core::json;
use mcptest_core::report::{Branch, Paths};

use super::text::many;

/// Most branches of a tree, most steps of a branch, most paths on one line.
const MAX_BRANCHES: usize = 16;
const MAX_STEPS: usize = 12;
const MAX_WAYS: usize = 4;

/// Most characters of the name of a tool.
const MAX_NAME: usize = 40;

/// The tree, below a line that says where runs first diverge; one line if all took the same path.
pub(super) fn tree(paths: &Paths) -> Vec<String> {
    let runs = paths.runs();
    let mut out = Vec::new();
    let branches = paths.branches();
    match (paths.first_split(), branches.first()) {
        (Some(split), _) => {
            out.push(format!("paths of {}, which first diverge at call {split}:", many(runs, "run")));
            out.extend(branches.iter().take(MAX_BRANCHES).map(|branch| format!("  {}", line(branch, runs))));
            if let Some(more) = branches.len().checked_sub(MAX_BRANCHES).filter(|more| *more > 0) {
                out.push(format!("  and {more} more ways to go on"));
            }
        }
        (None, Some(only)) => out.push(format!("path of {}: {}", all(runs), steps(&only.steps))),
        (None, None) => {}
    }
    if paths.unknown() > 0 && runs > 0 {
        out.push(format!("the calls of {} were not recorded", many(paths.unknown(), "run")));
    }
    out
}

fn all(runs: usize) -> String {
    if runs == 1 { "the run".to_owned() } else { format!("all {runs} runs") }
}

/// Such as `├─ 3/10 search, gave up: none pass`.
fn line(branch: &Branch, runs: usize) -> String {
    let mut out = String::new();
    if let Some((last, above)) = branch.is_last.split_last() {
        for is_last in above {
            out.push_str(if *is_last { "   " } else { "│  " });
        }
        out.push_str(if *last { "└─ " } else { "├─ " });
    }
    out.push_str(&format!("{}/{runs} {}", branch.runs, steps(&branch.steps)));
    if branch.is_end {
        out.push_str(&match branch.passed {
            0 => ": none pass".to_owned(),
            all if all == branch.runs => ": all pass".to_owned(),
            some => format!(": {some} pass"),
        });
    }
    out
}

/// Every path from its start, on one line: `7/10 search, open; 3/10 search, search, gave up`.
pub(super) fn one_line(paths: &Paths) -> String {
    let runs = paths.runs();
    let branches = paths.branches();
    // What all runs share is the only part without a branch before it.
    let without_stem = usize::from(branches.first().is_some_and(|branch| branch.depth > 0));
    let mut trail: Vec<Vec<String>> = Vec::new();
    let mut ways = Vec::new();
    for branch in branches {
        trail.truncate(branch.depth - without_stem);
        trail.push(branch.steps);
        if branch.is_end {
            ways.push(format!("{}/{runs} {}", branch.runs, steps(&trail.concat())));
        }
    }
    let more = ways.len().saturating_sub(MAX_WAYS);
    ways.truncate(MAX_WAYS);
    if more > 0 { format!("{}; and {}", ways.join("; "), many(more, "more way")) } else { ways.join("; ") }
}

/// Steps with commas; one that is repeated is counted.
fn steps(steps: &[String]) -> String {
    let mut parts: Vec<(&str, usize)> = Vec::new();
    for step in steps {
        match parts.last_mut() {
            Some((last, count)) if *last == step.as_str() => *count += 1,
            _ => parts.push((step, 1)),
        }
    }
    let name = |text: &str| printable(&json::cut(text, MAX_NAME)).into_owned();
    let part = |(step, count): &(&str, usize)| match count {
        1 => name(step),
        2 => format!("{0}, {0}", name(step)),
        count => format!("{} ×{count}", name(step)),
    };
    if parts.len() <= MAX_STEPS {
        return parts.iter().map(part).collect::<Vec<_>>().join(", ");
    }
    // The last step of a path says how it ended.
    let (head, tail) = (&parts[..MAX_STEPS - 2], &parts[parts.len() - 1..]);
    let left_out: usize = parts[head.len()..parts.len() - 1].iter().map(|(_, count)| count).sum();
    let shown = |some: &[(&str, usize)]| some.iter().map(part).collect::<Vec<_>>().join(", ");
    format!("{}, … {left_out} more …, {}", shown(head), shown(tail))
}

#[cfg(test)]
mod tests {
    use mcptest_core::Trace;
    use serde_json::json;

    use super::*;

    fn paths(ways: &[(usize, &[&str], &str, bool)]) -> Paths {
        let mut out = Paths::default();
        for (times, tools, answer, passed) in ways {
            let calls: Vec<_> = tools.iter().map(|tool| json!({ "name": tool })).collect();
            let trace = Trace::from_envelope(&json!({ "tool_calls": calls, "final_response": answer })).unwrap();
            for _ in 0..*times {
                out.add(Some(&trace), *passed);
            }
        }
        out
    }

    #[test]
    fn diverging_runs_are_a_tree_with_counts_and_the_first_split() {
        let found = paths(&[(7, &["search", "open"], "Found.", true), (3, &["search", "search"], "", false)]);
        assert_eq!(
            tree(&found),
            [
                "paths of 10 runs, which first diverge at call 1:",
                "  10/10 search",
                "  ├─ 7/10 open: all pass",
                "  └─ 3/10 search, gave up: none pass",
            ]
        );
        assert_eq!(one_line(&found), "7/10 search, open; 3/10 search, search, gave up");
    }

    #[test]
    fn a_run_that_ends_early_is_a_separate_path() {
        let mut found = paths(&[
            (2, &["a", "b", "c"], "x", true),
            (1, &["a", "b", "d"], "x", false),
            (1, &["a", "b"], "x", true),
            (1, &[], "x", true),
        ]);
        found.add(None, true);
        assert_eq!(
            tree(&found),
            [
                "paths of 5 runs, which first diverge at call 0:",
                "  ├─ 4/5 a, b",
                "  │  ├─ 2/5 c: all pass",
                "  │  ├─ 1/5 d: none pass",
                "  │  └─ 1/5 answered: all pass",
                "  └─ 1/5 no call: all pass",
                "the calls of 1 run were not recorded",
            ]
        );
        assert_eq!(one_line(&found), "2/5 a, b, c; 1/5 a, b, d; 1/5 a, b, answered; 1/5 no call");
    }

    #[test]
    fn one_path_is_one_line_and_long_paths_are_cut() {
        assert_eq!(
            tree(&paths(&[(3, &["a", "a", "a", "b\u{1b}"], "x", true)])),
            ["path of all 3 runs: a ×3, b\\u{1b}"]
        );
        assert_eq!(tree(&Paths::default()), [""; 0]);
        let names: Vec<String> = (0..30).map(|at| format!("t{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let long = paths(&[(1, &names, "", false)]);
        assert_eq!(tree(&long), ["path of the run: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, … 20 more …, gave up"]);
    }
}
