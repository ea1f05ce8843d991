//! Where a model is reached and with which key, as the suite and the environment say.

use std::collections::BTreeMap;

use mcptest_core::suite::{Api, Model, Provider, Template, Variables};
use mcptest_runner::provider::{Access, AccessError};

use super::server::{Answer, Server};
use super::{KEY, PATIENCE, QUESTION, entry};

fn resolve(name: &str, entry: Option<&Model>, env: &[(&str, &str)]) -> Result<Access, AccessError> {
    let outside = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let variables = Variables { suite_dir: ".", outside: &outside };
    Access::resolve(name, entry, &BTreeMap::from([("own".to_owned(), "from-suite".to_owned())]), &variables)
}

/// What `Debug` shows of an access: model, interface, address, and the variable of the key.
fn check(name: &str, entry: Option<&Model>, env: &[(&str, &str)], expected: &str) {
    let reported = match resolve(name, entry, env) {
        Ok(access) => format!("{access:?}"),
        Err(error) => format!("{error}\nhint: {}", error.hint()),
    };
    assert!(!reported.contains(KEY), "{reported}");
    assert_eq!(reported, expected);
}

/// An entry with only a provider.
fn bare(provider: Provider) -> Model {
    Model { model: None, base_url: None, api_key_env: None, ..entry(super::Spoken(provider, None), "x") }
}

fn at(provider: Provider, base: &str) -> Model {
    Model { base_url: Some(Template::parse(base).unwrap()), ..bare(provider) }
}

#[test]
fn a_model_name_and_the_default_variables_are_enough() {
    check(
        "claude-x",
        None,
        &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_AUTH_TOKEN", "other")],
        "Access { name: \"claude-x\", model: \"claude-x\", wire: Messages, \
         address: \"https://api.anthropic.com/v1/messages\", key: Some(\"ANTHROPIC_API_KEY\"), .. }",
    );
    check(
        "o3",
        None,
        &[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "https://eu.example/v1/")],
        "Access { name: \"o3\", model: \"o3\", wire: Responses, \
         address: \"https://eu.example/v1/responses\", key: Some(\"OPENAI_API_KEY\"), .. }",
    );
    check(
        "gemini-x",
        None,
        &[("GEMINI_API_KEY", "other"), ("GOOGLE_API_KEY", KEY)],
        "Access { name: \"gemini-x\", model: \"gemini-x\", wire: Gemini, address: \
         \"https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent\", \
         key: Some(\"GOOGLE_API_KEY\"), .. }",
    );
}

#[test]
fn the_suite_comes_before_the_usual_variables() {
    let env = &[("OPENAI_API_KEY", "other"), ("OPENAI_BASE_URL", "https://elsewhere"), ("MY_KEY", KEY), ("HOST", "h")];
    let model = Model {
        model: Some(Template::parse("${own}/x").unwrap()),
        api_key_env: Some("MY_KEY".to_owned()),
        ..at(Provider::Openai, "https://${HOST}/v1")
    };
    check(
        "local",
        Some(&model),
        env,
        "Access { name: \"local\", model: \"from-suite/x\", wire: Chat, address: \"https://h/v1/chat/completions\", \
         key: Some(\"MY_KEY\"), .. }",
    );
    check(
        "local",
        Some(&Model { api: Some(Api::Responses), ..model }),
        env,
        "Access { name: \"local\", model: \"from-suite/x\", wire: Responses, address: \"https://h/v1/responses\", \
         key: Some(\"MY_KEY\"), .. }",
    );
    check(
        "tuned",
        Some(&Model { model: Some(Template::parse("tunedModels/x").unwrap()), ..bare(Provider::Gemini) }),
        &[("GEMINI_API_KEY", KEY)],
        "Access { name: \"tuned\", model: \"tunedModels/x\", wire: Gemini, address: \
         \"https://generativelanguage.googleapis.com/v1beta/tunedModels/x:generateContent\", \
         key: Some(\"GEMINI_API_KEY\"), .. }",
    );
}

#[test]
fn a_server_on_this_machine_needs_no_key_unless_the_suite_names_one() {
    for host in ["localhost:11434", "127.0.0.1", "[::1]:8000", "0.0.0.0:8000"] {
        check(
            "local",
            Some(&at(Provider::Openai, &format!("http://{host}/v1"))),
            &[],
            &format!(
                "Access {{ name: \"local\", model: \"local\", wire: Chat, \
                 address: \"http://{host}/v1/chat/completions\", key: None, .. }}"
            ),
        );
    }
    check(
        "local",
        Some(&Model { api_key_env: Some("MY_KEY".to_owned()), ..at(Provider::Openai, "http://localhost") }),
        &[("OPENAI_API_KEY", KEY), ("MY_KEY", "")],
        "model `local` needs an API key, but MY_KEY is not set\n\
         hint: set MY_KEY, or name another variable with `api_key_env:`; if the server needs no key, any value works",
    );
    check(
        "far",
        Some(&at(Provider::Openai, "https://localhost.example")),
        &[],
        "model `far` needs an API key, but OPENAI_API_KEY is not set\n\
         hint: set OPENAI_API_KEY, or name another variable with `api_key_env:`; if the server needs no key, any value works",
    );
}

