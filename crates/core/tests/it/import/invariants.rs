//! What must be true for any text that importers read. The fuzz target `import` includes this file, so that tests and fuzzing
//! check the same.

use std::collections::BTreeMap;

use mcptest_core::diag::Source;
use mcptest_core::import::{Format, ImportError, Imported, Options, Record, Servers, describe, otlp_json, sniff};
use mcptest_core::score::{Groups, Merged, Outcome, RecordKey, Scored, Scorer, TraceLine, find, group_of};
use mcptest_core::suite::{self, Variables};
use mcptest_core::target::Selection;
use mcptest_core::{Target, Trace, json};
use serde_json::Value;
use serde_json::value::RawValue;

/// Every gate. Assertions are separate, since they read more of a trace than gates do.
const GATES: &str = r"
trajectory:
  mode: superset
  calls:
    - { name: search, args: { subset: { city: Oslo } }, status: ok }
    - { name: send, args: { schema: { type: object } }, optional: true }
    - { name: fetch, args: { exact: { n: 1 } }, ignore_args: [/id] }
trajectory_axes:
  dependencies: [{ producer: search, consumer: send, via: id, required: false }]
  order: [{ first: search, second: send }]
golden_path: { calls: [search, send] }
stability: {}
reliability: { confidence: 90 }
recovery: { max_recovery_ms: 100, require_call: true, require_clean_timeout: true }
narrative: { mutating_tools: [send], max_divergence_score: 0.5 }
";

const ASSERTIONS: &str = r#"
expect:
  - { target: "tool_calls[*].args.city", matcher: { contains: Oslo } }
  - { target: "tool_results[-1].content[*].text", matcher: { regex: "^[a-z]+$" } }
  - { target: conversation.turns, matcher: { schema: { type: array } } }
"#;

/// Paths that are looked up in records of all formats.
const PATHS: [&str; 7] = [
    "id",
    "messages[0].role",
    "messages[-1].content[*].type",
    "conversation[\"turns\"][1]",
    "tool_calls[*].name",
    "attributes",
    "resourceSpans[*].scopeSpans[0].spans[*].name",
];

/// Scorers without gates, with every gate, and with assertions and an outcome.
pub(crate) struct Invariants {
    plain: Scorer,
    gates: Scorer,
    asserted: Scorer,
    paths: Vec<Target>,
}

impl Invariants {
    pub(crate) fn new() -> Self {
        let outcome = Outcome { path: Target::parse("reward").unwrap(), pass: Value::from(1) };
        let both = format!("{ASSERTIONS}{GATES}");
        Self {
            plain: Scorer::new(None, None).unwrap(),
            gates: Scorer::new(Some(loaded(GATES)), None).unwrap(),
            asserted: Scorer::new(Some(loaded(&both)), Some(outcome)).unwrap(),
            paths: PATHS.iter().map(|path| Target::parse(path).unwrap()).collect(),
        }
    }

    /// Checks bytes of fuzzing: the first chooses the format, the second how it is read, the rest is the text.
    pub(crate) fn check_bytes(&self, bytes: &[u8]) {
        let [format, how, text @ ..] = bytes else { return };
        self.check(usize::from(*format), *how, &String::from_utf8_lossy(text));
        if let Ok(export) = otlp_json(text, 1 << 20) {
            self.check(Format::Otlp as usize, *how, &export);
        }
    }

    /// Checks a text. The format is `Format::ALL[format]`, or the one it looks like where there is no such format.
    pub(crate) fn check(&self, format: usize, how: u8, text: &str) {
        self.look(text);
        let chosen = Format::ALL.get(format % (Format::ALL.len() + 1)).copied();
        let Some(format) = chosen.or_else(|| looks_like(text)) else { return };
        let prefixes: &[&str] = if how & 1 == 0 { &[] } else { &["none"] };
        let prefixes: Vec<String> = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        let servers = Servers::parse(&prefixes).unwrap();
        let options = Options { servers };
        if how & 2 == 0 {
            self.each(format, text, &options);
        } else {
            let (header, text) = text.split_once('\n').unwrap_or(("", text));
            self.record(format, Record { text, header: Some(header) }, &options);
        }
    }

    /// Checks a text as pieces, one per line, or as one record.
    fn each(&self, format: Format, text: &str, options: &Options) {
        if !format.is_in_pieces() {
            return self.record(format, Record { text, header: None }, options);
        }
        let mut keyed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in text.lines() {
            match format.split(line) {
                Ok(pieces) => {
                    for piece in pieces {
                        keyed.entry(piece.key.into_owned()).or_default().push(piece.text.into_owned());
                    }
                }
                Err(error) => check_error(&error, line),
            }
        }
        for (key, texts) in &keyed {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            if let Ok(traces) = format.join(key, &texts, options) {
                self.traces(&traces);
            }
        }
    }

