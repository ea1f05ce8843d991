//! `mcptest schema`: the JSON Schema of a file.

use mcptest_core::json;
use mcptest_core::suite::schema;

use super::Answer;
use crate::args::{Schema, Which};
use crate::exit;

pub(super) fn run(typed: &Schema) -> Answer {
    let schema = match typed.which {
        Which::Suite => schema::suite(),
        Which::Gates => schema::gates(),
        Which::Script => schema::of(&mcptest_runner::provider::script::SCRIPT),
        Which::Mock => schema::of(&mcptest_mock::spec::FILE),
        Which::Report => mcptest_core::report::schema::report(),
    };
    Answer { data: json::pretty(&schema), complaints: String::new(), code: exit::OK }
}
