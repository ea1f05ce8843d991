//! Which values must never be written: those that servers, models and programs of a suite read from the environment.

use std::collections::{BTreeMap, BTreeSet};

use mcptest_core::redact::Redactor;
use mcptest_core::suite::{Provider, Suite, Variables};

/// The default variables for a provider's key.
pub(crate) fn default_key_variables(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::Anthropic => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        Provider::Openai => &["OPENAI_API_KEY"],
        Provider::Gemini => &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        Provider::Script => &[],
    }
}

/// Words of the trace format. A variable with one of these values is not a secret, and redacting it would break every trace.
const WORDS: [&str; 19] = [
    "arguments",
    "assistant",
    "completed",
    "conversation",
    "duration_ms",
    "final_response",
    "input_tokens",
    "is_error",
    "max_tokens",
    "max_turns",
    "messages",
    "output_tokens",
    "stop_reason",
    "structured_content",
    "text/plain",
    "tool_calls",
    "tool_names",
    "tool_results",
    "transport",
];

/// Parts of variable names that indicate a secret.
const SECRET_NAMES: [&str; 8] =
    ["TOKEN", "SECRET", "PASSW", "PASSPHRASE", "API_KEY", "APIKEY", "PRIVATE_KEY", "CREDENTIAL"];

/// The variables of one suite whose values must not be written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Secrets {
    /// Names and values.
    pub values: Vec<(String, String)>,
    /// Variables that the suite names and that are not set, so their values cannot be searched for.
    pub unset: BTreeSet<String>,
}

/// A redactor for every secret of a suite that is set.
pub fn redactor(suite: &Suite, variables: &Variables<'_>) -> Redactor {
    Redactor::new(known(suite, variables).values)
}

/// Endings of names of variables that a recorded program inherits and whose values are secrets.
const INHERITED: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// The values of variables whose names say that they are secret. `names` are all that are set.
pub fn inherited(environment: &dyn Fn(&str) -> Option<String>, names: &[String]) -> Vec<(String, String)> {
    let is_secret = |name: &&String| INHERITED.iter().any(|end| name.to_ascii_uppercase().ends_with(end));
    names.iter().filter(is_secret).filter_map(|name| Some((name.clone(), environment(name)?))).collect()
}

/// The keys of providers that are set, for files that belong to no suite.
pub fn usual(outside: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let names = Provider::ALL.iter().flat_map(|provider| default_key_variables(*provider));
    names.filter_map(|name| Some(((*name).to_owned(), outside(name).filter(|value| !value.is_empty())?))).collect()
}

/// Every secret of a suite, by variable. Everything that servers and models read is a secret; in working folders and prompts a
/// secret is recognized by its name. Variables that the suite lists as public are not secrets, but variables that it names for
/// a key always are, and so are the default keys of providers.
pub fn known(suite: &Suite, variables: &Variables<'_>) -> Secrets {
    // The suite's folder is not a secret, and is part of many paths.
    let is_public = |name: &str| name == "SUITE_DIR" || suite.public.contains(name);
    let keys = suite.variables_of_keys();
    let read = suite.variables_read().into_iter().filter(|name| !is_public(name)).chain(keys.iter().copied());
    let mut names: BTreeSet<&str> = read.collect();
    let is_set = |name: &str| value(name, &suite.variables, variables).is_some();
    let unset = names.iter().filter(|name| !is_set(name)).map(|name| (*name).to_owned()).collect();
    names.extend(suite.variables_in_prompts().into_iter().filter(|name| names_a_secret(name) && !is_public(name)));
    names.extend(Provider::ALL.iter().flat_map(|provider| default_key_variables(*provider)));
    let values = names.into_iter().filter_map(|name| {
        let value = value(name, &suite.variables, variables)?;
        (!WORDS.contains(&value.as_str())).then_some((name.to_owned(), value))
    });
    Secrets { values: values.collect(), unset }
}

fn value(name: &str, own: &BTreeMap<String, String>, variables: &Variables<'_>) -> Option<String> {
    own.get(name).cloned().or_else(|| (variables.outside)(name)).filter(|value| !value.is_empty())
}

pub(crate) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use mcptest_core::diag::Source;

    use super::*;

    const SUITE: &str = "\
variables: { own: a-value-of-its-own, header: \"Basic ${BEHIND}\" }
public: [DATA_DIR, CITY, PUBLIC_TOKEN]
servers:
  box:
    command: [\"${PROGRAM}\", --key, \"${ARGUMENT}\", \"${DATA_DIR}\", \"${SUITE_DIR}\", \"${SHORT}\"]
    cwd: \"${FOLDER}/${TOKEN_DIR}\"
    env: { A: \"${IN_ENV}\", B: \"${own}\", C: \"${MODE}\", D: \"${MISSING}\" }
  far: { url: \"${IN_URL}\", bearer_token_env: BEARER, headers: { X: \"a ${IN_HEADER}\", Y: \"${header}\" } }
models:
  far: { provider: openai, base_url: \"${BASE}\", api_key_env: KEY_OF_MODEL, model: \"${MODEL}\" }
agents:
  - { name: t, model: far, servers: [box], prompt: \"${CITY} ${LOGIN_PASSWORD} ${PUBLIC_TOKEN}\", trajectory: { calls: [] } }
";

    #[test]
    fn variables_of_servers_and_models_are_secret_unless_public_short_or_trace_words() {
        let outside = |name: &str| match name {
            "MISSING" => None,
            "PROGRAM" => Some("/usr/bin/server".to_owned()),
            "FOLDER" => Some("/srv/folder".to_owned()),
            "DATA_DIR" => Some("/srv/data".to_owned()),
            "SUITE_DIR" => Some("/srv/suites".to_owned()),
            "SHORT" => Some("1234567".to_owned()),
            "MODE" => Some("assistant".to_owned()),
            "GEMINI_API_KEY" | "GOOGLE_API_KEY" | "OPENAI_API_KEY" | "ANTHROPIC_AUTH_TOKEN" => Some(String::new()),
            name => Some(format!("value of {name}")),
        };
        let variables = Variables { suite_dir: "tests", outside: &outside };
        let suite = mcptest_core::suite::load(&Source::new("s.yml", SUITE.to_owned()), &variables).value.unwrap();
        let Secrets { values, unset } = known(&suite, &variables);
        let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "ANTHROPIC_API_KEY",
            "ARGUMENT",
            "BASE",
            "BEARER",
            "BEHIND",
            "IN_ENV",
            "IN_HEADER",
            "IN_URL",
            "KEY_OF_MODEL",
            "LOGIN_PASSWORD",
            "MODEL",
            "PROGRAM",
            "SHORT",
            "TOKEN_DIR",
            "header",
            "own",
        ];
        assert_eq!(names, expected);
        assert_eq!(unset.into_iter().collect::<Vec<_>>(), ["MISSING"]);
        assert_eq!(usual(&outside), [("ANTHROPIC_API_KEY".to_owned(), "value of ANTHROPIC_API_KEY".to_owned())]);
        let shown = "/usr/bin/server /srv/folder /srv/data /srv/suites 1234567";
        assert_eq!(
            redactor(&suite, &variables).text(shown),
            "[redacted:PROGRAM] /srv/folder /srv/data /srv/suites 1234567"
        );
    }
}
