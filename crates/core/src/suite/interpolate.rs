//! `${VAR}`, `${VAR:-default}` and `$$` in strings. Resolved after parsing, so a value can never change the structure.

use std::collections::BTreeMap;

use serde_json::Value;

/// Values of variables: the suite's directory, and the environment.
pub struct Variables<'a> {
    /// The suite's directory, for `${SUITE_DIR}`.
    pub suite_dir: &'a str,
    /// Looks up an environment variable.
    pub outside: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Variables<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variables").field("suite_dir", &self.suite_dir).finish_non_exhaustive()
    }
}

/// A string with references that are resolved later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Plain(String),
    /// `${name}` or `${name:-default}`.
    Reference {
        name: String,
        default: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("`${{` is not closed")]
    Unclosed,
    #[error("`{0}` is not a variable name")]
    Name(String),
    #[error("variable `{0}` is not set")]
    Unset(String),
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = parts(text)?;
        for part in &parts {
            if let Part::Reference { name, .. } = part
                && !is_name(name)
            {
                return Err(TemplateError::Name(name.clone()));
            }
        }
        Ok(Self { parts })
    }

    pub(super) fn plain(text: &str) -> Self {
        Self { parts: vec![Part::Plain(text.to_owned())] }
    }

    /// Its lines, without the ends of lines. A text that ends with one has an empty last line.
    pub(super) fn lines(&self) -> Vec<Self> {
        let mut out = vec![Self { parts: Vec::new() }];
        let mut add = |part: Part, is_new: bool| {
            if is_new {
                out.push(Self { parts: Vec::new() });
            }
            if let Some(last) = out.last_mut() {
                last.parts.push(part);
            }
        };
        for part in &self.parts {
            match part {
                Part::Plain(text) => {
                    for (at, line) in text.split('\n').enumerate() {
                        add(Part::Plain(line.to_owned()), at > 0);
                    }
                }
                reference @ Part::Reference { .. } => add(reference.clone(), false),
            }
        }
        out
    }

    /// The names it refers to, in the order written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Plain(_) => None,
            Part::Reference { name, .. } => Some(name.as_str()),
        })
    }

    /// The text with the suite's own variables resolved and everything else as written: the same on every machine. It parses
    /// back to the same parts.
    pub fn within_suite(&self, own: &BTreeMap<String, Self>) -> String {
        let mut pieces: Vec<Part> = Vec::new();
        let answered = self.parts.iter().flat_map(|part| match part {
            Part::Reference { name, .. } => own.get(name).map_or(std::slice::from_ref(part), |own| &own.parts),
            Part::Plain(_) => std::slice::from_ref(part),
        });
        for part in answered {
            match (pieces.last_mut(), part) {
                (Some(Part::Plain(before)), Part::Plain(text)) => before.push_str(text),
                _ => pieces.push(part.clone()),
            }
        }
        pieces.iter().map(Part::written).collect()
    }

    /// The references without a value, each once.
    pub fn unset(&self, own: &BTreeMap<String, String>, variables: &Variables<'_>) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for part in &self.parts {
            if let Part::Reference { name, default: None } = part
                && known(name, own, variables).is_none()
                && !out.contains(&name.as_str())
            {
                out.push(name);
            }
        }
        out
    }

    /// The text with every reference resolved.
    pub fn resolve(&self, own: &BTreeMap<String, String>, variables: &Variables<'_>) -> Result<String, TemplateError> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Plain(text) => out.push_str(text),
                Part::Reference { name, default } => match known(name, own, variables).or_else(|| default.clone()) {
                    Some(value) => out.push_str(&value),
                    None => return Err(TemplateError::Unset(name.clone())),
                },
            }
        }
        Ok(out)
    }
}

/// Whether a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Template {
    /// The text with every known reference resolved; the others stay as written.
    pub(super) fn resolve_known(&self, own: &BTreeMap<String, String>, variables: &Variables<'_>) -> String {
        let answered = self.parts.iter().map(|part| match part {
            Part::Plain(text) => text.clone(),
            Part::Reference { name, default } => {
                known(name, own, variables).or_else(|| default.clone()).unwrap_or_else(|| part.written())
            }
        });
        answered.collect()
    }
}

impl Part {
    /// The part as source text.
    fn written(&self) -> String {
        match self {
            // A dollar sign is doubled only where it could be read as something else.
            Self::Plain(text) if text.contains("$$") || text.contains("${") || text.ends_with('$') => {
                text.replace('$', "$$")
            }
            Self::Plain(text) => text.clone(),
            Self::Reference { name, default: None } => format!("${{{name}}}"),
            Self::Reference { name, default: Some(default) } => format!("${{{name}:-{default}}}"),
        }
    }
}

