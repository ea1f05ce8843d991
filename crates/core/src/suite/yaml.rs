//! From YAML text to a tree in which every value and key has its span.
//!
//! Scalars follow the YAML 1.2 core schema: `true` is a boolean, `no` and `on` are text. Duplicate keys, several
//! documents, tags and values that are not JSON are rejected; aliases and merge keys work within a budget.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use super::{check, syntax_hints};
use crate::diag::{Code, Diagnostic, Source};
use crate::json;

/// Maximum size of a file.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of values that aliases may add.
const MAX_ALIASED: usize = 100_000;
/// Maximum number of anchored values; each is kept twice.
const MAX_ANCHORED: usize = 1_000_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Range<usize>,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing, or `null`.
    Null,
    Bool(bool),
    Number(Number),
    Text {
        text: String,
        /// Written without quotes.
        plain: bool,
    },
    List(Vec<Node>),
    /// In the order written.
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_span: Range<usize>,
    pub value: Node,
}

impl Node {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    pub fn entries_at(&self, key: &str) -> &[Entry] {
        self.get(key).map_or(&[], Self::entries)
    }

    pub fn items_at(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Self::items)
    }

    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    pub fn text_at(&self, key: &str) -> Option<String> {
        self.get(key)?.text().map(str::to_owned)
    }

    /// The strings in the list of a key. Other values, which the key tables report, become a placeholder that keeps indices
    /// equal to those of the file.
    pub fn texts_at(&self, key: &str) -> Vec<String> {
        let items = self.items_at(key);
        items.iter().map(|item| item.text().unwrap_or("?").to_owned()).collect()
    }

    pub fn whole_at(&self, key: &str) -> Option<u64> {
        match &self.get(key)?.content {
            Content::Number(number) => check::whole(number),
            _ => None,
        }
    }

    pub fn number_at(&self, key: &str) -> Option<f64> {
        match &self.get(key)?.content {
            Content::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub fn flag_at(&self, key: &str) -> Option<bool> {
        match &self.get(key)?.content {
            Content::Bool(word) => Some(*word),
            _ => None,
        }
    }

    /// Parses the word of a key.
    pub fn word_at<T>(&self, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        read(self.get(key)?.text()?)
    }

    /// The value without its places.
    pub fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(word) => Value::Bool(*word),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text { text, .. } => Value::String(text.clone()),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Map(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// The kind of the value and a short look at it.
    pub fn describe(&self) -> String {
        match &self.content {
            Content::Map(entries) if entries.len() == 1 => "a map with 1 key".to_owned(),
            Content::Map(entries) => format!("a map with {} keys", entries.len()),
            Content::Null => "nothing".to_owned(),
            _ => json::describe(&self.to_json()),
        }
    }

    /// The span at a JSON pointer, as far as it resolves; of the key if `of_key` is set.
    pub fn place(&self, pointer: &str, of_key: bool) -> Range<usize> {
        let mut node = self;
        let mut span = self.span.clone();
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            match &node.content {
                Content::Map(entries) => match entries.iter().find(|entry| entry.key == step) {
                    Some(entry) => {
                        span = if of_key { entry.key_span.clone() } else { entry.value.span.clone() };
                        node = &entry.value;
                    }
                    None => return span,
                },
                Content::List(items) => match step.parse().ok().and_then(|at: usize| items.get(at)) {
                    Some(item) => {
                        span = item.span.clone();
                        node = item;
                    }
                    None => return span,
                },
                _ => return span,
            }
        }
        span
    }
}

/// The text of a file as a tree, parsed once and cached.
pub fn tree(source: &Source) -> Result<&Node, &Vec<Diagnostic>> {
    source.tree.get_or_init(|| parse(source)).as_ref()
}

/// A copy of the tree.
pub fn read(source: &Source) -> Result<Node, Vec<Diagnostic>> {
    tree(source).cloned().map_err(Clone::clone)
}

/// Parses a file. All problems are collected until one stops the parser.
fn parse(source: &Source) -> Result<Node, Vec<Diagnostic>> {
    let text = source.text();
    let whole = |code: Code, message: String, hint: &str| vec![Diagnostic::error(0..0, message).code(code).hint(hint)];
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes, more than the limit of {MAX_BYTES}", text.len());
        return Err(whole(Code::FileTooLarge, message, "split it into several suites"));
    }
    let mut options = Options::default();
    options.flow_nesting_limit = json::MAX_DEPTH;
    options.block_nesting_limit = json::MAX_DEPTH;
    let mut builder = Builder {
        source,
        stack: Vec::new(),
        anchors: BTreeMap::new(),
        aliased: 0,
        anchored: 0,
        problems: Vec::new(),
        root: None,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => {
                if builder.take(event, &span).is_err() {
                    return Err(builder.problems);
                }
            }
            Err(error) => {
                builder.problems.push(syntax_hints::syntax(source, &error));
                return Err(builder.problems);
            }
        }
    }
    match builder.root {
        _ if !builder.problems.is_empty() => Err(builder.problems),
        Some(root) => Ok(root),
        None => Err(whole(Code::EmptyFile, "the file is empty".to_owned(), "`mcptest schema` prints the allowed keys")),
    }
}

