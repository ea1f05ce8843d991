//! Targets, matchers and the assertions made of them.

use mcptest_core::assertion::Check;
use mcptest_core::eval::GateKind;
use mcptest_core::target::Selection;
use mcptest_core::{Assertion, AssertionDiff, MatchResult, Matcher, Scope, Target};
use serde_json::{Value, json};

use crate::support::nested;

/// The three answers without their reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Yes,
    No,
    Cannot,
}
use Says::{Cannot, No, Yes};

fn says(matcher: &Value, value: &Value) -> Says {
    match Matcher::parse(matcher).unwrap_or_else(|problems| panic!("{matcher}: {problems}")).check(value) {
        MatchResult::Holds => Yes,
        MatchResult::DoesNotHold(diffs) => {
            assert!(!diffs.is_empty(), "{matcher} on {value} differs nowhere");
            No
        }
        MatchResult::CannotJudge(_) => Cannot,
    }
}

/// A matcher's answer, and that `not` swaps yes and no and leaves "cannot" alone.
fn check(matcher: Value, value: Value, expected: Says) {
    assert_eq!(says(&matcher, &value), expected, "{matcher} on {value}");
    let swapped = match expected {
        Yes => No,
        No => Yes,
        Cannot => Cannot,
    };
    let negated = json!({ "not": matcher });
    assert_eq!(says(&negated, &value), swapped, "{negated} on {value}");
    assert_eq!(says(&json!({ "not": negated }), &value), expected, "not {negated} on {value}");
}

fn problems(matcher: Value) -> String {
    match Matcher::parse(&matcher) {
        Ok(matcher) => panic!("{matcher} was accepted"),
        Err(problems) => problems.to_string(),
    }
}

fn diffs(matcher: Value, value: Value) -> Vec<AssertionDiff> {
    match Matcher::parse(&matcher).unwrap().check(&value) {
        MatchResult::DoesNotHold(diffs) => diffs,
        other => panic!("{matcher} on {value}: {other:?}"),
    }
}

fn diff(path: &str, expected: Option<Value>, actual: Option<Value>, note: &str) -> AssertionDiff {
    AssertionDiff { path: path.into(), expected, actual, note: note.into() }
}

fn fails(target: &str, matcher: Value, envelope: &Value) -> String {
    let assertion = Assertion::compile(Scope::Envelope, target, &matcher, None).unwrap();
    match assertion.check(envelope) {
        Check::Fail { reason, .. } => reason,
        other => panic!("`{target}` {matcher} on {envelope}: {other:?}"),
    }
}

fn refused(scope: Scope, target: &str, matcher: Value) -> String {
    Assertion::compile(scope, target, &matcher, None).unwrap_err().to_string()
}

#[test]
fn exact_is_canonical_equality() {
    let is = |expected: Value, actual: Value, answer| check(json!({ "exact": expected }), actual, answer);
    is(json!(1), json!(1.0), Yes);
    is(json!(-0.0), json!(0), Yes);
    is(json!({ "a": 1, "b": [2] }), json!({ "b": [2.0], "a": 1 }), Yes);
    is(json!(1), json!(true), No);
    is(json!(0), json!(false), No);
    is(json!("1"), json!(1), No);
    is(json!(null), json!({}), No);
    is(json!([1, 2]), json!([2, 1]), No);
    is(json!({ "a": null }), json!({}), No);
    is(json!("abc"), json!("ABC"), No);
    is(json!(null), json!(null), Yes);
}

#[test]
fn contains_searches_text_at_the_top() {
    let is = |part: Value, whole: Value, answer| check(json!({ "contains": part }), whole, answer);
    is(json!("fund"), json!("refunded"), Yes);
    is(json!(""), json!("x"), Yes);
    is(json!("FUND"), json!("refunded"), No);
    is(json!("fund"), json!(["list", "refund"]), Yes);
    is(json!("fund"), json!(["list", 7, null]), No);
    is(json!("fund"), json!([]), No);
    is(json!(5), json!("5 apples"), Cannot);
    is(json!("5"), json!(5), Cannot);
    is(json!("a"), json!({ "a": 1 }), Cannot);
    is(json!("a"), json!(null), Cannot);
    is(json!("a"), json!(true), Cannot);
}

#[test]
fn contains_compares_elements_of_a_list_by_equality_unless_text_is_sought() {
    let is = |part: Value, whole: Value, answer| check(json!({ "contains": part }), whole, answer);
    is(json!(1), json!([3, 1.0]), Yes);
    is(json!(1), json!([3, "1", true]), No);
    is(json!(true), json!([1, true]), Yes);
    is(json!(null), json!([0, null]), Yes);
    is(json!(false), json!([0, null]), No);
}

