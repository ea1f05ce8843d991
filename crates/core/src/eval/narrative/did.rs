//! What a call did, from its evidence: its tool's name, the inner name of a pass-through tool, arguments that name an action
//! or a state, shell text, SQL, patches, written content.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value};

use super::actions::{self, Actions};
use super::index::Index;
use super::tools::Tool;
use super::{patch, programs, sql, words};
use crate::json;
use crate::trace::ToolCall;

/// Most characters of a command that are shown.
const MAX_SHOWN: usize = 60;

/// How a call became known for what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The words of the tool's name.
    Name,
    /// The tool that a pass-through tool calls.
    InnerName,
    /// An argument that names an action or a state.
    Argument,
    /// Shell text.
    Shell,
    /// SQL text.
    Sql,
    /// A patch.
    Patch,
    /// Code in a language that is not read.
    Code,
    /// The author of the gate says that the tool changes nothing.
    ReadOnly,
}

/// What a call did.
#[derive(Debug, Clone)]
pub(super) struct Did<'a> {
    pub(super) actions: Actions,
    /// It wrote content, so it can have made any edit of that content true.
    pub(super) writes_content: bool,
    /// What cannot be read of it.
    pub(super) hides: Option<Hides>,
    pub(super) source: Source,
    /// The words that the reading rests on.
    pub(super) shown: Cow<'a, str>,
}

/// What cannot be read of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hides {
    /// Unknown: it runs code or a program that is in no table.
    Everything(String),
    /// Only what its name is about: the name has no verb.
    ItsName,
}

/// Keys that name the tool for a pass-through tool to call.
const INNER_NAMES: [&str; 8] =
    ["tool_name", "toolName", "action_name", "function_name", "function", "tool", "tool_slug", "actionName"];
/// Keys whose value names an action.
const ACTION_KEYS: [&str; 8] = ["action", "operation", "op", "command", "method", "mode", "event", "service"];
/// Keys whose value names a state that the call brings about.
const STATE_KEYS: [&str; 13] = [
    "state",
    "status",
    "stage",
    "response",
    "resolution",
    "new_status",
    "newStatus",
    "stateId",
    "state_id",
    "state_reason",
    "transition",
    "visibility",
    "decision",
];
/// Keys with shell text.
const SHELL_KEYS: [&str; 8] = ["command", "commands", "cmd", "script", "shell", "bash_command", "input", "line"];
/// Keys with SQL text.
const SQL_KEYS: [&str; 6] = ["sql", "query", "statement", "statements", "queries", "sql_query"];
const PATCH_KEYS: [&str; 5] = ["patch", "diff", "input", "patch_text", "edits"];
const CODE_KEYS: [&str; 6] = ["code", "script", "source", "javascript", "expression", "program"];
/// Keys with instructions for another agent or program.
const FREE_KEYS: [&str; 16] = [
    "prompt",
    "instruction",
    "instructions",
    "task",
    "text",
    "input",
    "message",
    "command",
    "commands",
    "cmd",
    "code",
    "script",
    "request",
    "goal",
    "action",
    "objective",
];
/// Keys with content that a tool writes.
const CONTENT_KEYS: [&str; 28] = [
    "content",
    "contents",
    "text",
    "body",
    "new_string",
    "new_str",
    "newText",
    "new_text",
    "edits",
    "children",
    "blocks",
    "cells",
    "values",
    "rows",
    "data",
    "file_text",
    "code_edit",
    "properties",
    "markdown",
    "html",
    "insert_text",
    "replacement",
    "new_source",
    "fields",
    "observations",
    "entities",
    "file_content",
    "contents_base64",
];
/// Keys of a file that a lookup leaves behind.
const OUTPUT_KEYS: [&str; 10] = [
    "filename",
    "output_path",
    "outputPath",
    "save_path",
    "savePath",
    "output_file",
    "destination",
    "download_path",
    "downloadPath",
    "out",
];
/// Keys that turn something on or off.
const SWITCH_KEYS: [&str; 4] = ["enabled", "enable", "active", "on"];

/// Actions that write.
static WRITES: LazyLock<Actions> = LazyLock::new(|| {
    Actions::of("write edit update create append insert replace patch put set add upsert modify save change fill")
});

/// The lists of keys above.
#[derive(Clone, Copy)]
enum Keys {
    Inner,
    Action,
    State,
    Shell,
    Sql,
    Patch,
    Code,
    Free,
    Content,
    Output,
    Switch,
}

const LISTS: [&[&str]; 11] = [
    &INNER_NAMES,
    &ACTION_KEYS,
    &STATE_KEYS,
    &SHELL_KEYS,
    &SQL_KEYS,
    &PATCH_KEYS,
    &CODE_KEYS,
    &FREE_KEYS,
    &CONTENT_KEYS,
    &OUTPUT_KEYS,
    &SWITCH_KEYS,
];

