//! A cassette of this project: a trace and its test.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::shape::Shape;
use super::wire::Text;
use super::{ImportError, Imported, Record, Unit, wire};
use crate::cassette::{Unreadable, check, read_only_tools};
use crate::json;
use crate::report::row_name;
use crate::trace::Envelope;

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    shape.has(&["mcptest", "trace"]).then_some((Unit::Record, Cow::Borrowed("it has `mcptest` and `trace`")))
}

#[derive(Deserialize)]
struct Cassette<'a> {
    #[serde(borrow)]
    test: Option<Text<'a>>,
    model: Option<Text<'a>>,
    run: Option<u64>,
    trace: Option<&'a RawValue>,
}

pub(super) fn read(record: Record<'_>) -> Result<Vec<Imported<'_>>, ImportError> {
    let Cassette { test, model, run, trace } = wire::typed(record.text)?;
    let Some(trace) = trace else {
        return Err(ImportError::new("it has no `trace`").hint("a bare envelope is `--from envelope`"));
    };
    let mut trace = wire::part::<Envelope>(trace).map_err(|error| error.at("trace"))?.trace()?;
    // The digest also covers keys that are not read here, so the whole record is read once more.
    let whole = json::parse(record.text).map_err(|error| ImportError::new(error.to_string()))?;
    let Value::Object(whole) = whole else { return Err(ImportError::new("it is not an object")) };
    let seal = check(&whole, &trace).map_err(|why| {
        let hint = match why {
            Unreadable::Edited => "restore the file or record it again; `mcptest cassette accept` keeps an edit",
            _ => "restore the file, or record it again",
        };
        ImportError::new(format!("it {why}")).hint(hint)
    })?;
    trace.read_only = whole.get("observed").map_or_else(BTreeSet::new, read_only_tools);
    let id = test.map(|test| row_name(&test, model.as_deref(), run, None));
    Ok(vec![Imported { id, group: None, seal: Some(seal), fields: record.text.into(), trace }])
}
