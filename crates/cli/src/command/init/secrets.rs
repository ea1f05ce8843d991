//! How a server is reached, without secrets: they are replaced by variables.

use std::sync::LazyLock;

use mcptest_core::redact::by_shape;
use regex::Regex;

use super::yaml::{self, Dollar};
use crate::words::CommandLine;

/// Lines of a suite that reach the real server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Real {
    pub(super) lines: Vec<String>,
    /// The variables that replace values.
    pub(super) hidden: Vec<String>,
}

/// Options whose value is a secret.
static SECRET_OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^-{1,2}[a-z0-9_-]*(token|secret|passw(or)?d|api-?_?key|access-?_?key|private-?_?key|credential|auth)[a-z0-9_-]*$").ok()
});

/// The lines for a command. Values of variables are never written.
pub(super) fn command(line: &CommandLine) -> Real {
    let mut hidden: Vec<String> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut option: Option<&str> = None;
    for word in &line.argv {
        let is_secret = |name: &str| SECRET_OPTION.as_ref().is_some_and(|shape| shape.is_match(name));
        let written = match (option.take(), word.split_once('=')) {
            // Its value is the next word.
            (Some(name), _) if !word.starts_with('-') => hide(name, &mut hidden),
            (_, Some((name, value))) if is_secret(name) && !value.is_empty() => {
                // The name of an option needs no quoting.
                format!("{name}={}", hide(name, &mut hidden))
            }
            _ if by_shape(word) != *word || has_credentials(word) => hide("SERVER_SECRET", &mut hidden),
            _ => {
                option = Some(word.as_str()).filter(|word| is_secret(word));
                words.push(yaml::text(word, Dollar::Sign));
                continue;
            }
        };
        words.push(format!("\"{written}\""));
    }
    let mut lines = vec![format!("command: [{}]", words.join(", "))];
    if !line.env.is_empty() {
        let set: Vec<String> = line.env.keys().map(|name| format!("{name}: \"${{{name}}}\"")).collect();
        lines.push(format!("env: {{ {} }}", set.join(", ")));
        hidden.extend(line.env.keys().cloned());
    }
    Real { lines, hidden }
}

/// The lines for a URL. One that may contain a secret is not written.
pub(super) fn address(url: &str, bearer_token_env: Option<&str>) -> Real {
    let mut hidden = Vec::new();
    let is_open = !url.contains(['?', '#']) && !has_credentials(url) && !url.split('/').skip(3).any(is_random);
    let mut lines = vec![if is_open {
        format!("url: {}", yaml::text(url, Dollar::Sign))
    } else {
        format!("url: \"{}\"", hide("MCP_URL", &mut hidden))
    }];
    lines.extend(bearer_token_env.map(|name| format!("bearer_token_env: {}", yaml::text(name, Dollar::Sign))));
    Real { lines, hidden }
}

/// A reference to a variable of this name.
fn hide(name: &str, hidden: &mut Vec<String>) -> String {
    let name: String = name
        .trim_start_matches('-')
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name };
    let reference = format!("${{{name}}}");
    if !hidden.contains(&name) {
        hidden.push(name);
    }
    reference
}

/// Whether a URL contains credentials.
fn has_credentials(text: &str) -> bool {
    let host = text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest));
    host.is_some_and(|host| host.contains('@'))
}

/// Whether a path segment looks like a key: long, with letters and digits.
fn is_random(part: &str) -> bool {
    const LONG: usize = 16;
    let digits = part.chars().filter(char::is_ascii_digit).count();
    part.len() >= LONG && digits >= 3 && part.chars().any(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Real, lines: &[&str], hidden: &[&str]) {
        assert_eq!((found.lines, found.hidden), (to_owned(lines), to_owned(hidden)));
    }

    fn to_owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn read(line: &str) -> Real {
        command(&CommandLine::read(line).unwrap())
    }

    #[test]
    fn a_command_is_written_as_it_was_typed() {
        check(read("npx -y @a/b /data 'two words'"), &["command: [npx, \"-y\", \"@a/b\", /data, \"two words\"]"], &[]);
        check(read("run '${HOME}' --tokens=4"), &["command: [run, \"$${HOME}\", \"--tokens=${TOKENS}\"]"], &["TOKENS"]);
    }

    #[test]
    fn values_of_variables_and_secrets_among_the_arguments_are_named_and_not_repeated() {
        check(
            read("API_KEY=hunter2 MODE=x run"),
            &["command: [run]", "env: { API_KEY: \"${API_KEY}\", MODE: \"${MODE}\" }"],
            &["API_KEY", "MODE"],
        );
        check(
            read("run --api-key hunter2 --auth-token=abc --verbose"),
            &["command: [run, \"--api-key\", \"${API_KEY}\", \"--auth-token=${AUTH_TOKEN}\", \"--verbose\"]"],
            &["API_KEY", "AUTH_TOKEN"],
        );
        check(
            read("run postgres://me:pw@db/x sk-ant-aaaabbbbccccddddeeee"),
            &["command: [run, \"${SERVER_SECRET}\", \"${SERVER_SECRET}\"]"],
            &["SERVER_SECRET"],
        );
        check(read("run --token --verbose"), &["command: [run, \"--token\", \"--verbose\"]"], &[]);
    }

    #[test]
    fn a_url_is_written_unless_it_may_contain_secrets() {
        let open = "http://127.0.0.1:8080/mcp";
        check(address(open, None), &["url: \"http://127.0.0.1:8080/mcp\""], &[]);
        check(address(open, Some("TOKEN")), &["url: \"http://127.0.0.1:8080/mcp\"", "bearer_token_env: TOKEN"], &[]);
        for secret in [
            "https://me:pw@example.test/mcp",
            "https://example.test/mcp?key=x",
            "https://example.test/s/a1b2c3d4e5f6a7b8c9/mcp",
        ] {
            check(address(secret, None), &["url: \"${MCP_URL}\""], &["MCP_URL"]);
        }
    }
}
