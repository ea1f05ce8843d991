//! Tables of keys: of suites, mock servers, scripts and gates.

use mcptest_core::eval::{ASSERTION, GATES, GateInfo, GateKind};
use mcptest_core::keys::{ARGS_RULES, Block, Key, ValueType};
use mcptest_core::matcher::MATCHERS;
use mcptest_core::suite::{
    AGENT, FAULT, FAULT_TARGET, GATE_FILE, IGNORED, MODEL, PRICE, PROGRAM, RUNS, SERVER, SUITE, TASK,
};
use mcptest_mock::{KINDS, spec};
use mcptest_runner::provider::script;

pub(super) fn suite_reference() -> String {
    let head = blocks(
        &[&SUITE, &SERVER, &MODEL, &PRICE, &PROGRAM, &IGNORED, &FAULT, &FAULT_TARGET, &AGENT, &RUNS, &ASSERTION],
        Page::Suite,
    );
    let mut matchers = table(&["key", "holds when", "example"]);
    for matcher in &MATCHERS {
        matchers.push_str(&row(&[&format!("`{}`", matcher.name), matcher.holds, &format!("`{}`", matcher.example)]));
    }
    let gate_file = blocks(&[&GATE_FILE, &TASK], Page::Suite);
    format!("{head}## matcher\n\nA map with exactly one of these keys.\n\n{matchers}\n{gate_file}")
}

pub(super) fn mock_reference() -> String {
    let of_tools = [&spec::FILE, &spec::SERVER, &spec::TOOL, &spec::ANNOTATIONS, &spec::ANSWER, &spec::RULE];
    let others = [&spec::RESOURCE, &spec::PROMPT, &spec::ARGUMENT, &spec::MESSAGE];
    blocks(&[&of_tools[..], &others].concat(), Page::Mock)
}

pub(super) fn script_reference() -> String {
    blocks(&[&script::SCRIPT, &script::RUN, &script::TURN, &script::CALL, &script::USAGE], Page::Script)
}

/// The faults of the mock server.
pub(super) fn faults() -> String {
    let mut text = table(&["kind", "what it does"]);
    for kind in &KINDS {
        text.push_str(&row(&[&format!("`{}`", kind.spelling()), kind.meaning]));
    }
    text
}

/// One section per block.
fn blocks(blocks: &[&Block], page: Page) -> String {
    let section =
        |block: &&Block| format!("## {}\n\n{}\n\n{}\n", block.name, block.about, key_table("key", block.keys, page));
    blocks.iter().map(section).collect()
}

/// A page of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Suite,
    Gate(GateKind),
    Mock,
    Script,
}

impl Page {
    /// Its file, below `docs/`.
    fn file(self) -> String {
        match self {
            Self::Suite => "suite.md".to_owned(),
            Self::Gate(kind) => format!("gates/{kind}.md"),
            Self::Mock => "mock.md".to_owned(),
            Self::Script => "script.md".to_owned(),
        }
    }

    /// The address of `self`, seen from `from`.
    fn address(self, from: Page) -> String {
        match (self, from) {
            _ if self == from => String::new(),
            (Self::Gate(kind), Self::Gate(_)) => format!("{kind}.md"),
            (_, Self::Gate(_)) => format!("../{}", self.file()),
            _ => self.file(),
        }
    }

    /// A link to a section of `self`, seen from `from`.
    fn link(self, section: &str, from: Page) -> String {
        format!("[{section}]({}#{})", self.address(from), section.replace(' ', "-"))
    }
}

/// One row per key. `heading` is what a key is called here.
pub(super) fn key_table<'a>(heading: &str, keys: impl IntoIterator<Item = &'a Key>, page: Page) -> String {
    let mut text = table(&[heading, "takes", "default", "meaning", "example"]);
    for key in keys {
        let default = match key.default {
            _ if key.required => "required".to_owned(),
            "" => "none".to_owned(),
            default => format!("`{default}`"),
        };
        let example = if key.example.is_empty() { String::new() } else { format!("`{}`", key.example) };
        text.push_str(&row(&[
            &format!("`{}`", key.name),
            &takes(&key.value_type, page),
            &default,
            key.meaning,
            &example,
        ]));
    }
    text
}

/// What a key takes, with links to values that have their own section.
fn takes(takes: &ValueType, page: Page) -> String {
    let link = |block: &Block| {
        let owner = gate_blocks().into_iter().find(|(_, other)| other.name == block.name);
        let home = match (owner, page) {
            (Some((kind, _)), _) => Page::Gate(kind),
            // These files have their own blocks and no others.
            (None, Page::Mock | Page::Script) => page,
            (None, Page::Suite | Page::Gate(_)) => Page::Suite,
        };
        home.link(block.name, page)
    };
    match takes {
        ValueType::Object(block) => format!("a map: {}", link(block)),
        ValueType::List(_, ValueType::Object(block)) => format!("a list, each item: {}", link(block)),
        ValueType::IntegerOr(least, block) => {
            format!("{}, or a map: {}", ValueType::Integer(*least).describe(), link(block))
        }
        ValueType::TextOr(block) => format!("text, or a map: {}", link(block)),
        ValueType::List(_, ValueType::TextOr(block)) => format!("a list, each item text or a map: {}", link(block)),
        ValueType::Map(ValueType::Matcher) => {
            format!("a map from paths, each value a {}", Page::Suite.link("matcher", page))
        }
        ValueType::Map(ValueType::Object(block)) => format!("a map from names, each value: {}", link(block)),
        ValueType::Gate(kind) => format!("a map: [{kind}]({})", Page::Gate(*kind).address(page)),
        ValueType::Matcher => format!("a {}", Page::Suite.link("matcher", page)),
        ValueType::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        ValueType::CallArgs => format!("`any`, `ignore`, or a map with one of `{}`", ARGS_RULES.join("`, `")),
        _ => takes.describe(),
    }
}

/// The blocks inside gates, each with the gate that has it.
fn gate_blocks() -> Vec<(GateKind, &'static Block)> {
    let of_gate = |gate: &'static GateInfo| {
        gate.params.iter().filter_map(|key| inner(&key.value_type)).map(|block| (gate.kind, block))
    };
    GATES.iter().flat_map(of_gate).collect()
}

/// The block a value is made of, if any.
pub(super) fn inner(takes: &ValueType) -> Option<&'static Block> {
    match takes {
        ValueType::Object(block) | ValueType::TextOr(block) | ValueType::IntegerOr(_, block) => Some(block),
        ValueType::List(_, inner_takes) | ValueType::Map(inner_takes) => inner(inner_takes),
        _ => None,
    }
}

pub(super) fn table(columns: &[&str]) -> String {
    let rule = vec!["---"; columns.len()];
    format!("{}{}", row(columns), row(&rule))
}

pub(super) fn row(cells: &[&str]) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | ").trim_end()).replace("|  |\n", "| |\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_empty_and_contain_a_bar() {
        assert_eq!(row(&["a|b", "c"]), "| a\\|b | c |\n");
        assert_eq!(row(&["a", ""]), "| a | |\n");
        assert_eq!(row(&["", "b"]), "|  | b |\n");
    }
}
