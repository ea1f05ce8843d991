//! The tools that were called, each once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::actions::{self, NameInfo};
use super::backing::Mutating;
use super::did::Did;
use super::{lexicon, words};
use crate::trace::{ToolCall, Trace};

/// A tool as the calls used it.
#[derive(Debug, Clone)]
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    pub(super) words: Vec<Word<'a>>,
    /// What the words of its name say.
    pub(super) says: NameInfo,
    /// Its calls, in order.
    pub(super) calls: Vec<usize>,
}

impl<'a> Tool<'a> {
    /// A tool without calls.
    pub(super) fn new(name: &'a str) -> Self {
        let words: Vec<Word<'a>> = words::each_word(name).map(Word::new).collect();
        let says = actions::words_info(words.iter().map(|word| &word.plain));
        Self { name, words, says, calls: Vec::new() }
    }

    /// Whether its name has one of some words.
    pub(super) fn has(&self, list: &[&str]) -> bool {
        self.words.iter().any(|word| list.contains(&word.plain.as_ref()))
    }
}

/// A word of a tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// As it is written, in lower case.
    pub(super) plain: Cow<'a, str>,
    /// What its inflections share.
    pub(super) root: Cow<'a, str>,
}

impl<'a> Word<'a> {
    fn new(plain: Cow<'a, str>) -> Self {
        let known = lexicon::known(&plain);
        let root = match &known.root {
            Some(root) => root.into(),
            None => words::in_part(plain.clone(), words::regular_root),
        };
        Self { plain, root }
    }
}

/// The tools of a trace, in the order of their first calls.
pub(super) struct Tools<'a> {
    pub(super) list: Vec<Tool<'a>>,
    /// The tool of each call.
    of_calls: Vec<usize>,
    /// The place of each tool by its name.
    places: BTreeMap<&'a str, usize>,
}

impl<'a> Tools<'a> {
    pub(super) fn new(calls: &'a [ToolCall]) -> Self {
        let mut list: Vec<Tool<'a>> = Vec::with_capacity(calls.len().min(8));
        let mut of_calls = Vec::with_capacity(calls.len());
        let mut places: BTreeMap<&'a str, usize> = BTreeMap::new();
        for (at, call) in calls.iter().enumerate() {
            let place = *places.entry(&call.name).or_insert_with(|| {
                list.push(Tool::new(&call.name));
                list.len() - 1
            });
            list[place].calls.push(at);
            of_calls.push(place);
        }
        Self { list, of_calls, places }
    }

    /// The place of a call's tool.
    pub(super) fn of(&self, call: usize) -> usize {
        self.of_calls[call]
    }

    /// The place of a tool by its name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}

/// What a call of a tool did, unless something says that the tool changes nothing.
pub(super) fn did<'a>(call: &'a ToolCall, tool: &Tool<'a>, trace: &Trace, mutating: &Mutating) -> Did<'a> {
    let is_read_only = mutating.is_readonly(tool.name) || trace.is_read_only(call);
    if is_read_only { Did::nothing(call) } else { Did::read(call, tool) }
}
