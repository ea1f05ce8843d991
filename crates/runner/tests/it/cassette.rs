//! Cassettes: names, files, staleness, what is refused.

use std::fs;
use std::path::PathBuf;

use mcptest_core::trace::{ToolCall, ToolResult, Trace};
use mcptest_runner::cassette::{
    Accepted, Cassette, CassetteError, Folder, VERSION, accept, changes, fingerprint, inputs, slug,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{one_test, suite};

fn cassette(run: u64) -> Cassette {
    let suite = one_test("");
    Cassette {
        test: "finds it".to_owned(),
        model: "demo".to_owned(),
        run,
        inputs: inputs(&suite, &suite.agents[0], "demo", Some("abc")),
        observed: json!({ "servers": {} }),
        advisory: None,
        ledger: None,
        trace: Trace { final_response: Some(format!("run {run}").into()), ..Trace::default() },
        version: VERSION,
        edited: false,
    }
}

fn folder() -> (TempDir, Folder) {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::of(&temp.path().join("suite.yml"));
    (temp, folder)
}

/// Saves a recording and returns its path.
fn save(folder: &Folder, cassette: &Cassette) -> PathBuf {
    folder.save(cassette).unwrap();
    folder.path(&cassette.test, &cassette.model, cassette.run)
}

/// The message of an error, without the folder of the test.
fn reported(temp: &TempDir, error: &CassetteError) -> String {
    error.to_string().replace(&temp.path().display().to_string(), "")
}

#[test]
fn slugs_are_readable_and_unique_by_a_hash_unless_nothing_was_changed() {
    assert_eq!(slug("finds-it-2"), "finds-it-2");
    assert_eq!(slug("finds it"), "finds-it-48ae7370");
    assert_eq!(slug("Finds It"), "finds-it-fc699c20");
    assert_eq!(slug("../../etc/passwd"), "etc-passwd-3754d6cb");
    assert_eq!(slug("日本"), "cf2abf0c");
    assert_eq!(slug(""), "e3b0c442");
    let long = slug(&"x".repeat(100));
    assert_eq!(long, format!("{}-09ecb6eb", "x".repeat(48)));
    assert_eq!(slug(&"x".repeat(48)), "x".repeat(48));
    // A name that reads like the slug of another one gets its own hash.
    assert_eq!((&*slug("A"), &*slug("a"), &*slug("a-559aead0")), ("a-559aead0", "a", "a-559aead0-a7638c75"));
    assert_eq!(slug("cf2abf0c"), "cf2abf0c-465057d2");
    // Windows knows these as devices.
    assert_eq!((&*slug("con"), &*slug("lpt9"), &*slug("lpt10")), ("con-1143da2b", "lpt9-06f4d3cd", "lpt10"));
}

#[test]
fn a_cassette_is_read_back_as_written_from_the_path_of_its_names() {
    let (temp, folder) = folder();
    let cassette = cassette(2);
    let path = save(&folder, &cassette);
    assert_eq!(
        path.strip_prefix(temp.path()).unwrap().to_str().unwrap(),
        "cassettes/suite/finds-it-48ae7370/demo/2.json"
    );
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\n  \"digest\": \"") && text.ends_with("}\n"), "{text}");
    assert_eq!(folder.load("finds it", "demo", 2, &cassette.inputs), Ok(cassette.clone()));
    folder.save(&cassette).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "the same recording gives the same bytes");
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["2.json"], "no other file is left");
}

#[test]
fn a_recording_is_judged_from_the_file_and_not_from_memory() {
    let (_temp, folder) = folder();
    let mut cassette = cassette(1);
    // In a file null means that there is no structured content.
    let result = ToolResult { structured_content: Some(Value::Null.into()), ..ToolResult::default() };
    cassette.trace.tool_calls = Some(vec![ToolCall { name: "look".to_owned(), ..ToolCall::default() }]);
    cassette.trace.tool_results = Some(vec![Some(result)]);
    let saved = folder.save(&cassette).unwrap();
    assert_ne!(saved, cassette);
    assert_eq!(folder.load("finds it", "demo", 1, &cassette.inputs), Ok(saved));
}

