//! Keeping secrets out of everything that is written: known values by their name, key-shaped text by its kind.
//!
//! A value is found verbatim and in its common encodings: escaped in JSON or in an address, in base64, cut off with `…`. A
//! replacement depends on the secret alone, so the same secret reads the same in every run and on every machine.

mod forms;
mod names;
mod shapes;
mod views;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub(crate) use forms::base64_decode;
pub(crate) use names::names_secret;

use crate::json;

/// Shorter values are often ordinary words that occur everywhere.
pub const SHORTEST: usize = 8;

/// What a text that was cut ends with.
const CUTS: [&str; 2] = ["…", "..."];

/// The shortest beginning of a secret, before the sign of a cut, that counts as its remainder. So is the shortest
/// end of one after a sign.
const SHORTEST_REST: usize = 6;

/// The shortest beginning of a secret at the end of a text, which may have been cut there without a sign.
const SHORTEST_END: usize = 12;

/// What every replacement begins with.
pub const MARK: &str = "[redacted:";

#[derive(Clone)]
pub struct Redactor {
    /// Of each form of each value, the name of the value.
    names: Vec<String>,
    forms: Vec<String>,
    known: Option<Finder>,
    /// Some value consists of digits, so that a number may be one.
    has_numbers: bool,
}

/// Looks for all forms at once.
#[derive(Clone)]
struct Finder {
    whole: AhoCorasick,
    /// The first bytes of each form, and the last.
    heads: AhoCorasick,
    tails: AhoCorasick,
}

