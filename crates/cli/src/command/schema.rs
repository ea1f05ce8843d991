//! `mcptest schema`: the JSON Schema of a file.

use mcptest_core::json;
use mcptest_core::suite::schema;

use super::Stop;
use crate::args::{Schema, Which};
use crate::console::Console;
use crate::exit;

pub(super) fn run(typed: &Schema, console: &mut Console<'_>) -> Result<u8, Stop> {
    let schema = match typed.which {
        Which::Suite => schema::suite(),
        Which::Gates => schema::gates(),
        Which::Script => schema::of(&mcptest_runner::provider::script::SCRIPT),
        Which::Mock => schema::of(&mcptest_mock::spec::FILE),
        Which::Report => mcptest_core::report::schema::report(),
    };
    console.out.print(&json::pretty(&schema))?;
    Ok(exit::OK)
}
