//! Scripts: what a file may say, and what it plays.

use mcptest_core::diag::Source;
use mcptest_core::trace::ToolResult;
use mcptest_runner::agent::{Reply, RequestedArgs, Stop};
use mcptest_runner::provider::script::{Script, load};
use serde_json::json;

use crate::support::catalog;

fn script(text: &str) -> Script {
    let source = Source::new("demo.yml", text);
    let loaded = load(&source);
    let reported: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
    loaded.value.unwrap_or_else(|| panic!("{}", reported.join("\n")))
}

fn refused(text: &str) -> String {
    let source = Source::new("demo.yml", text);
    let loaded = load(&source);
    assert!(loaded.value.is_none(), "{text}");
    loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect()
}

fn answer() -> ToolResult {
    ToolResult {
        is_error: Some(false),
        content: Some(vec![json!({ "type": "text", "text": "id 7" }).into()]),
        structured_content: Some(json!({ "id": 7, "tags": ["a", "b"] }).into()),
        ..ToolResult::default()
    }
}

#[test]
fn a_script_plays_its_turns_with_text_calls_usage_and_stop() {
    let script = script(
        "script: 1\n\
         runs:\n\
         \x20 - turns:\n\
         \x20     - text: Looking.\n\
         \x20       calls: [{ tool: search, args: { q: rain } }, { tool: query, server: db, caller: { type: program } }]\n\
         \x20       usage: { input: 10, output: 3 }\n\
         \x20     - { text: No., stop: refused }\n",
    );
    let catalog = catalog();
    let mut player = script.player(1);
    let first = player.reply(&catalog, &[]).unwrap();
    assert_eq!(first.texts, ["Looking."]);
    assert_eq!((first.tokens.input, first.tokens.output, first.stop), (Some(10), Some(3), Stop::End));
    let calls: Vec<_> = first.calls.iter().map(|call| (&*call.id, &*call.wire, call.caller.clone())).collect();
    let program = Some(json!({ "type": "program" }));
    assert_eq!(calls, [("call_1", "web__search", None), ("call_2", "db__query", program)]);
    assert_eq!(first.calls[0].args, RequestedArgs::Object(json!({ "q": "rain" }).as_object().unwrap().clone()));
    let second = player.reply(&catalog, &[]).unwrap();
    assert_eq!(second, Reply { texts: vec!["No.".to_owned()], stop: Stop::Refused, ..Reply::default() });
    let over = player.reply(&catalog, &[]).unwrap_err();
    assert_eq!(over.to_string(), "the script of run 1 has 2 turns, but the model was called once more");
}

#[test]
fn runs_start_over_after_the_last() {
    let script = script("{ script: 1, runs: [{ turns: [{ text: one }] }, { turns: [{ text: two }] }] }");
    let text = |run| script.player(run).reply(&catalog(), &[]).unwrap().texts.join("");
    assert_eq!([1, 2, 3, 4].map(text), ["one", "two", "one", "two"]);
}

/// The arguments a call gets from `args`, after one answer; or the error.
fn args(args: &str) -> Result<RequestedArgs, String> {
    let script =
        script(&format!("{{ script: 1, runs: [{{ turns: [{{ calls: [{{ tool: search, args: {args} }}] }}] }}] }}"));
    let reply = script.player(1).reply(&catalog(), &[answer()]);
    reply.map(|reply| reply.calls[0].args.clone()).map_err(|error| error.to_string())
}

