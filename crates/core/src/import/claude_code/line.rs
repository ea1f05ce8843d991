//! One line of a session or a stream, as far as it matters to a trace.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::import::anthropic::blocks::{About, Block};
use crate::import::anthropic::reply::Usage;
use crate::import::content::Content;
use crate::import::wire::{self, Text, Whole};

/// A line. Keys in camel case are those of sessions, keys with underscores those of streams.
#[derive(Deserialize)]
#[serde(expecting = "a line of a session")]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) uuid: Option<Text<'a>>,
    #[serde(borrow, rename = "parentUuid")]
    pub(super) parent: Option<Text<'a>>,
    #[serde(rename = "isSidechain")]
    pub(super) is_side: Option<bool>,
    /// The harness wrote it for the model to read.
    #[serde(rename = "isMeta")]
    is_meta: Option<bool>,
    /// It stands for what was left behind when the context was full.
    #[serde(rename = "isCompactSummary")]
    is_summary: Option<bool>,
    /// The same as `isMeta`, in a stream.
    #[serde(rename = "isSynthetic")]
    is_synthetic: Option<bool>,
    /// The harness speaks for the model because the model could not be asked.
    #[serde(rename = "isApiErrorMessage")]
    is_api_error: Option<bool>,
    /// The same in a stream.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, rename = "agentId")]
    pub(super) agent: Option<Text<'a>>,
    #[serde(borrow, rename = "teamName")]
    pub(super) team: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) parent_tool_use_id: Option<Text<'a>>,
    #[serde(borrow, rename = "parentToolUseID")]
    pub(super) parent_call: Option<Text<'a>>,
    #[serde(borrow, rename = "sessionId")]
    pub(super) session: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) session_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) cwd: Option<Text<'a>>,
    #[serde(borrow, rename = "gitBranch")]
    pub(super) branch: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    #[serde(borrow, rename = "toolUseResult", alias = "tool_use_result")]
    result_beside: Option<&'a RawValue>,
    #[serde(borrow, rename = "mcpMeta")]
    pub(super) mcp: Option<Mcp<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Data<'a>>,
    // The rest is of the line that ends a stream.
    #[serde(borrow)]
    pub(super) subtype: Option<Text<'a>>,
    pub(super) is_error: Option<bool>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) duration_ms: Option<Whole>,
    pub(super) usage: Option<Usage>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
}

/// A message in the shape of the Messages interface.
#[derive(Deserialize)]
#[serde(expecting = "a message")]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a, Block<'a>>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) usage: Option<Usage>,
}

/// What a tool of a server gave that its content does not show.
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
    #[serde(borrow, rename = "agentId")]
    pub(super) agent: Option<Text<'a>>,
}

/// What the harness kept of a result beside what the model saw. Its shape is the tool's own.
#[derive(Deserialize, Default)]
pub(super) struct Kept<'a> {
    #[serde(rename = "durationMs")]
    duration_ms: Option<Whole>,
    #[serde(rename = "totalDurationMs")]
    total_duration_ms: Option<Whole>,
    #[serde(borrow, rename = "agentId")]
    pub(super) agent: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    pub(super) usage: Option<Usage>,
}

impl Kept<'_> {
    pub(super) fn duration_ms(&self) -> Option<u64> {
        self.duration_ms.or(self.total_duration_ms).map(|ms| ms.0)
    }
}

impl<'a> Line<'a> {
    /// Whether a line of the user is the harness's.
    pub(super) fn is_hidden(&self) -> bool {
        [self.is_meta, self.is_summary, self.is_synthetic].contains(&Some(true))
    }

    /// Whether a line of the model is the harness's, and whether it tells of a failure then.
    pub(super) fn is_failure(&self) -> bool {
        self.is_api_error == Some(true) || self.error.is_some()
    }

    /// What the harness kept of a result, where its shape is one that is known.
    pub(super) fn kept(&self) -> Kept<'a> {
        let raw = self.result_beside.map(RawValue::get).filter(|text| text.starts_with('{'));
        raw.and_then(|text| wire::typed(text).ok()).unwrap_or_default()
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

    /// Takes out the blocks that are not kept; each is asked for with its place and what it is about.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(usize, Option<About<'a>>) -> bool) {
        let content = self.message.as_mut().and_then(|message| message.content.as_mut());
        if let Some(Content::List(blocks)) = content {
            let mut at = 0;
            blocks.retain(|block| {
                at += 1;
                is_kept(at - 1, block.about())
            });
        }
    }
}
