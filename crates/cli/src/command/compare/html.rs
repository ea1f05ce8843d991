//! The comparison as a page: one file, no script, nothing is loaded.

use mcptest_core::compare::{Comparison, Outcome, Passes};

use super::sides::Named;
use super::text::{details, headline, label, measures, ordered, shown_p, sign, totals};
use crate::report::text::one_line;

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1b1f24; background: #fff; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #d0d7de; vertical-align: top; }
.regressed { color: #b3261e; } .improved { color: #14713a; } .inconclusive { color: #8a5a00; } .same { color: #57606a; }
ul { margin: .2rem 0 0; padding-left: 1.1rem; font-size: .9em; } .bar { position: relative; display: inline-block; width: 9rem; height: .7rem; background: #eaeef2; margin-right: .4rem; }
.bar i { position: absolute; top: 0; height: 100%; background: #8c959f; } .bar b { position: absolute; top: -.1rem; width: .18rem; height: .9rem; background: #1b1f24; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } th, td { border-color: #30363d; } .bar { background: #21262d; } .bar b { background: #e6edf3; } }
";

pub(super) fn page(found: &Comparison, old: &Named, new: &Named) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n",
    );
    out.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    );
    out.push_str(&format!("<title>mcptest compare: {}</title>\n<style>\n{STYLE}</style>\n", escape(&headline(found))));
    out.push_str(&format!(
        "<h1 class=\"{}\">{} {}</h1>\n",
        found.outcome,
        sign(found.outcome),
        escape(&headline(found))
    ));
    out.push_str(&format!("<p><code>{}</code> → <code>{}</code></p>\n", escape(&old.name), escape(&new.name)));
    out.push_str(&format!("<p>{}</p>\n", escape(&totals(found))));
    if let Some(measures) = measures(&found.measures) {
        out.push_str(&format!("<p>Per run: {}</p>\n", escape(&measures)));
    }
    out.push_str("<table>\n<tr><th>result<th>test<th>before<th>after<th>p<th>adjusted\n");
    for test in ordered(found) {
        let p_value = |p_value: Option<f64>| p_value.map_or_else(String::new, shown_p);
        out.push_str(&format!(
            "<tr><td class=\"{0}\">{1} {0}<td>{2}{3}<td>{4}<td>{5}<td>{6}<td>{7}\n",
            test.outcome,
            sign(test.outcome),
            escape(&label(test)),
            list(&details(test, usize::MAX)),
            rate(test.old),
            rate(test.new),
            p_value(test.p_value),
            p_value(test.adjusted),
        ));
    }
    out.push_str("</table>\n");
    for (names, side) in [(&found.gone, "OLD"), (&found.added, "NEW")] {
        if !names.is_empty() {
            out.push_str(&format!("<h2>Only in {side}</h2>\n{}\n", list(names)));
        }
    }
    if !found.notes.is_empty() {
        out.push_str(&format!("<h2>Notes</h2>\n{}\n", list(&found.notes)));
    }
    out.push_str(&format!("<p class=\"same\">{}</p>\n</html>\n", legend(found.outcome)));
    out
}

fn legend(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Inconclusive => {
            "Bars: 95% intervals of the pass rates. Inconclusive: chance may explain the difference."
        }
        _ => "Bars: 95% intervals of the pass rates.",
    }
}

/// Passes, with a bar for the interval.
fn rate(passes: Passes) -> String {
    if passes.runs == 0 {
        return "no judged runs".to_owned();
    }
    let (low, high) = passes.interval();
    let share = 100.0 * passes.passed as f64 / passes.runs as f64;
    format!(
        "<span class=\"bar\"><i style=\"left:{:.1}%;width:{:.1}%\"></i><b style=\"left:{share:.1}%\"></b></span>{}/{}",
        100.0 * low,
        100.0 * (high - low),
        passes.passed,
        passes.runs
    )
}

fn list(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: Vec<String> = lines.iter().map(|line| escape(line)).collect();
    format!("<ul><li>{}</ul>", items.join("<li>"))
}

/// Text escaped for HTML.
fn escape(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
