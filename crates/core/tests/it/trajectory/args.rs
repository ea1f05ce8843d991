//! How expectations compare arguments.

use mcptest_core::Verdict;
use mcptest_core::eval::MatchMode;
use serde_json::{Value, json};

use super::{MODES, check, explained, gate, recorded};

#[test]
fn argument_rules_work_in_every_mode() {
    let shapes = [
        // shape, arguments that fit, arguments that do not
        (json!("any"), vec![json!({}), json!({ "x": 1 }), json!("raw text")], vec![]),
        (json!("ignore"), vec![json!({}), json!([1])], vec![]),
        (
            json!({ "exact": { "x": 1, "y": { "z": [1, 2] } } }),
            vec![json!({ "y": { "z": [1.0, 2] }, "x": 1.0 })],
            vec![
                json!({ "x": 1 }),
                json!({ "x": 1, "y": { "z": [2, 1] } }),
                json!({ "x": 1, "y": { "z": [1, 2] }, "w": 0 }),
            ],
        ),
        (
            json!({ "subset": { "q": "rust", "tags": ["a", "b"] } }),
            vec![json!({ "q": "rust", "tags": ["b", "c", "a"], "n": 1 })],
            vec![json!({ "q": "rusty", "tags": ["a", "b"] }), json!({ "q": "rust", "tags": ["a"] }), json!({})],
        ),
        (
            json!({ "schema": { "type": "object", "properties": { "n": { "type": "integer", "minimum": 1 } }, "required": ["n"] } }),
            vec![json!({ "n": 1 }), json!({ "n": 5, "m": null })],
            vec![json!({ "n": 0 }), json!({ "n": "1" }), json!({})],
        ),
    ];
    for (shape, fitting, unfitting) in shapes {
        for mode in MODES {
            let reference = json!([{ "name": "a", "args": shape }]);
            for args in &fitting {
                check(mode, reference.clone(), &recorded(json!([["a", args]])), 0);
                check(mode, reference.clone(), &recorded(json!([["b", args]])), 1);
            }
            for args in &unfitting {
                check(mode, reference.clone(), &recorded(json!([["a", args]])), 1);
            }
        }
    }
}

#[test]
fn match_applies_a_matcher_to_each_argument() {
    let args = json!({
        "to": "ada@example.test", "amount": 21.5, "tags": ["new", "vip"],
        "items": [{ "sku": "A-1", "n": 2 }, { "sku": "B-2" }], "odd key": null,
    });
    let trace = recorded(json!([["pay", args]]));
    let is = |matchers: Value, fits: bool| {
        for mode in MODES {
            let calls = json!([{ "name": "pay", "args": { "match": matchers } }]);
            check(mode, calls, &trace, u64::from(!fits));
        }
    };
    is(json!({ "to": { "regex": "@example\\.test$" } }), true);
    is(json!({ "to": { "regex": "^bob" } }), false);
    is(json!({ "amount": { "near": { "value": 21, "tolerance": 0.5 } }, "tags": { "contains": "vip" } }), true);
    is(json!({ "amount": { "near": { "value": 21, "tolerance": 0.5 } }, "tags": { "contains": "old" } }), false);
    is(json!({ "items[*].sku": { "contains-all": ["A-1", "B-2"] } }), true);
    is(json!({ "items[-1].sku": { "exact": "B-2" } }), true);
    is(json!({ "items[0]": { "contains": { "n": 2 } } }), true);
    is(json!({ "[\"odd key\"]": { "exact": null } }), true);
    is(json!({ "items": { "schema": { "minItems": 3 } } }), false);
    is(json!({ "to": { "not": { "icontains": "BOB" } } }), true);
    // A path that selects nothing does not fit, nor does a value of a type that the matcher cannot judge: also under `not`.
    is(json!({ "cc": { "not": { "contains": "bob" } } }), false);
    is(json!({ "amount": { "not": { "contains": "bob" } } }), false);
    is(json!({ "items[2].sku": { "not": { "exact": "C-3" } } }), false);
}

#[test]
fn match_does_not_fit_arguments_that_are_not_an_object() {
    for args in [json!("{\"to\": \"ada"), json!([1]), json!({})] {
        let calls = json!([{ "name": "a", "args": { "match": { "to": { "not": { "exact": "bob" } } } } }]);
        check(MatchMode::Strict, calls, &recorded(json!([["a", args]])), 1);
    }
}

