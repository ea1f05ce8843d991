//! Presets: agent CLIs that a suite can run by name.
//!
//! A preset is a row of a table and fills the keys of a program that the suite leaves out. It isolates the CLI from the machine
//! (a private configuration folder, an empty working directory), lets it use the servers of the test and nothing else, makes it
//! wait for them, and sends its model requests through the proxy.

use super::program::{Ignored, Program};
use super::{Input, ModelSide, Template};
use crate::answer::AnswerFormat;

#[derive(Debug, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    pub about: &'static str,
    /// Program and arguments.
    command: &'static [Line],
    env: &'static [(&'static str, &'static str)],
    /// Files in its configuration folder, line by line.
    files: &'static [(&'static str, &'static [Line])],
    answer: AnswerFormat,
    /// JSON pointers and patterns.
    ignore_request: &'static [(&'static str, Option<&'static str>)],
    /// What it calls itself when it connects to a server.
    pub client: &'static str,
    /// The version that the preset was tried with.
    pub version: &'static str,
}

/// An argument, or a line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    text: &'static str,
    when: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// Only with a workspace.
    Workspace,
    /// Only without one.
    Isolated,
}

const fn always(text: &'static str) -> Line {
    Line { text, when: When::Always }
}

const fn workspace(text: &'static str) -> Line {
    Line { text, when: When::Workspace }
}

const fn isolated(text: &'static str) -> Line {
    Line { text, when: When::Isolated }
}

/// Where a CLI without a workspace works: an empty folder.
const EMPTY_FOLDER: &str = "${MCPTEST_HOME}/work";

pub static PRESETS: [Preset; 3] = [
    Preset {
        name: "claude-code",
        about: "Claude Code. It needs `claude` in PATH and ANTHROPIC_API_KEY. ANTHROPIC_MODEL under `env:` chooses the model.",
        command: &[
            always("claude"),
            always("-p"),
            always("--output-format"),
            always("stream-json"),
            always("--verbose"),
            always("--mcp-config"),
            always("${MCPTEST_MCP_CONFIG}"),
            always("--strict-mcp-config"),
            isolated("--tools="),
            workspace("--permission-mode=acceptEdits"),
        ],
        env: &[
            ("CLAUDE_CONFIG_DIR", "${MCPTEST_HOME}"),
            ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("ENABLE_TOOL_SEARCH", "false"),
            ("MCP_CONNECTION_NONBLOCKING", "false"),
            ("MCP_CONNECT_TIMEOUT_MS", "300000"),
            ("MCP_TIMEOUT", "300000"),
        ],
        files: &[(
            "settings.json",
            &[
                always("{"),
                always("  \"permissions\": {"),
                always("    \"allow\": ["),
                always("      \"mcp__${MCPTEST_SERVER}\","),
                always("    ]"),
                always("  }"),
                always("}"),
            ],
        )],
        answer: AnswerFormat::ClaudeStream,
        ignore_request: &[
            ("/metadata/user_id", None),
            // Its build, which depends on the machine that it was installed on, and on the first message.
            ("/system", Some("cc_version=\\S+")),
            ("/messages/*/content", Some("Today's date is [0-9-]+|(OS Version|Shell): .*")),
        ],
        client: "claude-code",
        version: "2.1.325",
    },
    Preset {
        name: "codex",
        about: "Codex CLI. It needs `codex` in PATH and OPENAI_API_KEY. `-m MODEL` in `command:` chooses the model.",
        command: &[always("codex"), always("exec"), always("--json"), always("--skip-git-repo-check"), always("-")],
        env: &[("CODEX_HOME", "${MCPTEST_HOME}")],
        files: &[(
            "config.toml",
            &[
                always("model_provider = \"mcptest\""),
                always("approval_policy = \"never\""),
                isolated("sandbox_mode = \"read-only\""),
                workspace("sandbox_mode = \"workspace-write\""),
                isolated("web_search = \"disabled\""),
                isolated("features.apps = false"),
                isolated("features.goals = false"),
                isolated("features.image_generation = false"),
                isolated("features.multi_agent = false"),
                isolated("features.plugins = false"),
                isolated("features.shell_tool = false"),
                isolated("features.sleep_tool = false"),
                isolated("features.tool_suggest = false"),
                isolated("features.unified_exec = false"),
                isolated("features.view_image = false"),
                always("mcp_servers.${MCPTEST_SERVER}.url = \"${MCPTEST_SERVER_URL}\""),
                always("mcp_servers.${MCPTEST_SERVER}.required = true"),
                always("mcp_servers.${MCPTEST_SERVER}.default_tools_approval_mode = \"approve\""),
                always("[model_providers.mcptest]"),
                always("name = \"mcptest\""),
                always("base_url = \"${OPENAI_BASE_URL}\""),
                always("env_key = \"OPENAI_API_KEY\""),
            ],
        )],
        answer: AnswerFormat::CodexExec,
        ignore_request: &[
            ("/client_metadata", None),
            ("/prompt_cache_key", None),
            ("/input/*/id", None),
            ("/input/*/output", Some("Wall time:? [0-9.]+ seconds")),
            ("/input/*/content", Some("<(current_date|timezone|shell)>[^<]*<")),
        ],
        client: "codex-mcp-client",
        version: "0.166.0",
    },
    Preset {
        name: "gemini-cli",
        about: "Gemini CLI. It needs `gemini` in PATH and GEMINI_API_KEY. GEMINI_MODEL under `env:` chooses the model.",
        command: &[
            always("gemini"),
            always("-o"),
            always("stream-json"),
            always("--skip-trust"),
            workspace("--approval-mode=auto_edit"),
        ],
        env: &[("GEMINI_CLI_HOME", "${MCPTEST_HOME}")],
        files: &[(
            ".gemini/settings.json",
            &[
                always("{"),
                always("  \"general\": { \"enableAutoUpdate\": false, \"enableAutoUpdateNotification\": false },"),
                always("  \"privacy\": { \"usageStatisticsEnabled\": false },"),
                always("  \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } },"),
                isolated("  \"tools\": {"),
                isolated("    \"core\": ["),
                isolated("      \"mcp_${MCPTEST_SERVER}_*\","),
                isolated("    ]"),
                isolated("  },"),
                always("  \"mcpServers\": {"),
                always("    \"${MCPTEST_SERVER}\": { \"httpUrl\": \"${MCPTEST_SERVER_URL}\", \"trust\": true },"),
                always("  }"),
                always("}"),
            ],
        )],
        answer: AnswerFormat::GeminiStream,
        ignore_request: &[
            ("/contents/*/parts/*/functionCall/id", None),
            ("/contents/*/parts/*/functionResponse/id", None),
            ("/contents/*/parts", Some("Today's date is [^(]*|operating system is: \\S+")),
        ],
        client: "gemini-cli-mcp-client",
        version: "0.61.0",
    },
];

