//! The report as one self-contained HTML page.
//!
//! The page is a frame, the rows as data, and a script that shows them. Content of traces is never markup: it is in the
//! page as JSON in which no tag can begin, the script inserts it as text, and the content security policy lets the browser
//! run and load only the style and the script whose hashes it names.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcptest_core::diag::printable;
use mcptest_core::event::Event;
use mcptest_core::json::Layout;
use mcptest_core::report::Report;
use quick_xml::escape::escape;
use sha2::{Digest as _, Sha256};

use super::detail::mark;
use super::summary;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The page while it is written. A row becomes text when it arrives. Its trace is dropped then: the text is smaller.
#[derive(Default)]
pub(super) struct Page {
    /// The suites so far as JSON, in which no tag can begin. The last one is open for further rows.
    suites: String,
    /// Whether the next row is the first of its suite.
    is_first_row: bool,
    /// What `mcptest mutate` found, as JSON in which no tag can begin.
    mutation: Option<String>,
}

impl Page {
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::SuiteStarted { file } => self.suite(file, None),
            Event::SuiteRefused { file, why } => self.suite(file, Some(why)),
            Event::RowFinished(row) if !self.suites.is_empty() => {
                if !std::mem::take(&mut self.is_first_row) {
                    self.suites.push(',');
                }
                self.suites.extend(inert(&Layout::LINE.text(row)));
            }
            // Labels and notes belong to the report, which counts notes among suites and rows.
            Event::RowFinished(_)
            | Event::CellFinished { .. }
            | Event::Labeled(_)
            | Event::InconclusiveAllowed
            | Event::Note(_)
            | Event::Stopped(_) => {}
        }
    }

    fn suite(&mut self, file: &str, refused: Option<&str>) {
        if !self.suites.is_empty() {
            self.suites.push_str("]},");
        }
        self.suites.push_str("{\"file\":");
        self.suites.extend(inert(&Layout::LINE.text(file)));
        if let Some(why) = refused {
            self.suites.push_str(",\"refused\":");
            self.suites.extend(inert(&Layout::LINE.text(why)));
        }
        self.suites.push_str(",\"rows\":[");
        self.is_first_row = true;
    }

    /// Adds a section about mutants.
    pub(super) fn mutation(&mut self, found: &serde_json::Value) {
        self.mutation = Some(inert(&Layout::LINE.text(found)).collect());
    }

    pub(super) fn write(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        head(report, out)?;
        let notes: String = inert(&Layout::LINE.text(&report.notes)).collect();
        out.write_all(b"{")?;
        if let Some(mutation) = &self.mutation {
            write!(out, "\"mutation\":{mutation},")?;
        }
        write!(out, "\"notes\":{notes},\"suites\":[{}", self.suites)?;
        out.write_all(if self.suites.is_empty() { b"]}" } else { b"]}]}" })?;
        writeln!(out, "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>")
    }
}

/// Writes everything before the data. Without JavaScript, browsers show the verdict of each row.
fn head(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let worst = summary::worst(report);
    let (sign, verdict) = (mark(worst).0, worst.as_str());
    let (style_hash, script_hash) = (hash(STYLE), hash(SCRIPT));
    let totals = summary::totals(report);
    let counts = escape(&totals);
    let mut facts = String::new();
    for (name, value) in summary::facts(report) {
        let (name, value) = (printable(&name), printable(&value));
        facts.push_str(&format!("<dt>{}</dt><dd>{}</dd>", escape(&*name), escape(&*value)));
    }
    if !facts.is_empty() {
        facts = format!("<dl class=\"facts\">{facts}</dl>\n");
    }
    writeln!(
        out,
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{sign} {verdict}: mcptest report</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">to the results</a>
<header>
<div class="top"><h1>mcptest report</h1><div id="tools"></div></div>
<p class="verdict {verdict}">{sign} {verdict}</p>
<p>{counts}</p>
{facts}</header>
<main id="main" tabindex="-1">
<noscript>
<p>Without JavaScript this page shows only the verdicts.</p>
<ul>"##
    )?;
    for row in report.suites.iter().flat_map(|suite| &suite.rows) {
        let name = printable(&row.name);
        writeln!(out, "<li>{} {} {}</li>", mark(row.verdict).0, row.verdict.as_str(), escape(&*name))?;
    }
    out.write_all(b"</ul>\n</noscript>\n</main>\n<script type=\"application/json\" id=\"data\">")
}

