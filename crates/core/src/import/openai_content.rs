//! The content of messages in both APIs of `OpenAI`: one text, or a list of parts.

use std::fmt::Display;

use serde::Deserialize;

use super::message::{Message, Part};
use super::shape::Shape;
use super::wire::Text;
use super::{ImportError, bounded_list, content};
use crate::trace::StopReason;

pub(super) type Content<'a> = content::Content<'a, ContentPart<'a>>;

/// One part of a content. Other keys of a part never describe a call.
#[derive(Debug, Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    text: Option<Text<'a>>,
    refusal: Option<Text<'a>>,
}

impl bounded_list::Element for ContentPart<'_> {
    fn is_incomplete(&self) -> bool {
        self.kind.is_none()
    }
}

/// The types of parts that an API has.
pub(super) struct PartTypes {
    pub(super) texts: &'static [&'static str],
    /// Parts that hold neither text nor a call.
    pub(super) others: &'static [&'static str],
}

/// Adds a content to a message. An unknown part is refused, since it could be a call.
pub(super) fn add(
    message: &mut Message,
    content: Option<&Content<'_>>,
    known: &PartTypes,
    place: &dyn Display,
) -> Result<(), ImportError> {
    let parts = match content {
        None => return Ok(()),
        Some(Content::Text(text)) => {
            message.parts.reserve_exact(1);
            message.parts.push(Part::Text(text.lazy()));
            return Ok(());
        }
        Some(Content::List(parts)) => parts,
    };
    message.parts.reserve_exact(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let Some(kind) = part.kind.as_deref() else {
            return Err(ImportError::new(format!("{place}.content[{at}] has no `type`")).hint(known.hint()));
        };
        if kind == "refusal" {
            refuse(message, part.refusal.as_ref());
        } else if known.texts.contains(&kind) {
            let Some(text) = &part.text else {
                return Err(ImportError::new(format!("{place}.content[{at}] is {kind:?} and has no `text`")));
            };
            message.parts.push(Part::Text(text.lazy()));
        } else if !known.others.contains(&kind) {
            let error = ImportError::new(format!("{place}.content[{at}].type is {kind:?}, which is not understood"));
            return Err(error.hint(sibling(kind).map_or_else(|| known.hint(), looks_like)));
        }
    }
    Ok(())
}

/// Adds the text with which the model refuses.
pub(super) fn refuse(message: &mut Message, text: Option<&Text<'_>>) {
    message.stop = Some(StopReason::Refused);
    message.parts.extend(text.map(|text| Part::Text(text.lazy())));
}

impl PartTypes {
    fn hint(&self) -> String {
        let kinds: Vec<&str> =
            self.texts.iter().copied().chain(["refusal"]).chain(self.others.iter().copied()).collect();
        format!("known types are {}; any other part could hold a call", kinds.join(", "))
    }

    /// Whether a content has only parts that this API has.
    pub(super) fn fit(&self, content: &Shape<'_>) -> bool {
        let Shape::List(items) = content else { return true };
        let parts = content.elements();
        parts.len() == items.len()
            && parts.iter().all(|part| {
                let Some(kind) = part.text("type") else { return false };
                kind == "refusal" || self.texts.contains(&&*kind) || self.others.contains(&&*kind)
            })
    }
}

/// The hint for a record of another format.
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
