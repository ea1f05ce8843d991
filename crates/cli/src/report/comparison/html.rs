//! The comparison as a page: one file, no script, nothing is loaded.

use mcptest_core::compare::{Outcome, Passes};

use super::Compared;
use super::text::{details, headline, label, measures, ordered, shown_p, sign, totals};
use crate::report::text::one_line;

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1b1f24; background: #fff; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #d0d7de; vertical-align: top; overflow-wrap: anywhere; }
th, td:first-child, td:nth-child(n+3) { white-space: nowrap; }
.regressed { color: #b3261e; } .improved { color: #14713a; } .inconclusive { color: #8a5a00; } .same { color: #57606a; }
ul { margin: .2rem 0 0; padding-left: 1.1rem; font-size: .9em; } .bar { position: relative; display: inline-block; width: 9rem; height: .7rem; background: #eaeef2; margin-right: .4rem; }
.bar i { position: absolute; top: 0; height: 100%; background: #8c959f; } .bar b { position: absolute; top: -.1rem; width: .18rem; height: .9rem; background: #1b1f24; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } th, td { border-color: #30363d; } .bar { background: #21262d; } .bar b { background: #e6edf3; } .regressed { color: #ff7b72; } .improved { color: #56d364; } .inconclusive { color: #e3b341; } .same { color: #9198a1; } }
";

pub(super) fn page(compared: &Compared) -> String {
    let Compared { old, new, found } = compared;
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
    out.push_str(&format!("<p><code>{}</code> → <code>{}</code></p>\n", escape(old), escape(new)));
    out.push_str(&format!("<p>{}</p>\n", escape(&totals(found))));
    for measure in measures(&found.measures) {
        out.push_str(&format!("<p>{}</p>\n", escape(&measure)));
    }
    if !found.models.is_empty() {
        table(
            &mut out,
            "model",
            found.models.iter().map(|model| Line {
                outcome: model.outcome,
                name: escape(&model.model),
                sides: (model.old, model.new),
                p_values: (model.p_value, model.adjusted),
            }),
        );
    }
    table(
        &mut out,
        "test",
        ordered(found).into_iter().map(|test| Line {
            outcome: test.outcome,
            name: format!("{}{}", escape(&label(test)), list(&details(test, usize::MAX))),
            sides: (test.old, test.new),
            p_values: (test.p_value, test.adjusted),
        }),
    );
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

/// A line of a table; its name is HTML.
struct Line {
    outcome: Outcome,
    name: String,
    sides: (Passes, Passes),
    p_values: (Option<f64>, Option<f64>),
}

fn table(out: &mut String, what: &str, lines: impl Iterator<Item = Line>) {
    out.push_str(&format!("<table>\n<tr><th>result<th>{what}<th>before<th>after<th>p<th>adjusted\n"));
    for Line { outcome, name, sides: (old, new), p_values: (p_value, adjusted) } in lines {
        let (mark, old, new) = (sign(outcome), rate(old), rate(new));
        let shown = |p_value: Option<f64>| p_value.map_or_else(String::new, shown_p);
        let (p_value, adjusted) = (shown(p_value), shown(adjusted));
        out.push_str(&format!(
            "<tr><td class=\"{outcome}\">{mark} {outcome}<td>{name}<td>{old}<td>{new}<td>{p_value}<td>{adjusted}\n"
        ));
    }
    out.push_str("</table>\n");
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

fn escape(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
