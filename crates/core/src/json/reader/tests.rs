//! What the reader accepts and refuses, compared with `serde_json`.

use proptest::prelude::*;
use serde_json::Value;

use super::super::{JsonError, canonical, parse, push_canonical, read, read_checked, try_checked};

type Parts<'a> = Vec<&'a serde_json::value::RawValue>;

/// The texts of a list's elements; `None` for another value.
fn parts(read: Result<Parts<'_>, JsonError>) -> Option<Vec<&str>> {
    Some(read.ok()?.into_iter().map(serde_json::value::RawValue::get).collect())
}

const TEXTS: [&str; 8] = [
    r#"{"a":{"b":[1,-2.50,1e3,true,false,null,"x"]},"c":""}"#,
    r#"[{"id":1,"note":"two words of text"},{"id":2,"note":"\"quoted\" \\ \/ \n\t\r\b\f"}]"#,
    r#"{"é":"\u00e9 \ud83d\ude00 é, and more than eight bytes","b":[[],{},[[]]]}"#,
    " [ 0 , -0 , 0.5e-3 , 18446744073709551616 , -9223372036854775808 ]\n",
    r#"{"a":1,"a":2}"#,
    r#"{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0,"kd":0,"ke":0,"kf":0,"kg":0,"kh":0}"#,
    "\"a text alone\"",
    "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
];

const PARTS: [&str; 26] = [
    "",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u12",
    "\\ud800",
    "\\udc00x",
    "\u{1}",
    "\n",
    " ",
    "0",
    "00",
    "-",
    ".",
    "e",
    "1e999",
    "nul",
    "\"a\":",
    "\"\\u0061\":1,",
    "é",
    "\"k0\":1,",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn what_serde_json_refuses_is_refused_alike_and_nothing_else_but_ambiguous_texts(
        text in prop::sample::select(&TEXTS),
        place in any::<prop::sample::Index>(),
        length in 0_usize..3,
        part in prop::sample::select(&PARTS),
    ) {
        let chars: Vec<char> = text.chars().collect();
        let at = place.index(chars.len());
        let behind = chars.len().min(at + length);
        let text: String = chars[..at].iter().copied().chain(part.chars()).chain(chars[behind..].iter().copied()).collect();
        match (parse(&text), serde_json::from_str::<Value>(&text)) {
            (Ok(value), Ok(plain)) => {
                prop_assert_eq!(&read_checked::<Value>(&text).unwrap(), &value);
                let mut written = String::new();
                if push_canonical(&text, &mut written) {
                    prop_assert_eq!(written, canonical(&value));
                }
                prop_assert_eq!(value, plain);
                prop_assert_eq!(parts(read_checked::<Parts<'_>>(&text)), parts(read::<Parts<'_>>(&text)));
            }
            (Err(error), Ok(_)) => {
                let is_ambiguous = ["duplicate key", "number out of range"].iter().any(|why| error.message.contains(why));
                prop_assert!(is_ambiguous, "{}: {}", text, error);
            }
            (Err(error), Err(plain)) if error.is_syntax => {
                prop_assert_eq!((error.line, error.column), (plain.line(), plain.column()), "{}", text);
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => prop_assert!(false, "{}: {}", text, error),
        }
    }
}

const PIECES: [&str; 16] = [
    "a",
    "\\\\",
    "\\\"",
    "\\n",
    "\\/",
    "\\b",
    "\\u00e9",
    "\\u0041",
    "\\ud83d\\ude00",
    "é",
    "two words of text ",
    "\\",
    "\\x",
    "\\ud800",
    "\\udc00",
    "\u{1}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    /// Strings are read 64 bytes at a time, so every escape must be right at every place.
    #[test]
    fn long_strings_are_read_as_serde_json_does(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..11]), 0..60),
        broken in prop::option::weighted(0.3, (any::<prop::sample::Index>(), prop::sample::select(&PIECES[11..]))),
        rest in "[,a\" ]{0,70}",
    ) {
        let mut pieces = pieces;
        if let Some((place, piece)) = broken {
            pieces.insert(place.index(pieces.len() + 1), piece);
        }
        let text = format!("[\"{}\"{rest}]", pieces.concat());
        match (parse(&text), serde_json::from_str::<Value>(&text)) {
            (Ok(value), Ok(plain)) => {
                let mut written = String::new();
                prop_assert!(push_canonical(&text, &mut written));
                prop_assert_eq!(written, canonical(&value));
                prop_assert_eq!(&read_checked::<Value>(&text).unwrap(), &value);
                let end = super::super::string_end(text.as_bytes(), 2).unwrap();
                prop_assert_eq!(&text.as_bytes()[end], &b'"');
                prop_assert_eq!(super::super::unescape(&text[2..end]), value[0].as_str().unwrap());
                prop_assert_eq!(value, plain);
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => prop_assert!(false, "{}: {}", text, error),
            (Err(error), Ok(_)) => prop_assert!(false, "{}: {}", text, error),
        }
    }
}

