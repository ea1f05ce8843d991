//! Keeping secrets out of everything that is written: known values by their name, key-shaped text by its kind.
//!
//! A replacement depends on the secret alone, so the same secret reads the same in every run and on every machine.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Shorter values are no secrets but words, and would be found everywhere.
pub const SHORTEST: usize = 8;

/// Kinds of secrets that are known by their shape. The first group, where there is one, is the secret itself.
const SHAPES: &[(&str, &str)] = &[
    ("private-key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"),
    ("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    ("openai-key", r"\bsk-[A-Za-z0-9_-]{20,}"),
    ("google-key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("aws-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("gitlab-token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("npm-token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi-token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("hugging-face-token", r"\bhf_[A-Za-z0-9]{30,}\b"),
    ("stripe-key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("bearer-token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)"),
    ("url-password", r"\b[a-z][a-z0-9+.-]*://[^/\s:@]+:([^/\s@]{3,})@"),
    ("url-token", r"(?i)[?&](?:access_token|api_?key|auth|key|secret|sig|signature|token)=([^&\s#\x22']{8,})"),
];

static COMPILED: LazyLock<Vec<(&'static str, Regex)>> =
    LazyLock::new(|| SHAPES.iter().filter_map(|(kind, shape)| Some((*kind, Regex::new(shape).ok()?))).collect());

/// What a text that was cut ends with.
const CUT: char = '…';

/// The shortest beginning of a secret, before the sign of a cut, that is taken for what is left of it.
const SHORTEST_REST: usize = 6;

/// Replaces secrets.
#[derive(Clone)]
pub struct Redactor {
    names: Vec<String>,
    values: Vec<String>,
    known: Option<AhoCorasick>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Knows these values by their names; of two names for one value the first counts.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut names = Vec::new();
        let mut values: Vec<String> = Vec::new();
        for (name, value) in secrets {
            if value.len() >= SHORTEST && !values.contains(&value) {
                // The value as it stands inside JSON text, where it looks different there.
                let quoted = Value::String(value.clone()).to_string();
                let inner = quoted[1..quoted.len() - 1].to_owned();
                if inner != value {
                    names.push(name.clone());
                    values.push(inner);
                }
                names.push(name);
                values.push(value);
            }
        }
        // Where one secret is part of another, the longer is the one that was meant.
        let known = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values).ok();
        Self { known: known.filter(|_| !values.is_empty()), names, values }
    }

    /// A text without secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        if let Some(known) = &self.known
            && known.is_match(text)
        {
            let mut clean = String::with_capacity(text.len());
            known.replace_all_with(text, &mut clean, |found, _, clean| {
                clean.push_str(&format!("[redacted:{}]", self.names[found.pattern().as_usize()]));
                true
            });
            out = Cow::Owned(clean);
        }
        if out.contains(CUT) {
            out = self.without_rests(out);
        }
        for (kind, shape) in COMPILED.iter() {
            if shape.is_match(&out) {
                out = Cow::Owned(by_shape(&out, kind, shape));
            }
        }
        out
    }

    /// A text without the beginnings of secrets that were cut off. Servers and programs cut what they repeat before anybody
    /// can look for secrets in it.
    fn without_rests<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        let mut clean = String::new();
        let mut rest = &*text;
        while let Some(at) = rest.find(CUT) {
            let (before, after) = rest.split_at(at);
            match self.rest_of_secret(before) {
                Some((length, name)) => {
                    clean.push_str(&before[..before.len() - length]);
                    clean.push_str(&format!("[redacted:{name}]"));
                }
                None => clean.push_str(before),
            }
            clean.push(CUT);
            rest = &after[CUT.len_utf8()..];
        }
        clean.push_str(rest);
        if clean == *text { text } else { Cow::Owned(clean) }
    }

    /// How many bytes at the end of a text are the beginning of a secret, and of which.
    fn rest_of_secret(&self, text: &str) -> Option<(usize, &str)> {
        let beginnings = self.values.iter().zip(&self.names).filter_map(|(value, name)| {
            let ends = value.char_indices().map(|(end, _)| end).filter(|end| *end >= SHORTEST_REST);
            ends.rev().find(|end| text.ends_with(&value[..*end])).map(|end| (end, name.as_str()))
        });
        beginnings.min_by_key(|(length, _)| std::cmp::Reverse(*length))
    }

    /// A value without secrets, in texts and in keys.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => match self.text(&text) {
                Cow::Borrowed(_) => Value::String(text),
                Cow::Owned(clean) => Value::String(clean),
            },
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let clean = map.into_iter().map(|(key, item)| (self.text(&key).into_owned(), self.value(item)));
                Value::Object(clean.collect::<Map<_, _>>())
            }
            plain => plain,
        }
    }
}