#[test]
fn contains_takes_objects_key_by_key_and_nested_leaves_by_equality() {
    let is = |part: Value, whole: Value, answer| check(json!({ "contains": part }), whole, answer);
    let whole = json!({ "city": "Bergen", "stay": { "nights": 2.0, "room": "double" }, "tags": ["sea", "quiet"] });
    is(json!({}), whole.clone(), Yes);
    is(json!({ "city": "Bergen" }), whole.clone(), Yes);
    is(json!({ "city": "Berg" }), whole.clone(), No);
    is(json!({ "stay": { "nights": 2 } }), whole.clone(), Yes);
    is(json!({ "stay": { "room": "doub" } }), whole.clone(), No);
    is(json!({ "stay": { "sea": true } }), whole.clone(), No);
    is(json!({ "tags": ["quiet"] }), whole.clone(), Yes);
    is(json!({ "tags": ["qui"] }), whole.clone(), No);
    is(json!({ "tags": "quiet" }), whole.clone(), No);
    is(json!({ "tags": ["quiet", "quiet"] }), whole, No);
    is(json!({ "a": 1 }), json!("a"), Cannot);
}

#[test]
fn contains_takes_lists_as_multisets_one_to_one() {
    let is = |part: Value, whole: Value, answer| check(json!({ "contains": part }), whole, answer);
    is(json!([]), json!([]), Yes);
    is(json!([2, 1]), json!([1, 2, 3]), Yes);
    is(json!([1, 1]), json!([1, 2]), No);
    is(json!([1, 1]), json!([1, 2, 1.0]), Yes);
    is(json!(["a"]), json!(["abc"]), No);
    is(json!([[1], [1]]), json!([[1, 2], [2, 1]]), Yes);
    is(json!([1]), json!({ "0": 1 }), Cannot);
}

#[test]
fn contains_finds_the_pairing_that_first_come_first_served_would_miss() {
    let is = |part: Value, whole: Value, answer| check(json!({ "contains": part }), whole, answer);
    // The loose element fits both and must leave the only one that the strict element fits.
    is(json!([{}, { "a": 1 }]), json!([{ "a": 1 }, { "b": 2 }]), Yes);
    is(json!([{}, { "a": 1 }, { "a": 1, "b": 1 }]), json!([{ "a": 1, "b": 1 }, { "a": 1, "b": 2 }, { "c": 0 }]), Yes);
    is(json!([{ "a": 1 }, { "a": 1 }, {}]), json!([{ "a": 1 }, { "b": 2 }, { "c": 0 }]), No);
    is(json!({ "x": [{}, { "a": [2] }] }), json!({ "x": [{ "a": [1, 2] }, {}] }), Yes);
}

#[test]
fn icontains_ignores_case_in_every_script() {
    let is = |part: &str, whole: Value, answer| check(json!({ "icontains": part }), whole, answer);
    is("REFUND", json!("a refund was"), Yes);
    is("åsa", json!("ÅSA"), Yes);
    is("STRASSE", json!("Straße"), Yes);
    is("σ", json!("ΟΔΟΣ"), Yes);
    is("refund", json!("a return"), No);
    is("b", json!(["A", "B"]), Yes);
    is("b", json!(["A", 3, null]), No);
    is("b", json!([]), No);
    is("1", json!(1), Cannot);
    is("a", json!({ "a": 1 }), Cannot);
}

#[test]
fn contains_all_wants_every_item() {
    let is = |items: Value, whole: Value, answer| check(json!({ "contains-all": items }), whole, answer);
    is(json!(["a", "b"]), json!("cab"), Yes);
    is(json!(["a", "z"]), json!("cab"), No);
    is(json!(["a", 2]), json!(["bar", 2.0]), Yes);
    is(json!(["a", 3]), json!(["bar", 2.0]), No);
    is(json!(["a"]), json!(7), Cannot);
    is(json!([{ "a": 1 }, { "b": 2 }]), json!({ "a": 1, "b": 2 }), Yes);
}

#[test]
fn regex_searches_text_and_numbers_by_their_text() {
    let is = |regex: &str, whole: Value, answer| check(json!({ "regex": regex }), whole, answer);
    is("^inv-\\d+$", json!("inv-42"), Yes);
    is("\\d", json!("inv-42"), Yes);
    is("^\\d+$", json!("inv-42"), No);
    is("^4[0-9]$", json!(42), Yes);
    is("^42$", json!(42.0), Yes);
    is("^-1\\.5$", json!(-1.5), Yes);
    is("^b", json!(["a", "b"]), Yes);
    is("^7$", json!(["a", 7]), Yes);
    is("^b", json!(["a", null, true]), No);
    is("x", json!([]), No);
    is("true", json!(true), Cannot);
    is("a", json!(null), Cannot);
    is("a", json!({ "a": "a" }), Cannot);
}

