//! The one description of what a file may hold: blocks of keys, each with its type, default and meaning.
//!
//! Checking, JSON Schema and reference documents are all made from these tables, so they cannot disagree.

use crate::eval::{EXPECT, GateKind};

/// A map with known keys.
#[derive(Debug)]
pub struct Block {
    /// What it is called in messages and documents.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its keys, in the order of the reference.
    pub keys: &'static [Key],
}

/// One key of a block.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Whether it must be given.
    pub required: bool,
    /// The value when it is left out; empty for none.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// How it is written; empty where the type says it all.
    pub example: &'static str,
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// Text that is not empty.
    Text,
    /// Text that may be empty.
    AnyText,
    /// Text in which `${VAR}` stays until a run goes live.
    Template,
    /// A whole number of at least this.
    Whole(u64),
    /// A number from one to another, both included.
    Number(f64, f64),
    /// A number of at least 0.
    Amount,
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these numbers.
    OneOf(&'static [u64]),
    /// A list, of at least so many.
    List(usize, &'static Takes),
    /// A map from names to values.
    Map(&'static Takes),
    /// A map with known keys.
    Block(&'static Block),
    /// The block of a gate: its parameters and `expect`.
    Gate(GateKind),
    /// Text, or a list of text.
    TextOrList,
    /// Text, or a map with known keys where text does not say enough.
    TextOr(&'static Block),
    /// Any value.
    Any,
    /// A matcher.
    Matcher,
    /// A JSON Schema.
    Schema,
    /// What a call's arguments must be: `any`, `ignore`, or one of [`ARGS_RULES`].
    CallArgs,
}

/// The rules for a call's arguments that take a value.
pub const ARGS_RULES: [&str; 4] = ["exact", "subset", "schema", "match"];

impl Takes {
    /// What it takes, in words, for messages and tables.
    pub fn describe(&self) -> String {
        match self {
            Self::Text | Self::AnyText | Self::Template => "text".to_owned(),
            Self::Whole(0) => "a whole number".to_owned(),
            Self::Whole(least) => format!("a whole number of at least {least}"),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Amount => "a number of at least 0".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::OneOf(numbers) => {
                let words: Vec<_> = numbers.iter().map(u64::to_string).collect();
                format!("one of {}", words.join(", "))
            }
            Self::List(_, Self::Block(block)) => format!("a list, each item {}", article(block.name)),
            Self::List(_, inner) => format!("a list of {}", inner.describe()),
            Self::Map(Self::Block(block)) => format!("a map of names, each {}", article(block.name)),
            Self::Map(Self::Matcher) => "a map from paths to matchers".to_owned(),
            Self::Map(inner) => format!("a map of {}", inner.describe()),
            Self::Block(block) => format!("a map ({})", block.name),
            Self::Gate(kind) => format!("a map (gate {})", kind.name()),
            Self::TextOrList => "text or a list of text".to_owned(),
            Self::TextOr(block) => format!("text or a map ({})", block.name),
            Self::Any => "any value".to_owned(),
            Self::Matcher => "a matcher".to_owned(),
            Self::Schema => "a JSON Schema".to_owned(),
            Self::CallArgs => format!("any, ignore, or one of {}", ARGS_RULES.join(", ")),
        }
    }
}

/// A name with its article: `an agent test`.
pub(crate) fn article(name: &str) -> String {
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}

/// A key that may be left out.
pub const fn key(name: &'static str, takes: Takes, default: &'static str, meaning: &'static str) -> Key {
    Key { name, takes, required: false, default, meaning, example: "" }
}

impl Key {
    /// The same key, which must be given.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same key with an example.
    #[must_use]
    pub const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }
}

impl Block {
    /// Its keys, as the keys of gates come too.
    pub fn all(&'static self) -> Vec<&'static Key> {
        self.keys.iter().collect()
    }
}

/// The keys of a gate's block.
pub fn gate_keys(kind: GateKind) -> impl Iterator<Item = &'static Key> + Clone {
    kind.info().params.iter().chain([&EXPECT])
}