fn by_shape(text: &str, kind: &str, shape: &Regex) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for found in shape.captures_iter(text) {
        let Some(secret) = found.get(1).or_else(|| found.get(0)) else { continue };
        if secret.as_str().starts_with("[redacted:") {
            continue;
        }
        out.push_str(&text[end..secret.start()]);
        out.push_str(&format!("[redacted:{kind}:{}]", short_hash(secret.as_str())));
        end = secret.end();
    }
    out.push_str(&text[end..]);
    out
}

/// The first eight hexadecimal digits of a text's SHA-256.
pub fn short_hash(text: &str) -> String {
    hash(text.as_bytes())[..8].to_owned()
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut out, byte| {
        out.push_str(&format!("{byte:02x}"));
        out
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: &str) {
        let secrets = [("MAIL_TOKEN", "hunter2hunter2"), ("LONGER", "hunter2hunter2-x"), ("TINY", "short")];
        let redactor = Redactor::new(secrets.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let found = redactor.text(text);
        assert_eq!(found, expected);
        assert_eq!(redactor.text(&found), expected, "redacting twice changes nothing");
    }

    #[test]
    fn known_values_are_replaced_by_their_name_the_longest_first_and_short_ones_are_words() {
        check("a hunter2hunter2, b", "a [redacted:MAIL_TOKEN], b");
        check("hunter2hunter2-x", "[redacted:LONGER]");
        check("short", "short");
        check("nothing here", "nothing here");
    }

    #[test]
    fn the_beginning_of_a_secret_before_a_cut_is_replaced_too() {
        check("no config: hunter2hun…", "no config: [redacted:MAIL_TOKEN]…");
        check("hunter2hunter2-…", "[redacted:MAIL_TOKEN]-…");
        check("hunte… is a word", "hunte… is a word");
        check("a… hunter2… b…", "a… [redacted:MAIL_TOKEN]… b…");
        check("hunter2hunter2…", "[redacted:MAIL_TOKEN]…");
    }

    #[test]
    fn a_known_value_is_found_inside_json_text_too() {
        let redactor = Redactor::new([("PASS".to_owned(), "a\"quoted\"one".to_owned())]);
        let text = json!({ "key": "a\"quoted\"one" }).to_string();
        assert_eq!(redactor.text(&text), "{\"key\":\"[redacted:PASS]\"}");
    }

    #[test]
    fn every_shape_compiles_and_replaces_its_kind_by_a_stable_name() {
        assert_eq!(COMPILED.len(), SHAPES.len());
        let long = "a1B2".repeat(15);
        let samples = [
            ("anthropic-key", format!("sk-ant-{long}")),
            ("openai-key", format!("sk-proj-{long}")),
            ("google-key", format!("AIza{}", &long[..35])),
            ("aws-key", "AKIAABCDEFGHIJKLMNOP".to_owned()),
            ("github-token", format!("ghp_{long}")),
            ("gitlab-token", format!("glpat-{long}")),
            ("slack-token", format!("xoxb-{long}")),
            ("npm-token", format!("npm_{}", &long[..36])),
            ("pypi-token", format!("pypi-{long}")),
            ("hugging-face-token", format!("hf_{long}")),
            ("stripe-key", format!("sk_live_{long}")),
            ("sendgrid-key", format!("SG.{long}.{long}")),
            ("jwt", format!("eyJ{long}.eyJ{long}.{long}")),
            ("private-key", format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\n-----END RSA PRIVATE KEY-----")),
        ];
        for (kind, secret) in &samples {
            check(&format!("x {secret} y"), &format!("x [redacted:{kind}:{}] y", short_hash(secret)));
        }
        check("Authorization: Bearer abcdefghijklmnopqrst", &{
            format!("Authorization: Bearer [redacted:bearer-token:{}]", short_hash("abcdefghijklmnopqrst"))
        });
        check("http://me:pa55@host/x", &format!("http://me:[redacted:url-password:{}]@host/x", short_hash("pa55")));
        check("https://h/?a=1&token=abcdefgh12", &{
            format!("https://h/?a=1&token=[redacted:url-token:{}]", short_hash("abcdefgh12"))
        });
    }

    #[test]
    fn values_are_clean_in_texts_keys_and_lists() {
        let redactor = Redactor::new([("KEY".to_owned(), "12345678".to_owned())]);
        let value = redactor.value(json!({ "12345678": ["12345678", 12_345_678, null, { "a": "x12345678" }] }));
        assert_eq!(
            value,
            json!({ "[redacted:KEY]": ["[redacted:KEY]", 12_345_678, null, { "a": "x[redacted:KEY]" }] })
        );
    }
}
