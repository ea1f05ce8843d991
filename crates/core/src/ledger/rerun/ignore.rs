//! What is not compared: parts of a request that change from run to run.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::ledger::Interface;

/// What a matched piece of text is replaced by. It can be seen in a difference.
const MARK: &str = "[ignored]";

/// A part of a request that is not compared.
#[derive(Debug, Clone)]
pub struct Ignore {
    steps: Vec<Step>,
    /// Only what it matches, in every text at the place or below; `None` for the whole value.
    pattern: Option<Regex>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// `*`: any key or item.
    Any,
    Key(String),
}

impl Step {
    fn is(&self, key: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Key(own) => own == key,
        }
    }
}

impl Ignore {
    /// A JSON pointer, in which `*` is any key or item, and a regular expression for a part of the texts there. The error says
    /// what is wrong with either.
    pub fn new(pointer: &str, pattern: Option<&str>) -> Result<Self, String> {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!("`{pointer}` is not a JSON pointer: it must begin with `/`"));
        }
        let step = |step: &str| match step {
            "*" => Step::Any,
            _ => Step::Key(step.replace("~1", "/").replace("~0", "~")),
        };
        let steps: Vec<Step> = pointer.split('/').skip(1).map(step).collect();
        if steps.is_empty() && pattern.is_none() {
            return Err("the empty pointer is the whole request, so nothing would be compared".to_owned());
        }
        let pattern = pattern.map(Regex::from_str).transpose().map_err(|error| error.to_string())?;
        Ok(Self { steps, pattern })
    }

    /// Removes it from a value. `below` is the number of its steps that lead to the value.
    fn apply(&self, value: &mut Value, below: usize) {
        self.walk(value, self.steps.get(below..).unwrap_or_default());
    }

    fn walk(&self, value: &mut Value, steps: &[Step]) {
        let Some((first, rest)) = steps.split_first() else {
            match &self.pattern {
                Some(pattern) => blank(value, pattern),
                None => *value = Value::Null,
            }
            return;
        };
        match value {
            Value::Object(map) if rest.is_empty() && self.pattern.is_none() => map.retain(|key, _| !first.is(key)),
            Value::Object(map) => {
                for (_, item) in map.iter_mut().filter(|(key, _)| first.is(key)) {
                    self.walk(item, rest);
                }
            }
            Value::Array(items) => {
                for (_, item) in items.iter_mut().enumerate().filter(|(at, _)| first.is(&at.to_string())) {
                    self.walk(item, rest);
                }
            }
            _ => {}
        }
    }
}

/// Replaces what a pattern matches in every text of a value.
fn blank(value: &mut Value, pattern: &Regex) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(blanked) = pattern.replace_all(text, regex::NoExpand(MARK)) {
                *text = blanked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| blank(item, pattern)),
        Value::Object(map) => map.values_mut().for_each(|item| blank(item, pattern)),
        _ => {}
    }
}

/// What clients of an interface are known to change from run to run: ids that they make up, and times.
fn usual(interface: Option<Interface>) -> &'static [Ignore] {
    static ANTHROPIC: LazyLock<Vec<Ignore>> = LazyLock::new(|| known(&[("/metadata/user_id", None)]));
    static RESPONSES: LazyLock<Vec<Ignore>> = LazyLock::new(|| {
        known(&[
            ("/client_metadata", None),
            ("/prompt_cache_key", None),
            ("/input/*/id", None),
            ("/input/*/output", Some("Wall time: [0-9.]+ seconds")),
        ])
    });
    static GEMINI: LazyLock<Vec<Ignore>> = LazyLock::new(|| {
        known(&[("/contents/*/parts/*/functionCall/id", None), ("/contents/*/parts/*/functionResponse/id", None)])
    });
    match interface {
        Some(Interface::Anthropic) => &ANTHROPIC,
        Some(Interface::OpenaiResponses) => &RESPONSES,
        Some(Interface::Gemini) => &GEMINI,
        Some(Interface::OpenaiChat) | None => &[],
    }
}

fn known(all: &[(&str, Option<&str>)]) -> Vec<Ignore> {
    all.iter().filter_map(|(pointer, pattern)| Ignore::new(pointer, *pattern).ok()).collect()
}

