//! Recordings of other programs, and reports.

use super::{desk, printed, suite};
use crate::Folder;
use mcptest_core::diag::Code;

const CALL: &str = "{\"tool_calls\":[{\"name\":\"a\"}]}\n";

pub(super) fn provoked() -> Vec<(Code, String)> {
    let good = suite("trajectory: { calls: [{ name: search }] }");
    let here = desk(&good);
    for (name, text) in [
        ("ok.jsonl", CALL),
        ("unk.jsonl", "{\"x\":1}\n"),
        ("role.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"robot\",\"content\":\"y\"}]}"),
        ("dup.jsonl", "{\"tool_calls\":[{\"name\":\"a\"},{\"name\":\"a\",\"name\":\"b\"}]}\n"),
        ("empty.jsonl", ""),
        ("cut.json", "{\"tool_calls\":["),
        ("notes.json", "some notes"),
        ("calls.yml", "trajectory: { calls: [{ name: a }] }\n"),
        ("stability.yml", "stability: {}\n"),
        ("tasks.yml", "tasks:\n  - when: { task: { exact: a } }\n    trajectory: { calls: [{ name: a }] }\n"),
        (
            "clash.yml",
            "tasks:\n  - when: { tool_calls: { schema: true } }\n    trajectory: { calls: [{ name: a }] }\n  - when: { \"{stem}\": { exact: ok } }\n    trajectory: { calls: [{ name: a }] }\n",
        ),
        ("runs.txt", "some notes\n"),
        ("old.jsonl", "{\"id\":\"a\",\"group\":null,\"verdict\":\"pass\",\"metrics\":{},\"failures\":[]}\n"),
        ("new.jsonl", "{\"id\":\"b\",\"group\":null,\"verdict\":\"pass\",\"metrics\":{},\"failures\":[]}\n"),
        ("other.yml", "trajectory: { calls: [{ name: b }] }\n"),
    ] {
        here.write(name, text.as_bytes());
    }
    here.write("big.json", format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20)).as_bytes());
    // The packed line of a trace, without its end.
    let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56\x2a\xc9\xcf\xcf\x89\x4f\x4e\xcc\xc9\x29";
    here.write("cut.jsonl.gz", packed);
    let print = |line: &[&str]| printed(&here, line);
    vec![
        (Code::UnknownFormat, print(&["score", "unk.jsonl"])),
        (Code::InvalidRecord, print(&["score", "role.json", "--from", "anthropic"])),
        (Code::InvalidRecord, print(&["score", "dup.jsonl"])),
        (Code::EmptyInput, print(&["score", "empty.jsonl"])),
        (Code::TruncatedRecord, print(&["score", "cut.json"])),
        (Code::NotARecord, print(&["score", "notes.json"])),
        (Code::RecordTooLarge, print(&["score", "big.json", "--max-record", "1"])),
        (Code::DamagedArchive, print(&["score", "cut.jsonl.gz"])),
        (Code::UnmetTask, print(&["score", "ok.jsonl", "--gates", "tasks.yml"])),
        (Code::TaskConflict, print(&["score", "ok.jsonl", "--gates", "clash.yml"])),
        (Code::NothingInferred, print(&["infer", "ok.jsonl", "--outcome", "x", "--outcome-pass", "1"])),
        (Code::NoGroup, print(&["score", "ok.jsonl", "--group-by", "task"])),
        (Code::GroupGateWithoutGroup, print(&["score", "ok.jsonl", "--gates", "stability.yml"])),
        (
            Code::OutcomeWithoutGroup,
            print(&["score", "ok.jsonl", "--gates", "calls.yml", "--outcome", "x", "--outcome-pass", "1"]),
        ),
        (
            Code::NoOutcome,
            print(&["score", "ok.jsonl", "--group-by", "{stem}", "--outcome", "x", "--outcome-pass", "1"]),
        ),
        (Code::StdoutInUse, print(&["score", "ok.jsonl", "--gates", "calls.yml", "--reporter", "junit"])),
        (Code::NotScoreOutput, print(&["score", "--merge", "ok.jsonl"])),
        (Code::GatesMismatch, merged()),
        (Code::BadArgument, print(&["score", "ok.jsonl", "--server-prefix", ""])),
        (Code::BadArgument, print(&["run", "ok.yml", "--reporter", "jsn"])),
        (Code::ReportersClash, print(&["run", "ok.yml", "--reporter", "json", "--reporter", "junit"])),
        (Code::ReportNotWritten, print(&["run", "ok.yml", "--reporter", "junit=no/such/r.xml"])),
        (Code::NotAReport, print(&["report", "ok.jsonl"])),
        (Code::NotComparable, print(&["compare", "runs.txt", "runs.txt"])),
        (Code::NothingToCompare, print(&["compare", "old.jsonl", "new.jsonl"])),
        (Code::StdoutFailed, unwritable()),
        (Code::FailsUnchanged, print(&["mutate", "--gates", "other.yml", "ok.jsonl"])),
        (Code::NoMutants, print(&["mutate", "--gates", "calls.yml", "ok.jsonl", "--operators", "flip-outcome"])),
    ]
}

/// Parts that were scored without gates, merged with gates.
fn merged() -> String {
    let here = Folder::with(&[
        ("in.jsonl", "{\"task\":\"t\",\"tool_calls\":[{\"name\":\"a\"}],\"tool_results\":[null]}\n"),
        ("gates.yml", "trajectory: { calls: [{ name: a }] }\nreliability: {}\n"),
    ]);
    let part = here.command(&["score", "in.jsonl", "--group-by", "task"]).output().unwrap();
    here.write("part.jsonl", &part.stdout);
    printed(&here, &["score", "--merge", "part.jsonl", "--gates", "gates.yml"])
}

/// The message when a disk is full.
fn unwritable() -> String {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Folder::with(&[]).command(&["schema"]).stdout(full).output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}
