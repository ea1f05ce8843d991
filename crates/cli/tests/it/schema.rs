//! `mcptest schema`: the committed schemas, printed.

use super::{Folder, check, root};

#[test]
fn the_committed_schemas_are_printed_and_the_suite_schema_is_the_default() {
    let here = Folder::with(&[]);
    for (line, file) in [
        (&["schema"][..], "suite"),
        (&["schema", "suite"], "suite"),
        (&["schema", "gates"], "gates"),
        (&["schema", "script"], "script"),
        (&["schema", "mock"], "mock"),
        (&["schema", "report"], "report"),
    ] {
        let committed = std::fs::read_to_string(root().join(format!("schemas/{file}.schema.json"))).unwrap();
        here.check(line, 0, &committed, "");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Folder::with(&[]).command(&["schema"]).stdout(writer).output().unwrap();
    check(&output, 0, "", "");
}