#[test]
fn changed_inputs_make_it_stale_and_name_the_field() {
    let stale = |more: &str, script: &str| {
        let now = one_test(more);
        changes(&cassette(1).inputs, &inputs(&now, &now.agents[0], "demo", Some(script)))
    };
    assert_eq!(stale("", "abc"), [""; 0]);
    assert_eq!(stale("", "abd"), ["the model's script has changed"]);
    assert_eq!(stale("    max_turns: 3\n", "abc"), ["`max_turns` was 10 and is 3"]);
    assert_eq!(stale("    system: Be brief.\n", "abc"), ["`system` was nothing and is \"Be brief.\""]);
    assert_eq!(stale("    temperature: 0.5\n", "abc"), ["`model.temperature` was nothing and is 0.5"]);
    assert_eq!(
        stale("    inject: [late]\n", "abc"),
        ["`inject` was [] and is [{\"delay_ms\":2000,\"kind\":\"slow\",\"name\":\"late\",\"tool\":\"search…"]
    );
    // Gates, assertions, tags and the number of runs are re-evaluated at every replay.
    let free = "    runs: 5\n    tags: [x]\n    stability: {}\n    golden_path: { calls: [search] }\n";
    assert_eq!(stale(free, "abc"), [""; 0]);
}

#[test]
fn the_environment_stays_out_of_the_inputs() {
    let suite = suite(
        "servers:\n\
         \x20 web: { command: [\"${BIN:-web}\", \"${SUITE_DIR}/x\"], env: { TOKEN: \"${TOKEN}\" }, cwd: \"${HOME}\" }\n\
         \x20 far: { url: \"https://${HOST}/\", headers: { x: \"${KEY}\" }, bearer_token_env: SECRET }\n\
         models:\n\
         \x20 local: { provider: openai, model: \"${NAME}\", base_url: \"${URL}\", api_key_env: K, price: { input: 1, output: 2 } }\n\
         agents:\n\
         \x20 - { name: t, model: local, servers: [web, far], prompt: p, expect: [{ target: tool_names, matcher: { exact: [] } }] }\n",
    );
    assert_eq!(
        inputs(&suite, &suite.agents[0], "local", None),
        json!({
            "prompt": "p",
            "max_turns": 10,
            "model": {
                "name": "local", "provider": "openai", "model": "${NAME}", "base_url": "${URL}", "max_tokens": 1024,
            },
            "servers": {
                "web": {
                    "command": ["${BIN:-web}", "${SUITE_DIR}/x"], "env": { "TOKEN": "${TOKEN}" }, "cwd": "${HOME}",
                    "protocol": "auto", "timeout_ms": 30000,
                },
                "far": {
                    "url": "https://${HOST}/", "headers": { "x": "${KEY}" }, "protocol": "auto", "timeout_ms": 30000,
                },
            },
            "inject": [],
        })
    );
}

#[test]
fn inputs_are_stored_with_suite_variables_and_without_environment_variables() {
    let of = |city: &str| {
        let suite = suite(&format!(
            "variables: {{ CITY: {city}, KEY: \"${{TOKEN:-a-secret}}\" }}\n\
             models: {{ demo: {{ provider: script, script: \"${{CITY}}.yml\" }} }}\n\
             servers: {{ web: {{ command: [web, \"${{CITY}}\", \"${{KEY}}\"], env: {{ A: \"${{CITY}}-${{B:-b}}\" }} }} }}\n\
             agents:\n\
             \x20 - name: t\n\
             \x20   model: demo\n\
             \x20   servers: [web]\n\
             \x20   prompt: \"In ${{CITY}}, with ${{KEY}} and ${{SUITE_DIR}}, for $$5.\"\n\
             \x20   system: \"${{KEY}} opens ${{CITY}}.\"\n\
             \x20   expect: [{{ target: tool_names, matcher: {{ exact: [] }} }}]\n"
        ));
        assert_eq!(suite.agents[0].prompt, format!("In {city}, with a-secret and ., for $5."));
        inputs(&suite, &suite.agents[0], "demo", None)
    };
    let oslo = of("Oslo");
    assert_eq!(oslo["prompt"], "In Oslo, with ${TOKEN:-a-secret} and ${SUITE_DIR}, for $5.");
    assert_eq!(oslo["system"], "${TOKEN:-a-secret} opens Oslo.");
    assert_eq!(
        changes(&oslo, &of("Rome")),
        [
            "`prompt` was \"In Oslo, with ${TOKEN:-a-secret} and ${SUITE_DIR}, for $5.\" and is \
             \"In Rome, with ${TOKEN:-a-secret} and ${SUITE_DIR}, for $5.\"",
            "`servers.web.command[1]` was \"Oslo\" and is \"Rome\"",
            "`servers.web.env.A` was \"Oslo-${B:-b}\" and is \"Rome-${B:-b}\"",
            "`system` was \"${TOKEN:-a-secret} opens Oslo.\" and is \"${TOKEN:-a-secret} opens Rome.\"",
        ]
    );
}