/// JSON in which no tag can begin. A `<` is only in strings, where it may be escaped.
fn inert(json: &str) -> impl Iterator<Item = &str> {
    json.split_inclusive('<').flat_map(|part| match part.strip_suffix('<') {
        Some(before) => [before, "\\u003c"],
        None => [part, ""],
    })
}

/// The hash that allows a script or a style in the content security policy.
fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::json;
    use super::super::samples::events;
    use super::*;

    const OPEN: &str = "<script type=\"application/json\" id=\"data\">";

    fn page(events: Vec<Event>) -> (Report, String) {
        let (mut report, mut page) = (Report::default(), Page::default());
        for event in events {
            page.event(&event);
            report.take(event);
        }
        let mut out = Vec::new();
        page.write(&report, &mut out).unwrap();
        (report, String::from_utf8(out).unwrap())
    }

    /// What the script of the page reads.
    fn data_of(page: &str) -> Value {
        let (_, rest) = page.split_once(OPEN).unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn the_page_has_every_row_of_the_report() {
        let (report, page) = page(events());
        let mut saved = Vec::new();
        json::write(&report, &mut saved).unwrap();
        let saved: Value = serde_json::from_slice(&saved).unwrap();
        let data = data_of(&page);
        let suites = |value: &Value| value["suites"].as_array().unwrap().clone();
        assert_eq!(suites(&data).len(), suites(&saved).len());
        for (drawn, saved) in suites(&data).iter().zip(suites(&saved)) {
            assert_eq!((&drawn["file"], &drawn["rows"]), (&saved["file"], &saved["rows"]));
            assert_eq!(drawn.get("refused"), saved.get("refused"));
        }
        assert_eq!(data["notes"], saved["notes"]);
        assert!(report.totals.rows() > 10);
    }

    #[test]
    fn trace_text_is_never_markup() {
        const HOSTILE: &str = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\u{202e}";
        let mut all = events();
        for event in &mut all {
            if let Event::RowFinished(row) = event {
                row.name = HOSTILE.to_owned();
                row.test = HOSTILE.to_owned();
                if let Some(trace) = &mut row.trace {
                    trace.final_response = Some(HOSTILE.into());
                }
            }
        }
        all.push(Event::SuiteRefused { file: HOSTILE.to_owned(), why: HOSTILE.to_owned() });
        all.push(Event::Labeled([("title".to_owned(), HOSTILE.to_owned())].into()));
        let (_, page) = page(all);
        let ours = page.replace(STYLE, "").replace(SCRIPT, "");
        assert_eq!(ours.matches("<script").count(), 2);
        assert_eq!(ours.matches("</script").count(), 2);
        assert!(!ours.contains("<img") && !ours.contains("<!--") && !ours.contains('\u{202e}'));
        let data = data_of(&page);
        assert_eq!(data["suites"][0]["rows"][0]["name"], HOSTILE);
    }

    #[test]
    fn the_page_shows_labels_and_the_cost_of_all_runs() {
        let (_, page) = page(events());
        let facts = page.split_once("<dl class=\"facts\">").unwrap().1.split_once("</dl>").unwrap().0;
        let (labels, rest) = facts.split_at(facts.find("<dt>title").unwrap());
        assert_eq!(labels, "<dt>commit</dt><dd>1a2b3c4</dd><dt>date</dt><dd>2026-11-18</dd>");
        assert!(rest.ends_with("<dt>cost</dt><dd>0.0189 for 12 of 26 runs</dd>"), "{rest}");
    }

    #[test]
    fn an_empty_run_has_a_page() {
        assert_eq!(data_of(&page(Vec::new()).1), serde_json::json!({ "notes": [], "suites": [] }));
        let empty = Event::SuiteStarted { file: "a<b.yml".to_owned() };
        let suite = serde_json::json!({ "file": "a<b.yml", "rows": [] });
        assert_eq!(data_of(&page(vec![empty]).1), serde_json::json!({ "notes": [], "suites": [suite] }));
    }

    #[test]
    fn only_the_style_and_the_script_whose_hashes_are_named_may_run() {
        let (_, page) = page(events());
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
            hash(STYLE),
            hash(SCRIPT)
        );
        assert!(page.contains(&policy));
        assert!(
            page.contains(&format!("<style>{STYLE}</style>")) && page.contains(&format!("<script>{SCRIPT}</script>"))
        );
        // The hash of an empty text is known.
        assert_eq!(hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
