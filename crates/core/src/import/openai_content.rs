//! What messages say in both interfaces of `OpenAI`: one text, or a list of parts.

use std::fmt::Display;

use serde::Deserialize;

use super::ImportError;
use super::look::Look;
use super::wire::Text;
use super::{content, listed};

/// The content of a message.
pub(super) type Content<'a> = content::Content<'a, Part<'a>>;

/// One part of a content. Parts that are no text have keys of their own, which say nothing of calls.
#[derive(Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    text: Option<Text<'a>>,
    refusal: Option<Text<'a>>,
}

impl listed::Element for Part<'_> {
    fn is_void(&self) -> bool {
        self.kind.is_none()
    }
}

/// The parts an interface knows.
pub(super) struct Parts {
    /// Those that carry text.
    pub(super) texts: &'static [&'static str],
    /// Those that carry something else, which cannot be a call or an answer.
    pub(super) others: &'static [&'static str],
}

/// What a content says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Its text; `None` when it carries none.
    pub(super) text: Option<String>,
    /// Whether the model refused in it.
    pub(super) refused: bool,
}

impl Said {
    /// Adds a block of text.
    pub(super) fn add(&mut self, text: &str) {
        match &mut self.text {
            Some(before) => {
                before.push('\n');
                before.push_str(text);
            }
            None => self.text = Some(text.to_owned()),
        }
    }
}

/// The text of a content. A part that is not known is refused, since it could be a call; `place` says where the content is.
pub(super) fn said(content: Option<&Content<'_>>, known: &Parts, place: &dyn Display) -> Result<Said, ImportError> {
    let mut said = Said::default();
    match content {
        None => {}
        Some(Content::Text(text)) => said.add(text),
        Some(Content::List(parts)) => {
            for (at, part) in parts.iter().enumerate() {
                let Some(kind) = part.kind.as_deref() else {
                    return Err(ImportError::new(format!("{place}[{at}] has no `type`")).hint(known.hint()));
                };
                if kind == "refusal" {
                    said.refused = true;
                    if let Some(text) = &part.refusal {
                        said.add(text);
                    }
                } else if known.texts.contains(&kind) {
                    let Some(text) = &part.text else {
                        return Err(ImportError::new(format!("{place}[{at}] is {kind:?} and has no `text`")));
                    };
                    said.add(text);
                } else if !known.others.contains(&kind) {
                    let error = ImportError::new(format!("{place}[{at}].type is {kind:?}, which is not understood"));
                    return Err(error.hint(sibling(kind).map_or_else(|| known.hint(), looks_like)));
                }
            }
        }
    }
    Ok(said)
}

impl Parts {
    fn hint(&self) -> String {
        let kinds: Vec<&str> =
            self.texts.iter().copied().chain(["refusal"]).chain(self.others.iter().copied()).collect();
        format!("known are {}; any other part could hold a call", kinds.join(", "))
    }

    /// Whether a content has only parts that this interface knows.
    pub(super) fn fit(&self, content: &Look<'_>) -> bool {
        let Look::List(items) = content else { return true };
        let parts = content.elements();
        parts.len() == items.len()
            && parts.iter().all(|part| {
                let Some(kind) = part.text("type") else { return false };
                kind == "refusal" || self.texts.contains(&&*kind) || self.others.contains(&&*kind)
            })
    }
}

/// What to say of a record that another format would take.
pub(super) fn looks_like(format: &str) -> String {
    format!("this looks like `{format}`")
}

/// The format that has parts of this type.
fn sibling(kind: &str) -> Option<&'static str> {
    match kind {
        "tool_use" | "tool_result" | "server_tool_use" => Some("anthropic"),
        "input_text" | "output_text" | "input_image" | "input_file" => Some("openai-responses"),
        "image_url" => Some("openai-chat"),
        _ => None,
    }
}