/// The lists that each key is in, as bits.
static LISTS_OF: LazyLock<Index<&str, u16>> = LazyLock::new(|| {
    let mut known: BTreeMap<&str, u16> = BTreeMap::new();
    for (place, list) in LISTS.iter().enumerate() {
        list.iter().for_each(|key| *known.entry(key).or_insert(0) |= 1 << place);
    }
    let mut index = Index::with_room(known.len());
    for (key, lists) in known {
        index.add(key, lists);
    }
    index
});

/// The arguments of a call. They have few keys, and the lists many: only lists that have one of them are searched.
#[derive(Clone, Copy)]
struct Args<'a> {
    map: &'a Map<String, Value>,
    /// The lists that have a key of it, as bits.
    lists: u16,
}

impl<'a> Args<'a> {
    fn new(map: &'a Map<String, Value>) -> Self {
        Self { map, lists: map.keys().fold(0, |lists, key| lists | LISTS_OF.get(key).copied().unwrap_or(0)) }
    }

    /// What it has under the keys of a list, in the order of the list.
    fn at(self, keys: Keys) -> impl Iterator<Item = (&'static str, &'a Value)> {
        let list = if self.lists & (1 << keys as u16) == 0 { &[] } else { LISTS[keys as usize] };
        list.iter().filter_map(move |key| Some((*key, self.map.get(*key)?)))
    }

    /// The texts among that.
    fn texts_at(self, keys: Keys) -> impl Iterator<Item = (&'static str, &'a str)> {
        self.at(keys).filter_map(|(key, value)| Some((key, value.as_str()?)))
    }

    fn has(self, key: &str) -> bool {
        self.map.contains_key(key)
    }
}

/// Words of the names of tools that run shell text.
const SHELLS: [&str; 12] =
    ["bash", "shell", "sh", "zsh", "terminal", "console", "powershell", "cmd", "exec", "command", "cli", "ssh"];
/// Words of the names of tools that run code.
const CODES: [&str; 15] = [
    "python",
    "node",
    "javascript",
    "js",
    "code",
    "jupyter",
    "notebook",
    "ipython",
    "repl",
    "interpreter",
    "eval",
    "typescript",
    "ruby",
    "snippet",
    "cell",
];
/// Words of the names of tools that run SQL.
const SQLS: [&str; 16] = [
    "sql",
    "query",
    "database",
    "db",
    "postgres",
    "pg",
    "mysql",
    "sqlite",
    "bigquery",
    "snowflake",
    "migration",
    "execute",
    "statement",
    "duckdb",
    "clickhouse",
    "supabase",
];
/// Nouns of things that consist of content.
const CONTENT_NOUNS: [&str; 17] = [
    "file",
    "page",
    "block",
    "cell",
    "row",
    "note",
    "document",
    "doc",
    "sheet",
    "text",
    "section",
    "paragraph",
    "slide",
    "wiki",
    "notebook",
    "canvas",
    "memory",
];

impl<'a> Did<'a> {
    fn new(source: Source, shown: impl Into<Cow<'a, str>>) -> Self {
        Self { actions: Actions::NONE, writes_content: false, hides: None, source, shown: shown.into() }
    }

    /// A tool that the author of the gate lists as read-only.
    pub(super) fn nothing(call: &'a ToolCall) -> Self {
        Self::new(Source::ReadOnly, call.name.as_str())
    }

