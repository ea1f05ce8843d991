//! Key tables: the blocks of a file, and the type, default and meaning of each key.
//!
//! Validation, JSON Schema and the reference pages are all generated from these tables, so they cannot disagree.

use crate::eval::{EXPECT, GateKind};

/// A map with known keys.
#[derive(Debug)]
pub struct Block {
    /// The name in messages and documents.
    pub name: &'static str,
    pub about: &'static str,
    /// In the order of the reference.
    pub keys: &'static [Key],
}

#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    pub value_type: ValueType,
    pub required: bool,
    /// The value when the key is left out; empty for none.
    pub default: &'static str,
    pub meaning: &'static str,
    /// Empty where the type is example enough.
    pub example: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum ValueType {
    /// A string that is not empty.
    Text,
    /// A string that may be empty.
    AnyText,
    /// A string in which `${VAR}` is resolved only when a live run starts.
    Template,
    /// A whole number of at least this.
    Integer(u64),
    /// A number in an inclusive range.
    Number(f64, f64),
    /// A number of at least 0.
    NonNegative,
    Bool,
    Word(&'static [&'static str]),
    OneOf(&'static [u64]),
    /// A list with a minimum length.
    List(usize, &'static ValueType),
    /// A map from names to values.
    Map(&'static ValueType),
    /// A map with known keys.
    Object(&'static Block),
    /// The block of a gate: its parameters and `expect`.
    Gate(GateKind),
    /// A string, or a list of strings.
    TextOrList,
    /// A whole number of at least this, or a map with known keys for what a number cannot express.
    IntegerOr(u64, &'static Block),
    /// A string, or a map with known keys for what a string cannot express.
    TextOr(&'static Block),
    Any,
    Matcher,
    Schema,
    /// Rules for the arguments of a call: `any`, `ignore`, or one of [`ARGS_RULES`].
    CallArgs,
}

/// The rules for a call's arguments that take a value.
pub const ARGS_RULES: [&str; 4] = ["exact", "subset", "schema", "match"];

impl ValueType {
    /// The type in words, for messages and tables.
    pub fn describe(&self) -> String {
        match self {
            Self::Text | Self::AnyText | Self::Template => "a string".to_owned(),
            Self::Integer(0) => "a whole number".to_owned(),
            Self::Integer(least) => format!("a whole number of at least {least}"),
            Self::IntegerOr(least, block) => {
                format!("{} or a map ({})", Self::Integer(*least).describe(), block.name)
            }
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::NonNegative => "a number of at least 0".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::OneOf(numbers) => {
                let words: Vec<_> = numbers.iter().map(u64::to_string).collect();
                format!("one of {}", words.join(", "))
            }
            Self::List(_, inner) => format!("a list of {}", inner.plural()),
            Self::Map(Self::Matcher) => "a map from paths to matchers".to_owned(),
            Self::Map(inner) => format!("a map from names to {}", inner.plural()),
            Self::Object(block) => format!("a map ({})", block.name),
            Self::Gate(kind) => format!("a map (gate {})", kind.name()),
            Self::TextOrList => "a string or a list of strings".to_owned(),
            Self::TextOr(block) => format!("a string or a map ({})", block.name),
            Self::Any => "any value".to_owned(),
            Self::Matcher => "a matcher".to_owned(),
            Self::Schema => "a JSON Schema".to_owned(),
            Self::CallArgs => format!("any, ignore, or a map with one of {}", ARGS_RULES.join(", ")),
        }
    }

    /// Several values of the type, in words.
    fn plural(&self) -> String {
        match self {
            Self::Text | Self::AnyText | Self::Template => "strings".to_owned(),
            Self::Object(block) => match block.name.strip_suffix('y') {
                Some(stem) => format!("{stem}ies"),
                None => format!("{}s", block.name),
            },
            Self::TextOrList => "strings or lists of strings".to_owned(),
            Self::Matcher => "matchers".to_owned(),
            Self::Any => "values".to_owned(),
            other => other.describe(),
        }
    }
}

/// A name with its article: `an agent test`.
pub(crate) fn with_article(name: &str) -> String {
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}

pub const fn key(name: &'static str, value_type: ValueType, default: &'static str, meaning: &'static str) -> Key {
    Key { name, value_type, required: false, default, meaning, example: "" }
}

impl Key {
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    #[must_use]
    pub const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }
}

impl Block {
    /// References to its keys, in the same form as a gate's keys.
    pub fn all(&'static self) -> Vec<&'static Key> {
        self.keys.iter().collect()
    }
}

/// The keys of a gate's block.
pub fn gate_keys(kind: GateKind) -> impl Iterator<Item = &'static Key> + Clone {
    kind.info().params.iter().chain([&EXPECT])
}
