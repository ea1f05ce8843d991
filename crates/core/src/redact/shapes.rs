//! Secrets that are known by their shape: keys and tokens of services, and what is in the place of credentials.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;

use super::forms::base64_decode;

struct Shape {
    kind: &'static str,
    /// No text has the shape without one of these in it. They make looking for all shapes one pass. None is part of another.
    needles: &'static [&'static str],
    /// The full pattern. The first group, if any, is the secret itself.
    whole: &'static str,
    /// What it begins with, if that alone identifies a key that was cut off.
    stem: &'static str,
    /// Whether what has the shape is one.
    is_one: fn(&[u8]) -> bool,
}

const fn shape(kind: &'static str, needles: &'static [&'static str], whole: &'static str, stem: &'static str) -> Shape {
    Shape { kind, needles, whole, stem, is_one: |_| true }
}

/// The character before a key is not a letter or a digit. Word boundaries are ASCII, which needs no Unicode tables.
const SHAPES: &[Shape] = &[
    // One that was cut ends where its letters end.
    shape(
        "private-key",
        &["PRIVATE KEY"],
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\\\s]*)",
        "",
    ),
    // One whose beginning was cut off: at least a line of it, and its end.
    shape(
        "private-key",
        &["PRIVATE KEY"],
        r"(?:[A-Za-z0-9+/=]{16,}\s+)+-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        "",
    ),
    shape("anthropic-key", &["sk-"], r"(?:^|[^A-Za-z0-9])(sk-ant-[A-Za-z0-9_-]{16,})", "sk-ant-"),
    Shape {
        is_one: is_random,
        ..shape(
            "openai-key",
            &["sk-"],
            r"(?:^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{20,})",
            "sk-(?:proj-|svcacct-|admin-|or-v1-)",
        )
    },
    shape("google-key", &["AIza"], r"(?:^|[^A-Za-z0-9])(AIza[A-Za-z0-9_-]{35})", "AIza"),
    shape(
        "google-token",
        &["ya29.", "GOCSPX-"],
        r"(?:^|[^A-Za-z0-9])((?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,})",
        r"(?:ya29\.|GOCSPX-)",
    ),
    shape(
        "aws-key",
        &["AKIA", "ASIA"],
        r"(?:^|[^A-Za-z0-9])((?:AKIA|ASIA)[A-Z0-9]{16})(?-u:\b)",
        "(?:AKIA|ASIA)[A-Z0-9]",
    ),
    shape(
        "aws-secret",
        &["ecret", "ECRET"],
        r#"(?i)aws_?secret_?(?:access_?)?key["']?\s*[:=]\s*["']?([A-Za-z0-9/+]{40})(?-u:\b)"#,
        "",
    ),
    shape(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(?:^|[^A-Za-z0-9])((?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}))",
        "(?:gh[pousr]_|github_pat_)",
    ),
    shape("gitlab-token", &["glpat-"], r"(?:^|[^A-Za-z0-9])(glpat-[A-Za-z0-9_-]{20,})", "glpat-"),
    shape(
        "slack-token",
        &["xox", "xapp-"],
        r"(?:^|[^A-Za-z0-9])((?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,})",
        "(?:xox[abeoprs]|xapp)-",
    ),
    shape(
        "slack-webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/]{16,})",
        "",
    ),
    shape("npm-token", &["npm_"], r"(?:^|[^A-Za-z0-9])(npm_[A-Za-z0-9]{36})(?-u:\b)", "npm_[A-Za-z0-9]{4}"),
    shape("pypi-token", &["pypi-"], r"(?:^|[^A-Za-z0-9])(pypi-[A-Za-z0-9_-]{50,})", "pypi-AgE"),
    shape("hugging-face-token", &["hf_"], r"(?:^|[^A-Za-z0-9])(hf_[A-Za-z0-9]{30,})(?-u:\b)", "hf_[A-Za-z0-9]{4}"),
    shape(
        "stripe-key",
        &["k_live_", "k_test_", "whsec_"],
        r"(?:^|[^A-Za-z0-9])((?:[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}))",
        "(?:[rs]k_(?:live|test)_|whsec_)",
    ),
    shape("sendgrid-key", &["SG."], r"(?:^|[^A-Za-z0-9])(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", ""),
    shape("groq-key", &["gsk_"], r"(?:^|[^A-Za-z0-9])(gsk_[A-Za-z0-9]{40,})", "gsk_"),
    shape("xai-key", &["xai-"], r"(?:^|[^A-Za-z0-9])(xai-[A-Za-z0-9]{40,})", ""),
    shape("vault-token", &["hvs."], r"(?:^|[^A-Za-z0-9])(hvs\.[A-Za-z0-9_-]{24,})", r"hvs\."),
    shape(
        "jwt",
        &["eyJ"],
        r"(?:^|[^A-Za-z0-9])(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ",
    ),
    shape(
        "bearer-token",
        &["bearer", "Bearer", "BEARER"],
        r"(?:bearer|Bearer|BEARER)\s+([A-Za-z0-9._~+/-]{16,}=*)",
        "",
    ),
    Shape {
        is_one: is_pair,
        ..shape("basic-auth", &["basic", "Basic", "BASIC"], r"(?:basic|Basic|BASIC)\s+([A-Za-z0-9+/_-]{8,}=*)", "")
    },
    shape("url-password", &["://"], r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:([^/\s@]{3,})@", ""),
    shape(
        "url-token",
        &[
            "oken=", "OKEN=", "ey=", "EY=", "uth=", "UTH=", "ecret", "ECRET", "ig=", "IG=", "ure=", "URE=", "word=",
            "WORD=",
        ],
        r#"(?i)[?&\#](?:(?:access_|id_|refresh_|auth_|session_|x-amz-security-|private_)?token|(?:api[_-]?|access[_-]?|subscription-)?key|auth|(?:client_|app_)?secret|sig|(?:x-amz-|x-goog-)?signature|password)=([^&\s\#"'<>\\]{8,})"#,
        "",
    ),
];