    fn record(&self, format: Format, record: Record<'_>, options: &Options) {
        let read = format.read(record, options);
        match &read {
            Ok(traces) => _ = self.traces(traces),
            Err(error) => check_error(error, record.text),
        }
        if format == Format::Envelope && record.header.is_none() {
            // A trace is read alike from text and from values.
            let of_value = json::parse(record.text).map(|value| Trace::from_envelope(&value));
            match (Trace::from_json(record.text), of_value) {
                (Ok(of_text), Ok(of_value)) => assert_eq!(Ok(of_text), of_value),
                (Err(_), Ok(Err(_)) | Err(_)) => assert!(read.is_err()),
                (of_text, of_value) => panic!("text and value are read differently: {of_text:?} and {of_value:?}"),
            }
        }
    }

    /// Checks traces, and returns what gates find in them.
    fn traces(&self, traces: &[Imported<'_>]) -> Vec<String> {
        for one in traces {
            let recorded = Trace { read_only: std::collections::BTreeSet::new(), ..one.trace.clone() };
            assert_eq!(
                Trace::from_envelope(&one.trace.to_envelope()),
                Ok(recorded),
                "the envelope gives another trace"
            );
            // A record keeps what is not a part of the trace: without the read-only tools, gates would judge it differently.
            let text = one.to_envelope().to_string();
            let record = Record { header: None, text: &text };
            if one.trace != Trace::default() {
                let again = Format::Envelope.read(record, &Options::default()).unwrap();
                let found: Vec<_> =
                    again.iter().map(|one| (&one.id, &one.group, one.is_edited(), &one.trace)).collect();
                assert_eq!(found, [(&one.id, &one.group, one.is_edited(), &one.trace)], "{text}");
            }
            serde_json::from_str::<&RawValue>(&one.fields).unwrap();
            self.find_in(&one.fields);
            line(one, &self.gates.score(one, None, "-").unwrap(), None);
        }
        let [_, by_gates, _] = [&self.plain, &self.gates, &self.asserted].map(|scorer| grouped(scorer, traces));
        by_gates
    }

    /// Checks what is found in a text before any format is chosen.
    fn look(&self, text: &str) {
        assert!(!describe(text).is_empty());
        if let Some(found) = sniff(text) {
            assert_eq!(found.format.unit_of(text), Some(found.unit));
        }
        self.find_in(text);
    }

    /// A path selects in a text what it selects in the value.
    fn find_in(&self, text: &str) {
        let Ok(value) = json::parse(text) else { return };
        for path in &self.paths {
            let expected = match path.select(&value) {
                Selection::Found(found) => Some(found.into_owned()),
                Selection::Nothing { .. } => None,
            };
            assert_eq!(find(text, path), Ok(expected), "{path}");
        }
    }
}

fn loaded(yaml: &str) -> suite::GateFile {
    let source = Source::new("gates.yml", yaml);
    let loaded = suite::load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None });
    loaded.value.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn looks_like(text: &str) -> Option<Format> {
    let first = || text.lines().find_map(sniff);
    sniff(text).or_else(first).map(|found| found.format)
}

/// An error has a short message, and an offset within its text.
fn check_error(error: &ImportError, text: &str) {
    assert!((1..=2_000).contains(&error.message.len()), "{:.300}", error.message);
    assert!(error.place.is_none_or(|offset| offset <= text.len()), "{error:?}");
}

/// The line of a trace.
fn line(one: &Imported<'_>, found: &Scored, group: Option<&str>) -> String {
    // A record without a group at the given path has its own group.
    let path = RecordKey::parse("id").unwrap();
    let named = group_of(one, Some(&path), "-").or_else(|_| group_of(one, None, "-")).unwrap();
    let line = TraceLine::new(one, group.or(named.as_deref()), found, None);
    serde_json::to_string(&line).unwrap()
}

/// The lines of traces. Merging gives the same lines for groups.
fn grouped(scorer: &Scorer, traces: &[Imported<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    let mut groups = Groups::default();
    for (at, one) in traces.iter().enumerate() {
        let found = scorer.score(one, Some("a"), "-").unwrap();
        out.push(line(one, &found, Some("a")));
        let run = found.run.unwrap();
        groups.add("a", run.clone());
        groups.add(&at.to_string(), run.clone());
        groups.add("a", run);
    }
    let lines = |groups: &Groups| -> Vec<String> {
        groups.lines(scorer).map(|line| serde_json::to_string(&line).unwrap()).collect()
    };
    let written = lines(&groups);
    let mut merged = Groups::default();
    for line in &written {
        assert!(matches!(merged.merge(line), Ok(Merged::Group { .. })), "{line}");
    }
    assert_eq!(lines(&merged), written, "merging changes lines");
    out.extend(written);
    out
}