#[test]
fn a_file_that_is_not_a_cassette_of_this_run_is_rejected_with_the_reason() {
    let (temp, folder) = folder();
    let good = cassette(1);
    let inputs = good.inputs.clone();
    let path = save(&folder, &good);
    let text = fs::read_to_string(&path).unwrap();
    let load = |text: &str| {
        fs::write(&path, text).unwrap();
        reported(&temp, &folder.load("finds it", "demo", 1, &inputs).unwrap_err())
    };
    let at = "/cassettes/suite/finds-it-48ae7370/demo/1.json";
    let half = text.len() / 2;
    let cut = load(&text[..half]);
    assert!(cut.starts_with(&format!("{at}: the file is truncated: line ")), "{cut}");
    assert!(load("").starts_with(&format!("{at}: the file is truncated: line 1, column 0")));
    assert_eq!(load("[]"), format!("{at}: a cassette is an object, found a list of 0"));
    assert_eq!(load("{}"), format!("{at}: lacks `mcptest`, the version: this is not a cassette"));
    let other = text.replace("\"mcptest\": 2", "\"mcptest\": 3");
    assert_eq!(load(&other), format!("{at}: has format version 3, this program reads versions 1 to 2"));
    for edited in [text.replace("Find it.", "Find her."), text.replace("run 1", "run 2")] {
        assert_eq!(load(&edited), format!("{at}: was edited after it was recorded: its digest does not match"));
    }
    let bare: String = text.lines().filter(|line| !line.contains("\"digest\"")).collect();
    assert_eq!(load(&bare), format!("{at}: lacks `digest`, which recordings have from format version 2 on"));
    let older = text.replace("\"mcptest\": 2", "\"mcptest\": 1");
    assert_eq!(load(&older), format!("{at}: has `digest` or `edited`, which format version 1 does not know"));
    let renamed = text.replace("\"test\": \"finds it\"", "\"test\": \"finds her\"");
    assert_eq!(load(&renamed), format!("{at}: is run 1 of `finds her` on `demo`, not run 1 of `finds it` on `demo`"));
    let more = text.replace("\"run\": 1", "\"run\": 1,\n  \"extra\": 0");
    assert_eq!(load(&more), format!("{at}: unknown key `extra`"));
    let twice = text.replace("\"run\": 1", "\"run\": 1,\n  \"run\": 2");
    assert!(load(&twice).contains("duplicate key \"run\""), "{}", load(&twice));
    let no_trace = text.replace("\"final_response\": \"run 1\"", "\"final_response\": 5");
    assert!(load(&no_trace).starts_with(&format!("{at}: in `trace`: ")), "{}", load(&no_trace));
    fs::write(&path, b"\xff\xfe").unwrap();
    let error = folder.load("finds it", "demo", 1, &inputs).unwrap_err();
    assert_eq!(reported(&temp, &error), format!("{at}: is not UTF-8: byte 0"));
    fs::remove_file(&path).unwrap();
    let error = folder.load("finds it", "demo", 1, &inputs).unwrap_err();
    assert_eq!(reported(&temp, &error), format!("there is no recording of this run: {at}"));
}

#[test]
fn only_one_recorder_locks_a_folder_at_a_time() {
    let (temp, folder) = folder();
    let first = folder.lock().unwrap();
    assert_eq!(reported(&temp, &folder.lock().unwrap_err()), "/cassettes/suite: another recording is in progress");
    drop(first);
    drop(folder.lock().unwrap());
}

#[cfg(unix)]
#[test]
fn a_lock_is_never_on_a_removed_folder() {
    let (_temp, folder) = folder();
    let taken = std::thread::scope(|scope| {
        let take = || {
            let mut taken = 0;
            for _ in 0..2000 {
                if let Ok(_lock) = folder.lock() {
                    // The holder of the lock has exclusive access, and removes the folder as `prune` does.
                    fs::remove_dir(folder.root()).unwrap();
                    taken += 1;
                }
            }
            taken
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>()
    });
    assert!(taken > 100, "{taken}");
}

#[test]
fn a_file_that_cannot_be_placed_leaves_the_old_one_and_nothing_half_written() {
    let (_temp, folder) = folder();
    let path = folder.path("finds it", "demo", 1);
    // There is a folder where the file should be: renaming over it fails, also for the superuser.
    fs::create_dir_all(path.join("inside")).unwrap();
    let error = folder.save(&cassette(1)).unwrap_err();
    assert!(matches!(error, CassetteError::Io { what: "written", .. }), "{error}");
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["1.json"]);
}

