//! The numbers a gate computed.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::table::GateInfo;

/// The numbers a gate computed. A metric without a value is absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metrics {
    values: Named<MetricValue>,
    missing: Named<String>,
}

/// The value of a metric. It becomes JSON only when it is read as such: a number in JSON is a text on the heap.
#[derive(Debug, Clone)]
pub(crate) enum MetricValue {
    Whole(u64),
    Real(f64),
    /// A list, or the value of a saved report.
    Json(Value),
}

impl MetricValue {
    fn to_json(&self) -> Value {
        match self {
            Self::Whole(number) => Value::from(*number),
            Self::Real(number) => Value::from(*number),
            Self::Json(value) => value.clone(),
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Real(number) => number.is_finite().then_some(*number),
            Self::Json(value) => value.as_f64(),
        }
    }
}

impl PartialEq for MetricValue {
    fn eq(&self, other: &Self) -> bool {
        self.to_json() == other.to_json()
    }
}

impl Serialize for MetricValue {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(number) => out.serialize_u64(*number),
            Self::Real(number) => out.serialize_f64(*number),
            Self::Json(value) => value.serialize(out),
        }
    }
}

impl From<u8> for MetricValue {
    fn from(number: u8) -> Self {
        Self::Whole(number.into())
    }
}

impl From<u32> for MetricValue {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<u64> for MetricValue {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<usize> for MetricValue {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl From<f64> for MetricValue {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<Value> for MetricValue {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

/// A few values sorted by name.
type Named<T> = Vec<(&'static str, T)>;

fn position<T>(named: &Named<T>, name: &str) -> Result<usize, usize> {
    named.binary_search_by(|(known, _)| (*known).cmp(name))
}

fn insert<T>(named: &mut Named<T>, name: &'static str, value: T) {
    // Gates set most of their metrics in order.
    if named.last().is_none_or(|(last, _)| *last < name) {
        named.push((name, value));
        return;
    }
    match position(named, name) {
        Ok(at) => named[at].1 = value,
        Err(at) => named.insert(at, (name, value)),
    }
}

fn find<'a, T>(named: &'a Named<T>, name: &str) -> Option<&'a T> {
    position(named, name).ok().map(|at| &named[at].1)
}

impl Metrics {
    /// No values yet, with capacity for the gate's metrics.
    pub(crate) fn of(gate: &GateInfo) -> Self {
        Self { values: Vec::with_capacity(gate.metrics.len()), missing: Vec::new() }
    }

    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<MetricValue>) {
        insert(&mut self.values, name, value.into());
    }

    pub(crate) fn set_flag(&mut self, name: &'static str, value: bool) {
        self.set(name, u8::from(value));
    }

    /// Sets the value if there is one.
    pub(crate) fn set_known(&mut self, name: &'static str, value: Option<impl Into<MetricValue>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Marks a metric as unknown because its evidence was not recorded.
    pub(crate) fn lacks_evidence(&mut self, name: &'static str, why: impl Into<String>) {
        insert(&mut self.missing, name, why.into());
    }

    /// Marks every metric of a gate as unknown for the same reason.
    pub(crate) fn without_evidence(gate: &GateInfo, why: &str) -> Self {
        let mut metrics = Self::default();
        for metric in gate.metrics {
            metrics.lacks_evidence(metric.name, why);
        }
        metrics
    }

    /// The metrics as one JSON object, without the gate's prefix.
    pub fn object(&self) -> Value {
        Value::Object(self.iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.values().map(|(name, value)| (name, value.to_json()))
    }

    /// The same without making JSON of the values.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'static str, &MetricValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// The value of one metric.
    pub fn get(&self, name: &str) -> Option<Value> {
        find(&self.values, name).map(MetricValue::to_json)
    }

    /// The value of one metric that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        find(&self.values, name)?.as_f64()
    }

    /// Why a metric has no value, if its evidence is missing.
    pub fn why_missing(&self, name: &str) -> Option<&str> {
        find(&self.missing, name).map(String::as_str)
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.values())
    }
}
