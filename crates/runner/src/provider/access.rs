//! How a model is reached: URL, API and key.
//!
//! The suite comes first, then the variables that the providers' own SDKs read, then the provider's default URL.

use std::collections::BTreeMap;
use std::fmt;

use mcptest_core::diag::{Code, RunError};
use mcptest_core::redact::{Redactor, SHORTEST};
use mcptest_core::suite::interpolate::TemplateError;
use mcptest_core::suite::{Api, Model, Provider, Template, Variables, provider_of};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::secrets::default_key_variables;
use crate::tls;

/// The variable whose value is sent as a bearer token instead of an Anthropic API key.
const BEARER_VARIABLE: &str = "ANTHROPIC_AUTH_TOKEN";

/// The API of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Messages,
    Responses,
    Chat,
    Gemini,
}

impl Wire {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "Anthropic Messages",
            Self::Responses => "OpenAI Responses",
            Self::Chat => "OpenAI Chat Completions",
            Self::Gemini => "Gemini generateContent",
        }
    }
}

/// How a model is reached. Its `Debug` output omits the key.
#[derive(Clone)]
pub struct Access {
    pub(super) wire: Wire,
    /// The name in the suite.
    pub(super) name: String,
    /// The name the provider knows.
    pub(super) model: String,
    pub(super) endpoint: Url,
    pub(super) headers: HeaderMap,
    pub(super) key: Option<Key>,
    /// It is on this machine, so no proxy is used.
    pub(super) is_local: bool,
    redactor: Option<Redactor>,
}

/// A key and the variable it came from.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) variable: String,
    pub(super) value: String,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("wire", &self.wire)
            .field("address", &shown(&self.endpoint))
            .field("key", &self.key.as_ref().map(|key| &key.variable))
            .finish_non_exhaustive()
    }
}

/// Why a model cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Neither the suite nor the name says which provider it has.
    #[error("unknown model `{model}`")]
    Unknown { model: String },
    /// A script answers for it.
    #[error("model `{model}` is scripted and has no provider")]
    Scripted { model: String },
    /// A reference in the suite cannot be resolved.
    #[error("model `{model}`, `{key}`: {error}")]
    Unresolved {
        model: String,
        /// The key of its entry.
        key: &'static str,
        error: TemplateError,
    },
    #[error("model `{model}`: `{from}` is not a valid URL: {why}")]
    Address {
        model: String,
        /// The key, or the variable that contains it.
        from: &'static str,
        /// The value is not shown, because it may contain a password.
        why: String,
    },
    #[error("model `{model}` needs an API key, but {} not set", none_of(.variables))]
    NoKey {
        model: String,
        /// Where a key was looked for.
        variables: Vec<String>,
    },
    /// The key cannot be sent.
    #[error("model `{model}`: the value of {variable} contains characters that are not allowed in a header")]
    BadKey {
        model: String,
        /// The variable that contains it.
        variable: String,
    },
}

fn none_of(variables: &[String]) -> String {
    match variables {
        [only] => format!("{only} is"),
        several => format!("{} are", several.join(" and ")),
    }
}

impl AccessError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { model } => {
                format!("declare it: `models: {{ {model}: {{ provider: openai, base_url: ... }} }}`")
            }
            Self::Scripted { .. } => "set another `provider:` to call one".to_owned(),
            Self::Unresolved { error: TemplateError::Unset(name), .. } => {
                format!("set {name}, or write `${{{name}:-default}}` in the suite")
            }
            Self::Unresolved { .. } => "fix it in the suite".to_owned(),
            Self::Address { .. } => {
                "write it as `https://host/path`; put keys and passwords in the variable that `api_key_env:` names"
                    .to_owned()
            }
            Self::NoKey { variables, .. } => format!(
                "set {}, or name another variable with `api_key_env:`; if the server needs no key, any value works",
                variables.join(" or ")
            ),
            Self::BadKey { variable, .. } => format!("set {variable} again, without line breaks"),
        }
    }
}

impl From<&AccessError> for RunError {
    fn from(error: &AccessError) -> Self {
        let code = match error {
            AccessError::Unknown { .. } => Code::UnknownModel,
            AccessError::Scripted { .. } => Code::InvalidModel,
            AccessError::Unresolved { error: TemplateError::Unset(_), .. } => Code::VariableNotSet,
            AccessError::Unresolved { .. } => Code::MalformedVariable,
            AccessError::Address { .. } => Code::BadBaseUrl,
            AccessError::NoKey { .. } => Code::NoKey,
            AccessError::BadKey { .. } => Code::BadKey,
        };
        Self::new(error.to_string()).code(code).hint(error.hint())
    }
}

impl Access {
    /// Resolves a model from its name and its entry in the suite. `own` are the variables of the suite.
    pub fn resolve(
        name: &str,
        entry: Option<&Model>,
        own: &BTreeMap<String, String>,
        variables: &Variables<'_>,
    ) -> Result<Self, AccessError> {
        let provider = entry.map(|entry| entry.provider).or_else(|| provider_of(name));
        let provider = provider.ok_or_else(|| AccessError::Unknown { model: name.to_owned() })?;
        let known = |variable: &str| {
            let value = own.get(variable).cloned().or_else(|| (variables.outside)(variable));
            value.filter(|value| !value.is_empty())
        };
        let resolve = |key: &'static str, template: Option<&Template>| {
            let text = template.map(|template| template.resolve(own, variables)).transpose();
            text.map_err(|error| AccessError::Unresolved { model: name.to_owned(), key, error })
        };
        let model = resolve("model", entry.and_then(|entry| entry.model.as_ref()))?;
        let model = model.unwrap_or_else(|| name.to_owned());
        let written = resolve("base_url", entry.and_then(|entry| entry.base_url.as_ref()))?;