#[test]
fn near_measures_the_distance_in_decimal_digits() {
    let is = |value: Value, tolerance: Value, actual: Value, answer| {
        check(json!({ "near": { "value": value, "tolerance": tolerance } }), actual, answer);
    };
    is(json!(12), json!(0.5), json!(12.5), Yes);
    is(json!(12), json!(0.5), json!(11.5), Yes);
    is(json!(12), json!(0.5), json!(12.51), No);
    is(json!(12), json!(0), json!(12.0), Yes);
    is(json!(-3), json!(2), json!(-5), Yes);
    is(json!(0), json!(0), json!(-0.0), Yes);
    // As floats each of these is off by one bit.
    is(json!(0.3), json!(0.1), json!(0.4), Yes);
    is(json!(0.3), json!(0.1), json!(0.2), Yes);
    is(json!(1.1), json!(2.2), json!(3.3), Yes);
    is(json!(59.9), json!(0.05), json!(59.95), Yes);
    is(json!(59.9), json!(0.05), json!(59.951), No);
    // Integers that round to the same float.
    is(json!(9_007_199_254_740_993_u64), json!(0), json!(9_007_199_254_740_992_u64), No);
    is(json!(u64::MAX), json!(1), json!(u64::MAX - 1), Yes);
    is(json!(u64::MAX), json!(1), json!(u64::MAX - 2), No);
    is(json!(i64::MIN), json!(0), json!(i64::MAX), No);
    // Digits that do not fit side by side are compared as floats, except where rounding would decide.
    is(json!(1e300), json!(1), json!(1), No);
    is(json!(0), json!(1e300), json!(1e-300), Yes);
    is(json!(1e300), json!(1e-300), json!(1e300), Yes);
    is(json!(1e300), json!(1e-300), json!(1.000_000_000_000_000_2e300), Cannot);
    let long = |last: u8| -> Value { format!("1{}{last}", "0".repeat(50)).parse().unwrap() };
    is(long(1), json!(0), long(1), Yes);
    is(long(1), json!(0), long(2), Cannot);
    is(long(1), json!(0), json!(1), No);
    is(json!(f64::MAX), json!(1e-300), json!(f64::MIN), Cannot);
    for other in [json!("12"), json!(null), json!(true), json!([12]), json!({ "value": 12 })] {
        is(json!(12), json!(1), other, Cannot);
    }
    let far = json!({ "near": { "value": 12, "tolerance": 0.5 } });
    assert_eq!(diffs(far.clone(), json!(13)), [diff("", Some(json!(12)), Some(json!(13)), "is not within 0.5")]);
    assert_eq!(Matcher::parse(&far).unwrap().to_string(), "near 12 ± 0.5");
}

#[test]
fn schema_validates_and_asserts_formats() {
    let is = |schema: Value, value: Value, answer| check(json!({ "schema": schema }), value, answer);
    is(json!({ "type": "object", "required": ["a"] }), json!({ "a": 1 }), Yes);
    is(json!({ "type": "object", "required": ["a"] }), json!({ "b": 1 }), No);
    is(json!({ "type": "string", "format": "date" }), json!("2024-02-29"), Yes);
    is(json!({ "type": "string", "format": "date" }), json!("2023-02-29"), No);
    is(json!({ "format": "ipv4" }), json!("300.1.1.1"), No);
    is(json!(true), json!(null), Yes);
    is(json!(false), json!(null), No);
    is(json!({ "$defs": { "id": { "type": "integer" } }, "$ref": "#/$defs/id" }), json!(3), Yes);
    is(json!({ "$defs": { "id": { "type": "integer" } }, "$ref": "#/$defs/id" }), json!("3"), No);
    is(json!({ "x-owner": "me", "type": "null" }), json!(null), Yes);
}

