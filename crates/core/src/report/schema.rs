//! JSON Schema of a saved report, from the same lists of words that the report is written with.

use serde_json::{Map, Value, json};

use super::{FORMAT, Family, Origin, RowVerdict};
use crate::eval::{GATES, GateInfo, Verdict};
use crate::judge::PROGRAM_CHECK;
use crate::trace::{self, Described as _, FaultKind, Trace};

/// The schema. Keys that are not described are allowed: newer programs may write more.
pub fn report() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of mcptest",
        "description": "What `--reporter json` writes and `mcptest report` reads. Keys that are not described here may come with newer versions of the program; what is described keeps its meaning while `mcptest` is the same.",
        "$defs": {
            "row": row(),
            "check": check(),
            "trace": trace::schema(Trace::KIND),
            "mark": object(&["column", "length", "line", "start", "text"], json!({
                "line": { "type": "integer", "minimum": 1, "description": "Line in the suite, from 1." },
                "column": { "type": "integer", "minimum": 1, "description": "Column, from 1, in characters." },
                "text": { "type": "string", "description": "The line as it may be printed; of a long one the part around the place." },
                "start": { "type": "integer", "minimum": 0, "description": "Characters of `text` before the place." },
                "length": { "type": "integer", "minimum": 1, "description": "Number of characters of `text` to underline." },
            })),
            "verdict": verdicts( "pass: all assertions passed; fail: an assertion failed; inconclusive: there are too few runs to tell; unassessable: the trace lacks the evidence; error: it could not be run or evaluated; absorbed: a failed run that `reliability` judges; skipped: not run; null: no gate judges it."),
            "count": { "type": "integer", "minimum": 0 },
        },
        "type": "object",
        "required": ["exit_code", "mcptest", "notes", "suites", "totals"],
        "properties": {
            "mcptest": { "const": FORMAT, "description": "Version of this format." },
            "allow_inconclusive": { "const": true, "description": "Inconclusive rows do not count as failures for `exit_code`." },
            "exit_code": { "enum": [0, 1, 2], "description": "0: everything passed; 1: a check failed or lacked evidence; 2: something could not run." },
            "labels": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Facts about the run, from `--label NAME=VALUE`." },
            "notes": { "type": "array", "description": "Notes that are not verdicts.", "items": object(&["rows", "suites", "text"], json!({
                "text": { "type": "string" },
                "suites": { "$ref": "#/$defs/count", "description": "Suites that were started or rejected before it." },
                "rows": { "$ref": "#/$defs/count", "description": "Rows of the last of them before it." },
                "stopped": { "const": true, "description": "It is why the run stopped early." },
            })) },
            "totals": totals(),
            "suites": { "type": "array", "description": "Suite files in the order they were given.", "items": object(&["file", "rows"], json!({
                "file": { "type": "string", "description": "The file, as it was typed." },
                "refused": { "type": "string", "description": "Why the file could not be used." },
                "rows": { "type": "array", "items": { "$ref": "#/$defs/row" } },
                "grid": { "type": "array", "description": "Tests that ran on several models.", "items": object(&["cells", "test"], json!({
                    "test": { "type": "string" },
                    "cells": { "type": "array", "items": object(&["model", "passed", "runs", "verdict"], json!({
                        "model": { "type": "string" },
                        "verdict": { "$ref": "#/$defs/verdict", "description": "The worst verdict of its rows." },
                        "passed": { "$ref": "#/$defs/count", "description": "Runs that passed." },
                        "runs": { "$ref": "#/$defs/count" },
                    })) },
                })) },
            })) },
        },
    })
}

fn object(required: &[&str], properties: Value) -> Value {
    let mut out = json!({ "type": "object", "required": required });
    out["properties"] = properties;
    out
}

fn words<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str, description: &str) -> Value {
    let all: Vec<&str> = all.iter().map(|found| word(*found)).collect();
    json!({ "enum": all, "description": description })
}

/// The verdicts of rows; null if there is none.
fn verdicts(description: &str) -> Value {
    let word = |verdict: &RowVerdict| (*verdict != RowVerdict::Unjudged).then(|| verdict.as_str());
    let all: Vec<Option<&str>> = RowVerdict::ALL.iter().map(word).collect();
    json!({ "enum": all, "description": description })
}

fn totals() -> Value {
    let counts: Map<String, Value> =
        RowVerdict::ALL.iter().map(|verdict| (verdict.to_string(), json!({ "$ref": "#/$defs/count" }))).collect();
    let mut names: Vec<&str> = RowVerdict::ALL.iter().map(|verdict| verdict.as_str()).collect();
    names.sort_unstable();
    json!({ "type": "object", "description": "How many rows have each verdict.", "required": names, "properties": counts })
}

fn gates() -> Vec<&'static str> {
    GATES.iter().map(|gate| gate.kind.name()).collect()
}