/// A list or map that is still open.
enum Open {
    List { start: usize, anchor: usize, items: Vec<Node> },
    Map { start: usize, anchor: usize, entries: Vec<Entry>, merged: Vec<Entry>, key: Option<(String, Range<usize>)> },
}

struct Builder<'a> {
    source: &'a Source,
    stack: Vec<Open>,
    anchors: BTreeMap<usize, Anchor>,
    aliased: usize,
    anchored: usize,
    problems: Vec<Diagnostic>,
    root: Option<Node>,
}

struct Anchor {
    node: Node,
    size: usize,
    depth: usize,
}

/// Parsing stopped; the last problem says why.
struct Stopped;

impl Builder<'_> {
    fn problem(&mut self, code: Code, span: Range<usize>, message: impl Into<String>, hint: Option<&str>) {
        let hint = hint.map(str::to_owned);
        self.problems.push(Diagnostic { hint, ..Diagnostic::error(span, message).code(code) });
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Stopped> {
        let range = span.byte_range().unwrap_or(0..0);
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                self.problem(
                    Code::YamlFeature,
                    range,
                    "a second YAML document starts here",
                    Some("write one document per file: remove the `---`"),
                );
                Err(Stopped)
            }
            Event::Scalar(text, style, anchor, tag) => {
                if let Some(tag) = &tag {
                    let message = format!("the YAML tag `{}` is not supported", tag.original());
                    self.problem(
                        Code::YamlFeature,
                        range.clone(),
                        message,
                        Some("remove it; to make a value a string, put it in quotes"),
                    );
                }
                let plain = style == ScalarStyle::Plain;
                let is_key = matches!(self.stack.last(), Some(Open::Map { key: None, .. }));
                let content = if plain && !is_key {
                    self.scalar(&text, &range)
                } else {
                    Content::Text { text: text.into_owned(), plain }
                };
                self.node(Node { span: range, content }, anchor)
            }
            Event::SequenceStart(_, _, Some(tag)) | Event::MappingStart(_, _, Some(tag)) => {
                let message = format!("the YAML tag `{}` is not supported", tag.original());
                self.problem(Code::YamlFeature, range, message, Some("remove it"));
                Err(Stopped)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.stack.push(Open::List { start: range.start, anchor, items: Vec::new() });
                self.check_depth(range)
            }
            Event::MappingStart(_, anchor, _) => {
                self.stack.push(Open::Map {
                    start: range.start,
                    anchor,
                    entries: Vec::new(),
                    merged: Vec::new(),
                    key: None,
                });
                self.check_depth(range)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(Open::List { start, anchor, items }) => {
                    let end = end_of(&range, items.last().map(|last| last.span.end));
                    self.node(Node { span: start..end.max(start), content: Content::List(items) }, anchor)
                }
                Some(Open::Map { start, anchor, entries, merged, .. }) => {
                    let entries = self.unique(entries, merged);
                    let end = end_of(&range, entries.last().map(|last| last.value.span.end));
                    self.node(Node { span: start..end.max(start), content: Content::Map(entries) }, anchor)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some(found) = self.anchors.get(&anchor) else {
                    let hint = "write the value itself";
                    self.problem(Code::YamlFeature, range, "an alias refers to a value that contains it", Some(hint));
                    return Err(Stopped);
                };
                self.aliased += found.size;
                let depth = self.stack.len() + found.depth;
                if depth > json::MAX_DEPTH {
                    return self.too_deep(range);
                }
                let node = Node { span: range.clone(), ..found.node.clone() };
                if self.aliased > MAX_ALIASED {
                    let message = format!("aliases expand to more than {MAX_ALIASED} values");
                    self.problem(Code::YamlFeature, range, message, Some("use fewer aliases"));
                    return Err(Stopped);
                }
                self.node(node, 0)
            }
            _ => Ok(()),
        }
    }

    fn check_depth(&mut self, range: Range<usize>) -> Result<(), Stopped> {
        if self.stack.len() <= json::MAX_DEPTH {
            return Ok(());
        }
        self.too_deep(range)
    }

    fn too_deep(&mut self, range: Range<usize>) -> Result<(), Stopped> {
        self.problem(Code::NestedTooDeep, range, syntax_hints::too_deep(), None);
        Err(Stopped)
    }

    /// Adds a finished node to its parent.
    fn node(&mut self, node: Node, anchor: usize) -> Result<(), Stopped> {
        if anchor != 0 {
            let (size, depth) = (count(&node), depth(&node));
            self.anchored += size;
            if self.anchored > MAX_ANCHORED {
                let message = format!("anchors cover more than {MAX_ANCHORED} values");
                self.problem(Code::YamlFeature, node.span, message, Some("anchor smaller parts"));
                return Err(Stopped);
            }
            self.anchors.insert(anchor, Anchor { node: node.clone(), size, depth });
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, merged, key, .. }) => match key.take() {
                None => match node.content {
                    Content::Text { text, .. } => *key = Some((text, node.span)),
                    _ => {
                        let message = format!("a key must be a string, found {}", node.describe());
                        let hint = if self.source.text()[..node.span.start].ends_with('{') {
                            "put text with braces in quotes; write variables as `${NAME}`"
                        } else {
                            "put the key in quotes"
                        };
                        self.problem(Code::YamlFeature, node.span, message, Some(hint));
                        return Err(Stopped);
                    }
                },
                // In quotes its span is longer than its name, and it is an ordinary key.
                Some((name, span)) if name == "<<" && span.len() == name.len() => {
                    if !merge(merged, node) {
                        let hint = "write `<<: *name`, where `&name` anchors a map";
                        self.problem(Code::YamlFeature, span, "`<<` must be a map or a list of maps", Some(hint));
                    }
                }
                Some((name, span)) => {
                    entries.push(Entry { key: name, key_span: span, value: node });
                }
            },
        }
        Ok(())
    }

    /// A map's own entries plus the merged ones it does not override. Reports duplicate keys.
    fn unique(&mut self, mut entries: Vec<Entry>, merged: Vec<Entry>) -> Vec<Entry> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key).then(a.cmp(b)));
        let mut twice: Vec<usize> = Vec::new();
        for pair in order.windows(2).filter(|pair| entries[pair[0]].key == entries[pair[1]].key) {
            let (line, _) = self.source.place(entries[pair[0]].key_span.start);
            let second = &entries[pair[1]];
            let message = format!("duplicate key `{}`, first used on line {line}", second.key);
            let hint = "remove one of them; if these are two list items, start each with `- `";
            self.problem(Code::DuplicateKey, second.key_span.clone(), message, Some(hint));
            twice.push(pair[1]);
        }
        twice.sort_unstable();
        let mut at = 0;
        entries.retain(|_| {
            at += 1;
            twice.binary_search(&(at - 1)).is_err()
        });
        if !merged.is_empty() {
            let mut given: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
            entries.extend(merged.into_iter().filter(|entry| given.insert(entry.key.clone())));
        }
        entries
    }

    /// A plain scalar by the core schema.
    fn scalar(&mut self, text: &str, range: &Range<usize>) -> Content {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Content::Null,
            "true" | "True" | "TRUE" => return Content::Bool(true),
            "false" | "False" | "FALSE" => return Content::Bool(false),
            ".inf" | ".Inf" | ".INF" | "-.inf" | "+.inf" | ".nan" | ".NaN" | ".NAN" => {
                let hint = "write a number, or put it in quotes";
                self.problem(
                    Code::YamlFeature,
                    range.clone(),
                    format!("`{text}` is not a valid JSON number"),
                    Some(hint),
                );
                return Content::Null;
            }
            _ => {}
        }
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(Number::from);
        let based = match (unsigned.strip_prefix("0x"), unsigned.strip_prefix("0o")) {
            (Some(digits), _) => radix(digits, 16),
            (_, Some(digits)) => radix(digits, 8),
            _ => None,
        };
        let whole = || {
            let (sign, digits) = unsigned.strip_prefix('-').map_or(("", unsigned), |digits| ("-", digits));
            let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let shortest = digits.trim_start_matches('0');
            let shortest = if shortest.is_empty() { "0" } else { shortest };
            is_whole.then(|| format!("{sign}{shortest}").parse::<Number>().ok()).flatten()
        };
        let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
            && unsigned.chars().any(|c| c.is_ascii_digit())
            && unsigned.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
        let float = || numeric.then(|| unsigned.parse::<f64>().ok().and_then(Number::from_f64)).flatten();
        match based.or_else(|| if numeric { whole() } else { None }).or_else(float) {
            Some(number) => Content::Number(number),
            None => Content::Text { text: text.to_owned(), plain: true },
        }
    }
}

/// Where a list or map ends: at its bracket, or without one at its last value.
fn end_of(close: &Range<usize>, last: Option<usize>) -> usize {
    if close.is_empty() { last.unwrap_or(close.end) } else { close.end }
}

/// Levels of nested lists and maps.
fn depth(node: &Node) -> usize {
    let inner = node.items().iter().chain(node.entries().iter().map(|entry| &entry.value)).map(depth).max();
    match node.content {
        Content::List(_) | Content::Map(_) => 1 + inner.unwrap_or(0),
        _ => 0,
    }
}

fn count(node: &Node) -> usize {
    1 + node.items().iter().map(count).sum::<usize>()
        + node.entries().iter().map(|entry| count(&entry.value)).sum::<usize>()
}

/// Adds the entries of a map, or of each map of a list.
fn merge(merged: &mut Vec<Entry>, node: Node) -> bool {
    match node.content {
        Content::Map(more) => {
            merged.extend(more);
            true
        }
        Content::List(items) => {
            items.into_iter().all(|item| matches!(item.content, Content::Map(_)) && merge(merged, item))
        }
        _ => false,
    }
}