#[test]
fn all_cassettes_are_listed_in_order_and_empty_folders_go_with_the_last() {
    let (temp, folder) = folder();
    for run in [10, 2, 1] {
        folder.save(&cassette(run)).unwrap();
    }
    let files = folder.files().unwrap();
    assert_eq!(files, [1, 2, 10].map(|run| folder.path("finds it", "demo", run)));
    assert_eq!(folder.runs("finds it", "demo"), Ok(vec![1, 2, 10]));
    for path in files {
        folder.remove(&path).unwrap();
    }
    assert!(!folder.root().exists() && temp.path().exists());
    assert_eq!(folder.files(), Ok(Vec::new()));
}

#[test]
fn only_names_that_a_recorder_gives_are_recordings_and_nothing_else_is_removed() {
    let (temp, folder) = folder();
    folder.save(&cassette(1)).unwrap();
    let cell = folder.path("finds it", "demo", 1).with_file_name("");
    for name in ["0.json", "01.json", "+2.json", "-2.json", "2.JSON", "2", "x.json"] {
        fs::write(cell.join(name), "{}").unwrap();
    }
    fs::create_dir(cell.join("3.json")).unwrap();
    assert_eq!(folder.runs("finds it", "demo"), Ok(vec![1, 3]));
    assert_eq!(folder.runs("finds it", "other"), Ok(Vec::new()));
    let elsewhere = temp.path().join("1.json");
    fs::write(&elsewhere, "{}").unwrap();
    let inside = |name: &str| folder.root().join(name);
    let out_of_place = Some("it is not where recordings are stored");
    for path in [elsewhere.clone(), cell.join("01.json"), inside("1.json"), inside("a/1.json"), inside("A/b/1.json")] {
        assert_eq!(folder.kept(&path), out_of_place, "{}", path.display());
    }
    assert_eq!(folder.kept(&inside("a/../../1.json")), out_of_place);
    assert_eq!(folder.kept(&cell.join("3.json")), Some("it is not a file"));
    assert_eq!(folder.kept(&cell.join("1.json")), None);
    assert_eq!(
        reported(&temp, &folder.remove(&elsewhere).unwrap_err()),
        "/1.json: cannot be removed: it is not where recordings are stored"
    );
    assert!(elsewhere.exists());
}

#[test]
fn the_recording_of_another_run_is_refused() {
    let (temp, folder) = folder();
    let path = save(&folder, &cassette(1));
    fs::copy(&path, path.with_file_name("2.json")).unwrap();
    assert_eq!(
        reported(&temp, &folder.load("finds it", "demo", 2, &cassette(1).inputs).unwrap_err()),
        "/cassettes/suite/finds-it-48ae7370/demo/2.json: is run 1 of `finds it` on `demo`, not run 2 of `finds it` on \
         `demo`"
    );
}

#[test]
fn a_recording_that_could_not_be_read_back_is_not_written() {
    let (temp, folder) = folder();
    let deep = (0..130).fold(json!(1), |inner, _| json!([inner]));
    let error = folder.save(&Cassette { observed: deep, ..cassette(1) }).unwrap_err();
    assert_eq!(
        reported(&temp, &error),
        "/cassettes/suite/finds-it-48ae7370/demo/1.json: not written, because it could not be read back: line 159, \
         column 255: recursion limit exceeded"
    );
    assert_eq!(folder.files(), Ok(Vec::new()));
}

#[test]
fn leftovers_of_a_killed_recorder_are_replaced() {
    let (_temp, folder) = folder();
    let path = save(&folder, &cassette(1));
    fs::write(path.with_file_name(".1.json.new"), "half of").unwrap();
    assert_eq!(folder.runs("finds it", "demo"), Ok(vec![1]));
    folder.save(&cassette(1)).unwrap();
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["1.json"]);
}

