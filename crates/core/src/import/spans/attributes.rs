//! Attributes of spans in both encodings, decoded only when needed: most never are, and those that hold whole conversations
//! are large.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::ImportError;
use super::super::wire::{self, Text, Whole};
use crate::json;

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
    entries: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

#[derive(Debug, Clone)]
pub(super) enum Attribute<'a> {
    Text(Cow<'a, str>),
    /// Anything else, as its JSON.
    Json(Cow<'a, str>),
}

/// A key and its value in OTLP.
#[derive(Deserialize)]
pub(in super::super) struct KeyValue<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    value: Option<&'a RawValue>,
}

impl<'a> Attributes<'a> {
    pub(in super::super) fn plain(entries: BTreeMap<Text<'a>, &'a RawValue>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into_cow(), value)).collect();
        Self { encoding: Encoding::Plain, entries }
    }

    /// In OTLP attributes are a list. A key may be repeated with the same value. With another value it is refused.
    pub(in super::super) fn tagged(list: Vec<KeyValue<'a>>) -> Result<Self, ImportError> {
        let mut entries: BTreeMap<Cow<'a, str>, &'a RawValue> = BTreeMap::new();
        for KeyValue { key, value } in list {
            let Some(value) = value else { continue };
            match entries.entry(key.into_cow()) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(place) if place.get().get() == value.get() => {}
                Entry::Occupied(place) => {
                    return Err(ImportError::new(format!(
                        "attribute `{}` occurs twice with different values",
                        place.key()
                    )));
                }
            }
        }
        Ok(Self { encoding: Encoding::Tagged, entries })
    }

    /// Adds the attributes of others under keys that are not there yet. Both have the same encoding.
    pub(in super::super) fn fill(&mut self, others: Self) {
        for (key, value) in others.entries {
            self.entries.entry(key).or_insert(value);
        }
    }

    /// The attribute under a key; `None` when it is absent or `null`.
    pub(super) fn get(&self, key: &str) -> Result<Option<Attribute<'a>>, ImportError> {
        let Some(raw) = self.entries.get(key) else { return Ok(None) };
        self.decode(raw).map_err(|error| error.at(format_args!("attribute `{key}`")))
    }

    /// The attribute under the first of several keys that is there, with that key.
    pub(super) fn first<'k>(&self, keys: &[&'k str]) -> Result<Option<(&'k str, Attribute<'a>)>, ImportError> {
        for key in keys {
            if let Some(found) = self.get(key)? {
                return Ok(Some((key, found)));
            }
        }
        Ok(None)
    }

    /// The same as a text. A number becomes a text.
    pub(super) fn text(&self, keys: &[&str]) -> Result<Option<Cow<'a, str>>, ImportError> {
        Ok(self.first(keys)?.and_then(|(_, found)| found.text()).filter(|text| !text.is_empty()))
    }

    /// The same as a count.
    pub(super) fn count(&self, keys: &[&str]) -> Result<Option<u64>, ImportError> {
        let Some((key, found)) = self.first(keys)? else { return Ok(None) };
        let read = match &found {
            Attribute::Text(text) => text.parse().ok(),
            Attribute::Json(text) => serde_json::from_str::<Whole>(text).ok().map(|whole| whole.0),
        };
        read.map(Some).ok_or_else(|| ImportError::new(format!("attribute `{key}` must be a whole number")))
    }

    /// Whether any of these keys is there.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.entries.contains_key(*key))
    }

    /// Every attribute with this prefix, with the rest of its key.
    pub(super) fn below(
        &self,
        prefix: &str,
    ) -> impl Iterator<Item = (&str, Result<Option<Attribute<'a>>, ImportError>)> {
        let from = std::ops::Bound::Included(prefix);
        let entries = self.entries.range::<str, _>((from, std::ops::Bound::Unbounded));
        let prefix = prefix.to_owned();
        entries.map_while(move |(key, raw)| Some((key.strip_prefix(&prefix)?, self.decode(raw))))
    }

    /// Writes all attributes as one plain JSON object.
    pub(super) fn write(&self, out: &mut String) -> Result<(), ImportError> {
        out.push('{');
        for (place, (key, raw)) in self.entries.iter().enumerate() {
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

    fn decode(&self, raw: &'a RawValue) -> Result<Option<Attribute<'a>>, ImportError> {
        if self.encoding == Encoding::Plain {
            return plain(raw);
        }
        match wire::part::<Any<'a>>(raw)? {
            Any { text: Some(text), .. } => plain(text),
            any if any.is_nested() => Ok(Some(Attribute::Json(json::canonical(&any.value()?).into()))),
            any => any.scalar().map_or(Ok(None), plain),
        }
    }
}

fn plain(raw: &RawValue) -> Result<Option<Attribute<'_>>, ImportError> {
    match raw.get().as_bytes().first() {
        Some(b'"') => wire::part::<Text<'_>>(raw).map(|text| Some(Attribute::Text(text.into_cow()))),
        Some(b'n') => Ok(None),
        _ => Ok(Some(Attribute::Json(raw.get().into()))),
    }
}

impl<'a> Attribute<'a> {
    /// The text, or a number as text.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(text) => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(text),
        }
    }

    /// The JSON in the attribute. A text may contain JSON.
    pub(super) fn document(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) | Self::Json(text) => text,
        }
    }

    /// The value as recorded: a text stays a text.
    pub(super) fn value(self) -> Result<Value, ImportError> {
        match self {
            Self::Text(text) => Ok(Value::String(text.into_owned())),
            Self::Json(text) => wire::parse(&text),
        }
    }

    /// The texts of a list, which may be JSON in a text; a single text is a list of one.
    pub(super) fn words(self) -> Vec<String> {
        let document = self.clone().document();
        serde_json::from_str(&document).unwrap_or_else(|_| self.text().map(Cow::into_owned).into_iter().collect())
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