        let (variable, default) = match provider {
            Provider::Anthropic => ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
            Provider::Openai => ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
            Provider::Gemini => ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
            Provider::Script => return Err(AccessError::Scripted { model: name.to_owned() }),
        };
        // Only the suite chooses the API. If a variable did, the same suite could behave differently on each machine.
        let wire = match (provider, entry.and_then(|entry| entry.api), &written) {
            (Provider::Anthropic, ..) => Wire::Messages,
            (Provider::Gemini, ..) => Wire::Gemini,
            (_, Some(Api::Chat), _) | (_, None, Some(_)) => Wire::Chat,
            (_, Some(Api::Responses), _) | (_, None, None) => Wire::Responses,
        };
        let in_suite = written.is_some();
        let (from, base) = match written {
            Some(base) => ("base_url", base),
            None => (variable, known(variable).unwrap_or_else(|| default.to_owned())),
        };
        let base = address(&base).map_err(|why| AccessError::Address { model: name.to_owned(), from, why })?;
        let is_local = tls::is_local(&base);

        let named = entry.and_then(|entry| entry.api_key_env.clone());
        let places = match &named {
            Some(named) => vec![named.clone()],
            None => default_key_variables(provider).iter().map(|name| (*name).to_owned()).collect(),
        };
        let key = places.iter().find_map(|variable| Some(Key { variable: variable.clone(), value: known(variable)? }));
        // A local server rarely needs a key. A key that the suite names is required.
        if key.is_none() && (named.is_some() || !is_local) {
            return Err(AccessError::NoKey { model: name.to_owned(), variables: places });
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let bad = |_| AccessError::BadKey { model: name.to_owned(), variable: key.variable.clone() };
            let (header, value) = credential(wire, key);
            let mut value = HeaderValue::from_str(&value).map_err(bad)?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        // These select the OpenAI account to bill; other servers do not know them.
        if provider == Provider::Openai && !in_suite {
            for (variable, header) in
                [("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")]
            {
                let Some(value) = known(variable) else { continue };
                let bad = |_| AccessError::BadKey { model: name.to_owned(), variable: variable.to_owned() };
                headers.insert(HeaderName::from_static(header), HeaderValue::from_str(&value).map_err(bad)?);
            }
        }
        let endpoint = endpoint(base, wire, &model);
        Ok(Self { wire, name: name.to_owned(), model, endpoint, headers, key, is_local, redactor: None })
    }

    /// Redacts these secrets in error messages too. Providers echo requests, which contain tool results.
    #[must_use]
    pub fn with_redactor(self, redactor: &Redactor) -> Self {
        Self { redactor: Some(redactor.clone()), ..self }
    }

    /// A text with placeholders for the key and for all other known secrets. A short key is kept: for a server that needs no key
    /// it may be any word.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let text = match &self.key {
            Some(Key { variable, value }) if value.len() >= SHORTEST => {
                text.replace(value, &format!("[redacted:{variable}]"))
            }
            _ => text.to_owned(),
        };
        match &self.redactor {
            Some(redactor) => redactor.text(&text).into_owned(),
            None => text,
        }
    }
}

fn credential(wire: Wire, key: &Key) -> (HeaderName, String) {
    let bearer = || (HeaderName::from_static("authorization"), format!("Bearer {}", key.value));
    match wire {
        Wire::Messages if key.variable == BEARER_VARIABLE => bearer(),
        Wire::Messages => (HeaderName::from_static("x-api-key"), key.value.clone()),
        Wire::Gemini => (HeaderName::from_static("x-goog-api-key"), key.value.clone()),
        Wire::Responses | Wire::Chat => bearer(),
    }
}

/// Parses a URL; the error never quotes it.
fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| tls::url_error(text, &error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it does not start with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it contains a user name or a password".to_owned());
    }
    Ok(url)
}

/// The URL of the API. A query of the base URL is kept, because some gateways need one.
fn endpoint(mut base: Url, wire: Wire, model: &str) -> Url {
    let mut steps: Vec<String> = match wire {
        Wire::Messages => vec!["v1".to_owned(), "messages".to_owned()],
        Wire::Responses => vec!["responses".to_owned()],
        Wire::Chat => vec!["chat".to_owned(), "completions".to_owned()],
        Wire::Gemini => vec!["v1beta".to_owned()],
    };
    if wire == Wire::Gemini {
        // `tunedModels/x` has its own path; a bare name is below `models`.
        if !model.contains('/') {
            steps.push("models".to_owned());
        }
        steps.extend(format!("{model}:generateContent").split('/').map(str::to_owned));
    }
    base.set_fragment(None);
    if let Ok(mut path) = base.path_segments_mut() {
        path.pop_if_empty().extend(steps);
    }
    base
}

/// A URL for messages, without its query, which may contain a key.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // This fails only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}
