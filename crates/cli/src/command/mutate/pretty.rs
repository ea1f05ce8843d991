//! The terminal report: counts by operator and by check, then what was missed and which check would catch it.

use mcptest_core::diag::printable;
use mcptest_core::mutate::Operator;
use serde_json::Value;

use super::findings::{Findings, MissedGroup};
use crate::command::init::yaml::{self, Dollar};
use crate::report::Style;
use crate::report::text::{many, one_line};

/// Most proposals that are shown without `--verbose`.
const SHOWN: usize = 20;

pub(super) fn text(findings: &Findings, is_verbose: bool, style: &Style) -> String {
    let tally = &findings.tally;
    if tally.subjects == 0 {
        return String::new();
    }
    let summary = tally.summary(findings.word);
    let (totals, notes) = summary.split_once('\n').unwrap_or((&summary, ""));
    let mut out = format!("{}\n{notes}", style.bold(totals));
    if tally.mutants() == 0 {
        return out;
    }
    let count = |count: usize| if count == 0 { ".".to_owned() } else { count.to_string() };
    out.push_str(&format!("\n{:<17}{:>8}{:>8}{:>12}\n", "operator", "caught", "missed", "equivalent"));
    for (operator, counts) in &tally.operators {
        let [caught, missed, equivalent] = [counts.caught, counts.missed, counts.equivalent].map(count);
        let line = format!("{:<17}{caught:>8}{missed:>8}{equivalent:>12}", operator.as_str());
        out.push_str(&if counts.missed > 0 { style.bad(&line) } else { line });
        out.push('\n');
    }
    out.push_str(&format!("\n{:<17}{:>8}{:>8}\n", "check", "caught", "alone"));
    for (check, counts) in &tally.checks {
        let note = match (counts.caught, counts.alone) {
            (0, _) => "   caught nothing",
            (_, 0) => "   other checks caught the same",
            _ => "",
        };
        out.push_str(&format!("{check:<17}{:>8}{:>8}{note}\n", count(counts.caught), count(counts.alone)));
    }
    missed(findings, is_verbose, style, &mut out);
    if is_verbose && !findings.equivalent.is_empty() {
        out.push_str("\nequivalent\n");
        for ((trace, why), mutants) in &findings.equivalent {
            out.push_str(&format!("  {}: {}: {}\n", one_line(trace), many(*mutants, "mutant"), one_line(why)));
        }
    }
    out
}

fn missed(findings: &Findings, is_verbose: bool, style: &Style, out: &mut String) {
    let total = findings.tally.missed();
    if total == 0 {
        return;
    }
    let fixes = findings.missed.iter().filter(|group| group.mutant.fix.is_some()).count();
    out.push_str(&format!("\n{}", style.bold("missed")));
    match fixes {
        0 => out.push('\n'),
        1 => out.push_str(": one more check would catch most of them\n"),
        _ => out.push_str(&format!(": {fixes} more checks would catch them, the most useful of each run first\n")),
    }
    // In the order of the runs; within a run, what catches most comes first.
    let mut groups: Vec<&MissedGroup> = findings.missed.iter().collect();
    let mut start = 0;
    while start < groups.len() {
        let end = start + groups[start..].iter().take_while(|group| group.trace == groups[start].trace).count();
        groups[start..end].sort_by_key(|group| std::cmp::Reverse(group.count()));
        start = end;
    }
    let shown = if is_verbose { groups.len() } else { SHOWN.min(groups.len()) };
    let mut trace = None;
    for group in &groups[..shown] {
        if trace != Some(&group.trace) {
            trace = Some(&group.trace);
            out.push_str(&format!("\n{}\n", style.bold(&one_line(&group.trace))));
        }
        out.push_str(&format!("  {}: {}\n", group.mutant.operator, one_line(&group.mutant.change)));
        for line in &group.mutant.diff {
            let line = format!("    {}", printable(line));
            out.push_str(&if line.trim_start().starts_with('-') { style.bad(&line) } else { style.good(&line) });
            out.push('\n');
        }
        if let Some(also) = also(group) {
            out.push_str(&format!("    also missed: {also}\n"));
        }
        match (&group.mutant.fix, &group.mutant.why) {
            (Some(fix), _) => {
                let replaces = fix.get("reliability").is_some();
                out.push_str(if replaces { "    add, in place of `reliability`:\n" } else { "    add:\n" });
                out.push_str(&yaml_block(fix, 6));
            }
            (None, Some(why)) => out.push_str(&format!("    no proposal: {}\n", one_line(why))),
            (None, None) => {}
        }
    }
    let left = groups.len() - shown;
    if left > 0 {
        let left = many(left, "more proposal");
        out.push_str(&format!("\nand {left}; --verbose shows them, --output jsonl lists every mutant\n"));
    }
    if findings.not_kept > 0 {
        let left = many(findings.not_kept, "more missed mutant");
        out.push_str(&format!("\nand {left}, which --output jsonl lists\n"));
    }
}

/// The operators of the other mutants that the same check catches.
pub(super) fn also(group: &MissedGroup) -> Option<String> {
    let word = |(operator, count): (&Operator, &usize)| match count {
        1 => operator.to_string(),
        count => format!("{operator} ({count})"),
    };
    let words: Vec<String> = group.also.iter().map(word).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Keys in the order in which people write them.
const ORDER: [&str; 12] = [
    "mode", "calls", "name", "server", "args", "status", "producer", "consumer", "first", "second", "target", "matcher",
];

/// A gates object as YAML: gates and their lists in lines, values in flow style.
pub(super) fn yaml_block(fix: &Value, indent: usize) -> String {
    let mut out = String::new();
    let pad = " ".repeat(indent);
    for (key, value) in entries(fix) {
        match value {
            Value::Array(_) => list(key, value, indent, &mut out),
            Value::Object(map) if !map.is_empty() => {
                out.push_str(&format!("{pad}{key}:\n"));
                for (key, value) in entries(value) {
                    match value {
                        Value::Array(_) => list(key, value, indent + 2, &mut out),
                        flow => out.push_str(&format!("{pad}  {key}: {}\n", yaml::value(flow, Dollar::Plain))),
                    }
                }
            }
            flow => out.push_str(&format!("{pad}{key}: {}\n", yaml::value(flow, Dollar::Plain))),
        }
    }
    out
}

fn list(key: &str, items: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    out.push_str(&format!("{pad}{key}:\n"));
    for item in items.as_array().into_iter().flatten() {
        for (at, (key, value)) in entries(item).into_iter().enumerate() {
            let start = if at == 0 { "- " } else { "  " };
            out.push_str(&format!("{pad}  {start}{key}: {}\n", yaml::value(value, Dollar::Plain)));
        }
    }
}

fn entries(value: &Value) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> =
        value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect();
    let place = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
    entries.sort_by_key(|(key, _)| (place(key), *key));
    entries
}
