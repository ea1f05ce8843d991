//! What the parts of an envelope are: `object!` declares one, and its type, how it is read and written, its documentation and
//! its JSON Schema follow from the declaration.

use std::fmt;

use serde_json::Value;

use super::{LazyText, LazyValue};

/// What a part of a trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// A whole number of at least 0.
    Count,
    /// A whole number.
    Integer,
    /// A boolean.
    Flag,
    /// Any value.
    Any,
    /// An object with any keys, and what it is about.
    Open(&'static str),
    /// One of these strings.
    Words(&'static [&'static str]),
    /// A list of such items.
    List(&'static Kind),
    /// Such a value or null.
    Nullable(&'static Kind),
    /// An object with these keys, and what it is about.
    Object {
        /// What it is about.
        about: &'static str,
        /// Its keys, in order.
        members: &'static [Member],
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Count | Self::Integer => f.write_str("whole number"),
            Self::Flag => f.write_str("true or false"),
            Self::Any => f.write_str("any value"),
            Self::Words(words) => write!(f, "one of {}", words.join(", ")),
            Self::List(_) => f.write_str("list"),
            Self::Nullable(kind) => write!(f, "{kind} or null"),
            Self::Open(_) | Self::Object { .. } => f.write_str("object"),
        }
    }
}

/// A key of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The key.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What its value says.
    pub meaning: &'static str,
    /// What its absence means. `None` if it is always there.
    pub absent: Option<&'static str>,
}

impl Member {
    /// Null reads like an absent key, so the value of a key that may be absent is never described as null.
    pub(crate) const fn new(
        name: &'static str,
        kinds: &[Kind],
        meaning: &'static str,
        absent: &[&'static str],
    ) -> Self {
        match absent {
            [absent] => {
                let kind = if let Kind::Nullable(kind) = kinds[0] { *kind } else { kinds[0] };
                Self { name, kind, meaning, absent: Some(absent) }
            }
            _ => Self { name, kind: kinds[0], meaning, absent: None },
        }
    }
}

/// A type that is a part of an envelope.
pub(crate) trait Described {
    /// What it is.
    const KIND: Kind;

    /// Whether its key is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

macro_rules! described {
    ($($type:ty => $kind:ident),+) => { $(
        impl Described for $type {
            const KIND: Kind = Kind::$kind;
        }
    )+ };
}
described! { String => Text, LazyText => Text, u64 => Count, usize => Count, i64 => Integer, bool => Flag }

impl Described for Value {
    const KIND: Kind = Kind::Any;

    fn is_absent(&self) -> bool {
        self.is_null()
    }
}

impl Described for LazyValue {
    const KIND: Kind = Kind::Any;

    fn is_absent(&self) -> bool {
        self.is_null()
    }
}

impl<T: Described> Described for Vec<T> {
    const KIND: Kind = Kind::List(&T::KIND);
}

impl<T: Described> Described for Box<T> {
    const KIND: Kind = T::KIND;
}

impl<T: Described> Described for Option<T> {
    const KIND: Kind = Kind::Nullable(&T::KIND);

    fn is_absent(&self) -> bool {
        self.as_ref().is_none_or(T::is_absent)
    }
}

/// Declares an object of the envelope. A field with a text after `=` may be absent, and the text says what that means. `as`
/// says what a field is where its type says too little.
macro_rules! object {
    (
        $(#[doc = $about:literal])+
        $(#[derive $derive:tt])?
        $(#[serde $serde:tt])?
        pub struct $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $(#[serde $field_serde:tt])?
                pub $field:ident: $type:ty $(as ($kind:expr))? $(= $absent:literal)?,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        $(#[derive $derive])?
        $(#[serde $serde])?
        pub struct $name {
            $(
                $(#[doc = $meaning])+
                $(
                    #[doc = concat!("\n\nIf absent: ", $absent, ".")]
                    #[serde(skip_serializing_if = "Described::is_absent")]
                )?
                $(#[serde $field_serde])?
                pub $field: $type,
            )+
        }

        impl Described for $name {
            const KIND: Kind = Kind::Object {
                about: concat!($($about),+),
                members: &[$(Member::new(
                    stringify!($field),
                    &[$($kind,)? <$type as Described>::KIND],
                    concat!($($meaning),+),
                    &[$($absent)?],
                )),+],
            };

            /// An object without any known part is omitted.
            fn is_absent(&self) -> bool {
                true $(&& !(&[$($absent)?] as &[&str]).is_empty() && self.$field.is_absent())+
            }
        }
    };
}
pub(crate) use object;
