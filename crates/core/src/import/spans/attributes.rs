//! Attributes of spans in both encodings, decoded only when needed: most never are, and those that hold whole conversations
//! are large.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::ImportError;
use super::super::wire::{self, Text, Whole};
use crate::json;
use crate::trace::{LazyText, share};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// JSON.
    Plain,
    /// OTLP: `{"stringValue": ..}`.
    Tagged,
}

/// The attributes of a span, an event or a resource.
#[derive(Debug, Clone)]
pub(in super::super) struct Attributes<'a> {
    encoding: Encoding,
    /// Each key once, in the order of the keys.
    entries: Vec<Entry<'a>>,
    /// The bits of all keys. Most attributes that are looked for are not there.
    bits: u64,
}

/// One bit for each key. Keys of one vocabulary begin alike, so their length and their end tell them apart.
fn bit(key: &str) -> u64 {
    let byte = |at: usize| key.as_bytes().get(at).copied().map_or(0, usize::from);
    let (length, last) = (key.len(), key.len().wrapping_sub(1));
    1 << ((length.wrapping_mul(7) ^ byte(last).wrapping_mul(13) ^ byte(last.wrapping_sub(4)).wrapping_mul(29)) % 64)
}

/// As many attributes as most spans have.
const SOME: usize = 16;

#[derive(Debug, Clone)]
struct Entry<'a> {
    key: Cow<'a, str>,
    raw: &'a RawValue,
    /// Several vocabularies look at the same attributes, so each is decoded once.
    decoded: OnceCell<Option<Attribute<'a>>>,
}

#[derive(Debug, Clone)]
pub(super) enum Attribute<'a> {
    /// A text, and a part of it as [`Attribute::part_of_list`] made it.
    Text(Text<'a>, OnceCell<PartOfList>),
    /// Anything else, as its JSON, which was checked.
    Json(Cow<'a, str>),
}

/// Some elements of a list, and where they are written.
#[derive(Debug, Clone)]
pub(super) struct PartOfList {
    range: Range<usize>,
    list: Arc<String>,
}

/// A key and its value in OTLP.
#[derive(Deserialize)]
pub(in super::super) struct KeyValue<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    value: Option<&'a RawValue>,
}

impl<'a> Entry<'a> {
    fn new(key: impl Into<Cow<'a, str>>, raw: &'a RawValue) -> Self {
        Self { key: key.into(), raw, decoded: OnceCell::new() }
    }
}

fn bits(entries: &[Entry<'_>]) -> u64 {
    entries.iter().fold(0, |bits, entry| bits | bit(&entry.key))
}

impl Default for Attributes<'_> {
    fn default() -> Self {
        Self { encoding: Encoding::Plain, entries: Vec::new(), bits: 0 }
    }
}

/// Attributes that are an object.
impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build<'a>(PhantomData<Attributes<'a>>);
        impl<'de: 'a, 'a> Visitor<'de> for Build<'a> {
            type Value = Attributes<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Attributes { entries: Vec::with_capacity(SOME), ..Attributes::default() };
                while let Some((key, raw)) = map.next_entry::<Text<'a>, &'a RawValue>()? {
                    all.entries.push(Entry::new(key.into_cow(), raw));
                }
                all.sort();
                Ok(all)
            }
        }
        deserializer.deserialize_map(Build(PhantomData))
    }
}