    /// Whether it is known to have changed something.
    pub(super) fn changes(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Reads a call of a tool.
    pub(super) fn read(call: &'a ToolCall, tool: &Tool<'a>) -> Self {
        static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        let Some(args) = call.args.as_ref().map_or(Some(&*NOTHING), Value::as_object) else {
            // Arguments that are not an object are not searched.
            let mut did = Self::named(tool, Args::new(&NOTHING));
            if !did.changes() && !tool.says.reads {
                did.hides = Some(Hides::Everything("its arguments cannot be read".to_owned()));
            }
            return did;
        };
        let args = Args::new(args);
        if call.args.is_none() && !tool.says.reads {
            let mut did = Self::named(tool, args);
            if !did.changes() {
                did.hides = Some(Hides::Everything("its arguments were not recorded".to_owned()));
            }
            return did;
        }
        // A pass-through tool is read as the tool that it calls.
        let inner = args.texts_at(Keys::Inner).map(|(_, name)| name).next().filter(|name| is_name(name));
        if let Some(name) = inner {
            let nested = ["params", "arguments", "args", "input", "parameters", "tool_input", "toolInput"];
            let own = nested.iter().find_map(|key| args.map.get(*key)?.as_object()).unwrap_or(args.map);
            let did = Self::named(&Tool::new(name), Args::new(own));
            return if did.source == Source::Name { Self { source: Source::InnerName, ..did } } else { did };
        }
        Self::named(tool, args)
    }

    fn named(tool: &Tool<'a>, args: Args<'a>) -> Self {
        let says = &tool.says;
        let patch = args.texts_at(Keys::Patch).map(|(_, text)| text).next();
        if let Some(text) = patch.filter(|text| patch::is_patch(text)) {
            let mut did = Self::new(Source::Patch, shown(text));
            did.actions = patch::effects(text);
            did.writes_content = true;
            return did;
        }
        let is_sql = |(key, text): &(&str, &str)| (*key == "sql" || tool.has(&SQLS)) && sql::is_sql(text);
        if let Some((_, text)) = args.texts_at(Keys::Sql).find(is_sql) {
            let effects = sql::effects(text);
            let mut did = Self::new(Source::Sql, shown(text));
            did.actions = effects.actions;
            did.hides = effects.hidden.then(|| Hides::Everything("it calls a procedure".to_owned()));
            return did;
        }
        let runs_shell =
            tool.has(&SHELLS) || (says.generic && ["command", "commands", "cmd"].iter().any(|key| args.has(key)));
        if runs_shell
            && !tool.has(&["python", "code"])
            && let Some(text) = shell_text(args)
        {
            let effects = programs::effects(&text);
            let mut did = Self::new(Source::Shell, shown(&text).into_owned());
            did.actions = effects.actions;
            did.writes_content = effects.writes_content;
            did.hides =
                effects.hidden.map(|program| Hides::Everything(format!("what `{program}` does cannot be read")));
            return did;
        }
        let code = args.texts_at(Keys::Code).map(|(_, code)| code).next();
        if let Some(code) = code.filter(|_| tool.has(&CODES) || says.generic || says.interface) {
            let mut did = Self::new(Source::Code, shown(code));
            did.hides = Some(Hides::Everything("it runs code that is not read".to_owned()));
            return did;
        }
        Self::plain(tool, args)
    }

    /// A tool whose name and arguments say what it does.
    fn plain(tool: &Tool<'a>, args: Args<'a>) -> Self {
        let says = &tool.says;
        let mut did = Self::new(Source::Name, tool.name);
        let by_argument = args.texts_at(Keys::Action).filter(|(_, value)| is_name(value)).find_map(|(_, value)| {
            let says = actions::name_info(value);
            (says.reads || !says.actions.is_empty()).then_some((value, says))
        });
        if let Some((value, inner)) = by_argument.filter(|_| !says.reads) {
            did.source = Source::Argument;
            did.shown = value.into();
            did.actions = inner.actions;
            if inner.reads {
                return did;
            }
        } else {
            did.actions = says.actions;
        }
        if says.reads && did.actions.is_empty() {
            // A lookup that leaves a file behind.
            if args.texts_at(Keys::Output).next().is_some() && !is_search(tool) {
                did.actions = Actions::of("save write download create capture");
            }
            return did;
        }
        did.actions = did.actions.or(states(args));
        // A file that is written to a branch with a message is committed.
        if args.has("branch") && (args.has("message") || args.has("commit_message")) {
            did.actions = did.actions.or(Actions::of("commit push"));
        }
        let about_content =
            || tool.words.iter().any(|word| CONTENT_NOUNS.contains(&words::singular(&word.plain).as_ref()));
        did.writes_content = did.actions.meets(*WRITES) && (args.at(Keys::Content).next().is_some() || about_content());
        if says.interface {
            did.hides = Some(Hides::Everything("what the interface did is not in the call".to_owned()));
            let target = ["element", "selector", "label", "button", "target", "name"]
                .iter()
                .find_map(|key| args.map.get(*key)?.as_str());
            if let Some(target) = target {
                let actions_named = words::each_word(target).take(12).filter_map(|word| actions::action(&word));
                did.actions = actions_named.fold(did.actions, Actions::or);
            }
        } else if did.actions.is_empty() && !says.reads {
            let free = args.at(Keys::Free).any(|(_, value)| value.is_string() || value.is_array());
            did.hides = Some(if free {
                Hides::Everything("its name has no verb, and it was given text to act on".to_owned())
            } else {
                Hides::ItsName
            });
        }
        did
    }
}

/// Whether a tool searches for files, so that a file name is its search term.
fn is_search(tool: &Tool<'_>) -> bool {
    tool.has(&["search", "find", "read", "list", "get", "view", "check"])
}

/// Whether a value is the name of a tool or an action: a few words without a sentence around them.
fn is_name(value: &str) -> bool {
    !value.is_empty() && value.len() <= 80 && !value.contains(char::is_whitespace)
}

/// The actions of arguments that name a state: `state: closed`, `enabled: true`.
fn states(args: Args<'_>) -> Actions {
    let mut found = Actions::NONE;
    for (_, text) in args.texts_at(Keys::State).filter(|(_, text)| text.len() <= 40) {
        let named = words::each_word(text).filter_map(|word| actions::action(&word)).fold(Actions::NONE, Actions::or);
        // A state that is not a known word may be anything: the id of a column, "done".
        let any = || Actions::of("close cancel resolve complete approve reject archive mark");
        found = found.or(if named.is_empty() && !is_open_state(text) { any() } else { named });
    }
    for (_, value) in args.at(Keys::Switch) {
        found = found.or(match value {
            Value::Bool(true) => Actions::of("enable activate"),
            Value::Bool(false) => Actions::of("disable deactivate"),
            _ => Actions::NONE,
        });
    }
    found
}

/// A state that is not final.
fn is_open_state(text: &str) -> bool {
    words::each_word(text)
        .any(|word| matches!(word.as_ref(), "open" | "opened" | "pending" | "progress" | "active" | "new" | "todo"))
}

/// The shell text of a call: one text, or a list of words or lines.
fn shell_text(args: Args<'_>) -> Option<Cow<'_, str>> {
    args.at(Keys::Shell).find_map(|(_, value)| match value {
        Value::String(text) => Some(Cow::Borrowed(text.as_str())),
        Value::Array(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            // `["bash", "-lc", "text"]` is a command line; other lists are lines of commands.
            match words.as_slice() {
                [] => None,
                [shell, flag, text] if shell.ends_with("sh") && flag.starts_with('-') => Some(Cow::Borrowed(*text)),
                words if words.iter().any(|word| word.contains(' ')) => Some(Cow::Owned(words.join("\n"))),
                words => Some(Cow::Owned(words.join(" "))),
            }
        }
        _ => None,
    })
}

/// The start of a text in one line.
fn shown(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or(text);
    if line.chars().nth(MAX_SHOWN).is_none() { line.into() } else { json::cut(line, MAX_SHOWN).into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evidence_of_every_kind_is_read() {
        for (name, args, verb, done, source, hidden) in [
            ("delete_file", json!({}), "delete", true, Source::Name, false),
            (
                "execute-tool",
                json!({ "tool_name": "add_heading", "params": {} }),
                "add",
                true,
                Source::InnerName,
                false,
            ),
            ("call_tool", json!({ "tool_name": "list_messages" }), "send", false, Source::InnerName, false),
            ("execute_action", json!({ "action": "google_sheets_add_row" }), "add", true, Source::Argument, false),
            ("update_issue", json!({ "state": "closed" }), "close", true, Source::Name, false),
            ("respond_to_event", json!({ "response": "declined" }), "decline", true, Source::Name, false),
            ("update_flag", json!({ "enabled": true }), "enable", true, Source::Name, false),
            ("list_issues", json!({ "state": "closed" }), "close", false, Source::Name, false),
            ("bash", json!({ "command": "rm x" }), "delete", true, Source::Shell, false),
            ("bash", json!({ "command": ["bash", "-lc", "rm x"] }), "delete", true, Source::Shell, false),
            ("bash", json!({ "command": "python3 x.py" }), "delete", false, Source::Shell, true),
            ("query", json!({ "sql": "DELETE FROM t" }), "delete", true, Source::Sql, false),
            ("execute_sql", json!({ "query": "SELECT 1 FROM t" }), "delete", false, Source::Sql, false),
            ("notion_search", json!({ "query": "update list" }), "update", false, Source::Name, false),
            (
                "apply_patch",
                json!({ "patch": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch" }),
                "add",
                true,
                Source::Patch,
                false,
            ),
            ("run_python", json!({ "code": "x()" }), "save", false, Source::Code, true),
            ("str_replace_editor", json!({ "command": "view" }), "rename", false, Source::Argument, false),
            (
                "str_replace_editor",
                json!({ "command": "str_replace", "new_str": "" }),
                "rename",
                true,
                Source::Argument,
                false,
            ),
            ("thermostat", json!({ "command": "20C" }), "adjust", false, Source::Name, true),
            ("browser_click", json!({ "element": "Add to cart" }), "add", true, Source::Name, true),
            ("browser_take_screenshot", json!({ "filename": "a.png" }), "save", true, Source::Name, false),
            ("Task", json!({ "prompt": "write a poem" }), "write", false, Source::Name, true),
            ("route", json!({ "query": "create a file" }), "create", false, Source::Name, false),
        ] {
            let call: ToolCall = ToolCall { name: name.into(), args: Some(args.clone()), ..ToolCall::default() };
            let did = Did::read(&call, &Tool::new(&call.name));
            let found = (did.actions.meets(actions::needed(verb, &[])), did.source, did.hides.is_some());
            assert_eq!(found, (done, source, hidden), "{name} {args}: {verb}");
        }
    }
}
