//! Lines of a report: the mark of a verdict, then the verdict or a gate.

use mcptest_core::eval::GATES;

use super::page::Page;
use super::{gate, glossary, key, word};
use crate::trouble::find::without_colour;

/// The gate that a line is about, else the verdict of a row. Of several lines the first with a gate counts: it says more.
pub(super) fn explain(text: &str, all: bool, page: &mut Page) {
    let text = without_colour(text);
    let lines = || text.lines().map(|line| line.trim_start_matches(|c: char| !c.is_alphanumeric()));
    let is_judged = |name: &&str| *name == "expect" || GATES.iter().any(|gate| gate.kind.name() == *name);
    if let Some(name) = lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).find(is_judged) {
        gate::gate(name, all, page);
        key::explain(name, page);
        return;
    }
    // A verdict stands behind a mark; a line that begins with such a word may be a line of any log.
    let marked = text.lines().map(str::trim_start).filter(|line| !line.starts_with(char::is_alphanumeric));
    let words = marked.filter_map(|line| line.split_whitespace().nth(1));
    for verdict in words.filter(|word| word.chars().all(|c| c.is_ascii_uppercase())) {
        match verdict {
            "REFUSED" => glossary::explain(verdict, page),
            _ => word::verdict(verdict, page),
        }
        if !page.is_empty() {
            return;
        }
    }
}