#[test]
fn missing_and_invalid_settings_are_named() {
    check(
        "claude-x",
        None,
        &[],
        "model `claude-x` needs an API key, but ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are not set\n\
         hint: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or name another variable with `api_key_env:`; if the server needs no key, any value works",
    );
    check(
        "claude-x",
        None,
        &[("ANTHROPIC_API_KEY", &format!("{KEY}\n"))],
        "model `claude-x`: the value of ANTHROPIC_API_KEY contains characters that are not allowed in a header\n\
         hint: set ANTHROPIC_API_KEY again, without line breaks",
    );
    check(
        "llama",
        None,
        &[],
        "unknown model `llama`\n\
         hint: declare it: `models: { llama: { provider: openai, base_url: ... } }`",
    );
    check(
        "demo",
        Some(&bare(Provider::Script)),
        &[],
        "model `demo` is scripted and has no provider\n\
         hint: set another `provider:` to call one",
    );
    check(
        "local",
        Some(&at(Provider::Openai, "http://${NOBODY}/v1")),
        &[],
        "model `local`, `base_url`: variable `NOBODY` is not set\n\
         hint: set NOBODY, or write `${NOBODY:-default}` in the suite",
    );
    for (base, why) in [
        ("localhost:11434/v1", "it does not start with http:// or https://"),
        ("/v1", "relative URL without a base"),
        (&format!("https://me:{KEY}@host"), "it contains a user name or a password"),
    ] {
        check(
            "local",
            Some(&at(Provider::Openai, base)),
            &[],
            &format!(
                "model `local`: `base_url` is not a valid URL: {why}\n\
                 hint: write it as `https://host/path`; put keys and passwords in the variable that `api_key_env:` names"
            ),
        );
    }
}

#[tokio::test]
async fn an_ordinary_word_as_key_is_not_redacted_from_server_messages() {
    let server = Server::start(vec![Answer::new(400, &[], "ollama: no such tool")]).await;
    let access = resolve("local", Some(&at(Provider::Openai, &server.base())), &[("OPENAI_API_KEY", "ollama")]);
    let client = mcptest_runner::provider::Client::with(PATIENCE);
    let error = client.ask(&access.unwrap(), &QUESTION, &|_| {}).await.unwrap_err();
    assert_eq!(error.problem.to_string(), "HTTP 400: ollama: no such tool");
}

/// The authentication headers, as a server sees them.
async fn credentials(access: impl Fn(&str) -> Access) -> [Option<String>; 5] {
    let server = Server::start(vec![Answer::new(400, &[], "")]).await;
    let client = mcptest_runner::provider::Client::with(PATIENCE);
    client.ask(&access(&server.base()), &QUESTION, &|_| {}).await.unwrap_err();
    let requests = server.requests();
    let names = ["authorization", "x-api-key", "x-goog-api-key", "openai-organization", "openai-project"];
    requests[0].head(names).map(|value| value.map(str::to_owned))
}

#[tokio::test]
async fn a_token_is_sent_as_bearer_and_openai_gets_the_organization_unless_the_suite_names_the_server() {
    let token =
        |base: &str| resolve("claude-x", None, &[("ANTHROPIC_AUTH_TOKEN", KEY), ("ANTHROPIC_BASE_URL", base)]).unwrap();
    let bearer = Some(format!("Bearer {KEY}"));
    assert_eq!(credentials(token).await, [bearer.clone(), None, None, None, None]);
    let key =
        |base: &str| resolve("claude-x", None, &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", base)]).unwrap();
    assert_eq!(credentials(key).await, [None, Some(KEY.to_owned()), None, None, None]);
    let payer = [("OPENAI_API_KEY", KEY), ("OPENAI_ORG_ID", "org"), ("OPENAI_PROJECT_ID", "proj")];
    let openai = |base: &str| resolve("gpt-x", None, &[&payer[..], &[("OPENAI_BASE_URL", base)]].concat()).unwrap();
    let (org, project) = (Some("org".to_owned()), Some("proj".to_owned()));
    assert_eq!(credentials(openai).await, [bearer.clone(), None, None, org, project]);
    let compatible = |base: &str| resolve("local", Some(&at(Provider::Openai, base)), &payer).unwrap();
    assert_eq!(credentials(compatible).await, [bearer, None, None, None, None]);
    let keyless = |base: &str| resolve("local", Some(&at(Provider::Openai, base)), &[]).unwrap();
    assert_eq!(credentials(keyless).await, [None, None, None, None, None]);
}