#[test]
fn schemas_compare_every_digit() {
    let is = |schema: &str, value: &str, answer| {
        let read = |text: &str| mcptest_core::json::parse(text).unwrap();
        check(json!({ "schema": read(schema) }), read(value), answer);
    };
    let (one, next) = ("123456789012345678901234567890", "123456789012345678901234567891");
    for keyword in ["const", "maximum", "minimum"] {
        is(&format!("{{\"{keyword}\":{one}}}"), one, Yes);
    }
    is(&format!("{{\"const\":{one}}}"), next, No);
    is(&format!("{{\"enum\":[{one}]}}"), next, No);
    is(&format!("{{\"maximum\":{one}}}"), next, No);
    is(&format!("{{\"minimum\":{next}}}"), one, No);
    is(&format!("{{\"exclusiveMinimum\":{one}}}"), next, Yes);
    is("{\"multipleOf\":10}", next, No);
    is("{\"uniqueItems\":true}", &format!("[{one},{next}]"), Yes);
    is("{\"uniqueItems\":true}", &format!("[{one},{one}]"), No);
}

#[test]
fn schemas_are_draft_2020_12_by_default() {
    let tuple = json!([{ "type": "integer" }]);
    check(json!({ "schema": { "prefixItems": tuple } }), json!(["x"]), No);
    let draft7 = "http://json-schema.org/draft-07/schema#";
    check(json!({ "schema": { "$schema": draft7, "items": tuple } }), json!(["x"]), No);
    check(json!({ "schema": { "$schema": draft7, "prefixItems": tuple } }), json!(["x"]), Yes);
}

#[test]
fn a_numeric_keyword_at_the_root_applies_to_numbers_only() {
    for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
        check(json!({ "schema": { key: 2 } }), json!("2"), Cannot);
        check(json!({ "schema": { key: 2 } }), json!(null), Cannot);
        check(json!({ "schema": { key: 2 } }), json!([2]), Cannot);
    }
    check(json!({ "schema": { "minimum": 2 } }), json!(2), Yes);
    check(json!({ "schema": { "minimum": 2 } }), json!(1.9), No);
    check(json!({ "schema": { "minimum": 2, "type": "string" } }), json!("2"), Yes);
    check(json!({ "schema": { "properties": { "n": { "minimum": 2 } } } }), json!({ "n": "x" }), Yes);
}

#[test]
fn malformed_schemas_are_load_errors_at_their_place() {
    for (schema, message) in [
        (json!({ "minimun": 1 }), "/schema/minimun: unknown schema keyword `minimun` (hint: did you mean `minimum`?)"),
        (
            json!({ "properties": { "a": { "foo": 1 } } }),
            "/schema/properties/a/foo: unknown schema keyword `foo` (hint: custom keywords start with `x-`)",
        ),
        (
            json!({ "anyOf": [true, { "requird": [] }] }),
            "/schema/anyOf/1/requird: unknown schema keyword `requird` (hint: did you mean `required`?)",
        ),
        (
            json!({ "zzzzzzzzz": 1, "items": { "maxLenght": 1 } }),
            "/schema/items/maxLenght: unknown schema keyword `maxLenght` (hint: did you mean `maxLength`?)\n\
             /schema/zzzzzzzzz: unknown schema keyword `zzzzzzzzz` (hint: custom keywords start with `x-`)",
        ),
        (json!({ "type": "strng" }), "/schema/type: unknown type `strng` (hint: did you mean `string`?)"),
        (json!({ "minimum": "x" }), "/schema/minimum: invalid JSON Schema: \"x\" is not of type \"number\""),
        (json!(5), "/schema: a JSON Schema must be a map, found a number (5) (hint: write `{ type: object }`)"),
        (
            json!({ "$ref": "https://schemas.test/a.json" }),
            "/schema: the schema refers to another document; schemas are never fetched \
             (hint: copy the definition under `$defs` and refer to it as `#/$defs/name`)",
        ),
        (
            json!({ "pattern": "(?=a)" }),
            "/schema/pattern: invalid JSON Schema: \"(?=a)\" is not a \"regex\" \
             (hint: regexes run in linear time: no look-around, no back-references)",
        ),
    ] {
        assert_eq!(problems(json!({ "schema": schema })), message);
    }
    let unknown_format = problems(json!({ "schema": { "format": "datez" } }));
    assert!(unknown_format.starts_with("/schema/format: invalid JSON Schema: Unknown format: 'datez'"));
    assert!(Matcher::parse(&json!({ "schema": { "$ref": "file:///etc/passwd" } })).is_err());
    assert!(Matcher::parse(&json!({ "schema": { "$schema": "https://schemas.test/own" } })).is_err());
}

#[test]
fn names_under_properties_are_not_keywords() {
    for place in ["properties", "$defs", "patternProperties", "dependentSchemas", "definitions"] {
        assert!(Matcher::parse(&json!({ "schema": { place: { "minimun": true } } })).is_ok(), "{place}");
    }
    for place in ["const", "default", "examples", "enum"] {
        assert!(Matcher::parse(&json!({ "schema": { place: [{ "minimun": 1 }] } })).is_ok(), "{place}");
    }
}

