//! Properties of the suite loader for every text: it terminates, it points into the text, it is deterministic, and it accepts
//! nothing that the JSON Schema rejects.

use std::sync::LazyLock;

use mcptest_core::diag::Source;
use mcptest_core::suite::{self, Loaded, Variables, yaml};
use proptest::prelude::*;

use crate::suite::{folder, load, outside, rendered, validator};

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(validator);

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Every place is in the text, on whole characters, and can be shown; there is a value or an error.
fn points_into<T>(source: &Source, loaded: &Loaded<T>) -> Result<(), TestCaseError> {
    let text = source.text();
    for diagnostic in &loaded.diagnostics {
        prop_assert!(text.get(diagnostic.place.clone()).is_some(), "{diagnostic:?}");
        let shown = diagnostic.render(source);
        prop_assert!(shown.contains('^') && shown.lines().count() >= 4, "{shown}");
        prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
        prop_assert!(!diagnostic.message.is_empty());
    }
    prop_assert!(loaded.value.is_some() || !loaded.diagnostics.is_empty());
    Ok(())
}

fn holds(text: &str) -> Result<(), TestCaseError> {
    let (source, loaded) = load("any.yml", text);
    points_into(&source, &loaded)?;
    let (_, again) = load("any.yml", text);
    prop_assert_eq!(&loaded.diagnostics, &again.diagnostics);
    if let (Ok(root), true) = (yaml::read(&source), loaded.value.is_some()) {
        prop_assert!(VALIDATOR.is_valid(&root.to_json()), "loads, but the JSON Schema rejects it:\n{text}");
    }
    let gates = suite::load_gates(&source, &Variables { suite_dir: ".", outside: &outside });
    points_into(&source, &gates)
}

/// One change to a text, at a place given as a share of it.
#[derive(Debug, Clone)]
enum Change {
    DropLine(prop::sample::Index),
    RepeatLine(prop::sample::Index),
    SwapLines(prop::sample::Index, prop::sample::Index),
    Indent(prop::sample::Index, usize),
    DropChar(prop::sample::Index),
    PutText(prop::sample::Index, String),
    Cut(prop::sample::Index),
}

impl Change {
    fn apply(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let mut chars: Vec<char> = text.chars().collect();
        if lines.is_empty() {
            return text.to_owned();
        }
        match self {
            Self::DropLine(at) => drop(lines.remove(at.index(lines.len()))),
            Self::RepeatLine(at) => {
                let at = at.index(lines.len());
                lines.insert(at, lines[at].clone());
            }
            Self::SwapLines(a, b) => {
                let (a, b) = (a.index(lines.len()), b.index(lines.len()));
                lines.swap(a, b);
            }
            Self::Indent(at, by) => {
                let at = at.index(lines.len());
                lines[at] = format!("{}{}", " ".repeat(*by), lines[at].trim_start_matches(' '));
            }
            Self::DropChar(at) => {
                chars.remove(at.index(chars.len()));
                return chars.into_iter().collect();
            }
            Self::PutText(at, put) => {
                let at = at.index(chars.len());
                chars.splice(at..at, put.chars());
                return chars.into_iter().collect();
            }
            Self::Cut(at) => {
                chars.truncate(at.index(chars.len()));
                return chars.into_iter().collect();
            }
        }
        lines.concat()
    }
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    // What YAML, references and regexes give a meaning to.
    let odd = prop::sample::select(vec![
        ":",
        ": ",
        "- ",
        "\n",
        "\r\n",
        "\r",
        "\t",
        "\"",
        "'",
        "{",
        "}",
        "[",
        "]",
        "&a ",
        "*a",
        "<<: *a\n",
        "!!str ",
        "|\n",
        ">-\n",
        "? ",
        "# ",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "${",
        "${X}",
        "$$",
        "é",
        "🌧",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "\0",
        "\u{1b}[31m",
        "~",
        "null",
        "-1",
        "1e999",
        "0x",
        "999999999999999999999",
        ".nan",
        "(",
        "\\",
        "__",
        ",",
    ]);
    prop_oneof![
        at().prop_map(Change::DropLine),
        at().prop_map(Change::RepeatLine),
        (at(), at()).prop_map(|(a, b)| Change::SwapLines(a, b)),
        (at(), 0usize..12).prop_map(|(at, by)| Change::Indent(at, by)),
        at().prop_map(Change::DropChar),
        (at(), odd).prop_map(|(at, put)| Change::PutText(at, put.to_owned())),
        (at(), ".{1,6}").prop_map(|(at, put)| Change::PutText(at, put)),
        at().prop_map(Change::Cut),
    ]
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        holds(&text)?;
    }

    #[test]
    fn any_text_of_yaml_characters_is_answered(text in "[-a-c:{}\\[\\],&*!|>'\"%@`#?<~$ \t\r\n0-2.é]{0,80}") {
        holds(&text)?;
    }
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn changed_suites_are_answered(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let suites: Vec<_> = folder("good").into_iter().chain(folder("lints")).collect();
        let start = suites[which.index(suites.len())].1.clone();
        holds(&changes.iter().fold(start, |text, change| change.apply(&text)))?;
    }
}

#[test]
fn every_diagnostic_points_into_its_file() {
    for (name, text) in folder("mistakes") {
        holds(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn diagnostics_are_in_file_order() {
    for (name, text) in folder("mistakes") {
        let (source, loaded) = load(&name, &text);
        let starts: Vec<_> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.place.start).collect();
        assert!(starts.is_sorted(), "{}", rendered(&source, &loaded));
    }
}