#[test]
fn canonical_text_follows_from_a_text_whose_keys_are_in_order() {
    for (text, expected) in [
        (
            "{ \"a\" : [1.0, -0, true, null, {}],\n \"b\":\"\\/\\u0041\\n\" }",
            Some(r#"{"a":[1,0,true,null,{}],"b":"/A\n"}"#),
        ),
        (r#"{"b":1,"a":2}"#, None),
        (r#"{"\u0061":1}"#, None),
    ] {
        let mut written = String::new();
        assert_eq!(push_canonical(text, &mut written).then_some(&*written), expected, "{text}");
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_reported_where_it_begins() {
    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only what cannot be read into it matters here")]
    struct Shape {
        list: Vec<String>,
        name: Option<String>,
    }
    for (text, line, column, offset) in [
        ("{\"list\": {}}", 1, 10, 9),
        ("{\n \"list\": [\"a\", [1]]}", 2, 16, 17),
        ("{\"list\": [\"a\", true]}", 1, 16, 15),
        (" {\"name\": null}", 1, 2, 1),
        ("{\"list\": [], \"name\": 12}", 1, 22, 21),
        ("[]", 1, 1, 0),
    ] {
        let error = read::<Shape>(text).unwrap_err();
        assert_eq!((error.line, error.column, error.offset), (line, column, Some(offset)), "{text}: {error}");
    }
}

#[test]
fn keys_that_serde_json_uses_itself_are_refused() {
    for key in [super::NUMBER_KEY, super::RAW_KEY] {
        let error = parse(&format!("{{\"a\":{{{key:?}:\"1\"}}}}")).unwrap_err();
        assert_eq!(error.message, format!("a: the key {key:?} is reserved"));
    }
}

#[test]
fn a_long_string_that_was_checked_is_read_with_its_escapes_wherever_they_are() {
    for before in 0..130 {
        for behind in 0..130 {
            for escape in ["\\n", "\\\\", "\\\"", "\\u00e9"] {
                let text = format!("\"{}{escape}{}\"", "a".repeat(before), "b".repeat(behind));
                let whole: String = serde_json::from_str(&text).unwrap();
                assert_eq!(try_checked::<String>(&text), Some(whole), "{text}");
            }
        }
    }
}

#[test]
fn a_key_that_any_earlier_key_repeats_is_refused() {
    for count in 2..40 {
        for twice in 1..count {
            // Keys that begin alike, and keys of different lengths.
            for name in [|at: usize| format!("gen_ai.usage.{at}"), |at: usize| "k".repeat(at + 1)] {
                let keys: Vec<String> = (0..count).chain([count - 1 - twice]).map(name).collect();
                let object = |keys: &[String]| {
                    let entries: Vec<String> = keys.iter().map(|key| format!("{key:?}:0")).collect();
                    format!("{{{}}}", entries.join(","))
                };
                assert!(read::<Value>(&object(&keys[..count])).is_ok());
                let error = read::<Value>(&object(&keys)).unwrap_err().message;
                assert_eq!(error, format!("duplicate key {:?}", keys[count]));
            }
        }
    }
}