/// Finds which shapes a text may have.
struct Needles {
    all: AhoCorasick,
    /// The shapes of each needle.
    of: Vec<Vec<usize>>,
}

static NEEDLES: LazyLock<Option<Needles>> = LazyLock::new(|| {
    let mut all: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, shape) in SHAPES.iter().enumerate() {
        for needle in shape.needles {
            all.entry(needle).or_default().push(at);
        }
    }
    let (needles, of): (Vec<&str>, Vec<Vec<usize>>) = all.into_iter().unzip();
    // A table of all transitions would take a third of the time of a short replay to build.
    let kind = Some(AhoCorasickKind::ContiguousNFA);
    let all = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).kind(kind).build(needles).ok()?;
    Some(Needles { all, of })
});

/// The shapes, each compiled when a text may have it: most texts have none, and a replay is over before all were compiled.
static WHOLES: [OnceLock<Option<Regex>>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];

/// What is before the sign of a cut, and its kind.
static STEMS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    let stems = SHAPES.iter().filter(|shape| !shape.stem.is_empty());
    let compiled = stems.filter_map(|shape| {
        // The prefix alone is public; four more characters are not.
        let before = format!(r"(?:^|[^A-Za-z0-9])({}[A-Za-z0-9_.+/=-]{{4,}}?)(?:…|\.\.\.)", shape.stem);
        Some((shape.kind, Regex::new(&before).ok()?))
    });
    compiled.collect()
});

/// Calls back for everything in a text that has a known shape, with its kind and place.
pub(super) fn find(bytes: &[u8], found: &mut dyn FnMut(&'static str, Range<usize>)) {
    let Some(needles) = NEEDLES.as_ref() else { return };
    let mut possible = [false; SHAPES.len()];
    for needle in needles.all.find_iter(bytes) {
        for shape in &needles.of[needle.pattern().as_usize()] {
            possible[*shape] = true;
        }
    }
    for ((shape, whole), _) in SHAPES.iter().zip(&WHOLES).zip(possible).filter(|(_, possible)| *possible) {
        let Some(whole) = whole.get_or_init(|| Regex::new(shape.whole).ok()) else { continue };
        for captures in whole.captures_iter(bytes) {
            if let Some(secret) = captures.get(1).or_else(|| captures.get(0))
                && (shape.is_one)(secret.as_bytes())
            {
                found(shape.kind, secret.range());
            }
        }
    }
}

/// Calls back for the beginnings of secrets before a truncation mark.
pub(super) fn find_cut(bytes: &[u8], found: &mut dyn FnMut(&'static str, Range<usize>)) {
    for (kind, stem) in STEMS.iter() {
        for captures in stem.captures_iter(bytes) {
            if let Some(secret) = captures.get(1) {
                found(kind, secret.range());
            }
        }
    }
}

/// Words in a row are not a key, regardless of how they begin: a key has a long piece with letters and digits in it.
fn is_random(key: &[u8]) -> bool {
    key.split(|byte| !byte.is_ascii_alphanumeric()).any(|piece| {
        piece.len() >= 16 && piece.iter().any(u8::is_ascii_digit) && piece.iter().any(u8::is_ascii_alphabetic)
    })
}

/// A name and a password, as a header has them.
fn is_pair(code: &[u8]) -> bool {
    let text = std::str::from_utf8(code).ok().and_then(base64_decode).and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| text.contains(':') && !text.contains(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles() {
        for shape in SHAPES {
            assert!(Regex::new(shape.whole).is_ok() && Regex::new(shape.stem).is_ok(), "{}", shape.kind);
        }
        assert!(NEEDLES.is_some());
        assert_eq!(STEMS.len(), SHAPES.iter().filter(|shape| !shape.stem.is_empty()).count());
    }

    #[test]
    fn no_needle_hides_another() {
        let all: Vec<&str> = SHAPES.iter().flat_map(|shape| shape.needles).copied().collect();
        for needle in &all {
            let hidden: Vec<&&str> = all.iter().filter(|other| *other != needle && needle.contains(**other)).collect();
            assert_eq!(hidden, [&""; 0], "{needle}");
        }
    }
}