/// The names, for the key table.
pub(super) const PRESET_NAMES: [&str; 3] = ["claude-code", "codex", "gemini-cli"];

impl Preset {
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The program that the preset defines.
    pub fn program(&'static self, has_workspace: bool) -> Program {
        let lines = |lines: &'static [Line]| {
            let is_used = move |line: &&Line| match line.when {
                When::Always => true,
                When::Workspace => has_workspace,
                When::Isolated => !has_workspace,
            };
            lines.iter().filter(is_used).map(|line| line.text)
        };
        let file = |all: &'static [Line]| lines(all).flat_map(|line| [line, "\n"]).collect::<String>();
        Program {
            preset: Some(self),
            command: lines(self.command).map(template).collect(),
            env: self.env.iter().map(|(name, value)| ((*name).to_owned(), template(value))).collect(),
            files: self.files.iter().map(|(path, all)| ((*path).to_owned(), template(&file(all)))).collect(),
            cwd: (!has_workspace).then(|| template(EMPTY_FOLDER)),
            workspace: None,
            input: Input::Stdin,
            answer: self.answer.clone(),
            timeout_ms: super::program::TIMEOUT_MS,
            exit: 0,
            model: ModelSide::Required,
            ignore_request: self
                .ignore_request
                .iter()
                .map(|(path, pattern)| Ignored { path: (*path).to_owned(), pattern: pattern.map(str::to_owned) })
                .collect(),
        }
    }

    /// A note for a version that the preset was not tried with.
    pub fn version_note(&self, client: &str, version: &str) -> Option<String> {
        (client == self.client && version != self.version).then(|| {
            let (name, tried) = (self.name, self.version);
            format!("the preset `{name}` was tried with version {tried}, and this is version {version}")
        })
    }
}

fn template(text: &str) -> Template {
    Template::parse(text).unwrap_or_else(|_| Template::plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_in_the_key_table_and_parses() {
        assert_eq!(PRESETS.each_ref().map(|preset| preset.name), PRESET_NAMES);
        for preset in &PRESETS {
            let texts = preset.command.iter().chain(preset.files.iter().flat_map(|(_, lines)| *lines));
            for text in texts.map(|line| line.text).chain(preset.env.iter().map(|(_, value)| *value)) {
                Template::parse(text).unwrap();
            }
            for pattern in preset.ignore_request.iter().filter_map(|(_, pattern)| *pattern) {
                regex::Regex::new(pattern).unwrap();
            }
        }
    }

    #[test]
    fn only_another_version_of_the_same_client_gets_a_note() {
        let preset = Preset::named("codex").unwrap();
        assert_eq!(preset.version_note("codex-mcp-client", "0.166.0"), None);
        assert_eq!(preset.version_note("another", "9"), None);
        assert_eq!(
            preset.version_note("codex-mcp-client", "0.167.0").as_deref(),
            Some("the preset `codex` was tried with version 0.166.0, and this is version 0.167.0")
        );
    }
}
