//! Reports in the log of a CI server: with any reporter and any width, no text of an agent or a server is read as a command.

use std::cell::Cell;

use mcptest_core::event::Event;
use mcptest_core::report::{Report, read};
use serde_json::Value;

use mcptest_runner::file::Trust;

use super::style::Output;
use super::{Choice, Kind, Reporters, Style, Verbosity};
use crate::console::Stream;
use crate::console::runners::{HOSTILE, commands, is_invisible};

/// Keys of a saved report whose texts come from people, models and servers.
const FREE: [&str; 24] = [
    "text",
    "file",
    "refused",
    "model",
    "test",
    "advisory",
    "actual",
    "expected",
    "note",
    "path",
    "reason",
    "target",
    "line",
    "hint",
    "message",
    "fault",
    "content",
    "final_response",
    "to",
    "q",
    "flight",
    "seat",
    "flights",
    "structured_content",
];

/// The sample, with hostile text before and after every text from outside.
fn events(seed: usize) -> Vec<Event> {
    fn spoil(value: &mut Value, key: &str, above: &str, pick: &dyn Fn(&str) -> String) {
        match value {
            Value::String(text) => {
                let is_name = key == "name" && above != "checks";
                if is_name || FREE.contains(&key) {
                    *text = pick(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, key, above, pick)),
            Value::Object(map) => map.iter_mut().for_each(|(inner, value)| spoil(value, inner, key, pick)),
            _ => {}
        }
    }
    let mut report: Value = serde_json::from_str(include_str!("samples/report.json")).unwrap();
    // Equal texts stay equal, so that names still refer to each other.
    let pick = |text: &str| {
        let at = seed + text.len();
        format!("{}{text} {}", HOSTILE[at % HOSTILE.len()], HOSTILE[(at / 2 + seed) % HOSTILE.len()])
    };
    spoil(&mut report, "", "", &pick);
    read(&report.to_string()).unwrap()
}

/// What a reporter prints for events on output of this width.
fn printed(kind: Kind, events: &[Event], verbosity: Verbosity, width: usize) -> String {
    let output = Output { width, is_colored: width % 2 == 1 };
    let style = Style { verbosity, output, step_summary: None, trust: Trust::Trusted };
    let mut out = Vec::new();
    let mut reporters = Reporters::new(&[Choice { kind, path: None }], style, Stream::new(&mut out)).unwrap();
    let mut report = Report::default();
    for event in events {
        reporters.event(event);
        report.take(event.clone());
    }
    assert!(reporters.finish(&report, None).is_empty());
    String::from_utf8(out).unwrap()
}

#[test]
fn no_reporter_prints_a_command_at_any_width() {
    let shown = Cell::new(0);
    let check = |kind: Kind, text: &str| {
        let found: Vec<_> = commands(text)
            .into_iter()
            // The github reporter writes commands, but no text from outside becomes one.
            .filter(|found| kind != Kind::Github || !["error", "notice", "warning"].contains(&&*found.name))
            .collect();
        assert_eq!(found, [], "{}", kind.name());
        shown.set(shown.get() + text.matches("##\\u").count() + text.matches(":\\u003a").count());
    };
    for seed in 0..HOSTILE.len() {
        let events = events(seed);
        for kind in Kind::ALL {
            check(kind, &printed(kind, &events, Verbosity::Normal, 100));
        }
        for width in (40 + seed..=140).step_by(HOSTILE.len()) {
            check(Kind::Pretty, &printed(Kind::Pretty, &events, Verbosity::Verbose, width));
        }
    }
    // The texts were printed.
    assert!(shown.get() > 10_000, "{}", shown.get());
}

#[test]
fn the_github_reporter_writes_one_line_per_command() {
    for seed in 0..HOSTILE.len() {
        let text = printed(Kind::Github, &events(seed), Verbosity::Normal, 100);
        assert_eq!(commands(&text).len(), text.lines().count());
        for line in text.lines() {
            let (command, _) = line.split_once("::").and_then(|(_, rest)| rest.split_once("::")).unwrap();
            // Properties end where the data begins: no value has a colon, a comma or a command.
            let (kind, properties) = command.split_once(' ').unwrap();
            assert!(["error", "notice", "warning"].contains(&kind), "{line}");
            for property in properties.split(',') {
                let (key, _) = property.split_once('=').unwrap();
                assert!(["file", "line", "col", "title"].contains(&key), "{line}");
            }
        }
    }
}

#[test]
fn json_means_the_same_with_and_without_the_guard() {
    let strings = |text: &str| -> Vec<Value> {
        serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect()
    };
    for seed in 0..HOSTILE.len() {
        let events = events(seed);
        let mut report = Report::default();
        events.iter().cloned().for_each(|event| report.take(event));
        let mut plain = Vec::new();
        super::json::write(&report, &mut plain).unwrap();
        let guarded = printed(Kind::Json, &events, Verbosity::Normal, 100);
        assert_eq!(strings(&guarded), strings(&String::from_utf8(plain).unwrap()));
        let plain: String = events.iter().map(super::ndjson::event).collect();
        let guarded = printed(Kind::Ndjson, &events, Verbosity::Normal, 100);
        let lines: Vec<&str> = guarded.lines().collect();
        assert_eq!(strings(&lines[1..lines.len() - 1].join("\n")), strings(&plain));
    }
}

#[test]
fn invisible_characters_are_escaped_in_text_reports() {
    let events = events(0);
    for kind in Kind::ALL {
        let text = printed(kind, &events, Verbosity::Verbose, 100);
        let found: String = text.chars().filter(|c| is_invisible(*c)).collect();
        assert_eq!(found.escape_unicode().to_string(), "", "{}", kind.name());
    }
    for c in ('\u{80}'..=char::MAX).filter(|c| is_invisible(*c)) {
        assert_eq!(mcptest_core::diag::printable(&c.to_string()), c.escape_unicode().to_string());
    }
}

#[test]
fn our_own_parts_of_the_page_have_nothing_to_escape() {
    let page = [include_str!("html/page.css"), include_str!("html/page.js")].concat();
    assert_eq!(crate::console::escape(&page), page);
}