#[test]
fn schemas_have_a_largest_depth_and_size() {
    let deep = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "not": inner }));
    assert!(Matcher::parse(&json!({ "schema": deep(63) })).is_ok());
    assert_eq!(problems(json!({ "schema": deep(64) })), "/schema: the schema is nested deeper than 64 levels");
    let wide = |items: usize| json!({ "schema": { "enum": vec![0; items] } });
    assert_eq!(problems(wide(10_000)), "/schema: the schema has more than 10000 values");
    let unique: Vec<_> = (0..9_000).collect();
    assert!(Matcher::parse(&json!({ "schema": { "enum": unique } })).is_ok());
}

#[test]
fn a_schema_that_only_refers_to_itself_ends() {
    for schema in [json!({ "$ref": "#" }), json!({ "allOf": [{ "$ref": "#" }] })] {
        Matcher::parse(&json!({ "schema": schema })).unwrap().check(&json!("x"));
    }
}

#[test]
fn malformed_matchers_are_load_errors_with_a_way_out() {
    let all = "exact, contains, icontains, contains-all, regex, schema, near, not";
    for (matcher, message) in [
        (json!("x"), "a matcher must be a map, found a string (\"x\") (hint: write `{ exact: \"x\" }`)".to_owned()),
        (json!({}), format!("a matcher must have exactly one key, found 0 (hint: expected one of: {all})")),
        (
            json!({ "exact": 1, "not": {} }),
            "a matcher must have exactly one key, found 2 (hint: write one assertion for each)".into(),
        ),
        (json!({ "exat": 1 }), "/exat: unknown matcher `exat` (hint: did you mean `exact`?)".into()),
        (json!({ "banana": 1 }), format!("/banana: unknown matcher `banana` (hint: expected one of: {all})")),
        (json!({ "icontains": 5 }), "/icontains: `icontains` must be a string, found a number (5) (hint: put it in quotes)".into()),
        (json!({ "regex": 5 }), "/regex: `regex` must be a string, found a number (5) (hint: put it in quotes)".into()),
        (
            json!({ "regex": "(" }),
            "/regex: invalid regex: unclosed group \
             (hint: escape special characters with `\\`; look-around is not supported)"
                .into(),
        ),
        (
            json!({ "contains-all": [] }),
            "/contains-all: `contains-all` must be a list of at least one item, found a list of 0 (hint: write `[..]`)".into(),
        ),
        (
            json!({ "contains-all": "a" }),
            "/contains-all: `contains-all` must be a list of at least one item, found a string (\"a\") (hint: write `[\"a\"]`)".into(),
        ),
        (
            json!({ "near": 12 }),
            "/near: `near` must be a map with `value` and `tolerance`, found a number (12) \
             (hint: write `{ value: 12, tolerance: .. }`)"
                .into(),
        ),
        (json!({ "near": { "value": 1 } }), "/near: missing key `tolerance` in `near` (hint: add `tolerance: ..`)".into()),
        (
            json!({ "near": { "value": 1, "tolerence": 2 } }),
            "/near/tolerence: unknown key `tolerence` in `near` (hint: did you mean `tolerance`?)".into(),
        ),
        (
            json!({ "near": { "value": "1", "tolerance": -0.5, "unit": "km" } }),
            "/near/unit: unknown key `unit` in `near` (hint: expected one of: value, tolerance)\n\
             /near/value: `value` must be a number, found a string (\"1\") (hint: remove the quotes)\n\
             /near/tolerance: `tolerance` must not be negative, found -0.5 \
             (hint: set the largest allowed difference; 0 means equal)"
                .into(),
        ),
        (
            json!({ "not": 1 }),
            "/not: a matcher must be a map, found a number (1) (hint: write `{ exact: 1 }`)".into(),
        ),
        (
            json!({ "not": { "not": { "schema": { "typ": 1 } } } }),
            "/not/not/schema/typ: unknown schema keyword `typ` (hint: did you mean `type`?)".into(),
        ),
    ] {
        assert_eq!(problems(matcher), message);
    }
    assert!(problems(json!({ "regex": "(?=a)" })).starts_with("/regex: invalid regex: look-around"));
    assert!(problems(json!({ "regex": "a{1000}{1000}{1000}" })).starts_with("/regex: "));
    assert_eq!(problems(json!({ "exact": nested(200) })), "nested deeper than 128 levels");
}

