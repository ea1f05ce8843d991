//! Whether the model was shown what a server answered.

use serde_json::Value;

use crate::json;
use crate::trace::ToolResult;

/// Whether anything that a server answered occurs in what the model was shown. `None` where the server answered nothing that
/// could occur.
pub(super) fn is_shown(answered: &ToolResult, shown: &ToolResult) -> Option<bool> {
    let mut answers: Vec<String> = answered.texts().map(str::to_owned).collect();
    answers.extend(answered.structured_content.as_ref().map(|value| json::canonical(value)));
    if answers.is_empty() {
        return None;
    }
    let mut seen: Vec<String> = shown.texts().map(str::to_owned).collect();
    seen.extend(shown.structured_content.as_ref().map(|value| json::canonical(value)));
    // Clients join texts, put them into JSON and re-serialize JSON.
    let whole = seen.join("\n");
    let forms: Vec<String> = forms(&whole).into_iter().chain(seen.iter().flat_map(|text| forms(text))).collect();
    let occurs = |answer: &String| {
        let letters = letters(answer);
        let sorted = json::parse(answer).ok().map(|value| self::letters(&json::canonical(&value)));
        forms.iter().any(|form| form.contains(&letters) || sorted.as_ref().is_some_and(|sorted| form.contains(sorted)))
    };
    Some(answers.iter().any(occurs))
}

/// Letters and digits alone: quotes, escapes, spaces and brackets differ from writer to writer.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The text itself; if it is JSON, also with sorted keys, and the strings in it.
fn forms(text: &str) -> Vec<String> {
    let mut out = vec![letters(text)];
    if let Ok(value) = json::parse(text) {
        out.push(letters(&json::canonical(&value)));
        inner(&value, &mut out);
    }
    out
}

fn inner(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            out.push(letters(text));
            if let Ok(value) = json::parse(text) {
                out.push(letters(&json::canonical(&value)));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| inner(item, out)),
        Value::Object(map) => map.values().for_each(|item| inner(item, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(answered: Value, shown: &str) -> Option<bool> {
        let answered = crate::ledger::mcp_result(answered);
        let shown = ToolResult {
            content: Some(vec![json!({ "type": "text", "text": shown }).into()]),
            ..ToolResult::default()
        };
        is_shown(&answered, &shown)
    }

    #[test]
    fn an_answer_is_shown_in_any_writing() {
        let text = json!({ "content": [{ "type": "text", "text": "{\"total\": 3, \"name\": \"a \\\"b\\\"\"}" }] });
        for shown in [
            "{\"total\": 3, \"name\": \"a \\\"b\\\"\"}",
            "{\"name\":\"a \\\"b\\\"\",\"total\":3}",
            "Result: {\n  \"total\": 3,\n  \"name\": \"a \\\"b\\\"\"\n}\nWall time: 3 s",
            "[{\"type\":\"text\",\"text\":\"{\\\"total\\\": 3, \\\"name\\\": \\\"a \\\\\\\"b\\\\\\\"\\\"}\"}]",
            "{'total': 3, 'name': 'a \"b\"'}",
        ] {
            assert_eq!(check(text.clone(), shown), Some(true), "{shown}");
        }
        for shown in ["{\"total\": 4}", "denied", ""] {
            assert_eq!(check(text.clone(), shown), Some(false), "{shown}");
        }
        let structured =
            json!({ "content": [{ "type": "text", "text": "ok then" }], "structuredContent": { "b": 1, "a": [2] } });
        assert_eq!(check(structured.clone(), "{\"b\":1,\"a\":[2]}"), Some(true));
        assert_eq!(check(structured, "{\"b\":1}"), Some(false));
        assert_eq!(check(json!({ "content": [{ "type": "image", "data": "", "mimeType": "" }] }), "x"), None);
    }
}
