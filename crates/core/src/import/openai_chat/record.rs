//! A record that is an object, read in one pass with those of its keys that the format does not have.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::messages::ChatMessage;
use crate::import::ImportError;
use crate::import::bounded_list::BoundedList;
use crate::import::unread_calls::{self, UnreadCalls};
use crate::import::wire::{Name, Text};

/// Keys that may repeat the conversation, and keys that may repeat the last reply.
pub(super) const CONVERSATIONS: [&str; 4] = ["input", "inputs", "conversation", "history"];
pub(super) const REPLIES: [&str; 3] = ["output", "outputs", "completion"];

/// Keys whose calls were never made: available tools and expected calls.
const NEVER_MADE: &str = "tools functions metadata expected expected_output expected_tool_calls reference reference_output \
    reference_outputs ground_truth gold golden target ideal label labels rubric";

#[derive(Default)]
pub(super) struct Logged<'a> {
    pub(super) id: Option<Name>,
    pub(super) model: Option<Text<'a>>,
    pub(super) messages: Option<BoundedList<ChatMessage<'a>>>,
    pub(super) request: Option<Request<'a>>,
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) response: Option<Completion<'a>>,
    pub(super) tool_calls: UnreadCalls,
    pub(super) camel_calls: UnreadCalls,
    pub(super) steps: UnreadCalls,
    others: BTreeMap<Text<'a>, &'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    pub(super) messages: Option<BoundedList<ChatMessage<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a completion with `choices`")]
pub(super) struct Completion<'a> {
    pub(super) id: Option<Name>,
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) message: Option<ChatMessage<'a>>,
    pub(super) finish_reason: Option<Text<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Logged<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = Logged<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut out = Logged::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    match &*key {
                        "id" => out.id = map.next_value()?,
                        "model" => out.model = map.next_value()?,
                        "messages" => out.messages = map.next_value()?,
                        "request" => out.request = map.next_value()?,
                        "choices" => out.choices = map.next_value()?,
                        "usage" => out.usage = map.next_value()?,
                        "response" => out.response = map.next_value()?,
                        "tool_calls" => out.tool_calls = map.next_value()?,
                        "toolCalls" => out.camel_calls = map.next_value()?,
                        "steps" => out.steps = map.next_value()?,
                        _ => drop(out.others.insert(key, map.next_value()?)),
                    }
                }
                Ok(out)
            }
        }
        from.deserialize_map(Build)
    }
}

impl Logged<'_> {
    /// Refuses calls under a key that is not read.
    pub(super) fn check_other_keys(&self) -> Result<(), ImportError> {
        let is_known = |key: &str| {
            CONVERSATIONS.contains(&key) || REPLIES.contains(&key) || NEVER_MADE.split(' ').any(|known| known == key)
        };
        for (key, value) in self.others.iter().filter(|(key, _)| !is_known(key)) {
            unread_calls::refuse(&"record", &[(key, UnreadCalls::has_nested_calls(key, value.get()))])?;
        }
        Ok(())
    }

    /// Whether it has keys that may hold its conversation a second time.
    pub(super) fn may_repeat(&self) -> bool {
        let is_sent_too = || self.request.as_ref().is_some_and(|request| request.messages.is_some());
        CONVERSATIONS.iter().chain(&REPLIES).any(|key| self.others.contains_key(*key))
            || (self.messages.is_some() && is_sent_too())
    }
}