#[test]
fn model_graded_matchers_are_known_and_refused() {
    for name in ["llm-judge", "llm-jury", "similar"] {
        let message = format!(
            "/{name}: `{name}` is not supported: a verdict never depends on a model \
             (hint: expected one of: exact, contains, icontains, contains-all, regex, schema, near, not)"
        );
        assert_eq!(problems(json!({ name: { "rubric": "good" } })), message);
        let kinds = [GateKind::Trajectory, GateKind::Stability, GateKind::Reliability];
        for (kind, target) in kinds.into_iter().zip(["trajectory.passed", "stability.score", "reliability.runs"]) {
            let inside = refused(Scope::Gate(kind), target, json!({ "not": { name: 1 } }));
            assert_eq!(inside, message.replacen('/', "/matcher/not/", 1));
        }
        assert!(refused(Scope::Envelope, "final_response", json!({ name: 1 })).starts_with("/matcher/"));
    }
}

#[test]
fn values_too_deep_to_be_judged_fail_either_way() {
    for matcher in [json!({ "exact": 1 }), json!({ "contains": 1 }), json!({ "schema": true }), json!({ "regex": "" })]
    {
        check(matcher, nested(200), Cannot);
    }
    check(json!({ "exact": nested(100) }), nested(100), Yes);
}

#[test]
fn cannot_judge_names_the_type_it_got() {
    for (matcher, value, words) in [
        (
            json!({ "contains": "a" }),
            json!(7),
            "contains looks for a string in a string, a list or an object, got a number (7)",
        ),
        (json!({ "icontains": "a" }), json!(null), "icontains reads text, got null"),
        (json!({ "regex": "a" }), json!({ "k": 1 }), "regex reads text, got an object with 1 key"),
        (json!({ "regex": "a" }), json!([[1], "b"]), "element 0 is a list of 1, not text"),
        (json!({ "schema": { "minimum": 1 } }), json!("x"), "the schema bounds a number, got a string (\"x\")"),
        (json!({ "near": { "value": 1, "tolerance": 1 } }), json!("1"), "near reads a number, got a string (\"1\")"),
        (json!({ "exact": 1 }), nested(200), "the value nests deeper than 128 levels"),
    ] {
        assert_eq!(
            Matcher::parse(&matcher).unwrap().check(&value),
            MatchResult::CannotJudge(words.into()),
            "{matcher}"
        );
    }
}

#[test]
fn exact_diffs_name_every_place_in_pointer_order() {
    let expected = json!({ "exact": { "z": 1, "a": { "k/1": [1, 2], "~": 0 }, "gone": null } });
    let actual = json!({ "z": 2, "a": { "k/1": [1, 3, 4], "~": 1 }, "new": true });
    assert_eq!(
        diffs(expected, actual),
        [
            diff("/a/k~11/1", Some(json!(2)), Some(json!(3)), "differs"),
            diff("/a/k~11/2", None, Some(json!(4)), "unexpected element"),
            diff("/a/~0", Some(json!(0)), Some(json!(1)), "differs"),
            diff("/gone", Some(json!(null)), None, "missing key"),
            diff("/new", None, Some(json!(true)), "unexpected key"),
            diff("/z", Some(json!(1)), Some(json!(2)), "differs"),
        ]
    );
}

#[test]
fn contains_diffs_list_only_missing_parts() {
    let expected = json!({ "contains": { "b": 1, "a": { "x": "y" }, "list": [1, 1] } });
    let actual = json!({ "a": { "x": "yy" }, "list": [1], "more": 5 });
    assert_eq!(
        diffs(expected, actual),
        [
            diff("/a/x", Some(json!("y")), Some(json!("yy")), "differs"),
            diff("/b", Some(json!(1)), None, "missing key"),
            diff("/list/1", Some(json!(1)), Some(json!([1])), "no element of the list is left for this one"),
        ]
    );
}

#[test]
fn schema_diffs_are_sorted_by_place() {
    let schema = json!({
        "properties": { "z": { "type": "string", "minLength": 9 }, "a": { "enum": [1] }, "m": { "minimum": 5 } },
        "required": ["q"],
    });
    let found = diffs(json!({ "schema": schema }), json!({ "z": "short", "m": 1, "a": 2 }));
    let places: Vec<_> = found.iter().map(|diff| (diff.path.as_str(), diff.expected.clone())).collect();
    assert_eq!(
        places,
        [("", Some(json!(["q"]))), ("/a", Some(json!([1]))), ("/m", Some(json!(5))), ("/z", Some(json!(9))),]
    );
    let again = json!({ "a": 2, "m": 1, "z": "short" });
    assert_eq!(found[1..], diffs(json!({ "schema": schema }), again)[1..]);
}