/// What to replace, and the replacement.
struct Span {
    range: Range<usize>,
    placeholder: String,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Knows these values by their names; of two names for one value the first counts.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut seen = BTreeSet::new();
        let secrets: Vec<(String, String)> = secrets.into_iter().filter(|(_, value)| value.len() >= SHORTEST).collect();
        let has_numbers = secrets.iter().any(|(_, value)| value.bytes().all(|byte| byte.is_ascii_digit()));
        // Values themselves go before what is only a form of another.
        for (name, value) in &secrets {
            if seen.insert(value.clone()) {
                all.push((name.clone(), value.clone()));
            }
        }
        for (name, value) in secrets {
            for form in forms::forms(&value) {
                if seen.insert(form.clone()) {
                    all.push((name.clone(), form));
                }
            }
        }
        let (names, forms): (Vec<String>, Vec<String>) = all.into_iter().unzip();
        let known = if forms.is_empty() { None } else { Finder::new(&forms) };
        Self { names, forms, known, has_numbers }
    }

    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text_with(text, &mut |_| {})
    }

    /// A text without secrets; `found` is called with every replacement, in order.
    pub fn text_with<'t>(&self, text: &'t str, found: &mut dyn FnMut(&str)) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for find in [Self::values, Self::remainders, Self::shapes] {
            let spans = find(self, &out);
            if !spans.is_empty() {
                out = Cow::Owned(replaced(&out, merged(&out, spans), found));
            }
        }
        out
    }

    /// Removes secrets from a text that is split into pieces at any place. A replacement is put into the piece in which the
    /// secret begins.
    pub(crate) fn pieces(&self, pieces: &mut [String]) {
        let mut text = pieces.concat();
        let mut ends: Vec<usize> = Vec::with_capacity(pieces.len());
        let mut is_changed = false;
        for piece in &*pieces {
            ends.push(ends.last().copied().unwrap_or(0) + piece.len());
        }
        for find in [Self::values, Self::remainders, Self::shapes] {
            let spans = merged(&text, find(self, &text));
            if spans.is_empty() {
                continue;
            }
            is_changed = true;
            let (mut before, mut grown, mut shrunk, mut covered) = (spans.iter().peekable(), 0, 0, 0);
            for end in &mut ends {
                while let Some(span) = before.next_if(|span| span.range.start < *end) {
                    grown += span.placeholder.len();
                    shrunk += span.range.len();
                    covered = span.range.end;
                }
                // An end inside a secret moves to the end of its replacement.
                *end = (*end).max(covered) + grown - shrunk;
            }
            text = replaced(&text, spans, &mut |_| {});
        }
        if is_changed {
            let mut start = 0;
            for (piece, end) in pieces.iter_mut().zip(ends) {
                text.get(start..end).unwrap_or_default().clone_into(piece);
                start = end;
            }
        }
    }

    /// Known values, in the text and in every view of it.
    fn values(&self, text: &str) -> Vec<Span> {
        let Some(known) = &self.known else { return Vec::new() };
        let mut out = Vec::new();
        let name = |pattern: aho_corasick::PatternID| self.placeholder(pattern.as_usize());
        for found in known.whole.find_iter(text) {
            out.push(Span { range: found.range(), placeholder: name(found.pattern()) });
        }
        for view in views::views(text) {
            for found in known.whole.find_iter(&view.bytes) {
                out.push(Span { range: view.place(&found.range()), placeholder: name(found.pattern()) });
            }
        }
        out
    }

    /// The beginnings of known values that were cut off, and the ends of them. Servers and programs truncate text that they
    /// quote before it can be searched for secrets.
    fn remainders(&self, text: &str) -> Vec<Span> {
        let mut out = Vec::new();
        let Some(known) = &self.known else { return out };
        let is_cut = CUTS.iter().any(|cut| text.contains(cut));
        let bytes = text.as_bytes();
        // Without a sign only the end of the text can be one.
        let from = if is_cut { 0 } else { bytes.len().saturating_sub(known.longest(&self.forms)) };
        let mut left = from;
        for found in known.heads.find_overlapping_iter(&bytes[from..]) {
            let (form, start) = (self.forms[found.pattern().as_usize()].as_bytes(), from + found.start());
            let length = form.iter().zip(&bytes[start..]).take_while(|(one, other)| one == other).count();
            let after = &bytes[start + length..];
            let at_cut = CUTS.iter().any(|cut| after.starts_with(cut.as_bytes()));
            // Addresses begin like other addresses.
            let at_end = after.is_empty() && length >= SHORTEST_END && !form.windows(3).any(|part| part == b"://");
            if (at_cut || at_end) && start >= left && text.is_char_boundary(start + length) {
                let placeholder = self.placeholder(found.pattern().as_usize());
                out.push(Span { range: start..start + length, placeholder });
                left = start + length;
            }
        }
        if !is_cut {
            return out;
        }
        for found in known.tails.find_overlapping_iter(bytes) {
            let (form, end) = (self.forms[found.pattern().as_usize()].as_bytes(), found.end());
            let same = form.iter().rev().zip(bytes[..end].iter().rev()).take_while(|(one, other)| one == other);
            let start = end - same.count();
            if CUTS.iter().any(|cut| bytes[..start].ends_with(cut.as_bytes())) && text.is_char_boundary(start) {
                out.push(Span { range: start..end, placeholder: self.placeholder(found.pattern().as_usize()) });
            }
        }
        out
    }

    /// What has the shape of a secret, in the text and in every view of it.
    #[expect(clippy::unused_self, reason = "it is one of three ways to find secrets")]
    fn shapes(&self, text: &str) -> Vec<Span> {
        let mut out = Vec::new();
        let mut look = |bytes: &[u8], place: &dyn Fn(Range<usize>) -> Range<usize>| {
            let mut take = |kind: &str, range: Range<usize>| {
                let secret = &bytes[range.clone()];
                if !secret.starts_with(MARK.as_bytes()) {
                    let placeholder = format!("{MARK}{kind}:{}]", &hash(secret)[..8]);
                    out.push(Span { range: place(range), placeholder });
                }
            };
            shapes::find(bytes, &mut take);
            if CUTS.iter().any(|cut| bytes.windows(cut.len()).any(|window| window == cut.as_bytes())) {
                shapes::find_cut(bytes, &mut take);
            }
        };
        look(text.as_bytes(), &|range| range);
        for view in views::views(text) {
            look(&view.bytes, &|range| view.place(&range));
        }
        out
    }

    fn placeholder(&self, form: usize) -> String {
        format!("{MARK}{}]", self.names[form])
    }

    /// A value without secrets, in texts and in keys. A number that is one becomes text.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => match self.text(&text) {
                Cow::Borrowed(_) => Value::String(text),
                Cow::Owned(clean) => Value::String(clean),
            },
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let mut clean = Map::new();
                // What differed must not become one entry.
                let mut counts: BTreeMap<String, u64> = BTreeMap::new();
                for (key, item) in map {
                    let key = match self.text(&key) {
                        Cow::Borrowed(_) => key,
                        Cow::Owned(placeholder) => {
                            let count = counts.entry(placeholder.clone()).or_insert(0);
                            *count += 1;
                            if *count == 1 { placeholder } else { format!("{placeholder}#{count}") }
                        }
                    };
                    clean.insert(key, self.value(item));
                }
                Value::Object(clean)
            }
            Value::Number(number) if self.has_numbers => {
                // As it will be written: `7.0` is written as `7`.
                let text = json::canonical(&Value::Number(number.clone()));
                match self.forms.iter().position(|form| *form == text) {
                    Some(form) => Value::String(self.placeholder(form)),
                    None => Value::Number(number),
                }
            }
            plain => plain,
        }
    }
}

