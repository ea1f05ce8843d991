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

/// Knows every secret of a suite that has a value now.
pub fn redactor(suite: &Suite, variables: &Variables<'_>) -> Redactor {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for server in suite.servers.values() {
        server_names(server, &mut names);
    }
    for model in suite.models.values() {
        model_names(model, &mut names);
    }
    for provider in Provider::ALL {
        names.extend(usual_keys(*provider).iter().map(|name| (*name).to_owned()));
    }
    // The folder of the suite is no secret, and stands in every second path.
    names.remove("SUITE_DIR");
    Redactor::new(names.into_iter().filter_map(|name| Some((name.clone(), value(&name, &suite.variables, variables)?))))
}

fn value(name: &str, own: &BTreeMap<String, String>, variables: &Variables<'_>) -> Option<String> {
    own.get(name).cloned().or_else(|| (variables.outside)(name))
}

fn server_names(server: &Server, out: &mut BTreeSet<String>) {
    let mut add = |template: &Template| out.extend(template.names().map(str::to_owned));
    match &server.transport {
        Transport::Command { env, .. } => env.values().for_each(add),
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
