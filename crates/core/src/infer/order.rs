//! Order that was the same in every run with the later call.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::calls::Tools;
use super::{Line, Run, many};

/// Most edges that are written.
const MAX_EDGES: usize = 24;

/// Most earlier tools of one tool that are considered, the nearest.
const MAX_EARLIER: usize = 64;

/// Edges between tools: the first call of one is before the first call of the other, in at least two runs and never otherwise.
/// What other edges imply is left out.
pub(super) fn edges(runs: &[&Run], tools: &Tools<'_>) -> Vec<Line> {
    let later = tools.that_matter();
    // For each later tool the number of runs that call it, and the tools that come before it in all of them.
    let mut before: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for run in runs {
        let mut seen: Vec<&str> = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for call in run.trace.tool_calls.iter().flatten() {
            let name = call.name.as_str();
            if !known.insert(name) {
                continue;
            }
            if later.contains(name) {
                match before.get_mut(name) {
                    Some((count, earlier)) => {
                        *count += 1;
                        earlier.retain(|tool| *tool != name && known.contains(tool));
                    }
                    None => {
                        order.push(name);
                        before.insert(name, (1, seen[seen.len().saturating_sub(MAX_EARLIER)..].to_vec()));
                    }
                }
            }
            seen.push(name);
        }
    }
    let held: BTreeSet<(&str, &str)> = before
        .iter()
        .filter(|(_, (count, _))| *count > 1)
        .flat_map(|(second, (_, earlier))| earlier.iter().map(|first| (*first, *second)))
        .collect();
    let is_implied = |first: &str, second: &str| {
        let mut between = held.range((first, "")..).take_while(|(one, _)| *one == first).map(|(_, between)| *between);
        between.any(|between| held.contains(&(between, second)))
    };
    let mut out = Vec::new();
    for second in order {
        let Some((count, earlier)) = before.get(second).filter(|(count, _)| *count > 1) else { continue };
        for first in earlier.iter().filter(|first| !is_implied(first, second)) {
            let runs = many(runs.len(), "run");
            let evidence = if *count == tools.runs() {
                format!("{count} of {runs}")
            } else {
                format!("{count} of the {count} runs with the second call, of {runs}")
            };
            out.push(Line { value: json!({ "first": first, "second": second }), evidence });
        }
    }
    out.truncate(MAX_EDGES);
    out
}
