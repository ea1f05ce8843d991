//! The JSON pointers of a value.

use serde_json::Value;

/// The JSON pointers of all that is inside a value.
pub(crate) fn pointers(value: &Value, path: &str, out: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.replace('~', "~0").replace('/', "~1"), item)).collect(),
        _ => return,
    };
    for (key, item) in inner {
        let path = format!("{path}/{key}");
        pointers(item, &path, out);
        out.push(path);
    }
}
