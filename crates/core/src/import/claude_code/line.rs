//! One line of a session or a stream.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::import::anthropic::blocks::{About, Block, USAGE};
use crate::import::content::Content;
use crate::import::wire::{self, Text, Whole};

/// A line. Keys in camel case are those of sessions, keys with underscores those of streams.
#[derive(Deserialize)]
#[serde(expecting = "a line of a session")]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) uuid: Option<Text<'a>>,
    #[serde(rename = "parentUuid")]
    pub(super) parent: Option<Text<'a>>,
    #[serde(rename = "isSidechain")]
    pub(super) is_side: Option<bool>,
    /// The harness wrote it for the model to read.
    #[serde(rename = "isMeta")]
    is_meta: Option<bool>,
    /// A summary that replaces earlier messages when the context is full.
    #[serde(rename = "isCompactSummary")]
    is_summary: Option<bool>,
    /// The same as `isMeta`, in a stream.
    #[serde(rename = "isSynthetic")]
    is_synthetic: Option<bool>,
    /// The harness wrote it in place of the model, because the request failed.
    #[serde(rename = "isApiErrorMessage")]
    is_api_error: Option<bool>,
    /// The same in a stream.
    error: Option<&'a RawValue>,
    #[serde(rename = "agentId")]
    pub(super) agent: Option<Text<'a>>,
    #[serde(rename = "teamName")]
    pub(super) team: Option<Text<'a>>,
    pub(super) parent_tool_use_id: Option<Text<'a>>,
    #[serde(rename = "parentToolUseID")]
    pub(super) parent_call: Option<Text<'a>>,
    #[serde(rename = "sessionId")]
    pub(super) session: Option<Text<'a>>,
    pub(super) session_id: Option<Text<'a>>,
    pub(super) cwd: Option<Text<'a>>,
    #[serde(rename = "gitBranch")]
    pub(super) branch: Option<Text<'a>>,
    pub(super) version: Option<Text<'a>>,
    pub(super) message: Option<LineMessage<'a>>,
    #[serde(rename = "toolUseResult", alias = "tool_use_result")]
    kept_result: Option<&'a RawValue>,
    #[serde(rename = "mcpMeta")]
    pub(super) mcp: Option<Mcp<'a>>,
    pub(super) data: Option<Data<'a>>,
    // Keys of the line that ends a stream.
    pub(super) subtype: Option<Text<'a>>,
    pub(super) is_error: Option<bool>,
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) duration_ms: Option<Whole>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) result: Option<&'a RawValue>,
}

/// A message of the Messages API.
#[derive(Deserialize)]
#[serde(expecting = "a message")]
pub(super) struct LineMessage<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    pub(super) model: Option<Text<'a>>,
    pub(super) content: Option<Content<'a, Block<'a>>>,
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) usage: Option<&'a RawValue>,
}

/// What an MCP tool returned besides its content.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Mcp<'a> {
    #[serde(borrow, rename = "structuredContent")]
    pub(super) structured_content: Option<&'a RawValue>,
}

/// A line of a sub-agent inside a line of type `progress`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Data<'a> {
    #[serde(borrow)]
    pub(super) message: Option<Box<Line<'a>>>,
    #[serde(rename = "agentId")]
    pub(super) agent: Option<Text<'a>>,
}

/// What the harness kept of a result besides what the model saw. Its keys depend on the tool.
#[derive(Deserialize, Default)]
pub(super) struct Kept<'a> {
    #[serde(rename = "durationMs")]
    duration_ms: Option<Whole>,
    #[serde(rename = "totalDurationMs")]
    total_duration_ms: Option<Whole>,
    #[serde(borrow, rename = "agentId")]
    pub(super) agent: Option<Text<'a>>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
}

impl Kept<'_> {
    pub(super) fn duration_ms(&self) -> Option<u64> {
        self.duration_ms.or(self.total_duration_ms).map(|ms| ms.0)
    }
}

impl<'a> Line<'a> {
    /// Whether the harness wrote a line of the user.
    pub(super) fn is_hidden(&self) -> bool {
        [self.is_meta, self.is_summary, self.is_synthetic].contains(&Some(true))
    }

    /// Whether the harness wrote a line of the model to report a failure.
    pub(super) fn is_failure(&self) -> bool {
        self.is_api_error == Some(true) || self.error.is_some()
    }

    /// What the harness kept of a result, where its keys are known ones.
    pub(super) fn kept(&self) -> Kept<'a> {
        let raw = self.kept_result.map(RawValue::get).filter(|text| text.starts_with('{'));
        let kept = raw.and_then(|text| wire::piece::<Kept<'a>>(text).ok());
        kept.filter(|kept| USAGE.read(kept.usage, "").is_ok()).unwrap_or_default()
    }

    /// The call that the first block of the line makes or answers.
    pub(super) fn first(&self) -> Option<About<'a>> {
        match self.message.as_ref()?.content.as_ref()? {
            Content::List(blocks) => blocks.first()?.about(),
            Content::Text(_) => None,
        }
    }

    /// The id of that call.
    pub(super) fn first_call(&self) -> Option<Text<'a>> {
        self.first().map(|(About::Call(id) | About::Answer(id))| id)
    }

    /// Removes the blocks that `is_kept` rejects, by their place.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(usize, &Block<'a>) -> bool) {
        let content = self.message.as_mut().and_then(|message| message.content.as_mut());
        if let Some(Content::List(blocks)) = content {
            let mut at = 0;
            blocks.retain(|block| {
                at += 1;
                is_kept(at - 1, block)
            });
        }
    }
}