impl<'a> Attributes<'a> {
    /// In OTLP attributes are a list. A key may be repeated with the same value. With another value it is refused.
    pub(in super::super) fn tagged(list: Vec<KeyValue<'a>>) -> Result<Self, ImportError> {
        let pairs = list.into_iter().filter_map(|KeyValue { key, value }| Some(Entry::new(key.into_cow(), value?)));
        let mut list: Vec<(usize, Entry<'a>)> = pairs.enumerate().collect();
        list.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
        let of_key = list.chunk_by(|(_, a), (_, b)| a.key == b.key);
        let differ = of_key.filter_map(|same| same.iter().find(|(_, one)| one.raw.get() != same[0].1.raw.get()));
        if let Some((_, twice)) = differ.min_by_key(|(place, _)| *place) {
            return Err(ImportError::new(format!("attribute `{}` occurs twice with different values", twice.key)));
        }
        let mut entries: Vec<Entry<'a>> = list.into_iter().map(|(_, entry)| entry).collect();
        entries.dedup_by(|next, first| next.key == first.key);
        let bits = bits(&entries);
        Ok(Self { encoding: Encoding::Tagged, entries, bits })
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn sort(&mut self) {
        self.entries.sort_by(|a, b| a.key.cmp(&b.key));
        self.bits = bits(&self.entries);
    }

    /// Adds attributes, each instead of an earlier one under its key.
    pub(in super::super) fn extend<K: Into<Cow<'a, str>>>(
        &mut self,
        others: impl IntoIterator<Item = (K, &'a RawValue)>,
    ) {
        self.entries.reserve(SOME);
        self.entries.extend(others.into_iter().map(|(key, raw)| Entry::new(key, raw)));
        self.sort();
        self.entries.dedup_by(|next, kept| {
            let is_same = next.key == kept.key;
            if is_same {
                std::mem::swap(next, kept);
            }
            is_same
        });
    }

    /// Adds the attributes of others under keys that are not there yet. Both have the same encoding.
    pub(in super::super) fn fill(&mut self, others: Self) {
        if !others.is_empty() {
            self.entries.extend(others.entries);
            self.sort();
            self.entries.dedup_by(|next, kept| next.key == kept.key);
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry<'a>> {
        if self.bits & bit(key) == 0 {
            return None;
        }
        let at = self.entries.binary_search_by(|entry| (*entry.key).cmp(key)).ok()?;
        self.entries.get(at)
    }

    /// The attribute under a key; `None` when it is absent or `null`.
    pub(super) fn get(&self, key: &str) -> Result<Option<&Attribute<'a>>, ImportError> {
        let Some(entry) = self.entry(key) else { return Ok(None) };
        self.decoded(entry).map_err(|error| error.at(format_args!("attribute `{key}`")))
    }

    /// The text under a key as the JSON string that the record has; `None` for anything else.
    pub(super) fn raw_text(&self, key: &str) -> Option<&'a str> {
        let raw = self.entry(key).filter(|_| self.encoding == Encoding::Plain)?.raw.get();
        raw.starts_with('"').then_some(raw)
    }

    /// The attribute under the first of several keys that is there, with that key.
    pub(super) fn first<'k>(&self, keys: &[&'k str]) -> Result<Option<(&'k str, &Attribute<'a>)>, ImportError> {
        for key in keys {
            if let Some(found) = self.get(key)? {
                return Ok(Some((key, found)));
            }
        }
        Ok(None)
    }

    /// The same as a text. A number becomes a text.
    pub(super) fn text(&self, keys: &[&str]) -> Result<Option<&str>, ImportError> {
        Ok(self.first(keys)?.and_then(|(_, found)| found.text()).filter(|text| !text.is_empty()))
    }

    /// The same as a count.
    pub(super) fn count(&self, keys: &[&str]) -> Result<Option<u64>, ImportError> {
        let Some((key, found)) = self.first(keys)? else { return Ok(None) };
        let read = match found {
            Attribute::Text(text, _) => text.parse().ok(),
            Attribute::Json(text) => json::try_checked::<Whole>(text).map(|whole| whole.0),
        };
        read.map(Some).ok_or_else(|| ImportError::new(format!("attribute `{key}` must be a whole number")))
    }

    /// Whether any of these keys is there.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.entry(key).is_some())
    }

    /// Every attribute with this prefix, with the rest of its key.
    pub(super) fn below<'s>(
        &'s self,
        prefix: &'s str,
    ) -> impl Iterator<Item = (&'s str, Result<Option<&'s Attribute<'a>>, ImportError>)> {
        let from = self.entries.partition_point(|entry| *entry.key < *prefix);
        let entries = self.entries.get(from..).unwrap_or_default().iter();
        entries.map_while(move |entry| Some((entry.key.strip_prefix(prefix)?, self.decoded(entry))))
    }

    /// Writes all attributes as one plain JSON object.
    pub(super) fn write(&self, out: &mut String) -> Result<(), ImportError> {
        out.push('{');
        for (place, Entry { key, raw, .. }) in self.entries.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            json::write_canonical(&Value::String(key.clone().into_owned()), out);
            out.push(':');
            match self.encoding {
                Encoding::Plain => out.push_str(raw.get()),
                Encoding::Tagged => match wire::part::<Any<'_>>(raw)? {
                    Any { text: Some(text), .. } => out.push_str(text.get()),
                    any => json::write_canonical(&any.value()?, out),
                },
            }
        }
        out.push('}');
        Ok(())
    }

    fn decoded<'s>(&self, entry: &'s Entry<'a>) -> Result<Option<&'s Attribute<'a>>, ImportError> {
        if entry.decoded.get().is_none() {
            let decoded = self.decode(entry.raw)?;
            return Ok(entry.decoded.get_or_init(|| decoded).as_ref());
        }
        Ok(entry.decoded.get().and_then(Option::as_ref))
    }

    fn decode(&self, raw: &'a RawValue) -> Result<Option<Attribute<'a>>, ImportError> {
        if self.encoding == Encoding::Plain {
            return Ok(plain(raw));
        }
        match wire::part::<Any<'a>>(raw)? {
            Any { text: Some(text), .. } => Ok(plain(text)),
            any if any.is_nested() => Ok(Some(Attribute::Json(json::canonical(&any.value()?).into()))),
            any => Ok(any.scalar().and_then(plain)),
        }
    }
}