#[test]
fn the_fingerprint_does_not_depend_on_the_order_of_keys() {
    let one: Value = serde_json::from_str(r#"{"a":1,"b":[1.0,2]}"#).unwrap();
    let two: Value = serde_json::from_str(r#"{"b":[1,2],"a":1.0}"#).unwrap();
    assert_eq!(fingerprint(&one), fingerprint(&two));
    assert_ne!(fingerprint(&one), fingerprint(&json!({ "a": 1, "b": [2, 1] })));
}

/// The text of a recording as version 1 of the format had it.
fn in_version_1(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    let map = value.as_object_mut().unwrap();
    map.remove("digest").unwrap();
    map.insert("mcptest".to_owned(), 1.into());
    value.to_string()
}

#[test]
fn an_old_recording_is_read_and_counts_as_edited_once_it_is_accepted() {
    let (_temp, folder) = folder();
    let good = cassette(1);
    let path = save(&folder, &good);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, in_version_1(&text)).unwrap();
    let load = || folder.load("finds it", "demo", 1, &good.inputs);
    assert_eq!(load(), Ok(Cassette { version: 1, ..good.clone() }));
    assert_eq!(accept(&path), Ok(Accepted::Now));
    assert_eq!(load(), Ok(Cassette { edited: true, ..good.clone() }));
}

#[test]
fn an_edit_is_accepted_once_and_its_mark_stays_until_the_run_is_recorded_again() {
    let (temp, folder) = folder();
    let good = cassette(1);
    let path = save(&folder, &good);
    let text = fs::read_to_string(&path).unwrap();
    let load = || folder.load("finds it", "demo", 1, &good.inputs);
    assert_eq!(accept(&path), Ok(Accepted::Unedited));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    fs::write(&path, text.replace("run 1", "all is well")).unwrap();
    assert_eq!(accept(&path), Ok(Accepted::Now));
    let trace = Trace { final_response: Some("all is well".into()), ..Trace::default() };
    let edited = Cassette { trace, edited: true, ..good.clone() };
    assert_eq!(load(), Ok(edited.clone()));
    let accepted = fs::read_to_string(&path).unwrap();
    assert_eq!(accept(&path), Ok(Accepted::Before));
    assert_eq!(fs::read_to_string(&path).unwrap(), accepted);

    // Removing the mark, or another edit, must be accepted, which sets the mark again.
    let unmarked: String = accepted.lines().filter(|line| !line.contains("\"edited\"")).collect();
    for again in [unmarked, accepted.replace("all is well", "run 1")] {
        fs::write(&path, again).unwrap();
        assert_eq!(load(), Err(CassetteError::Edited { path: path.clone() }));
        assert_eq!(accept(&path), Ok(Accepted::Now));
        assert!(load().unwrap().edited);
    }
    // Without a digest, too, and with inputs that were changed to what the suite says now.
    let bare: String = accepted.lines().filter(|line| !line.contains("\"digest\"")).collect();
    fs::write(&path, bare.replace("Find it.", "Find her.")).unwrap();
    assert_eq!(accept(&path), Ok(Accepted::Now));
    let mut inputs = good.inputs.clone();
    inputs["prompt"] = "Find her.".into();
    assert!(folder.load("finds it", "demo", 1, &inputs).unwrap().edited);

    folder.save(&good).unwrap();
    assert_eq!(load(), Ok(good.clone()));
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["1.json"], "nothing is left next to it");
    let missing = temp.path().join("cassettes/gone/t/demo/1.json");
    assert_eq!(accept(&missing), Err(CassetteError::Missing { path: missing.clone() }));
    assert!(!temp.path().join("cassettes/gone").exists());
}

#[test]
fn a_cassette_that_cannot_be_accepted_is_not_changed() {
    let (_temp, folder) = folder();
    let path = save(&folder, &cassette(1));
    let text = fs::read_to_string(&path).unwrap();
    let turns = r#""trace": { "conversation": { "turns": [{ "role": "assistant", "content": "no" }] },"#;
    let contradictory = text.replace("\"trace\": {", turns);
    let why = "contradicts itself: `trace.final_response` is not the text of the last assistant turn, \
               `trace.conversation.turns[0]`";
    let cases = [
        (contradictory, why.to_owned()),
        (
            text.replace("\"mcptest\": 2", "\"mcptest\": 3"),
            "has format version 3, this program reads versions 1 to 2".into(),
        ),
        (text.replace("\"run\": 1", "\"run\": 1, \"extra\": 0"), "unknown key `extra`".into()),
        (text.replace("\"run\": 1", "\"run\": \"1\""), "`run` must be a number, found a string (\"1\")".into()),
        ("{}".to_owned(), "lacks `mcptest`, the version: this is not a cassette".into()),
    ];
    for (edited, why) in cases {
        fs::write(&path, &edited).unwrap();
        assert_eq!(accept(&path).unwrap_err().why(), why);
        assert_eq!(fs::read_to_string(&path).unwrap(), edited);
    }
}

