//! The suite loader over folders: a new case is a file.
//!
//! `mistakes/NAME.yml` must fail with exactly the text of `NAME.txt`, `lints/NAME.yml` must load with exactly the warnings of
//! `NAME.txt`, and `good/NAME.yml` must load and validate. `MISTAKES=overwrite cargo test` rewrites the texts. Read them as
//! the user who made the mistake before you keep them.

use std::fs;
use std::path::{Path, PathBuf};

use mcptest_core::diag::Source;
use mcptest_core::suite::{self, Loaded, Suite, Template, Transport, Variables, yaml};

/// Loads a text as the file `name`; outside it only `CITY` is set.
pub(crate) fn load(name: &str, text: &str) -> (Source, Loaded<Suite>) {
    let source = Source::new(name, text);
    let loaded = suite::load(&source, &Variables { suite_dir: "suites", outside: &outside });
    (source, loaded)
}

pub(crate) fn outside(name: &str) -> Option<String> {
    (name == "CITY").then(|| "Oslo".to_owned())
}

/// Everything there is to say, as a person reads it.
pub(crate) fn rendered<T>(source: &Source, loaded: &Loaded<T>) -> String {
    let all: Vec<_> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(source)).collect();
    all.join("\n")
}

/// The suites of a folder, by name.
pub(crate) fn folder(name: &str) -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(path(name)).unwrap().map(|entry| entry.unwrap().path()).filter(|path| is(path, "yml")).collect();
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(&path).unwrap())
    };
    files.into_iter().map(read).collect()
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name)
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Compares the diagnostics of each suite in a folder with the text next to it.
fn check(dir: &str, loads: bool) -> usize {
    let overwrite = std::env::var("MISTAKES").is_ok_and(|word| word == "overwrite");
    let suites = folder(dir);
    let mut wrong = Vec::new();
    for (name, text) in &suites {
        let (source, loaded) = load(&format!("{name}.yml"), text);
        let actual = rendered(&source, &loaded);
        let text_file = path(dir).join(format!("{name}.txt"));
        if overwrite {
            fs::write(&text_file, &actual).unwrap();
        }
        let expected = fs::read_to_string(&text_file).unwrap_or_default();
        if actual != expected {
            wrong.push(format!("{dir}/{name}.yml\n--- expected\n{expected}--- actual\n{actual}"));
        }
        if loaded.value.is_some() != loads {
            wrong.push(format!("{dir}/{name}.yml loads: {}\n{actual}", !loads));
        }
    }
    let texts = fs::read_dir(path(dir)).unwrap().filter(|entry| is(&entry.as_ref().unwrap().path(), "txt")).count();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(texts, suites.len(), "a text without a suite in {dir}");
    suites.len()
}

#[test]
fn every_mistake_has_exactly_the_message_in_its_file() {
    assert!(check("mistakes", false) >= 300);
}

#[test]
fn every_lint_has_exactly_the_message_in_its_file() {
    assert!(check("lints", true) >= 20);
}

/// One slip each, which shows in several places of the file.
const SEVERAL: [&str; 3] = ["order-is-a-list-of-names", "yaml-duplicate-key-thrice", "yaml-list-item-without-dash"];

#[test]
fn one_mistake_is_one_error() {
    let several = |name: &str| name.starts_with("many-") || SEVERAL.contains(&name);
    let mut wrong = Vec::new();
    for (name, text) in folder("mistakes") {
        let (source, loaded) = load(&name, &text);
        if !several(&name) && loaded.diagnostics.len() != 1 {
            wrong.push(rendered(&source, &loaded));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
}

pub(crate) fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&suite::schema::suite()).unwrap()
}