fn plain(raw: &RawValue) -> Option<Attribute<'_>> {
    match Text::part(raw) {
        Some(text) => Some(Attribute::Text(text, OnceCell::new())),
        None if raw.get().starts_with('n') => None,
        None => Some(Attribute::Json(raw.get().into())),
    }
}

impl Attribute<'_> {
    /// The text, or a number as text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text, _) => Some(text),
            Self::Json(text) => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(&**text),
        }
    }

    /// The JSON in the attribute. A text may contain JSON.
    pub(super) fn document(&self) -> &str {
        match self {
            Self::Text(text, _) => text,
            Self::Json(text) => text,
        }
    }

    /// The same for a trace.
    pub(super) fn lazy(&self) -> LazyText {
        match self {
            Self::Text(text, _) => text.lazy(),
            Self::Json(text) => LazyText::from(&**text),
        }
    }

    /// Whether it is JSON that was checked. JSON in a text was not.
    pub(super) fn is_checked(&self) -> bool {
        matches!(self, Self::Json(_))
    }

    /// A text with escapes that may contain a list, as it is written.
    pub(super) fn escaped_list(&self) -> Option<&str> {
        match self {
            Self::Text(Text::Escaped(written, _), _) if written.starts_with('[') && written.ends_with(']') => {
                Some(written)
            }
            _ => None,
        }
    }

    /// Some elements of such a list as a list of its own. `range` is where they are written. `None` where others were asked for
    /// before.
    pub(super) fn part_of_list(&self, range: Range<usize>) -> Option<&str> {
        let Self::Text(Text::Escaped(written, _), part) = self else { return None };
        let part = part.get_or_init(|| {
            let list = Arc::new(format!("[{}]", json::unescape(&written[range.clone()])));
            // Parts of it may be kept.
            share(&list);
            PartOfList { range: range.clone(), list }
        });
        (part.range == range).then_some(&**part.list)
    }

    /// Reads the JSON in the attribute.
    pub(super) fn read<'s, T: Deserialize<'s>>(&'s self) -> Result<T, ImportError> {
        match self {
            Self::Text(text, _) => wire::typed(text),
            Self::Json(text) => wire::piece(text),
        }
    }

    /// The value as recorded: a text stays a text.
    pub(super) fn value(&self) -> Result<Value, ImportError> {
        match self {
            Self::Text(text, _) => Ok(Value::String(text.to_string())),
            Self::Json(text) => wire::parse(text),
        }
    }

    /// The texts of a list, which may be JSON in a text; a single text is a list of one.
    pub(super) fn words(&self) -> Vec<String> {
        serde_json::from_str(self.document()).unwrap_or_else(|_| self.text().map(str::to_owned).into_iter().collect())
    }
}

/// A value in OTLP, with one of these fields.
#[derive(Deserialize)]
struct Any<'a> {
    #[serde(borrow, rename = "stringValue", alias = "string_value")]
    text: Option<&'a RawValue>,
    #[serde(rename = "intValue", alias = "int_value")]
    whole: Option<&'a RawValue>,
    #[serde(rename = "doubleValue", alias = "double_value")]
    number: Option<&'a RawValue>,
    #[serde(rename = "boolValue", alias = "bool_value")]
    truth: Option<&'a RawValue>,
    #[serde(rename = "bytesValue", alias = "bytes_value")]
    bytes: Option<&'a RawValue>,
    #[serde(rename = "arrayValue", alias = "array_value")]
    list: Option<List<'a>>,
    #[serde(rename = "kvlistValue", alias = "kvlist_value")]
    fields: Option<Fields<'a>>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    values: Vec<Any<'a>>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    values: Vec<Field<'a>>,
}

#[derive(Deserialize)]
struct Field<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    value: Option<Any<'a>>,
}

impl<'a> Any<'a> {
    fn is_nested(&self) -> bool {
        self.list.is_some() || self.fields.is_some()
    }

    fn scalar(&self) -> Option<&'a RawValue> {
        self.text.or(self.whole).or(self.number).or(self.truth).or(self.bytes)
    }

    /// As plain JSON. The parser limits its depth.
    fn value(self) -> Result<Value, ImportError> {
        if let Some(list) = self.list {
            return list.values.into_iter().map(Any::value).collect();
        }
        if let Some(fields) = self.fields {
            let mut map = Map::new();
            for field in fields.values {
                let value = field.value.map_or(Ok(Value::Null), Any::value)?;
                if map.insert(field.key.to_string(), value).is_some() {
                    return Err(ImportError::new(format!("duplicate key {:?}", &*field.key)));
                }
            }
            return Ok(Value::Object(map));
        }
        // OTLP writes a 64-bit number as text.
        if let Some(whole) = self.whole.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()) {
            return Ok(whole.parse::<i64>().map_or(Value::String(whole), Value::from));
        }
        self.scalar().map_or(Ok(Value::Null), wire::value)
    }
}