#[test]
fn many_violations_are_counted_after_the_first_hundred() {
    let found = diffs(json!({ "schema": { "items": { "type": "string" } } }), json!(vec![1; 250]));
    assert_eq!(found.len(), 101);
    assert_eq!(found[100].note, "and 150 more violations");
}

#[test]
fn diffs_print_place_and_both_sides() {
    let one = diff("/args/city", Some(json!("Oslo")), Some(json!("Bergen")), "differs");
    assert_eq!(one.to_string(), "/args/city: differs, expected \"Oslo\", recorded \"Bergen\"");
    assert_eq!(
        diff("", None, Some(json!(1)), "matched, but must not").to_string(),
        "value: matched, but must not, recorded 1"
    );
}

fn envelope() -> Value {
    json!({
        "tool_calls": [
            { "name": "find", "args": { "odd key": 1, "tags": ["a", "b"] } },
            { "name": "open", "args": { "id": 7, "tags": [] } },
        ],
        "tool_results": [],
        "final_response": "done",
    })
}

#[test]
fn targets_select_keys_indexes_and_every_element() {
    let value = envelope();
    for (path, found) in [
        ("final_response", json!("done")),
        ("tool_calls[0].name", json!("find")),
        ("tool_calls[-1].args.id", json!(7)),
        ("tool_calls[-2].name", json!("find")),
        ("tool_calls[*].name", json!(["find", "open"])),
        ("tool_calls[*].args.id", json!([7])),
        ("tool_calls[*].args.tags[*]", json!(["a", "b"])),
        ("tool_calls[*].args.tags", json!([["a", "b"], []])),
        ("tool_calls[0].args[\"odd key\"]", json!(1)),
        ("tool_results[*]", json!([])),
        ("tool_results[*].content[*].text", json!([])),
    ] {
        match Target::parse(path).unwrap().select(&value) {
            Selection::Found(selected) => assert_eq!(*selected, found, "{path}"),
            Selection::Nothing { reached, reason } => panic!("{path} stopped after {reached}: {reason}"),
        }
    }
}

#[test]
fn a_target_that_selects_nothing_fails_also_under_not_and_says_how_far_it_got() {
    let value = envelope();
    for (target, reason) in [
        ("tool_calls[2].name", "`tool_calls[2].name` selects nothing beyond `tool_calls`: no index 2 in a list of 2"),
        ("tool_calls[-3]", "`tool_calls[-3]` selects nothing beyond `tool_calls`: no index -3 in a list of 2"),
        (
            "tool_calls[0].args.id",
            "`tool_calls[0].args.id` selects nothing beyond `tool_calls[0].args`: no key \"id\" in an object with 2 keys",
        ),
        (
            "tool_calls[*].caller",
            "`tool_calls[*].caller` selects nothing beyond `tool_calls[*]`: no key \"caller\" in an object with 2 keys",
        ),
        (
            "final_response[0]",
            "`final_response[0]` selects nothing beyond `final_response`: a string (\"done\") is not a list",
        ),
    ] {
        for matcher in [json!({ "exact": 1 }), json!({ "not": { "exact": 1 } }), json!({ "schema": true })] {
            assert_eq!(fails(target, matcher, &value), reason);
        }
    }
}

#[test]
fn an_empty_selection_is_a_list_and_can_be_judged() {
    let value = json!({ "tool_calls": [] });
    let not_refund = json!({ "not": { "contains": "refund" } });
    let assertion = Assertion::compile(Scope::Envelope, "tool_calls[*].name", &not_refund, None).unwrap();
    assert_eq!(assertion.check(&value), Check::Pass);
    assert_eq!(
        fails("tool_calls[*].name", json!({ "contains": "find" }), &value),
        "`tool_calls[*].name` is [], expected contains \"find\""
    );
}

#[test]
fn failures_show_actual_expected_and_the_custom_message() {
    let value = envelope();
    assert_eq!(
        fails("tool_calls[*].name", json!({ "not": { "contains": "open" } }), &value),
        "`tool_calls[*].name` is [\"find\",\"open\"], expected not contains \"open\""
    );
    assert_eq!(
        fails("final_response", json!({ "not": { "schema": { "minimum": 1 } } }), &value),
        "`final_response` cannot be judged by not schema {\"minimum\":1,\"type\":\"number\"}: \
         the schema bounds a number, got a string (\"done\")"
    );
    let matcher = json!({ "exact": "later" });
    let assertion =
        Assertion::compile(Scope::Envelope, "final_response", &matcher, Some("must not be done yet".into())).unwrap();
    assert_eq!(
        assertion.check(&value),
        Check::Fail {
            reason: "must not be done yet (`final_response` is \"done\", expected exact \"later\")".into(),
            diffs: vec![diff("", Some(json!("later")), Some(json!("done")), "differs")],
        }
    );
}