fn row() -> Value {
    let description = "A run, a gate over runs, or the outcome of injected faults in a run.";
    let mut row = object(
        &["checks", "family", "line", "model", "name", "test", "verdict"],
        json!({
            "name": { "type": "string", "description": "Test, model, run and gate, as far as needed to distinguish rows." },
            "family": words(Family::ALL, Family::as_str, "RUN: one run; GATE: all runs of a test on a model; EDGE: the outcome of injected faults in one run."),
            "test": { "type": "string" },
            "model": { "type": "string" },
            "run": { "type": "integer", "minimum": 1, "description": "The run, from 1; absent for a gate over runs." },
            "runs": { "$ref": "#/$defs/count", "description": "Runs of the test on the model, where they are not as many as the suite says." },
            "gate": { "enum": gates(), "description": "The gate of a gate row." },
            "line": { "$ref": "#/$defs/count", "description": "Line of the test in its suite; 0 where there is no suite." },
            "mark": { "$ref": "#/$defs/mark", "description": "What the suite says where the row did not pass." },
            "verdict": { "$ref": "#/$defs/verdict" },
            "origin": words(Origin::ALL, Origin::as_str, "Where the trace comes from."),
            "recorded": { "type": "boolean", "description": "The run was written into a cassette, so that it can be replayed; absent where it was not." },
            "edited": { "type": "boolean", "description": "The cassette was edited after it was recorded, or that of a run a gate over runs rests on; absent where none was." },
            "rules": { "type": "string", "description": "A digest of the assertions and gates that the run was judged by; runs with another one were judged by other rules." },
            "checks": { "type": "array", "items": { "$ref": "#/$defs/check" } },
            "error": object(&["message"], json!({
                "code": { "type": "string", "description": "What `mcptest explain` explains it by. New codes may come." },
                "message": { "type": "string", "description": "Why it could not be judged." },
                "hint": { "type": "string", "description": "What to do about it." },
            })),
            "receipts": { "type": "array", "description": "The outcome of each injected fault, with proof.", "items": object(
                &["fault", "injected", "kind", "met", "ms", "recovered"],
                json!({
                    "fault": { "type": "string" },
                    "kind": words(FaultKind::ALL, FaultKind::as_str, "What the fault does."),
                    "injected": { "type": "array", "items": { "$ref": "#/$defs/count" }, "description": "Calls it was injected into, by their place in the trace." },
                    "met": { "type": "array", "items": { "$ref": "#/$defs/count" }, "description": "Those that were denied an answer." },
                    "ms": { "$ref": "#/$defs/count", "description": "Virtual time its calls took." },
                    "recovered": { "oneOf": [
                        { "enum": ["unmet", "answer", "not"] },
                        object(&["call"], json!({ "call": { "$ref": "#/$defs/count" } })),
                    ], "description": "By which later call the run came out of it, or by its answer, or not; unmet: there was nothing to come out of." },
                }),
            ) },
            "advisory": { "type": "string", "description": "A model's review of the final message, made when the run was recorded. It does not affect the verdict." },
            "cost": { "type": "number", "minimum": 0, "description": "What the tokens of the run cost at the prices in the suite; absent where tokens or prices are not known." },
            "duration_ms": { "$ref": "#/$defs/count", "description": "Time the run took when it was recorded." },
            "trace": { "$ref": "#/$defs/trace" },
        }),
    );
    row["description"] = description.into();
    row
}

fn check() -> Value {
    let metrics: Vec<Value> = GATES
        .iter()
        .map(|GateInfo { kind, metrics, .. }| {
            let known: Map<String, Value> = metrics
                .iter()
                .map(|metric| (metric.name.to_owned(), json!({ "description": metric.meaning })))
                .collect();
            json!({
                "if": { "properties": { "name": { "const": kind.name() } } },
                "then": { "properties": { "metrics": { "properties": known } } },
            })
        })
        .collect();
    let names: Vec<&str> = ["expect", PROGRAM_CHECK].into_iter().chain(gates()).collect();
    let verdicts = Verdict::ALL.map(Verdict::as_str);
    let mut check = object(
        &["failures", "line", "metrics", "name", "verdict"],
        json!({
            "name": { "enum": names, "description": "The gate; `expect` for the test's own assertions, `program` for a program that did not end as it should." },
            "verdict": { "enum": verdicts },
            "line": { "type": "string", "description": "One line with its numbers." },
            "metrics": { "type": "object", "description": "Every metric that has a value." },
            "picture": visual(),
            "failures": { "type": "array", "description": "Why the verdict is not a pass.", "items": object(&["reason", "target"], json!({
                "target": { "type": "string", "description": "The value, metric or limit that was judged." },
                "reason": { "type": "string" },
                "diffs": { "type": "array", "items": object(&["note", "path"], json!({
                    "path": { "type": "string", "description": "JSON pointer into the value that was judged." },
                    "expected": { "description": "What was expected there; absent where nothing was." },
                    "actual": { "description": "What was recorded there; absent where nothing was." },
                    "note": { "type": "string" },
                })) },
            })) },
        }),
    );
    check["allOf"] = metrics.into();
    check
}

fn visual() -> Value {
    let count = json!({ "$ref": "#/$defs/count" });
    json!({
        "type": "object",
        "description": "What a report draws of the check.",
        "properties": {
            "calls": { "type": "array", "description": "The reference, call by call.", "items": object(&["name"], json!({
                "name": { "type": "string" },
                "call": { "$ref": "#/$defs/count", "description": "The recorded call that meets it." },
                "optional": { "const": true },
            })) },
            "claims": { "type": "array", "description": "The claims of the closing message.", "items": object(&["end", "start", "stem"], json!({
                "stem": { "type": "string", "description": "What is claimed, as `verb_noun`." },
                "start": count,
                "end": { "$ref": "#/$defs/count", "description": "Where it ends in the message, in bytes." },
                "backed": { "type": "boolean", "description": "Whether a call backs it; absent if nothing recorded shows it." },
                "call": { "$ref": "#/$defs/count", "description": "The call that backs it, or may." },
                "note": { "type": "string", "description": "Why it is neither backed by a call nor absent." },
                "weak": { "const": true, "description": "A heading, a label, a table or a background clause: shown, not judged." },
            })) },
        },
    })
}