#[test]
fn an_edit_is_not_accepted_while_the_suite_is_recorded_nor_through_a_link() {
    let (temp, folder) = folder();
    let path = save(&folder, &cassette(1));
    let text = fs::read_to_string(&path).unwrap().replace("run 1", "run 2");
    fs::write(&path, &text).unwrap();
    let lock = folder.lock().unwrap();
    assert!(matches!(accept(&path), Err(CassetteError::Locked { .. })));
    drop(lock);
    // A file in another place is still accepted.
    let elsewhere = temp.path().join("run.json");
    fs::copy(&path, &elsewhere).unwrap();
    assert_eq!(accept(&elsewhere), Ok(Accepted::Now));
    assert!(Cassette::open(&elsewhere).unwrap().edited);
    #[cfg(unix)]
    {
        let link = temp.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(accept(&link), Err(CassetteError::Linked { path: link.clone() }));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_test_that_was_renamed_keeps_its_recordings_and_nothing_counts_as_edited() {
    let (_temp, folder) = folder();
    let recordings = [cassette(1), cassette(2), Cassette { model: "other".to_owned(), ..cassette(1) }];
    for one in &recordings {
        folder.save(one).unwrap();
    }
    // One is of version 1, and one was edited: neither is forgotten.
    let old = folder.path("finds it", "demo", 1);
    fs::write(&old, in_version_1(&fs::read_to_string(&old).unwrap())).unwrap();
    let edited = folder.path("finds it", "demo", 2);
    fs::write(&edited, fs::read_to_string(&edited).unwrap().replace("run 2", "run 3")).unwrap();
    assert_eq!(accept(&edited), Ok(Accepted::Now));

    let moved = folder.rename("finds it", "finds her").unwrap();
    let at = |model: &str, run: u64| folder.path("finds her", model, run);
    assert_eq!(moved, [at("demo", 1), at("demo", 2), at("other", 1)]);
    assert_eq!(folder.files().unwrap(), moved, "nothing else is left");
    let load = |model: &str, run: u64| folder.load("finds her", model, run, &recordings[0].inputs).unwrap();
    assert_eq!(load("demo", 1), Cassette { test: "finds her".to_owned(), version: 1, ..cassette(1) });
    assert!(load("demo", 2).edited);
    assert_eq!(load("other", 1), Cassette { test: "finds her".to_owned(), ..recordings[2].clone() });
    let names: Vec<_> = fs::read_dir(folder.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn recordings_are_renamed_all_or_none_and_never_over_others() {
    let (temp, folder) = folder();
    let missing = reported(&temp, &folder.rename("finds it", "finds her").unwrap_err());
    assert_eq!(missing, "there is no recording of this run: /cassettes/suite/finds-it-48ae7370");
    assert!(!folder.root().exists());
    let one = save(&folder, &cassette(1));
    let two = save(&folder, &cassette(2));
    let other = save(&folder, &Cassette { test: "finds her".to_owned(), ..cassette(1) });
    let taken = reported(&temp, &folder.rename("finds it", "finds her").unwrap_err());
    assert_eq!(taken, "/cassettes/suite/finds-her-7800afb3: recordings already exist and are not overwritten");
    folder.remove(&other).unwrap();
    let text = fs::read_to_string(&two).unwrap();
    fs::write(&two, text.replace("run 2", "run 3")).unwrap();
    assert_eq!(folder.rename("finds it", "finds her"), Err(CassetteError::Edited { path: two.clone() }));
    assert_eq!(folder.files().unwrap(), [one, two.clone()]);
    fs::write(&two, text).unwrap();
    // Files left by a killed program do not get in the way.
    fs::create_dir_all(folder.root().join(".finds-her-7800afb3.new/demo")).unwrap();
    assert_eq!(folder.rename("finds it", "finds her").unwrap().len(), 2);
    let names: Vec<_> = fs::read_dir(folder.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["finds-her-7800afb3"]);
}