/// Splits a text at its references. `$$` is a dollar sign, and so is a `$` before anything but `{`.
pub fn parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            plain.push('$');
            rest = after;
            continue;
        }
        let Some(inner) = rest.strip_prefix('{') else {
            // `$5` and `^a$` are plain text.
            plain.push('$');
            continue;
        };
        let Some(end) = end_of(inner) else { return Err(TemplateError::Unclosed) };
        let (name, default) = match inner[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (&inner[..end], None),
        };
        if !plain.is_empty() {
            out.push(Part::Plain(std::mem::take(&mut plain)));
        }
        out.push(Part::Reference { name: name.to_owned(), default });
        rest = &inner[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        out.push(Part::Plain(plain));
    }
    Ok(out)
}

/// Where a reference ends. A brace inside a quoted key of a path does not close it; in a default every brace does.
fn end_of(inner: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in inner.char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            '}' if !quoted => return Some(at),
            ':' if !quoted && inner[at..].starts_with(":-") => return inner[at..].find('}').map(|end| at + end),
            _ => {}
        }
        escaped = quoted && c == '\\' && !escaped;
    }
    None
}

/// The value of a name; empty values count as unset.
fn known(name: &str, own: &BTreeMap<String, String>, variables: &Variables<'_>) -> Option<String> {
    let value = match name {
        "SUITE_DIR" => Some(variables.suite_dir.to_owned()),
        _ => own.get(name).cloned().or_else(|| (variables.outside)(name)),
    };
    value.filter(|value| !value.is_empty())
}

/// Doubles dollar signs in the strings of a value where a file would read a reference.
pub(crate) fn escape_references(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("$$") || text.contains("${") => *text = text.replace('$', "$$"),
        Value::Array(items) => items.iter_mut().for_each(escape_references),
        Value::Object(map) => map.values_mut().for_each(escape_references),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let own = BTreeMap::from([("city".to_owned(), "Oslo".to_owned())]);
        let outside = |name: &str| match name {
            "HOME" => Some("/h".to_owned()),
            "EMPTY" => Some(String::new()),
            "city" => Some("elsewhere".to_owned()),
            _ => None,
        };
        let variables = Variables { suite_dir: "tests", outside: &outside };
        let found = Template::parse(text).and_then(|template| template.resolve(&own, &variables));
        assert_eq!(found.map_err(|error| error.to_string()).as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn references_resolve_to_the_suite_then_the_environment_then_the_default() {
        check("plain", Ok("plain"));
        check("${city} and ${HOME}", Ok("Oslo and /h"));
        check("${SUITE_DIR}/x", Ok("tests/x"));
        check("${NOBODY:-else}", Ok("else"));
        check("${EMPTY:-else}", Ok("else"));
        check("${NOBODY:-}", Ok(""));
        check("a $$5 ${city:-x}", Ok("a $5 Oslo"));
        check("$${city}", Ok("${city}"));
        check("${NOBODY}", Err("variable `NOBODY` is not set"));
        check("${city", Err("`${` is not closed"));
        check("${a b}", Err("`a b` is not a variable name"));
        check("$5 and ^a$", Ok("$5 and ^a$"));
    }

    #[track_caller]
    fn check_within(text: &str, expected: &str) {
        let own = [("city", "Oslo"), ("key", "x-${KEY:-none}"), ("sign", "$$")]
            .map(|(name, text)| (name.to_owned(), Template::parse(text).unwrap()));
        let own = BTreeMap::from(own);
        let found = Template::parse(text).unwrap().within_suite(&own);
        assert_eq!(found, expected, "{text}");
        assert_eq!(Template::parse(&found).unwrap().within_suite(&own), expected, "{text}: the result parses back");
    }

    #[test]
    fn within_suite_resolves_the_suites_variables_and_not_the_environment() {
        check_within("plain, $5 and $$5", "plain, $5 and $5");
        check_within(
            "${city}, ${HOME}, ${SUITE_DIR}/x, ${NOBODY:-else}",
            "Oslo, ${HOME}, ${SUITE_DIR}/x, ${NOBODY:-else}",
        );
        check_within("${key} and ${city:-Rome}", "x-${KEY:-none} and Oslo");
        check_within("$${city}", "$${city}");
        check_within("${sign}{city}", "$${city}");
        check_within("$$${HOME}", "$$${HOME}");
        check_within("$$$${city} costs $5", "$$$${city} costs $$5");
    }
}