impl Finder {
    fn new(forms: &[String]) -> Option<Self> {
        let heads = forms.iter().map(|form| &form.as_bytes()[..SHORTEST_REST]);
        let tails = forms.iter().map(|form| &form.as_bytes()[form.len() - SHORTEST_REST..]);
        Some(Self {
            // Where one secret is part of another, the longer one is replaced.
            whole: AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(forms).ok()?,
            heads: AhoCorasick::new(heads).ok()?,
            tails: AhoCorasick::new(tails).ok()?,
        })
    }

    fn longest(&self, forms: &[String]) -> usize {
        forms.iter().map(String::len).max().unwrap_or(0).max(self.whole.max_pattern_len())
    }
}

/// Spans in order. What overlaps is one, under the name of what begins first.
fn merged(text: &str, mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    let mut merged: Vec<Span> = Vec::new();
    for mut span in spans {
        // What was found in a view is put back by bytes.
        while !text.is_char_boundary(span.range.start) {
            span.range.start -= 1;
        }
        while !text.is_char_boundary(span.range.end) {
            span.range.end += 1;
        }
        match merged.last_mut() {
            Some(last) if span.range.start < last.range.end => last.range.end = last.range.end.max(span.range.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// A text with spans replaced.
fn replaced(text: &str, spans: Vec<Span>, found: &mut dyn FnMut(&str)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for Span { range, placeholder } in spans {
        found(&placeholder);
        out.push_str(&text[end..range.start]);
        out.push_str(&placeholder);
        end = range.end;
    }
    out.push_str(&text[end..]);
    out
}

/// A text without what has the shape of a secret. For texts that do not belong to a suite.
pub fn by_shape(text: &str) -> Cow<'_, str> {
    static WITHOUT_VALUES: LazyLock<Redactor> = LazyLock::new(|| Redactor::new([]));
    WITHOUT_VALUES.text(text)
}

/// The first eight hexadecimal digits of a text's SHA-256.
pub fn short_hash(text: &str) -> String {
    hash(text.as_bytes())[..8].to_owned()
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
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
    fn every_shape_is_replaced_by_its_kind_and_a_stable_name() {
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
    fn values_are_clean_in_texts_keys_numbers_and_lists() {
        let redactor = Redactor::new([("KEY".to_owned(), "12345678".to_owned())]);
        let value = redactor.value(
            json!({ "12345678": ["12345678", 12_345_678, 12_345_679, null, { "a": "x12345678" }, 12_345_678.0] }),
        );
        assert_eq!(
            value,
            json!({ "[redacted:KEY]": ["[redacted:KEY]", "[redacted:KEY]", 12_345_679, null, { "a": "x[redacted:KEY]" }, "[redacted:KEY]"] })
        );
    }

    #[test]
    fn a_known_value_is_found_when_it_was_trimmed() {
        let redactor = Redactor::new([("KEY".to_owned(), "  plain-marmot-8815\n".to_owned())]);
        assert_eq!(redactor.text("it is plain-marmot-8815."), "it is [redacted:KEY].");
    }

    #[test]
    fn keys_that_differed_stay_different() {
        let redactor = Redactor::new([("KEY".to_owned(), "hunter2hunter2".to_owned())]);
        let value = redactor.value(json!({ "hunter2hunter2": 1, "aHVudGVyMmh1bnRlcjI=": 2, "hunter2hunter%32": 3 }));
        let expected = json!({ "[redacted:KEY]I=": 1, "[redacted:KEY]": 2, "[redacted:KEY]#2": 3 });
        // Which of the two comes first is up to the order of keys; none is lost.
        let texts = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(texts(&value), texts(&expected));
    }

    #[test]
    fn a_known_value_is_found_in_every_form_it_takes() {
        let check = |value: &str, text: &str, expected: &str| {
            let redactor = Redactor::new([("PASS".to_owned(), value.to_owned())]);
            assert_eq!(redactor.text(text), expected, "{text}");
            assert_eq!(redactor.text(expected), expected, "redacting twice changes nothing");
        };
        let plain = "hunter2/hunter2";
        check(plain, r"<\u0068unter2\/hunter\u0032>", "<[redacted:PASS]>");
        check(plain, r#"{\"a\":\"\\u0068unter2\\/hunter2\"}"#, r#"{\"a\":\"[redacted:PASS]\"}"#);
        check(plain, "?q=hunter2%2Fhunter2&x", "?q=[redacted:PASS]&x");
        check(plain, "?q=hunter2%2fhunter%32", "?q=[redacted:PASS]");
        check(plain, "hunter2%252Fhunter2", "[redacted:PASS]");
        check(plain, "Zm9vOmh1bnRlcjIvaHVudGVyMg==", "Zm9vOm[redacted:PASS]g==");
        let odd = "pä ss\"w'o\\r$d<";
        check(odd, &format!("a {odd} b"), "a [redacted:PASS] b");
        check(odd, &json!([odd]).to_string(), r#"["[redacted:PASS]"]"#);
        check(odd, &json!([json!([odd]).to_string()]).to_string(), r#"["[\"[redacted:PASS]\"]"]"#);
        check(odd, "p%C3%A4%20ss%22w%27o%5Cr%24d%3C.", "[redacted:PASS].");
        check(odd, "p%C3%A4+ss%22w'o%5Cr%24d%3C.", "[redacted:PASS].");
        check(odd, "p\u{e4} ss&quot;w&#39;o\\r$d&lt;.", "[redacted:PASS].");
        check("one line of it\nanother line of it", "x another\n  line of it", "x another\n  line of it");
        check("one long line of it\nanother line of it", "x\n  another line of it\n", "x\n  [redacted:PASS]\n");
    }

    #[test]
    fn a_truncated_secret_is_found_by_its_beginning_or_end() {
        check("...hunter2hun...", "...[redacted:MAIL_TOKEN]...");
        check("…er2hunter2, and", "…[redacted:MAIL_TOKEN], and");
        check("no sign: hunter2hunte", "no sign: [redacted:MAIL_TOKEN]");
        check("no sign: hunter2h", "no sign: hunter2h");
        check("hunter2hunte no end", "hunter2hunte no end");
        let digits = "1234567890".repeat(2);
        check(&format!("sk-ant-{}…", &digits[..9]), &{
            format!("[redacted:anthropic-key:{}]…", short_hash(&format!("sk-ant-{}", &digits[..9])))
        });
        check("keys begin with sk-ant-…", "keys begin with sk-ant-…");
        let half = format!("-----BEGIN PRIVATE KEY-----\n{digits}\n{digits}");
        check(&format!("{half}…"), &format!("[redacted:private-key:{}]…", short_hash(&half)));
        let end = format!("{digits}\n{digits}\n-----END PRIVATE KEY-----");
        check(&format!("…a\n{end}\n"), &format!("…a\n[redacted:private-key:{}]\n", short_hash(&end)));
    }

    #[test]
    fn a_secret_by_shape_is_found_behind_escapes_under_the_same_name() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let clean = format!("[redacted:github-token:{}]", short_hash(&token));
        check(&token, &clean);
        check(&token.replace("p_a", r"p_\u0061"), &clean);
        check(&token.replace('_', "%5F"), &clean);
        let address = "https://me:pa55word@h/";
        let password = format!("[redacted:url-password:{}]", short_hash("pa55word"));
        check(&address.replace('/', r"\/"), &format!(r"https:\/\/me:{password}@h\/"));
        check("https%3A%2F%2Fme%3Apa55word%40h%2F", &format!("https%3A%2F%2Fme%3A{password}%40h%2F"));
    }

    #[test]
    fn random_looking_text_is_not_redacted() {
        let picture =
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
        let texts = [
            "8e72926d9bc00524f716aa390ff738e16540bb01",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "ea622a01cf2403b3b06fa3bdd47dcd995df50931d2009c985522128da06fb07f",
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            picture,
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
            "sk-learn-pipelines-and-transformers-explained",
            "task-list-of-the-long-and-winding-road-2024-01",
            "a basic understanding of the matter",
            "Basic internationalization",
            "the bearer of good news",
            "https://example.com:8080/a@b?page=2&sort_key=created_at_desc&keyword=something",
            "https://example.com/?next_page_token_count=12345678&monkey=bananabanana",
            "mailto:someone@example.com and git@github.com:owner/name.git",
            "npm_config_registry and pypi-server and hf_hub_download and xoxo-and-hugs-",
            "-----BEGIN PUBLIC KEY----- MIIB -----END PUBLIC KEY-----",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "1699999999999 2024-01-01T00:00:00.000Z +4712345678 978-3-16-148410-0",
            "toolu_01A09q90qw90lq917835lq9 call_abc123def456ghi789jkl012 msg_01XFDUDYJgAACzvnptvVoYEL",
            "req_011CSHoEeqs5C35K2UUqR7Fy chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT resp_67ccd2bed1ec8190",
            "ETag: W/\"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
            r"C:\Users\name\file%20name.txt 100%41 \u00e9",
            "secret santa, the key= to success, password= none",
        ];
        for text in texts {
            check(text, text);
        }
    }
}