#[test]
fn references_read_earlier_answers_and_keep_their_type_if_alone() {
    let object = |value: serde_json::Value| Ok(RequestedArgs::Object(value.as_object().unwrap().clone()));
    assert_eq!(args(r#"{ id: "${results[0].structured_content.id}" }"#), object(json!({ "id": 7 })));
    assert_eq!(
        args(r#"{ all: ["${results[0].structured_content.tags}", "n${results[-1].structured_content.id}!"] }"#),
        object(json!({ "all": [["a", "b"], "n7!"] }))
    );
    assert_eq!(
        args(r#"{ x: "${results[0].content[0].text}", y: "$$5 $6" }"#),
        object(json!({ "x": "id 7", "y": "$5 $6" }))
    );
    assert_eq!(args(r#"{ x: "${results[3].content:-none}" }"#), object(json!({ "x": "none" })));
    assert_eq!(
        args(r#"{ x: "${results[0].structured_content.name}" }"#),
        Err("the script refers to an earlier result: `results[0].structured_content.name` is not there: no key \"name\" in an object with 2 keys"
            .to_owned())
    );
}

#[test]
fn arguments_given_as_text_are_sent_as_a_model_would_send_them() {
    assert_eq!(args(r#"'{"q": 1}'"#), Ok(RequestedArgs::Object(json!({ "q": 1 }).as_object().unwrap().clone())));
    let Ok(RequestedArgs::Unreadable { text, why }) = args(r#"'{"q": '"#) else { panic!("it is no JSON") };
    assert_eq!((text.as_str(), why.as_str()), ("{\"q\": ", "line 1, column 6: EOF while parsing a value"));
    let Ok(RequestedArgs::Unreadable { text, why }) = args("[1]") else { panic!("it is no object") };
    assert_eq!((text.as_str(), why.as_str()), ("[1]", "found a list of 1"));
}

#[test]
fn an_unknown_tool_is_requested_anyway_and_an_ambiguous_one_needs_its_server() {
    let wire = |call: &str| {
        let script = script(&format!("{{ script: 1, runs: [{{ turns: [{{ calls: [{call}] }}] }}] }}"));
        let reply = script.player(1).reply(&catalog(), &[]);
        reply.map(|reply| reply.calls[0].wire.clone()).map_err(|error| error.to_string())
    };
    assert_eq!(wire("{ tool: nothing }"), Ok("nothing".to_owned()));
    assert_eq!(wire("{ tool: nothing, server: web }"), Ok("web__nothing".to_owned()));
    assert_eq!(wire("{ tool: ping, server: db }"), Ok("db__ping".to_owned()));
    assert_eq!(wire("{ tool: ping }"), Err("the script calls `ping`, which several servers have: web, db".to_owned()));
}

#[test]
fn mistakes_are_reported_with_their_place_all_at_once() {
    assert_eq!(
        refused(
            "script: 2\n\
             runs:\n\
             \x20 - turns:\n\
             \x20     - { stop: refused }\n\
             \x20     - calls: [{ tol: search, args: { x: \"${results[0\", y: \"${args.x}\" } }]\n"
        ),
        "\
demo.yml:1:9: error[wrong-type]: `script` must be one of 1, found a number (2)
   |
 1 | script: 2
   |         ^
demo.yml:4:9: error[script-unusable]: the turn has neither text nor calls
   |
 4 |       - { stop: refused }
   |         ^^^^^^^^^^^^^^^^^
   = hint: add `text:` or `calls:`
demo.yml:5:19: error[unknown-key]: unknown key `tol` in a scripted call
   |
 5 |       - calls: [{ tol: search, args: { x: \"${results[0\", y: \"${args.x}\" } }]
   |                   ^^^
   = hint: did you mean `tool`?
demo.yml:5:43: error[malformed-variable]: `${` is not closed
   |
 5 |       - calls: [{ tol: search, args: { x: \"${results[0\", y: \"${args.x}\" } }]
   |                                           ^^^^^^^^^^^^^
   = hint: write `${results[0].content[0].text}`, or `$$` for a dollar sign
demo.yml:5:61: error[malformed-variable]: `${args.x}` does not start with `results`
   |
 5 |       - calls: [{ tol: search, args: { x: \"${results[0\", y: \"${args.x}\" } }]
   |                                                             ^^^^^^^^^^^
   = hint: write `${results[0].content[0].text}`, or `$$` for a dollar sign
"
    );
    assert!(refused("").starts_with("demo.yml:1:1: error[empty-file]: the file is empty\n"), "{}", refused(""));
}
