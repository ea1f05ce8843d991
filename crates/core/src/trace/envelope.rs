//! Writing a trace: the stable, public JSON envelope.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use super::{AnswerSource, Conversation, Described, Kind, Member, Program, ToolCall, ToolResult, Trace};

impl Trace {
    /// The envelope as JSON. What is unknown is left out, so [`Trace::from_envelope`] gives the same trace back; a final
    /// response that was not recorded is read off the last assistant turn, if there is one.
    ///
    /// ```
    /// use mcptest_core::trace::{ConversationTrace, ToolCall};
    /// use serde_json::json;
    ///
    /// let recorded = ConversationTrace {
    ///     tool_calls: Some(vec![ToolCall {
    ///         name: "read_meter".into(),
    ///         server: Some("grid".into()),
    ///         args: Some(json!({ "id": 7 })),
    ///         ..ToolCall::default()
    ///     }]),
    ///     ..ConversationTrace::default()
    /// };
    /// let envelope = recorded.to_envelope();
    /// assert_eq!(envelope["tool_names"], json!(["read_meter"]));
    /// assert_eq!(ConversationTrace::from_envelope(&envelope)?, recorded);
    /// # Ok::<(), mcptest_core::JsonError>(())
    /// ```
    pub fn to_envelope(&self) -> Value {
        // Fails only for keys that are not strings, and a trace has none.
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        if let Some(source) = &self.answer_source {
            map.serialize_entry("answer_source", source)?;
        }
        if !self.conversation.is_absent() {
            map.serialize_entry("conversation", &self.conversation)?;
        }
        if let Some(text) = &self.final_response {
            map.serialize_entry("final_response", text)?;
        }
        if let Some(program) = self.program.as_ref().filter(|program| !program.is_absent()) {
            map.serialize_entry("program", program)?;
        }
        if let Some(calls) = &self.tool_calls {
            map.serialize_entry("tool_calls", calls)?;
            map.serialize_entry("tool_names", &calls.iter().map(|call| &call.name).collect::<Vec<_>>())?;
        }
        if let Some(results) = &self.tool_results {
            map.serialize_entry("tool_results", results)?;
        }
        map.end()
    }
}

/// The keys of an envelope. Only this object is not declared with its type: `tool_names` is written and not kept.
impl Described for Trace {
    const KIND: Kind = Kind::Object {
        about: "What a run observably did. What is absent is unknown.",
        members: &[
            Member::new(
                "answer_source",
                &[AnswerSource::KIND],
                "Where the final response of a recorded program comes from: its own output, or the last message of its model.",
                &["the run was not recorded from a program"],
            ),
            Member::new(
                "conversation",
                &[Conversation::KIND],
                "The exchange around the calls.",
                &["nothing of it was recorded"],
            ),
            Member::new(
                "final_response",
                &[Kind::Text],
                "Text of the last message of the assistant. Empty if it has none.",
                &["the closing message was not recorded: `narrative` and `recovery` are `unassessable`"],
            ),
            Member::new(
                "program",
                &[Program::KIND],
                "How the recorded program ended.",
                &["the run was not recorded from a program"],
            ),
            Member::new(
                "tool_calls",
                &[<Vec<ToolCall>>::KIND],
                "Every tool call, in the order in which they were sent.",
                &[
                    "calls were not recorded: gates that read them are `unassessable`; an empty list says that nothing was called",
                ],
            ),
            Member::new(
                "tool_names",
                &[Kind::List(&Kind::Text)],
                "The names of `tool_calls`, in the same order.",
                &["the calls were not recorded"],
            ),
            Member::new(
                "tool_results",
                &[<Vec<Option<ToolResult>>>::KIND],
                "The answers: item i answers call i.",
                &["no answers were recorded: gates that read them are `unassessable`"],
            ),
        ],
    };
}
