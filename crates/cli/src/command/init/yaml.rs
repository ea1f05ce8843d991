//! Writes text and values so that YAML reads them back unchanged.
//!
//! Values are on one line, in flow style. Short plain words are not quoted; everything else is quoted like JSON, with all special
//! characters escaped.

use mcptest_core::diag::{is_unprintable, printable};
use mcptest_core::json::{self, Layout};
use serde_json::Value;

use crate::wrap::wrap;

/// What a dollar sign means in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum Dollar {
    Plain,
    /// The start of a reference, such as `${NAME}`.
    Sign,
}

/// Columns after which comments are broken.
const WIDTH: usize = 100;

/// Maximum characters of a comment, which may quote a whole message.
const MAX_COMMENT: usize = 400;

/// A text as a scalar.
pub(in crate::command) fn text(text: &str, dollar: Dollar) -> String {
    let doubled;
    let text = match dollar {
        Dollar::Sign if text.contains("$$") || text.contains("${") => {
            doubled = text.replace('$', "$$");
            &doubled
        }
        _ => text,
    };
    if is_harmless(text) { text.to_owned() } else { quoted(text) }
}

/// A value in flow style. Keys are never read as references.
pub(in crate::command) fn value(value: &Value, dollar: Dollar) -> String {
    match value {
        Value::String(word) => text(word, dollar),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| self::value(item, dollar)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            // Sorted explicitly, because a feature of another crate could keep them in insertion order.
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, item)| format!("{}: {}", text(key, Dollar::Plain), self::value(item, dollar)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        plain => plain.to_string(),
    }
}

/// A value as JSON that a YAML reader takes too.
pub(super) fn json(value: &Value) -> String {
    let text = Layout::EXACT_PRETTY.text(value);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Outside strings no other character needs escaping.
        if c != '\n' && needs_code(c) { push_code(&mut out, c) } else { out.push(c) }
    }
    out
}

/// A comment: of one line, or broken at spaces into several.
pub(in crate::command) fn comment(indent: usize, text: &str) -> String {
    let text: String =
        printable(&json::cut(text.trim(), MAX_COMMENT)).chars().map(|c| if needs_code(c) { ' ' } else { c }).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mark = format!("{}# ", " ".repeat(indent));
    wrap(&text, WIDTH, &mark, &mark)
}

/// Whether a text needs no quotes as a value or a key.
fn is_harmless(text: &str) -> bool {
    const LONGEST: usize = 80;
    /// Words that some YAML readers do not read as strings.
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.len() <= LONGEST
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // What acts on a terminal is escaped too: proposals are printed.
            c if needs_code(c) || is_unprintable(c) => push_code(&mut out, c),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a character must be escaped in YAML: control characters, line breaks, byte order marks, and noncharacters.
fn needs_code(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn push_code(out: &mut String, c: char) {
    match u32::from(c) {
        code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
        code => out.push_str(&format!("\\U{code:08x}")),
    }
}

#[cfg(test)]
mod tests {
    use mcptest_core::diag::Source;
    use mcptest_core::suite::yaml;
    use mcptest_core::template::{Scope, Shape};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// What a text in the place of a value reads back as.
    fn read(text: &str) -> Value {
        let source = Source::new("x.yml", format!("a:\n  - b: {text}\n    c: [{text}, x]\n"));
        let root = yaml::read(&source).unwrap_or_else(|found| panic!("{text}: {}", found[0].render(&source)));
        let item = root.get("a").unwrap().items()[0].to_json();
        assert_eq!(item["b"], item["c"][0], "{text}");
        item["b"].clone()
    }

    /// What it is where references are answered.
    fn filled(text: &str) -> Value {
        let source = Source::new("x.yml", format!("a: {text}\n"));
        let root = yaml::read(&source).unwrap();
        let shape = Shape::read(root.get("a").unwrap(), "results", &mut |_, error| panic!("{text}: {error}")).unwrap();
        shape.fill(&Scope::new("results", json!([]))).unwrap()
    }

    #[test]
    fn plain_words_are_not_quoted_and_everything_else_is() {
        for (given, written) in [
            ("get_forecast", "get_forecast"),
            ("/data/a.txt", "/data/a.txt"),
            ("No", "\"No\""),
            ("1043", "\"1043\""),
            ("-x", "\"-x\""),
            ("a b", "\"a b\""),
            ("", "\"\""),
            ("a: b", "\"a: b\""),
            ("it's \"so\"\n", "\"it's \\\"so\\\"\\n\""),
            ("\u{7f}\u{85}\u{2028}", "\"\\u007f\\u0085\\u2028\""),
        ] {
            assert_eq!(text(given, Dollar::Plain), written);
        }
        assert_eq!(
            value(&json!({ "b": [1, null, "x"], "a": {}, "2": 0.5 }), Dollar::Plain),
            "{ \"2\": 0.5, a: {}, b: [1, null, x] }"
        );
    }

    #[test]
    fn a_dollar_sign_is_doubled_only_where_it_would_be_read_as_something_else() {
        for (given, written) in [("$5", "\"$5\""), ("${HOME}", "\"$${HOME}\""), ("$$ $", "\"$$$$ $$\"")] {
            assert_eq!(text(given, Dollar::Sign), written);
        }
        assert_eq!(text("${HOME}", Dollar::Plain), "\"${HOME}\"");
    }

    #[test]
    fn quoted_text_cannot_end_a_comment() {
        let written = comment(
            2,
            "left out: \"a\nagents: []\r\u{2028}- b\" and more of it, so that it has to be broken into two lines at some space",
        );
        assert_eq!(
            written,
            "  # left out: \"a\\nagents: []\\r\\u{2028}- b\" and more of it, so that it has to be broken into two\n  # lines at some space\n"
        );
    }

    /// Texts that YAML may parse as another type.
    fn hostile() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec![
            "$", "{", "}", "${", "$$", ":-", "\"", "'", "\\", "\n", "\r\n", "\t", " ", "#", " #", ": ", "- ", "-", "?",
            "[", "]", ",", "&a", "*a", "!", "|", ">", "%", "@", "`", "~", "null", "true", "no", "0x1f", "1e3", ".inf",
            "---", "...", "<<", "=", "\u{0}", "\u{7f}", "\u{85}", "\u{a0}", "\u{2028}", "\u{feff}", "\u{fffe}", "é",
            "😀", "results", "[0]", "a",
        ]);
        prop_oneof![prop::collection::vec(parts, 0..8).prop_map(|parts| parts.concat()), any::<String>()]
    }

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            prop::num::f64::NORMAL.prop_map(Value::from),
            hostile().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(hostile(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn written_values_round_trip(given in anything()) {
            prop_assert_eq!(read(&value(&given, Dollar::Plain)), given.clone());
            prop_assert_eq!(filled(&value(&given, Dollar::Sign)), given);
        }

        #[test]
        fn json_reads_back_too(given in anything()) {
            let source = Source::new("x.json", json(&given));
            prop_assert_eq!(yaml::read(&source).unwrap().to_json(), given);
        }

        #[test]
        fn a_comment_adds_nothing_to_its_file(given in hostile()) {
            let source = Source::new("x.yml", format!("a:\n{}  b: 1\n", comment(2, &given)));
            prop_assert_eq!(yaml::read(&source).unwrap().to_json(), json!({ "a": { "b": 1 } }));
        }
    }
}
