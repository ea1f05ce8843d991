//! The forms in which a value occurs: verbatim, in base64, in markup, line by line. Escapes that a reader can undo are left
//! to [`super::views`].

use base64::alphabet;
use base64::engine::general_purpose::{NO_PAD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use base64::engine::{Engine as _, GeneralPurpose};

/// The shortest piece of a longer value that is searched for on its own. Shorter ones are words.
const SHORTEST_PIECE: usize = 16;

/// Fewer characters of base64 decode to too little.
const SHORTEST_CODE: usize = 8;

/// Accepts what an encoder wrote that does not clear unused bits.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Ways to name a kind of credentials in front of them, as headers do.
const SCHEMES: [&str; 5] = ["basic", "bearer", "digest", "token", "apikey"];

/// Every form of a value. The value itself comes first; forms may repeat.
pub(super) fn forms(value: &str) -> Vec<String> {
    let mut plain = vec![value.to_owned()];
    plain.extend(pieces(value));
    let mut out = plain.clone();
    for value in &plain {
        // Escaped for JSON. The surrounding text may have been truncated, so that it can no longer be parsed.
        let quoted = serde_json::Value::String(value.clone()).to_string();
        out.push(quoted[1..quoted.len() - 1].to_owned());
        out.push(percent(value));
        out.push(value.replace(' ', "+"));
        let markup = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        for apostrophe in ["'", "&#39;", "&#x27;", "&apos;"] {
            out.push(markup.replace('\'', apostrophe));
        }
        out.extend(base64_inside(value.as_bytes()));
    }
    out
}

/// The parts of a value that are secrets on their own: credentials behind their scheme, what an address carries, and lines.
fn pieces(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    if let Some((scheme, rest)) = value.split_once(' ')
        && SCHEMES.contains(&&*scheme.to_ascii_lowercase())
    {
        let rest = rest.trim();
        out.push(rest.to_owned());
        let pair = base64_decode(rest).and_then(|bytes| String::from_utf8(bytes).ok());
        out.extend(pair.and_then(|pair| Some(pair.split_once(':')?.1.to_owned())));
    }
    if let Some((_, rest)) = value.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let password = authority.rsplit_once('@').and_then(|(user, _)| Some(user.split_once(':')?.1));
        let fields = rest.split(['?', '#', '&']).skip(1).filter_map(|field| Some(field.split_once('=')?.1));
        for piece in password.into_iter().chain(fields) {
            let decoded = super::views::views(piece).into_iter().next();
            out.extend(decoded.and_then(|view| String::from_utf8(view.bytes).ok()));
            out.push(piece.to_owned());
        }
    }
    if value.trim().contains('\n') {
        let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_PIECE);
        out.extend(lines.map(str::to_owned));
    }
    // Whoever reads a value from its environment may trim it.
    if value.trim().len() < value.len() {
        out.push(value.trim().to_owned());
    }
    out.retain(|piece| piece.len() >= super::SHORTEST);
    out
}

/// A text in percent-encoding, as strict as it gets. Laxer ones are read by undoing them.
fn percent(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

/// What all base64 that contains these bytes has in common: one text for each alignment to groups of three bytes. The
/// characters at either end that also depend on adjacent bytes are omitted; they encode less than a byte.
fn base64_inside(bytes: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    for before in 0..3 {
        let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
        let first = (before * 8).div_ceil(6);
        let last = padded.len() * 8 / 6;
        if last.saturating_sub(first) < SHORTEST_CODE {
            continue;
        }
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            out.push(engine.encode(&padded)[first..last].to_owned());
        }
    }
    out
}

/// Decodes base64 of either alphabet, with or without padding; `None` for any other text.
pub(crate) fn base64_decode(text: &str) -> Option<Vec<u8>> {
    let mut text = text.trim_end_matches('=').replace('-', "+").replace('_', "/");
    if text.len() % 4 == 1 {
        // Less than a byte: the text was cut.
        text.pop();
    }
    LENIENT.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_in_both_alphabets() {
        assert_eq!(base64_decode("dXNlcjpwYTU1d29yZA==").as_deref(), Some(&b"user:pa55word"[..]));
        assert_eq!(base64_decode("-_8"), Some(vec![0xfb, 0xff]));
        assert_eq!(base64_decode("+/8="), Some(vec![0xfb, 0xff]));
        assert_eq!(base64_decode("YWJjZ").as_deref(), Some(&b"abc"[..]));
        assert_eq!(base64_decode("a b"), None);
    }

    #[test]
    fn a_value_is_found_in_base64_wherever_it_falls_in_it() {
        // The value after zero, one and two bytes: the common part is in each encoding.
        let forms = base64_inside(b"hunter2hunter2");
        for (before, whole) in
            [("", "aHVudGVyMmh1bnRlcjI="), ("a", "YWh1bnRlcjJodW50ZXIy"), ("ab", "YWJodW50ZXIyaHVudGVyMg==")]
        {
            assert!(forms.iter().any(|form| whole.contains(form.as_str())), "{before}: {forms:?}");
        }
        assert!(base64_inside(b"short").is_empty());
    }

    #[test]
    fn the_common_base64_part_encodes_a_piece_of_the_value() {
        let check = |value: &str, expected: &[&str]| assert_eq!(pieces(value), expected, "{value}");
        check("Bearer violet-otter", &["violet-otter"]);
        check("Basic dXNlcjpwYTU1d29yZA==", &["dXNlcjpwYTU1d29yZA==", "pa55word"]);
        check("correct horse battery", &[]);
        check(
            "https://h/mcp?a=b&token=violet%20otter#k=silver-heron",
            &["violet otter", "violet%20otter", "silver-heron"],
        );
        check("redis://:violet-otter@h:1/0", &["violet-otter"]);
        let trimmed = "a short line\nand a rather long line";
        check(&format!("{trimmed}\n"), &["and a rather long line", trimmed]);
    }
}
