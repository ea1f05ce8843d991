//! Which values must never be written: what the suite's servers and models read from outside.

use std::collections::{BTreeMap, BTreeSet};

use mcptest_core::redact::Redactor;
use mcptest_core::suite::{Model, Provider, Server, Suite, Template, Transport, Variables};

/// The variables that hold a provider's key when a suite names none.
pub(crate) fn usual_keys(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::Anthropic => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        Provider::Openai => &["OPENAI_API_KEY"],
        Provider::Gemini => &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        Provider::Script => &[],
    }
}

/// Words that traces are made of. A variable with such a value is no secret, and taking it out would break every trace.
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

/// Parts of names under which secrets are kept.
const TELLING: [&str; 8] = ["TOKEN", "SECRET", "PASSW", "PASSPHRASE", "API_KEY", "APIKEY", "PRIVATE_KEY", "CREDENTIAL"];

/// The variables of one suite whose values must not be written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// Names and values.
    pub values: Vec<(String, String)>,
    /// Variables that the suite names and nobody has set. What they would hold cannot be looked for.
    pub unset: BTreeSet<String>,
}

/// Knows every secret of a suite that has a value now.
pub fn redactor(suite: &Suite, variables: &Variables<'_>) -> Redactor {
    Redactor::new(known(suite, variables).values)
}

/// The keys of providers that have a value now, for what belongs to no suite.
pub fn usual(outside: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let names = Provider::ALL.iter().flat_map(|provider| usual_keys(*provider));
    names.filter_map(|name| Some(((*name).to_owned(), outside(name).filter(|value| !value.is_empty())?))).collect()
}

/// Every secret of a suite, by the names of the variables that hold them.
pub fn known(suite: &Suite, variables: &Variables<'_>) -> Known {
    let mut names: BTreeSet<String> = BTreeSet::new();
    // Programs, folders and questions hold secrets only now and then.
    let mut perhaps: BTreeSet<String> = BTreeSet::new();
    for server in suite.servers.values() {
        server_names(server, &mut names, &mut perhaps);
    }
    for model in suite.models.values() {
        model_names(model, &mut names);
    }
    let is_set = |name: &String| value(name, &suite.variables, variables).is_some();
    let unset = names.iter().filter(|name| *name != "SUITE_DIR" && !is_set(name)).cloned().collect();
    names.extend(perhaps.into_iter().filter(|name| {
        is_telling(name) || value(name, &suite.variables, variables).is_some_and(|value| !is_path(&value))
    }));
    for test in &suite.agents {
        for template in std::iter::once(&test.prompt_as_written).chain(&test.system_as_written) {
            names.extend(template.names().filter(|name| is_telling(name)).map(str::to_owned));
        }
    }
    for provider in Provider::ALL {
        names.extend(usual_keys(*provider).iter().map(|name| (*name).to_owned()));
    }
    // The folder of the suite is no secret, and stands in every second path.
    names.remove("SUITE_DIR");
    let values = names.into_iter().filter_map(|name| {
        let value = value(&name, &suite.variables, variables)?;
        (!WORDS.contains(&value.as_str())).then_some((name, value))
    });
    Known { values: values.collect(), unset }
}

fn value(name: &str, own: &BTreeMap<String, String>, variables: &Variables<'_>) -> Option<String> {
    own.get(name).cloned().or_else(|| (variables.outside)(name)).filter(|value| !value.is_empty())
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TELLING.iter().any(|part| name.contains(part))
}

/// Whether a value is where something lies, on this kind of system or on another.
fn is_path(value: &str) -> bool {
    let drive = value.get(1..3).is_some_and(|after| after == ":\\" || after == ":/");
    drive || ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start))
}

fn server_names(server: &Server, out: &mut BTreeSet<String>, perhaps: &mut BTreeSet<String>) {
    let mut add = |template: &Template| out.extend(template.names().map(str::to_owned));
    match &server.transport {
        Transport::Command { argv, env, cwd } => {
            env.values().for_each(add);
            perhaps.extend(argv.iter().chain(cwd).flat_map(Template::names).map(str::to_owned));
        }
        Transport::Url { url, headers, bearer_token_env } => {
            add(url);
            headers.values().for_each(add);
            out.extend(bearer_token_env.clone());
        }
    }
}

fn model_names(model: &Model, out: &mut BTreeSet<String>) {
    for template in [&model.model, &model.base_url].into_iter().flatten() {
        out.extend(template.names().map(str::to_owned));
    }
    out.extend(model.api_key_env.clone());
}

#[cfg(test)]
mod tests {
    use mcptest_core::diag::Source;

    use super::*;

    const SUITE: &str = "\
variables: { own: a-value-of-its-own }
servers:
  box:
    command: [\"${PROGRAM}\", --key, \"${ARGUMENT}\", \"${PATH_TOKEN}\", \"${SUITE_DIR}\"]
    cwd: \"${FOLDER}\"
    env: { A: \"${IN_ENV}\", B: \"${own}\", C: \"${MODE}\", D: \"${MISSING}\" }
  far: { url: \"${IN_URL}\", bearer_token_env: BEARER, headers: { X: \"a ${IN_HEADER}\" } }
models:
  far: { provider: openai, base_url: \"${BASE}\", api_key_env: KEY_OF_MODEL, model: \"${MODEL}\" }
agents:
  - { name: t, model: far, servers: [box], prompt: \"${CITY} ${LOGIN_PASSWORD}\", trajectory: { calls: [] } }
";

    #[test]
    fn what_servers_models_and_questions_read_is_known_and_paths_and_words_of_traces_are_not() {
        let outside = |name: &str| match name {
            "MISSING" => None,
            "PROGRAM" => Some("/usr/bin/server".to_owned()),
            "FOLDER" => Some("C:\\work".to_owned()),
            "PATH_TOKEN" => Some("/a/token/with/slashes".to_owned()),
            "MODE" => Some("assistant".to_owned()),
            "GEMINI_API_KEY" | "GOOGLE_API_KEY" | "OPENAI_API_KEY" | "ANTHROPIC_AUTH_TOKEN" => Some(String::new()),
            name => Some(format!("value of {name}")),
        };
        let variables = Variables { suite_dir: "tests", outside: &outside };
        let suite = mcptest_core::suite::load(&Source::new("s.yml", SUITE.to_owned()), &variables).value.unwrap();
        let Known { values, unset } = known(&suite, &variables);
        let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "ANTHROPIC_API_KEY",
            "ARGUMENT",
            "BASE",
            "BEARER",
            "IN_ENV",
            "IN_HEADER",
            "IN_URL",
            "KEY_OF_MODEL",
            "LOGIN_PASSWORD",
            "MODEL",
            "PATH_TOKEN",
            "own",
        ];
        assert_eq!(names, expected);
        assert_eq!(unset.into_iter().collect::<Vec<_>>(), ["MISSING"]);
        assert_eq!(usual(&outside), [("ANTHROPIC_API_KEY".to_owned(), "value of ANTHROPIC_API_KEY".to_owned())]);
    }
}
