//! The lines of the protocol: requests as types, and replies.
//!
//! A request is `{"id": N, "method": NAME, "params": {..}}`. Its reply is `{"id": N, "result": {..}}` or
//! `{"id": N, "error": {"message": TEXT}}`. Lines of a score come before the reply, as `{"id": N, "line": {..}}`. New keys may
//! come; a client passes over keys it does not know.

use std::collections::BTreeMap;

use mcptest_core::json::Layout;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::command::Stop;

pub(super) enum Request<'a> {
    /// The protocol version of the program.
    Hello {
        protocol: Option<u64>,
    },
    /// Checks gates and returns them as JSON.
    Gates(GivenGates),
    ScoreStart(ScoreStart),
    /// Each record is a JSON value, or a string with the text of one.
    ScoreAdd {
        session: u64,
        records: Vec<&'a RawValue>,
    },
    ScoreFinish {
        session: u64,
    },
    RecordStart(RecordStart),
    RecordFinish(RecordFinish),
    CassettesStart(CassettesOf),
    CassettesSave(CassettesSave),
    CassettesLoad(CassettesLoad),
}

/// Gates: a file, or their text.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct GivenGates {
    pub(super) path: Option<String>,
    pub(super) text: Option<String>,
    /// What relative paths in the text are relative to.
    pub(super) folder: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct ScoreStart {
    pub(super) gates: Option<GivenGates>,
    /// Options of `mcptest score`, as on its command line.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// What reports call the source of the records.
    pub(super) name: Option<String>,
    /// Reply with the terminal report instead of lines.
    #[serde(default)]
    pub(super) report: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordStart {
    /// Servers as `mcptest record --server` takes them.
    #[serde(default)]
    pub(super) servers: Vec<String>,
    /// The environment of the program that is recorded.
    pub(super) environment: BTreeMap<String, String>,
    /// The folder that servers are started in.
    pub(super) folder: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordFinish {
    pub(super) session: u64,
    pub(super) answer: Option<String>,
    /// Why the recording is incomplete.
    pub(super) incomplete: Option<String>,
    /// Only tools are recorded.
    #[serde(default)]
    pub(super) model_unseen: bool,
    /// Also return both ledgers.
    #[serde(default)]
    pub(super) ledger: bool,
}

/// The recordings of a test that is code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassettesOf {
    /// The file with the test; recordings are next to it.
    pub(super) file: String,
    pub(super) test: String,
    /// What runs the test. It takes the place of the model.
    pub(super) program: String,
    /// How to record the test, for hints.
    pub(super) record: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassettesSave {
    pub(super) of: CassettesOf,
    pub(super) inputs: Value,
    /// What `record.finish` returned for every run, in order.
    pub(super) runs: Vec<RecordedRun>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedRun {
    pub(super) trace: Value,
    pub(super) observed: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassettesLoad {
    pub(super) of: CassettesOf,
    pub(super) inputs: Value,
    /// How many runs the test has.
    pub(super) runs: u64,
}

/// The request of a line with its id, or why there is none.
pub(super) fn parse(line: &[u8]) -> Result<(Option<u64>, Request<'_>), (Option<u64>, String)> {
    #[derive(Deserialize)]
    struct Line<'a> {
        id: Option<u64>,
        method: Option<String>,
        #[serde(borrow)]
        params: Option<&'a RawValue>,
    }
    let Line { id, method, params } = serde_json::from_slice(line).map_err(|error| (None, error.to_string()))?;
    let Some(method) = method else { return Err((id, "it has no `method`".to_owned())) };
    let params = params.map_or("{}", RawValue::get);
    match request(&method, params) {
        Ok(request) => Ok((id, request)),
        Err(why) => Err((id, why)),
    }
}

fn request<'a>(method: &str, params: &'a str) -> Result<Request<'a>, String> {
    #[derive(Deserialize)]
    struct Hello {
        protocol: Option<u64>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Add<'a> {
        session: u64,
        #[serde(borrow)]
        records: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Finish {
        session: u64,
    }
    fn read<'a, T: Deserialize<'a>>(params: &'a str) -> Result<T, String> {
        serde_json::from_str(params).map_err(|error| format!("params: {error}"))
    }
    Ok(match method {
        "hello" => Request::Hello { protocol: read::<Hello>(params)?.protocol },
        "gates" => Request::Gates(read(params)?),
        "score.start" => Request::ScoreStart(read(params)?),
        "score.add" => {
            let Add { session, records } = read(params)?;
            Request::ScoreAdd { session, records }
        }
        "score.finish" => Request::ScoreFinish { session: read::<Finish>(params)?.session },
        "record.start" => Request::RecordStart(read(params)?),
        "record.finish" => Request::RecordFinish(read(params)?),
        "cassettes.start" => Request::CassettesStart(read(params)?),
        "cassettes.save" => Request::CassettesSave(read(params)?),
        "cassettes.load" => Request::CassettesLoad(read(params)?),
        other => return Err(format!("there is no method {other:?}")),
    })
}

/// What a request is answered with.
pub(super) enum Answer {
    Value(Value),
    /// Lines of JSON, each with its end.
    Lines(Vec<u8>),
    /// The end of a score: the rest of its lines or its report, and how it went.
    Scored {
        lines: Vec<u8>,
        report: Option<String>,
        code: u8,
        messages: String,
    },
}

/// The reply, with the lines before it.
pub(super) fn reply(id: Option<u64>, answer: Result<Answer, Stop>) -> Vec<u8> {
    let id = id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    let (lines, key, value) = match answer {
        Ok(Answer::Value(value)) => (Vec::new(), "result", value),
        Ok(Answer::Lines(lines)) => (lines, "result", json!({})),
        Ok(Answer::Scored { lines, report, code, messages }) => {
            (lines, "result", json!({ "code": code, "messages": messages, "report": report }))
        }
        Err(Stop(message)) => (Vec::new(), "error", json!({ "message": message.trim_end() })),
    };
    let mut out = Vec::with_capacity(lines.len() + lines.len() / 8);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        out.extend_from_slice(format!("{{\"id\":{id},\"line\":").as_bytes());
        out.extend_from_slice(line);
        out.extend_from_slice(b"}\n");
    }
    out.extend_from_slice(format!("{{\"id\":{id},\"{key}\":").as_bytes());
    // Writing JSON into memory cannot fail.
    let _ = Layout::EXACT_LINE.write(&value, &mut out);
    out.extend_from_slice(b"}\n");
    out
}
