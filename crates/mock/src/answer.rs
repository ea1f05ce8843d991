//! What a tool answers: content, structured content or an error, filled in from the arguments of a call.

use mcptest_core::json;
use mcptest_core::template::{Missing, Reference, Scope, Shape, Template};
use serde_json::{Value, json};

/// The root of references in answers.
pub(crate) const ARGUMENTS: &str = "args";

/// One answer as its author wrote it.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) content: Option<Content>,
    pub(crate) structured: Option<Shape>,
    pub(crate) is_error: bool,
}

/// The content of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Text(Template),
    /// Blocks as the protocol has them.
    Blocks(Shape),
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FilledAnswer {
    pub(crate) content: Value,
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: bool,
}

impl Answer {
    /// The answer to a call with these arguments.
    pub(crate) fn fill(&self, scope: &Scope) -> Result<FilledAnswer, Missing> {
        let structured = self.structured.as_ref().map(|shape| shape.fill(scope)).transpose()?;
        let content = match (&self.content, &structured) {
            (Some(Content::Text(template)), _) => text_block(&template.text(scope)?),
            (Some(Content::Blocks(shape)), _) => shape.fill(scope)?,
            // Clients without support for structured content read the text.
            (None, Some(value)) => text_block(&json::canonical(value)),
            (None, None) => json!([]),
        };
        Ok(FilledAnswer { content, structured, is_error: self.is_error })
    }

    pub(crate) fn references(&self) -> Vec<&Reference> {
        let content = match &self.content {
            Some(Content::Text(template)) => template.references().collect(),
            Some(Content::Blocks(shape)) => shape.references(),
            None => Vec::new(),
        };
        content.into_iter().chain(self.structured.iter().flat_map(Shape::references)).collect()
    }
}

impl FilledAnswer {
    pub(crate) fn text(text: &str) -> Self {
        Self { content: text_block(text), structured: None, is_error: false }
    }

    /// An error result: the model reads it and can do better.
    pub(crate) fn error(text: &str) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    pub(crate) fn structured(value: &Value) -> Self {
        Self { structured: Some(value.clone()), ..Self::text(&json::canonical(value)) }
    }
}

fn text_block(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}
