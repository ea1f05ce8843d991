//! Presets: the keys of a program that each one fills.

use std::collections::BTreeMap;

use mcptest_core::suite::{PRESETS, Preset, Program, Template};
use serde_json::Value;

use super::page::Page;

/// The longest command on one line.
const WIDTH: usize = 80;

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// The preset of a name, also as `preset claude-code`.
pub(super) fn explain(asked: &str, page: &mut Page) {
    let words: Vec<&str> = asked.split_whitespace().collect();
    let (["preset", name] | [name]) = words.as_slice() else { return };
    let Some(preset) = Preset::named(name.trim_matches('`')) else { return };
    page.subject(preset.name, "a preset of `programs:`");
    page.text(preset.about);
    page.text(&format!("Tried with version {}. `preset: {}` is short for:", preset.version, preset.name));
    let (isolated, workspace) = (keys(&preset.program(false)), keys(&preset.program(true)));
    page.code(&isolated);
    page.text("With `workspace`, its own tools are on. These lines differ:");
    let without = |sign: &str, lines: &str, others: &str| -> String {
        let differ = lines.lines().filter(|line| !others.lines().any(|other| other == *line));
        differ.map(|line| format!("{sign} {line}\n")).collect::<Vec<_>>().concat()
    };
    page.code(&(without("-", &isolated, &workspace) + &without("+", &workspace, &isolated)));
    page.text(
        "A key of the suite replaces the same key of the preset; under `env` and `files` it replaces the same name. A line of \
         a file with ${MCPTEST_SERVER} is repeated for each server of the test.",
    );
}

/// The keys of a program as YAML.
fn keys(program: &Program) -> String {
    let mut out = format!("command:{}\n", list(&program.command));
    if !program.env.is_empty() {
        out += &format!("env:\n{}", map(&program.env));
    }
    if !program.files.is_empty() {
        let files = program.files.iter().map(|(path, text)| {
            let lines = written(text).lines().map(|line| format!("    {line}\n")).collect::<Vec<_>>().concat();
            format!("  {}: |\n{lines}", scalar(path))
        });
        out += &format!("files:\n{}", files.collect::<Vec<_>>().concat());
    }
    if let Some(cwd) = &program.cwd {
        out += &format!("cwd: {}\n", scalar(&written(cwd)));
    }
    out += &format!("answer: {}\n", program.answer);
    let ignored = program.ignore_request.iter().map(|part| match &part.pattern {
        None => format!("  - {}\n", scalar(&part.path)),
        Some(pattern) => format!("  - {{ path: {}, pattern: {} }}\n", scalar(&part.path), scalar(pattern)),
    });
    out + &format!("ignore_request:\n{}", ignored.collect::<Vec<_>>().concat())
}

fn map(values: &BTreeMap<String, Template>) -> String {
    values.iter().map(|(name, value)| format!("  {name}: {}\n", scalar(&written(value)))).collect::<Vec<_>>().concat()
}

fn list(values: &[Template]) -> String {
    let items: Vec<String> = values.iter().map(|value| scalar(&written(value))).collect();
    let line = format!(" [{}]", items.join(", "));
    if line.len() <= WIDTH {
        line
    } else {
        items.iter().map(|item| format!("\n  - {item}")).collect::<Vec<_>>().concat()
    }
}

fn written(template: &Template) -> String {
    template.within_suite(&BTreeMap::new())
}

/// A text in YAML, in quotes where it could mean something else.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || "./-".contains(c))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./*".contains(c))
        && !["-", "true", "false", "null"].contains(&text);
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use mcptest_core::diag::Source;
    use mcptest_core::suite::{self, Variables};

    use super::*;

    fn program(keys: &str) -> Program {
        let keys = keys.lines().map(|line| format!("    {line}\n")).collect::<Vec<_>>().concat();
        let text = format!(
            "programs:\n  it:\n{keys}agents:\n  - {{ name: a, program: it, prompt: b, expect: [{{ target: final_response, \
             matcher: {{ contains: c }} }}] }}\n"
        );
        let variables = Variables { suite_dir: ".", outside: &|_| None };
        let loaded = suite::load(&Source::new("s.yml", &text), &variables);
        loaded.value.unwrap_or_else(|| panic!("{text}\n{:?}", loaded.diagnostics)).programs.remove("it").unwrap()
    }

    #[test]
    fn an_explained_preset_matches_what_it_does() {
        for preset in &PRESETS {
            for workspace in ["", "workspace: here\n"] {
                let filled = program(&format!("preset: {}\n{workspace}", preset.name));
                let shown = keys(&preset.program(!workspace.is_empty()));
                assert_eq!(Program { preset: Some(preset), ..program(&format!("{shown}{workspace}")) }, filled);
            }
        }
    }

    #[test]
    fn every_key_can_be_replaced_alone() {
        let all = "command: [x]\nenv: { CODEX_HOME: y, MORE: z }\nfiles: { config.toml: a, b/c: d }\ncwd: e\ninput: arg\n\
                   answer: stdout\ntimeout_ms: 7\nexit: 3\nmodel: unseen\nignore_request: [/f]\n";
        let plain = program(all);
        let filled = program(&format!("preset: codex\n{all}"));
        assert_eq!(filled, Program { preset: Preset::named("codex"), ..plain.clone() });
        for line in all.lines() {
            let (key, _) = line.split_once(':').unwrap();
            let one = program(&format!("preset: codex\n{line}"));
            let mut expected = program("preset: codex");
            match key {
                "command" => expected.command = plain.command.clone(),
                "env" => expected.env.extend(plain.env.clone()),
                "files" => expected.files.extend(plain.files.clone()),
                "cwd" => expected.cwd.clone_from(&plain.cwd),
                "input" => expected.input = plain.input.clone(),
                "answer" => expected.answer = plain.answer.clone(),
                "timeout_ms" => expected.timeout_ms = plain.timeout_ms,
                "exit" => expected.exit = plain.exit,
                "model" => expected.model = plain.model,
                _ => expected.ignore_request.clone_from(&plain.ignore_request),
            }
            assert_eq!(one, expected, "{key}");
        }
    }
}
