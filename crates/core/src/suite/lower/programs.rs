//! `programs:`, and tests that run on them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::preset::Preset;
use super::super::program::{Ignored, ModelSide, Program, TIMEOUT_MS, is_inside};
use super::super::yaml::{Content, Node};
use super::super::{PROGRAM, Template};
use super::{Declared, Lower, Places, has_misspelled};
use crate::diag::Code;

/// Keys of a test that a program decides.
const ONLY_FOR_MODELS: [&str; 4] = ["system", "max_turns", "max_tokens", "temperature"];

impl Lower<'_> {
    pub(super) fn programs(&mut self, root: &Node, places: &mut Places) -> BTreeMap<String, Program> {
        let mut out = BTreeMap::new();
        for entry in root.entries_at("programs") {
            let (name, node) = (&entry.key, &entry.value);
            places.programs.insert(name.clone(), entry.key_span.clone());
            if !matches!(node.content, Content::Map(_)) {
                continue;
            }
            if let (Some(cwd), Some(_)) = (node.get("cwd"), node.get("workspace")) {
                self.error(
                    Code::InvalidProgram,
                    cwd.span.clone(),
                    format!("program `{name}` has both `cwd` and `workspace`"),
                    "keep one: a program with a workspace starts in its copy of it",
                );
            }
            let program = self.program(name, node);
            out.insert(name.clone(), program);
        }
        out
    }

    /// A program. What it leaves out is what its preset says.
    fn program(&mut self, name: &str, node: &Node) -> Program {
        let preset = node.text_at("preset").and_then(|name| Preset::named(&name));
        let filled = preset.map(|preset| preset.program(node.get("workspace").is_some()));
        if node.get("preset").is_none() && node.get("command").is_none() {
            self.no_command(name, node);
        }
        let command = node.items_at("command").iter().filter_map(|item| self.template(Some(item))).collect();
        let (env, files) = (self.templates(node.get("env")), self.files(node));
        let (cwd, workspace) = (self.template(node.get("cwd")), self.template(node.get("workspace")));
        let (input, answer) = (self.parsed(node, "input"), self.parsed(node, "answer"));
        let exit = node.whole_at("exit").map(|exit| {
            u8::try_from(exit).unwrap_or_else(|_| {
                let message = format!("`exit` is {exit}, and exit codes end at 255");
                self.error(Code::InvalidProgram, node.place("/exit", false), message, "write 0 to 255");
                0
            })
        });
        let ignore_request = self.ignored(node);
        let mut program = filled.unwrap_or_else(Program::new);
        if node.get("command").is_some() {
            program.command = command;
        }
        program.env.extend(env);
        program.files.extend(files);
        if node.get("cwd").is_some() {
            program.cwd = cwd;
        }
        program.workspace = workspace;
        program.input = input.unwrap_or(program.input);
        program.answer = answer.unwrap_or(program.answer);
        program.timeout_ms = node.whole_at("timeout_ms").unwrap_or(TIMEOUT_MS);
        program.exit = exit.unwrap_or(program.exit);
        program.model = node.word_at("model", ModelSide::from_word).unwrap_or(program.model);
        if node.get("ignore_request").is_some() {
            program.ignore_request = ignore_request;
        }
        program
    }

    fn no_command(&mut self, name: &str, node: &Node) {
        if has_misspelled(node, &PROGRAM, &["command", "preset"]) {
            return;
        }
        let message = format!("program `{name}` has neither `command` nor `preset`");
        let hint = "add `command: [python, agent.py]`, or `preset: claude-code` to run an agent CLI";
        let place = node.entries().first().map_or_else(|| node.span.clone(), |first| first.key_span.clone());
        self.error(Code::MissingKey, place, message, hint);
    }

    /// The files of a program.
    fn files(&mut self, node: &Node) -> BTreeMap<String, Template> {
        for entry in node.get("files").map_or(&[][..], Node::entries) {
            if !is_inside(&entry.key) {
                let message = format!("`{}` is not a path inside the private folder of a run", entry.key);
                let hint = "write a relative path with `/`, without `..`";
                self.error(Code::InvalidProgram, entry.key_span.clone(), message, hint);
            }
        }
        self.templates(node.get("files"))
    }

    /// A text with its own syntax.
    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&mut self, node: &Node, key: &str) -> Option<T> {
        let value = node.get(key)?;
        let text = value.text().filter(|text| !text.trim().is_empty())?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                let message = format!("`{key}` cannot be `{text}`: {error}");
                let hint = match key {
                    "input" => {
                        "`stdin` is the default; `arg` makes the prompt the last argument, `env:PROMPT` a variable"
                    }
                    _ => "`stdout` is the default: all that the program prints is its answer",
                };
                self.error(Code::InvalidProgram, value.span.clone(), message, hint);
                None
            }
        }
    }

    fn ignored(&mut self, node: &Node) -> Vec<Ignored> {
        let mut out = Vec::new();
        for item in node.items_at("ignore_request") {
            let (path, pattern) = match item.text() {
                Some(path) => (Some(path.to_owned()), None),
                None => (item.text_at("path"), item.text_at("pattern")),
            };
            let Some(path) = path.filter(|path| !path.trim().is_empty()) else { continue };
            if !path.starts_with('/') {
                let at = item.get("path").map_or_else(|| item.span.clone(), |node| node.span.clone());
                let message = format!("`{path}` is not a JSON pointer");
                self.error(Code::InvalidProgram, at, message, format!("write `/{path}`"));
            }
            if let Some(Err(error)) = pattern.as_deref().map(regex::Regex::new) {
                let message = format!("invalid regex: {error}");
                self.error(Code::InvalidProgram, item.place("/pattern", false), message, "fix the expression");
            }
            out.push(Ignored { path, pattern });
        }
        out
    }

    /// Whether a test runs on programs. Reports a test that runs on both, and keys that only models have.
    pub(super) fn check_models_or_programs(&mut self, node: &Node) -> bool {
        let programs = ["program", "programs"].into_iter().find(|key| node.get(key).is_some());
        let Some(program) = programs else { return false };
        if let Some(model) = ["model", "models"].into_iter().find(|key| node.get(key).is_some()) {
            let message = format!("a test cannot have both `{model}` and `{program}`");
            let hint = "keep one: a program brings its own model";
            self.error(Code::NoModel, node.place(&format!("/{program}"), true), message, hint);
            return true;
        }
        for key in ONLY_FOR_MODELS {
            if node.get(key).is_some() {
                let message = format!("`{key}` is only for tests with `model` or `models`");
                let hint = "remove it: the program itself decides";
                self.error(Code::InvalidProgram, node.place(&format!("/{key}"), true), message, hint);
            }
        }
        true
    }

    /// The programs of a test.
    pub(super) fn test_programs(&mut self, node: &Node, programs: &Declared) -> (Vec<String>, bool) {
        let (one, many) = (node.get("program"), node.get("programs"));
        if one.is_some() && many.is_some() {
            let message = "a test cannot have both `program` and `programs`";
            self.error(Code::NoModel, node.place("/programs", true), message, "keep one");
        }
        let mut list: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for item in one.into_iter().chain(many.map_or(&[][..], Node::items)) {
            let Some(name) = item.text().filter(|name| !name.trim().is_empty()) else { continue };
            if !seen.insert(name) {
                let message = format!("program `{name}` is listed twice");
                self.error(Code::DuplicateName, item.span.clone(), message, "remove one of them");
            }
            self.check_declared(name, &item.span, "program", programs);
            list.push(name.to_owned());
        }
        (list, many.is_some())
    }
}
