//! Properties of any text that is read as a recording or as a saved report. The fuzz target `cassette` includes this
//! file, so fuzzing and tests check the same properties.

use mcptest_core::cassette::seal;
use mcptest_core::compare::{CompareOptions, Side, compare};
use mcptest_core::event::Event;
use mcptest_core::import::{Format, Options, Record};
use mcptest_core::json::{self, Layout};
use mcptest_core::report::{self, Report, Row, grid};
use mcptest_runner::cassette::{Cassette, VERSION, changes, slug};

/// The longest refusal, in bytes: what is wrong is shown in excerpts.
const LONGEST: usize = 2_000;

/// Holds bytes as fuzzing makes them: the first says what the rest is.
pub(crate) fn check_bytes(bytes: &[u8]) {
    let [what, text @ ..] = bytes else { return };
    let text = String::from_utf8_lossy(text);
    if what % 2 == 0 {
        check_cassette(&text);
    } else {
        check_report(&text);
    }
}

/// Holds a text as a recording. It gives back whether it is one, with a fingerprint that fits.
pub(crate) fn check_cassette(text: &str) -> bool {
    let as_it_is = recording(text);
    // Nobody guesses a hash, so a fingerprint and a digest that do not fit are replaced to see what is behind them.
    as_it_is || stamped(text).is_some_and(|text| recording(&text))
}

fn recording(text: &str) -> bool {
    let cassette = match Cassette::read(text) {
        Ok(cassette) => cassette,
        Err(refused) => {
            let why = refused.to_string();
            assert!((1..=LONGEST).contains(&why.len()), "a refusal of {} bytes: {why:.200}", why.len());
            return false;
        }
    };
    let written = cassette.to_text();
    // An older version is written in the one of today.
    let cassette = Cassette { version: VERSION, ..cassette };
    assert_eq!(Cassette::read(&written).as_ref(), Ok(&cassette), "what is written gives another recording");
    assert_eq!(Cassette::read(&written).map(|again| again.to_text()), Ok(written.clone()));
    assert_eq!(changes(&cassette.inputs, &cassette.inputs), [] as [String; 0]);
    for name in [&cassette.test, &cassette.model] {
        let slug = slug(name);
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(!slug.is_empty() && slug.len() < 100 && slug.bytes().all(is_plain), "{slug:?} of {name:?}");
    }
    // Scoring reads the same recordings.
    let scored = Format::Cassette.read(Record { text: &written, header: None }, &Options::default());
    let traces: Vec<_> = scored.unwrap().into_iter().map(|one| one.trace).collect();
    assert_eq!(traces, [cassette.trace], "scoring reads another trace");
    true
}

/// The text with a fingerprint and a digest that fit.
fn stamped(text: &str) -> Option<String> {
    let mut value = json::parse(text).ok()?;
    seal(value.as_object_mut()?);
    Some(json::canonical(&value))
}

/// Holds a text as a saved report. It gives back whether it is one.
pub(crate) fn check_report(text: &str) -> bool {
    let events = match report::read(text) {
        Ok(events) => events,
        Err(error) => {
            let why = error.to_string();
            assert!((1..=LONGEST).contains(&why.len()), "a refusal of {} bytes: {why:.200}", why.len());
            assert!(!error.hint().is_empty());
            return false;
        }
    };
    let mut report = Report::default();
    for event in &events {
        report.take(event.clone());
    }
    assert!(report.exit_code() <= 2);
    let side = Side::of_report(&report);
    let compared = compare(&side, &side, &CompareOptions::default());
    assert!(!compared.has_drift(), "a report differs from itself: {compared:?}");
    let rows = rows(events);
    grid(&rows);
    let written = saved(&rows);
    let again = report::read(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(self::rows(again), rows, "what is written gives other rows");
    true
}

fn rows(events: Vec<Event>) -> Vec<Row> {
    let rows = events.into_iter().filter_map(|event| match event {
        Event::RowFinished(row) => Some(*row),
        _ => None,
    });
    rows.collect()
}

/// A report with these rows.
fn saved(rows: &[Row]) -> String {
    Layout::PRETTY.text(&serde_json::json!({ "mcptest": 1, "suites": [{ "file": "suite.yml", "rows": rows }] }))
}