#[test]
fn malformed_targets_are_load_errors_with_a_column() {
    for (target, message) in [
        ("", "/target: invalid target ``: column 1: expected a name, found the end"),
        (
            "tool_calls[",
            "/target: invalid target `tool_calls[`: column 12: expected an index, `*` or a double-quoted key, found the end",
        ),
        ("tool_calls[0", "/target: invalid target `tool_calls[0`: column 13: expected `]`, found the end"),
        ("tool_calls..name", "/target: invalid target `tool_calls..name`: column 12: expected a name, found `.`"),
        ("a b", "/target: invalid target `a b`: column 2: expected `.` or `[`, found ` `"),
        (
            "tool_calls[99999999999999999999]",
            "/target: invalid target `tool_calls[99999999999999999999]`: column 12: the index is too large",
        ),
    ] {
        assert_eq!(refused(Scope::Envelope, target, json!({ "exact": 1 })), message);
    }
}

#[test]
fn target_and_matcher_mistakes_are_reported_together() {
    assert_eq!(
        refused(Scope::Gate(GateKind::Stability), "stability.scor", json!({ "exat": 1 })),
        "/matcher/exat: unknown matcher `exat` (hint: did you mean `exact`?)\n\
         /target: `stability` has no metric `scor` (hint: did you mean `stability.score`?)"
    );
}

#[test]
fn targets_resolve_in_their_own_scope_only() {
    let check = |scope, target: &str, message: &str| {
        assert_eq!(refused(scope, target, json!({ "exact": 1 })), message, "{target}");
    };
    check(
        Scope::Envelope,
        "tool_cals[0]",
        "/target: a trace has no field `tool_cals` (hint: did you mean `tool_calls`?)",
    );
    check(
        Scope::Envelope,
        "banana",
        "/target: a trace has no field `banana` \
         (hint: expected one of: tool_calls, tool_results, tool_names, final_response, conversation, answer_source, program)",
    );
    check(
        Scope::Envelope,
        "stability.score",
        "/target: a trace has no field `stability` (hint: use metrics in the `expect:` of `stability:`)",
    );
    let gate = Scope::Gate;
    check(
        gate(GateKind::GoldenPath),
        "golden_path.penality",
        "/target: `golden_path` has no metric `penality` (hint: did you mean `golden_path.penalty`?)",
    );
    check(
        gate(GateKind::GoldenPath),
        "stability.score",
        "/target: `stability.score` is not a metric of `golden_path` (hint: use it in the `expect:` of `stability:`)",
    );
    check(
        gate(GateKind::Trajectory),
        "trajectory.order_satisfaction",
        "/target: `trajectory` has no metric `order_satisfaction` \
         (hint: use it in the `expect:` of `trajectory_axes:`)",
    );
    check(
        gate(GateKind::TrajectoryAxes),
        "trajectory.passed",
        "/target: `trajectory_axes` has no metric `passed` (hint: use it in the `expect:` of `trajectory:`)",
    );
    check(
        gate(GateKind::Recovery),
        "tool_calls[0].name",
        "/target: `tool_calls[0].name` is not a metric of `recovery` (hint: its targets start with `recovery.`)",
    );
    check(
        gate(GateKind::Trajectory),
        "trajectory.banana",
        "/target: `trajectory` has no metric `banana` (hint: expected one of: passed, mismatch_count)",
    );
    check(gate(GateKind::Stability), "stability.score[0]", "/target: `stability.score` is a number and has no fields");
    check(
        gate(GateKind::Stability),
        "stability",
        "/target: `stability` names no metric (hint: expected one of: score, weakest_score, variance, tool_usage_stability, \
         response_consistency, redundancy, cost_per_progress, tool_sequence_similarity, argument_consistency, \
         early_divergence)",
    );
}

#[test]
fn a_boolean_never_equals_a_metric() {
    for (word, number) in [(true, 1), (false, 0)] {
        let message =
            format!("/matcher: metrics are numbers: `exact: {word}` never matches (hint: write `exact: {number}`)");
        let scope = Scope::Gate(GateKind::Trajectory);
        assert_eq!(refused(scope, "trajectory.passed", json!({ "exact": word })), message);
        assert_eq!(refused(scope, "trajectory.passed", json!({ "not": { "exact": word } })), message);
    }
    assert!(Assertion::compile(Scope::Envelope, "tool_results[0].is_error", &json!({ "exact": true }), None).is_ok());
}