/// Everything that is not compared, of what the user says and of what is usual.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    own: Vec<Ignore>,
}

impl Rules {
    pub(super) fn new(own: Vec<Ignore>) -> Self {
        Self { own }
    }

    fn of(&self, interface: Option<Interface>) -> impl Iterator<Item = &Ignore> {
        self.own.iter().chain(usual(interface))
    }

    /// A value of a request without what is not compared. `at` is its place in the request.
    pub(super) fn apply(&self, value: &mut Value, interface: Option<Interface>, at: &[&str]) {
        for rule in self.of(interface) {
            let leads_here = rule.steps.len() >= at.len() && rule.steps.iter().zip(at).all(|(step, key)| step.is(key));
            // A text above this place is one that the place is in.
            let is_above = rule.pattern.is_some() && rule.steps.iter().zip(at).all(|(step, key)| step.is(key));
            if leads_here || is_above {
                rule.apply(value, at.len());
            }
        }
    }

    /// Whether all items of a list are treated the same.
    pub(super) fn is_even(&self, interface: Option<Interface>, key: &str) -> bool {
        !self.of(interface).any(|rule| {
            rule.steps.first().is_some_and(|step| step.is(key)) && matches!(rule.steps.get(1), Some(Step::Key(_)))
        })
    }

    /// Whether an entire part of a request is not compared.
    pub(super) fn drops(&self, interface: Option<Interface>, key: &str) -> bool {
        self.of(interface).any(|rule| match &*rule.steps {
            [step] => step.is(key) && rule.pattern.is_none(),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn without(value: Value, rules: &[(&str, Option<&str>)]) -> Value {
        let mut value = value;
        let own = rules.iter().map(|(pointer, pattern)| Ignore::new(pointer, *pattern).unwrap()).collect();
        Rules::new(own).apply(&mut value, None, &[]);
        value
    }

    #[test]
    fn a_pointer_takes_a_value_out_and_a_pattern_a_part_of_a_text() {
        let value = json!({ "a": [{ "id": 1, "t": "on 2026-01-02, at 7" }, { "id": 2 }], "b/c": 1, "d": "x" });
        assert_eq!(
            without(value.clone(), &[("/a/*/id", None), ("/b~1c", None)]),
            json!({ "a": [{ "t": "on 2026-01-02, at 7" }, {}], "d": "x" })
        );
        assert_eq!(
            without(value.clone(), &[("/a", Some("[0-9]{4}-[0-9]{2}-[0-9]{2}")), ("/a/1", None)]),
            json!({ "a": [{ "id": 1, "t": "on [ignored], at 7" }, null], "b/c": 1, "d": "x" })
        );
        assert_eq!(without(json!({ "a": "$0 x" }), &[("", Some("x"))]), json!({ "a": "$0 [ignored]" }));
        // What is not there changes nothing.
        assert_eq!(without(value.clone(), &[("/x/y", None), ("/d/e", None), ("/a/9", None)]), value);
    }

    #[test]
    fn an_invalid_ignore_rule_says_why() {
        assert!(Ignore::new("a", None).unwrap_err().contains("must begin with `/`"));
        assert!(Ignore::new("", None).unwrap_err().contains("nothing would be compared"));
        assert!(Ignore::new("/a", Some("(")).unwrap_err().contains("regex"));
    }

    #[test]
    fn ids_that_clients_make_up_are_usual() {
        for (interface, all) in [
            (Interface::Anthropic, 1),
            (Interface::OpenaiResponses, 4),
            (Interface::Gemini, 2),
            (Interface::OpenaiChat, 0),
        ] {
            assert_eq!(usual(Some(interface)).len(), all, "{interface:?}");
        }
        let mut body = json!({ "metadata": { "user_id": "u", "x": 1 } });
        Rules::default().apply(&mut body, Some(Interface::Anthropic), &[]);
        assert_eq!(body, json!({ "metadata": { "x": 1 } }));
        let mut item = json!({ "id": "i", "output": "Wall time: 0.12 seconds\nok" });
        Rules::default().apply(&mut item, Some(Interface::OpenaiResponses), &["input", "3"]);
        assert_eq!(item, json!({ "output": "[ignored]\nok" }));
    }
}