#[test]
fn good_suites_load_without_diagnostics_and_match_the_json_schema() {
    let validator = validator();
    let suites = folder("good");
    assert!(suites.len() >= 8);
    for (name, text) in suites {
        let (source, loaded) = load(&format!("{name}.yml"), &text);
        assert_eq!(rendered(&source, &loaded), "", "{name}");
        assert!(loaded.value.is_some(), "{name}");
        let value = yaml::read(&source).unwrap().to_json();
        let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn suites_with_warnings_match_the_json_schema() {
    let validator = validator();
    for (name, text) in folder("lints") {
        let value = yaml::read(&Source::new(&name, text)).unwrap().to_json();
        assert!(validator.is_valid(&value), "{name}");
    }
}

/// Rules of the key tables apply in the loader and in the JSON Schema; other rules only in the loader.
#[test]
fn mistakes_that_the_json_schema_covers_do_not_match_it() {
    let validator = validator();
    let mut wrong = Vec::new();
    let mut shared = 0;
    for (name, text) in folder("mistakes") {
        let is_shared = text.trim_start_matches('\u{feff}').starts_with("# shared");
        shared += usize::from(is_shared);
        let Ok(root) = yaml::read(&Source::new(&name, text)) else {
            assert!(!is_shared, "{name} is not YAML, so no schema speaks of it");
            continue;
        };
        if validator.is_valid(&root.to_json()) == is_shared {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "marked `# shared` and the schema accepts, or the other way round: {wrong:#?}");
    assert!(shared >= 190);
}

#[test]
fn a_file_that_is_too_large_is_rejected_before_parsing() {
    let text = format!("# {}\n", "x".repeat(yaml::MAX_BYTES));
    let (source, loaded) = load("large.yml", &text);
    let message = "the file has 16777219 bytes, more than the limit of 16777216";
    assert!(rendered(&source, &loaded).starts_with(&format!("large.yml:1:1: error[file-too-large]: {message}\n")));
    assert!(loaded.value.is_none());
}

#[test]
fn variables_cannot_expand_a_small_file_without_limit() {
    let text = format!(
        "variables:\n  v: {}\nagents:\n  - name: a\n    model: gpt-5\n    prompt: \"{}\"\n    expect: [{{ target: tool_names, matcher: {{ exact: [] }} }}]\n",
        "x".repeat(100_000),
        "${v}".repeat(1_000),
    );
    let (_, loaded) = load("grows.yml", &text);
    let messages: Vec<_> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert_eq!(messages, ["variables expand to more than 16777216 bytes"]);
}

/// Sizes at which work that grows with the square shows in the time the test takes.
#[test]
fn large_files_of_every_shape_load_in_bounded_time() {
    let many = |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    let test = "agents:\n  - name: a\n    model: gpt-5\n    prompt: p\n    expect: [{ target: tool_names, matcher: { exact: [] } }]\n";
    let texts = [
        format!("<<: {{ {} }}\n{test}", many(10_000, |at| format!("k{at}: 1, "))),
        format!("{}{test}", many(20_000, |_| "k: 1\n".to_owned())),
        format!(
            "faults:\n{}{test}",
            many(20_000, |at| { format!("  - {{ name: f{at}, target: {{ tool: t }}, kind: hang }}\n") })
        ),
        format!("{test}    inject: [{}]\n", many(20_000, |at| format!("f{at}, "))),
        test.replace("model: gpt-5", &format!("models: [{}]", many(20_000, |at| format!("gpt-{at}, ")))),
        format!("x: {}y{}\n{test}", many(100, |at| format!("&a{at} [")), "]".repeat(100)),
        format!("variables:\n{}{test}", many(20_000, |at| format!("  v{at}: x\n"))),
        // Every name is wrong, and all that are declared are near it, or far from it.
        format!(
            "servers:\n{}{test}    servers: [{}]\n",
            many(10_000, |at| format!("  server-{at}: {{ command: [x] }}\n")),
            many(10_000, |at| format!("sever-{at}, "))
        ),
        format!(
            "servers:\n{}{test}    servers: [{}]\n",
            many(10_000, |at| format!("  s{at}: {{ command: [x] }}\n")),
            many(10_000, |at| format!("quite-another-{at}, "))
        ),
        // Every mistake on one line.
        format!("{test}    tags: [{}]\n", many(20_000, |_| "1, ".to_owned())),
    ];
    for text in texts {
        let (source, loaded) = load("large.yml", &text);
        assert!(loaded.diagnostics.len() <= 20_010);
        assert!(rendered(&source, &loaded).len() < 20_000_000);
    }
}

fn good(name: &str) -> Suite {
    let (_, text) = folder("good").into_iter().find(|(found, _)| found == name).unwrap();
    load(name, &text).1.value.unwrap()
}

#[test]
fn line_endings_and_a_byte_order_mark_do_not_matter() {
    let plain = format!("{:?}", good("minimal"));
    assert_eq!(format!("{:?}", good("crlf")), plain);
    assert_eq!(format!("{:?}", good("byte-order-mark")), plain);
}

#[test]
fn defaults_are_those_of_the_key_tables() {
    let suite = good("minimal");
    let test = &suite.agents[0];
    assert_eq!((test.runs, test.max_turns, test.max_tokens), (1, 10, 1024));
    assert_eq!((test.temperature, test.system.as_deref(), test.is_matrix, test.line), (None, None, false, 2));
    assert_eq!(test.models, ["claude-sonnet-4-5"]);
    assert!(test.gates.is_empty() && test.inject.is_empty() && test.tags.is_empty() && test.servers.is_empty());
    assert_eq!(test.expect.len(), 1);
}

#[test]
fn a_gate_without_a_value_has_its_defaults() {
    let suite = good("stability-with-nothing-behind-it");
    let gate = suite.agents[0].gates.stability.as_ref().unwrap();
    assert!(matches!(gate.params().expect, mcptest_core::eval::Expect::Default));
}

#[test]
fn references_are_resolved_in_strings_and_deferred_in_servers() {
    let suite = good("interpolation");
    let test = &suite.agents[0];
    assert_eq!(test.name, "Bergen");
    assert_eq!(test.prompt, "Bergen for 3 days, from Oslo, home; it costs $5 or $5; suites/data");
    assert_eq!(test.system.as_deref(), Some("no structure: [a, b]"));
    let Transport::Command { argv, env, .. } = &suite.servers["weather"].transport else { panic!("not a command") };
    let written = |template: &Template| template.within_suite(&suite.variables_as_written);
    assert_eq!(argv.iter().map(written).collect::<Vec<_>>(), ["${NOT_YET_SET}/bin/weather", "$literal"]);
    assert_eq!(written(&env["KEY"]), "${ALSO_NOT_SET}");
}

#[test]
fn own_keys_and_earlier_maps_override_merged_keys() {
    let suite = good("anchors-and-merge");
    let seen: Vec<_> =
        suite.agents.iter().map(|test| (test.name.as_str(), test.runs, test.max_turns, test.tags.len())).collect();
    assert_eq!(seen, [("first", 2, 10, 2), ("second", 5, 10, 2), ("third", 7, 3, 2)]);
    assert!(suite.agents.iter().all(|test| test.prompt == "Will it rain in Oslo?" && test.expect.len() == 1));
}

#[test]
fn a_quoted_merge_key_is_an_ordinary_key() {
    let source = Source::new("x.yml", "a: &a { b: 1 }\nc: { <<: *a, \"<<\": *a, '<<x': null }\n");
    let found = yaml::read(&source).unwrap().get("c").unwrap().to_json();
    assert_eq!(found, serde_json::json!({ "b": 1, "<<": { "b": 1 }, "<<x": null }));
}

#[test]
fn every_key_reaches_the_suite() {
    let suite = good("all-keys");
    let test = &suite.agents[0];
    assert_eq!(test.models, ["gpt-5", "local", "demo"]);
    assert!(test.is_matrix);
    assert_eq!((test.runs, test.max_turns, test.max_tokens, test.temperature), (40, 12, 2048, Some(0.5)));
    assert_eq!((test.inject.as_slice(), test.expect.len()), (&[0, 1, 2][..], 5));
    assert_eq!(test.prompt, "Will it rain in Oslo?");
    let gates = &test.gates;
    assert!(gates.trajectory.is_some() && gates.trajectory_axes.is_some() && gates.narrative.is_some());
    let golden = &gates.golden_path.as_ref().unwrap().params().golden;
    assert_eq!(golden.calls, ["search", "fetch", "send"]);
    assert!(golden.allow_extra_steps && !golden.penalize_backtracking && !golden.penalize_repeated_tools);
    let recovery = gates.recovery.as_ref().unwrap().params();
    assert_eq!((recovery.max_detection_ms, recovery.max_recovery_ms), (3000, Some(20_000)));
    assert!(recovery.require_clean_timeout && recovery.require_hit && recovery.require_call);
    let faults: Vec<_> =
        suite.faults.iter().map(|fault| (fault.kind.as_str(), fault.delay_ms, fault.failures)).collect();
    let (of_tools, of_models) = faults.split_at(3);
    assert_eq!(of_tools, [("hang", 0, 0), ("slow", 9000, 0), ("recover_after", 0, 2)]);
    assert_eq!(of_models, [("model_error", 0, 1), ("model_slow", 900, 0), ("model_cut", 0, 0)]);
    assert_eq!((suite.faults[3].status, suite.faults[5].events), (529, 3));
    assert_eq!(suite.models["local"].price, Some((0.0, 0.5)));
    assert_eq!(suite.models["demo"].script.as_deref(), Some("scripts/demo.yml"));
    assert_eq!((suite.servers["weather"].timeout_ms, suite.servers["mail-2"].timeout_ms), (5000, 30_000));
    assert_eq!((suite.servers["weather"].is_optional, suite.servers["mail-2"].is_optional), (false, true));
    let test = &suite.agents[1];
    assert_eq!((test.models.join(" ").as_str(), test.is_program, test.is_matrix), ("support coder", true, true));
    let (support, coder) = (&suite.programs["support"], &suite.programs["coder"]);
    assert_eq!(
        (support.input.to_string(), support.answer.to_string()),
        ("env:PROMPT".into(), "json:reply.text".into())
    );
    assert_eq!((support.timeout_ms, support.exit, support.model.as_str()), (60_000, 3, "unseen"));
    let ignored: Vec<_> =
        support.ignore_request.iter().map(|part| (part.path.as_str(), part.pattern.as_deref())).collect();
    assert_eq!(ignored, [("/metadata/user_id", None), ("/system/*/text", Some("\\d+"))]);
    assert_eq!((coder.timeout_ms, coder.exit, coder.model.as_str()), (120_000, 0, "required"));
    assert_eq!(
        (coder.preset.map(|preset| preset.name), coder.answer.to_string()),
        (Some("codex"), "codex-exec".into())
    );
    assert!(coder.files.contains_key("config.toml") && support.files.contains_key("agent/config.json"));
    assert!(coder.workspace.is_some() && coder.cwd.is_none() && support.env.len() == 1);
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    let suite = good("words-that-other-yamls-misread");
    let test = &suite.agents[0];
    assert_eq!((test.name.as_str(), test.prompt.as_str(), test.runs), ("no", "on", 16));
    assert_eq!(test.tags, ["yes", "off", "1", "true", "12:30", "1.2.3", "2025-06-18"]);
    let expected = r#"exact {"count":1000,"country":"no","half":0.5,"nothing":null,"octal":15,"yes":"y"}"#;
    assert_eq!(test.expect[0].matcher().to_string(), expected);
    let suite = good("whole-number-with-a-point");
    assert_eq!((suite.agents[0].runs, suite.agents[0].max_tokens), (3, 1000));
}

#[test]
fn a_gates_file_loads_without_a_suite() {
    let check = |text: &str, expected: &str| {
        let source = Source::new("gates.yml", text);
        let loaded = suite::load_gates(&source, &Variables { suite_dir: ".", outside: &outside });
        assert_eq!(rendered(&source, &loaded), expected, "{text}");
    };
    check("stability:\ntrajectory:\n  calls:\n    - { name: weather__get, server: anywhere }\n", "");
    check("expect:\n  - target: tool_names\n    matcher: { contains: \"${CITY}\" }\n", "");
    check(
        "expect:\n  - target: final_response\n    matcher: { contains: a }\n",
        "gates.yml:1:1: warning[relies-on-prose]: the verdict rests on prose\n   |\n 1 | expect:\n   | ^^^^^^\n   = hint: assert on tool_calls or tool_results: they show what the agent did\n",
    );
    check(
        "trajectory: { calls: [] }\n",
        "gates.yml:1:1: warning[empty-trajectory]: `trajectory` without calls passes on every trace\n   |\n 1 | trajectory: { calls: [] }\n   | ^^^^^^^^^^\n   = hint: list the calls in `calls:`; to allow no calls at all, write `mode: subset`\n",
    );
    check("trajectory: { calls: [], mode: subset }\n", "");
    check(
        "golden_path: { calls: [a, b, a] }\n",
        "gates.yml:1:1: warning[wasteful-golden-path]: the golden path is itself wasteful\n   |\n 1 | golden_path: { calls: [a, b, a] }\n   | ^^^^^^^^^^^\n   = hint: the path repeats or revisits a tool: shorten it, or turn off that penalty\n",
    );
    check(
        "{}\n",
        "gates.yml:1:1: error[asserts-nothing]: the file checks nothing\n   |\n 1 | {}\n   | ^^\n   = hint: add `expect:` or a gate\n",
    );
    check(
        "just text\n",
        "gates.yml:1:1: error[wrong-type]: a gates file must be a map, found a string (\"just text\")\n   |\n 1 | just text\n   | ^^^^^^^^^\n   = hint: write a map with any of `expect: ..`, `trajectory: ..`, `trajectory_axes: ..`, `golden_path: ..`, `stability: ..`, `reliability: ..`, `recovery: ..`, `narrative: ..`, `tasks: ..`\n",
    );
    check(
        "stabilty:\n",
        "gates.yml:1:1: error[unknown-key]: unknown key `stabilty` in a gates file\n   |\n 1 | stabilty:\n   | ^^^^^^^^\n   = hint: did you mean `stability`?\n",
    );
}

#[test]
fn every_mistake_in_a_task_is_reported() {
    let check = |text: &str, expected: &str| {
        let source = Source::new("gates.yml", text);
        let loaded = suite::load_gates(&source, &Variables { suite_dir: ".", outside: &outside });
        let shown = rendered(&source, &loaded);
        let messages: Vec<&str> =
            shown.lines().filter(|line| line.starts_with("gates.yml") || line.contains("= hint")).collect();
        assert_eq!(messages.join("\n"), expected, "{text}");
    };
    check("tasks:\n  - when: { task_id: { exact: 7 }, \"{stem}\": { regex: a } }\n    narrative: {}\n", "");
    check(
        "tasks: []\n",
        "gates.yml:1:8: error[empty-value]: `tasks` is an empty list\n   = hint: add at least one item, or remove the key",
    );
    check(
        "tasks:\n  - when: { \"a[\": { exact: 1 }, b: { exactly: 1 }, \"{name}\": { exact: x }, \"{stem}\": { exact: 7 } }\n    narrative: {}\n",
        "gates.yml:2:13: error[malformed-target]: invalid path `a[`: column 3: expected an index, `*` or a double-quoted key, found the end\n   \
         = hint: write a path in the record, as in `task.id`, or a part of its input, as in `\"{stem}\"`\n\
         gates.yml:2:38: error[malformed-matcher]: unknown matcher `exactly`\n   = hint: did you mean `exact`?\n\
         gates.yml:2:52: error[malformed-target]: invalid path `{name}`: `{name}` is not a part of an input: use {file}, {stem}, {folder[n]} or {group}\n   \
         = hint: write a path in the record, as in `task.id`, or a part of its input, as in `\"{stem}\"`\n\
         gates.yml:2:86: error[wrong-type]: `{stem}` is text and never equals 7\n   = hint: write `exact: \"7\"`",
    );
    check(
        "tasks:\n  - when: {}\n    trajectory: { calls: [] }\n  - narative: {}\n  - when: { a: { exact: 1 } }\n  - when: { a: { exact: 2 } }\n    reliability: {}\n",
        "gates.yml:2:11: error[empty-value]: `when` is empty, so every trace belongs to the task\n   \
         = hint: add a path in the records and a matcher, or move the gates to the top of the file\n\
         gates.yml:4:5: error[missing-key]: missing key `when` in a task: values in the records of the task, by path; `{file}`, `{stem}` and `{folder[n]}` are parts of the input's name\n   \
         = hint: add `when: { task_id: { exact: 7 } }`\n\
         gates.yml:4:5: error[unknown-key]: unknown key `narative` in a task\n   = hint: did you mean `narrative`?\n\
         gates.yml:5:5: error[asserts-nothing]: the task checks nothing\n   = hint: add `expect:` or a gate such as `trajectory:`\n\
         gates.yml:7:5: error[reliability-without-checks]: `reliability` has no per-run checks to count\n   \
         = hint: add `expect:` or a per-run gate; `reliability` counts the runs that pass them",
    );
    check(
        "tasks:\n  - when: { a: { exact: 1 } }\n    trajectory: { calls: [] }\n    expect: [{ target: final_response, matcher: { exact: a } }]\n",
        "gates.yml:3:5: warning[empty-trajectory]: `trajectory` without calls passes on every trace\n   \
         = hint: list the calls in `calls:`; to allow no calls at all, write `mode: subset`",
    );
}
