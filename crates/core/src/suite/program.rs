//! A program of a suite: an agent of the user's own, and how mcptest talks to it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::Template;
use super::preset::Preset;
use crate::answer::AnswerFormat;
use crate::trace::words;

/// The prefix of variables that a recording sets for a program. They are not secrets.
pub(super) const OWN_VARIABLES: &str = "MCPTEST_";
/// Base URLs that a recording sets for a program.
pub(super) const BASE_URLS: [&str; 6] = [
    "ANTHROPIC_API_URL",
    "ANTHROPIC_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "GOOGLE_GEMINI_BASE_URL",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
];
/// What an argument or a line of a file refers to that is repeated for each server of the test.
const EACH_SERVER: [&str; 2] = ["MCPTEST_SERVER", "MCPTEST_SERVER_URL"];
/// The time limit of one run.
pub(super) const TIMEOUT_MS: u64 = 120_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// What fills the keys that the suite leaves out.
    pub preset: Option<&'static Preset>,
    /// Program and arguments.
    pub command: Vec<Template>,
    /// Added to the inherited environment.
    pub env: BTreeMap<String, Template>,
    /// Files that are written into the private folder of each run, by their path in it.
    pub files: BTreeMap<String, Template>,
    pub cwd: Option<Template>,
    /// A folder that each run gets a fresh copy of.
    pub workspace: Option<Template>,
    pub input: Input,
    pub answer: AnswerFormat,
    /// Time limit of one run.
    pub timeout_ms: u64,
    /// The exit code of a run that went well.
    pub exit: u8,
    pub model: ModelSide,
    /// What changes from run to run in its model requests.
    pub ignore_request: Vec<Ignored>,
}

/// How a program gets the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Input {
    #[default]
    Stdin,
    /// As the last argument.
    Arg,
    /// In an environment variable.
    Env(String),
}

/// How inputs are written.
pub(super) const INPUTS: &str = "stdin, arg or env:NAME";

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "stdin" => Ok(Self::Stdin),
            None if text == "arg" => Ok(Self::Arg),
            Some(("env", name)) if super::interpolate::is_name(name) => Ok(Self::Env(name.to_owned())),
            Some(("env", name)) => Err(format!("`{name}` is not a name of a variable")),
            _ => Err(format!("expected {INPUTS}")),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::Arg => f.write_str("arg"),
            Self::Env(name) => write!(f, "env:{name}"),
        }
    }
}

words! {
    /// Whether the model requests of a program must pass the proxy.
    ModelSide {
        /// A run whose model was not seen is an error.
        Required = "required",
        /// Only calls of tools are recorded.
        Unseen = "unseen",
    }
}

/// What is not compared when a program runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// A JSON pointer into the body of a model request. `*` is any item or key.
    pub path: String,
    /// Only what this regular expression matches in the text there; `None` for all of the value.
    pub pattern: Option<String>,
}

impl Program {
    /// A program without any key.
    pub(super) fn new() -> Self {
        Self {
            preset: None,
            command: Vec::new(),
            env: BTreeMap::new(),
            files: BTreeMap::new(),
            cwd: None,
            workspace: None,
            input: Input::default(),
            answer: AnswerFormat::default(),
            timeout_ms: TIMEOUT_MS,
            exit: 0,
            model: ModelSide::Required,
            ignore_request: Vec::new(),
        }
    }

    /// Program and arguments, with those that refer to a server once for each of them. `servers` are names and URLs.
    pub fn argv<E>(
        &self,
        servers: &[(String, String)],
        resolve: impl FnMut(&Template, &BTreeMap<String, String>) -> Result<String, E>,
    ) -> Result<Vec<String>, E> {
        Ok(each_server(&self.command, servers, resolve)?.into_iter().flatten().collect())
    }

    /// The text of a file, with the lines that refer to a server once for each of them. A comma at the end of such a line is
    /// left off after the last server, as lists in JSON want it.
    pub fn file_text<E>(
        text: &Template,
        servers: &[(String, String)],
        resolve: impl FnMut(&Template, &BTreeMap<String, String>) -> Result<String, E>,
    ) -> Result<String, E> {
        let lines = text.lines();
        let mut out = Vec::new();
        for (line, mut texts) in lines.iter().zip(each_server(&lines, servers, resolve)?) {
            if let Some(last) = texts.last_mut().filter(|_| is_repeated(line)) {
                last.truncate(last.strip_suffix(',').map_or(last.len(), str::len));
            }
            out.extend(texts);
        }
        Ok(out.join("\n"))
    }
}

fn is_repeated(template: &Template) -> bool {
    template.names().any(|name| EACH_SERVER.contains(&name))
}

/// What each template is, once, or once for each server.
fn each_server<E>(
    templates: &[Template],
    servers: &[(String, String)],
    mut resolve: impl FnMut(&Template, &BTreeMap<String, String>) -> Result<String, E>,
) -> Result<Vec<Vec<String>>, E> {
    let mut out = Vec::new();
    for template in templates {
        let mut texts = Vec::new();
        if is_repeated(template) {
            for (name, url) in servers {
                let [name_of, url_of] = EACH_SERVER.map(str::to_owned);
                texts.push(resolve(template, &BTreeMap::from([(name_of, name.clone()), (url_of, url.clone())]))?);
            }
        } else {
            texts.push(resolve(template, &BTreeMap::new())?);
        }
        out.push(texts);
    }
    Ok(out)
}

/// Whether a file can be written under this path inside a folder.
pub(super) fn is_inside(path: &str) -> bool {
    !path.contains('\\') && path.split('/').all(|name| !name.is_empty() && name != "." && name != "..")
}

#[cfg(test)]
mod tests {
    use super::super::Variables;
    use super::*;

    #[test]
    fn lines_about_servers_are_repeated_and_the_last_comma_is_left_off() {
        let text = "{\n  \"${MCPTEST_SERVER}\": \"${MCPTEST_SERVER_URL}\",\n  \"$$x\": 1,\n}\n";
        let text = Template::parse(text).unwrap();
        let servers = |names: &[&str]| -> Vec<(String, String)> {
            names.iter().map(|name| ((*name).to_owned(), format!("http://{name}"))).collect()
        };
        let made = |names: &[&str]| {
            let resolve = |template: &Template, set: &BTreeMap<String, String>| {
                template.resolve(set, &Variables { suite_dir: "", outside: &|_| None })
            };
            Program::file_text(&text, &servers(names), resolve).unwrap()
        };
        assert_eq!(made(&[]), "{\n  \"$x\": 1,\n}\n");
        assert_eq!(made(&["a"]), "{\n  \"a\": \"http://a\"\n  \"$x\": 1,\n}\n");
        assert_eq!(made(&["a", "b"]), "{\n  \"a\": \"http://a\",\n  \"b\": \"http://b\"\n  \"$x\": 1,\n}\n");
    }

    #[test]
    fn paths_of_files_stay_in_their_folder() {
        for (path, expected) in [
            ("a", true),
            (".gemini/settings.json", true),
            ("", false),
            ("/etc/x", false),
            ("../x", false),
            ("a/../../x", false),
            ("a//b", false),
            ("a\\..\\b", false),
        ] {
            assert_eq!(is_inside(path), expected, "{path}");
        }
    }
}
