//! The model APIs whose exchanges are read.

use crate::trace::words;

words! {
    Interface {
        OpenaiChat = "openai-chat",
        OpenaiResponses = "openai-responses",
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
        } else if last == "messages" && !path.contains("/threads/") {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_known_by_the_end_of_the_path() {
        for (path, expected) in [
            ("/v1/chat/completions", Some(Interface::OpenaiChat)),
            ("/openai/deployments/d/chat/completions", Some(Interface::OpenaiChat)),
            ("/v1/responses", Some(Interface::OpenaiResponses)),
            ("/v1/responses/compact", None),
            ("/v1/messages/", Some(Interface::Anthropic)),
            ("/v1/messages/count_tokens", None),
            // Of another API, which is not read.
            ("/v1/threads/t/messages", None),
            ("/v1beta/models/m:generateContent", Some(Interface::Gemini)),
            ("/v1beta/models/m:streamGenerateContent", Some(Interface::Gemini)),
            ("/v1beta/models/m:countTokens", None),
            ("/v1/embeddings", None),
        ] {
            assert_eq!(Interface::of("POST", path), expected, "{path}");
            assert_eq!(Interface::of("GET", path), None, "{path}");
        }
    }
}
