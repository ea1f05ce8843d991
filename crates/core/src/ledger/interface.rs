//! The model APIs whose exchanges are read.

use crate::trace::words;

words! {
    /// A model API.
    Interface {
        /// `OpenAI` Chat Completions.
        OpenaiChat = "openai-chat",
        /// `OpenAI` Responses.
        OpenaiResponses = "openai-responses",
        /// Anthropic Messages.
        Anthropic = "anthropic",
        /// Gemini `generateContent` and `streamGenerateContent`.
        Gemini = "gemini",
    }
}

impl Interface {
    /// The interface of a request, by its method and the end of its path.
    pub fn of(method: &str, path: &str) -> Option<Self> {
        if method != "POST" {
            return None;
        }
        let path = path.trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or_default();
        if path.ends_with("/chat/completions") {
            Some(Self::OpenaiChat)
        } else if last == "responses" {
            Some(Self::OpenaiResponses)
        } else if last == "messages" {
            Some(Self::Anthropic)
        } else if last.ends_with(":generateContent") || last.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// The keys of a request that the next one repeats.
    pub(super) fn repeated(self) -> &'static [&'static str] {
        match self {
            Self::OpenaiChat => &["messages", "tools"],
            Self::OpenaiResponses => &["input", "instructions", "tools"],
            Self::Anthropic => &["messages", "system", "tools"],
            Self::Gemini => &["contents", "systemInstruction", "tools"],
        }
    }
}
