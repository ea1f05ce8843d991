//! A cassette of this project: a trace and what was asked.

use std::borrow::Cow;

use serde_json::Value;

use super::look::Look;
use super::{ImportError, Imported, Record, Unit, envelope};
use crate::report::row_name;
use crate::trace::Trace;

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    look.has(&["mcptest", "trace"]).then_some((Unit::Record, Cow::Borrowed("it has `mcptest` and `trace`")))
}

pub(super) fn read(record: Record<'_>) -> Result<Vec<Imported<'_>>, ImportError> {
    let value = envelope::parse(record.text)?;
    if value.get("trace").is_none() {
        return Err(
            ImportError::new("it has no `trace`").hint("an envelope that stands by itself is `--from envelope`")
        );
    }
    let trace = Trace::read(&value)?;
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let id = text("test").map(|test| row_name(test, text("model"), value.get("run").and_then(Value::as_u64), None));
    Ok(vec![Imported { id, group: None, fields: record.text.into(), trace }])
}