#[test]
fn ignored_pointers_are_removed_from_both_sides() {
    let reference = |shape: &str, pointers: &[&str]| {
        json!([{
            "name": "a",
            "args": { shape: { "id": 1, "at": "now", "list": [1, 2, 3], "deep": { "k/x": 1, "y": 2 } } },
            "ignore_args": pointers,
        }])
    };
    let trace = recorded(json!([["a", { "id": 1, "list": [1, 9, 3], "deep": { "k/x": 5, "y": 2 } }]]));
    for shape in ["exact", "subset"] {
        check(MatchMode::Strict, reference(shape, &["/at", "/list/1", "/deep/k~1x"]), &trace, 0);
        check(MatchMode::Strict, reference(shape, &["/at", "/list", "/deep"]), &trace, 0);
        check(MatchMode::Strict, reference(shape, &["/at", "/list/1"]), &trace, 1);
        check(MatchMode::Strict, reference(shape, &["/at", "/list/0", "/deep"]), &trace, 1);
        check(MatchMode::Strict, reference(shape, &[]), &trace, 1);
    }
    // Two elements of one list: removing the first must not move the second.
    let two = json!([{ "name": "a", "args": { "exact": { "l": [0, 1, 2] } }, "ignore_args": ["/l/0", "/l/1"] }]);
    check(MatchMode::Strict, two.clone(), &recorded(json!([["a", { "l": [7, 8, 2] }]])), 0);
    check(MatchMode::Strict, two, &recorded(json!([["a", { "l": [7, 1, 9] }]])), 1);
}

#[test]
fn a_schema_without_a_type_accepts_no_arguments_that_are_not_an_object() {
    let wanted = json!([{ "name": "a", "args": { "schema": { "required": ["x"] } } }]);
    for mode in MODES {
        for (args, verdict) in [
            (json!({ "x": 1 }), Verdict::Pass),
            (json!({ "y": 1 }), Verdict::Fail),
            (json!("{\"y\": 1"), Verdict::Fail),
            (json!([1]), Verdict::Fail),
        ] {
            let outcome = gate(mode, wanted.clone()).evaluate(&recorded(json!([["a", args]])));
            assert_eq!(outcome.verdict, verdict, "{mode} {args}");
        }
    }
}

#[test]
fn a_failed_match_names_the_argument_and_the_reason() {
    let matchers = json!({
        "to": { "regex": "^bob" },
        "amount": { "near": { "value": 12, "tolerance": 1 } },
        "cc": { "exact": "eve" },
        "note": { "contains": 7 },
        "items[*].sku": { "contains": "C" },
        "items[-1].n": { "exact": 3 },
        "items[5].n": { "exact": 3 },
        "ok": { "exact": true },
    });
    let args = json!({
        "to": "ada", "amount": 21, "note": "hi", "items": [{ "sku": "A", "n": 1 }, { "sku": "B", "n": 2 }], "ok": true,
    });
    let calls = json!([{ "name": "pay", "args": { "match": matchers } }]);
    let found = explained(MatchMode::Subsequence, calls, &recorded(json!([["pay", args]])));
    let [mismatch] = &found.mismatches[..] else { panic!("{found:?}") };
    assert_eq!(
        mismatch.reason,
        "calls[0] (pay) is missing: the nearest call is tool_calls[0], which differs at \
         /args/amount, /args/cc, /args/items, 4 more"
    );
    let diffs: Vec<_> = mismatch.diffs.iter().map(ToString::to_string).collect();
    assert_eq!(
        diffs,
        [
            "/args/amount: is not within 1, expected 12, recorded 21",
            "/args/cc: `cc` selects nothing (no key \"cc\" in an object with 5 keys), expected exact \"eve\"",
            "/args/items: `items[*].sku` must satisfy contains \"C\", recorded [\"A\",\"B\"]",
            "/args/items/1/n: differs, expected 3, recorded 2",
            "/args/items/5: `items[5].n` selects nothing (no index 5 in a list of 2), expected exact 3",
            "/args/note: contains 7 cannot judge it: contains looks for a number in a string, a list or an object, \
             got a string (\"hi\"), recorded \"hi\"",
            "/args/to: does not match, expected \"^bob\", recorded \"ada\"",
        ]
    );
}

#[test]
fn a_pointer_ignored_twice_removes_one_element() {
    let calls = json!([{ "name": "a", "args": { "exact": { "l": [1, 2, 3] } }, "ignore_args": ["/l/1", "/l/1"] }]);
    check(MatchMode::Strict, calls.clone(), &recorded(json!([["a", { "l": [1, 9, 3] }]])), 0);
    check(MatchMode::Strict, calls, &recorded(json!([["a", { "l": [1, 9, 8] }]])), 1);
}
