//! One conversation, put together from the spans of its replies.
//!
//! Every reply comes with the messages before it, so each repeats the earlier ones. Only what follows the last known reply is
//! new. A recorder may cut or rewrite these earlier messages; then everything up to the last reply among them counts as known,
//! except messages with a call that was not known before.

use std::collections::BTreeSet;
use std::mem;

use super::super::ImportError;
use super::super::message::{Call, Message, Part};
use super::Span;
use super::documents::Seen;
use super::lists::Lists;
use super::recorded::{self, Recorded};
use crate::json;
use crate::trace::{LazyText, Role, StopReason};

#[derive(Default)]
pub(super) struct Conversation {
    /// Each message with its time.
    pub(super) messages: Vec<(u64, Message)>,
    /// Whether messages may be missing: recording them is optional.
    gap: bool,
    /// The text of the last reply, where its span has it; empty when the reply has no text.
    pub(super) closing: Option<LazyText>,
    /// Why the last reply ended, according to its message.
    pub(super) stop: Option<StopReason>,
    /// When the last reply was complete.
    pub(super) end: u64,
    /// Every known call, once by its id and once by its name and arguments.
    known: BTreeSet<String>,
}

impl Conversation {
    /// Adds a reply and the messages before it, each from the first span that has them. The outermost span comes first.
    pub(super) fn append<'s>(
        &mut self,
        spans: &[&'s Span<'_>],
        start: u64,
        end: u64,
        seen: &mut Seen<'s>,
    ) -> Result<(), ImportError> {
        let (mut before, mut after) = (None, None);
        for span in spans {
            let at = |error: ImportError| error.at(span.label());
            before = before.map_or_else(|| recorded::input(span, seen).map_err(at), |known| Ok(Some(known)))?;
            after = after.map_or_else(|| recorded::output(span).map_err(at), |known| Ok(Some(known)))?;
        }
        let at = |error: ImportError| error.at(spans.first().map(|span| span.label()).unwrap_or_default());
        match before {
            Some(recorded) => self.append_new(recorded, start, seen).map_err(at)?,
            None => self.gap = true,
        }
        (self.closing, self.stop, self.end) = (None, None, end);
        match after {
            Some(recorded) => {
                let mut replies = Vec::new();
                let all = |message| {
                    replies.push(message);
                    false
                };
                recorded.each_backwards(Role::Assistant, &mut Lists::default(), all).map_err(at)?;
                replies.reverse();
                // A list without any reply is one that was not recorded.
                self.gap |= replies.is_empty();
                for message in joined_replies(replies) {
                    self.closing = Some(message.text().unwrap_or_default());
                    self.stop = message.stop;
                    self.push(end, message);
                }
            }
            None => self.gap = true,
        }
        Ok(())
    }

    /// Adds those of the messages before a reply that are new.
    fn append_new<'s>(&mut self, recorded: Recorded<'s>, time: u64, seen: &mut Seen<'s>) -> Result<(), ImportError> {
        let anchor = self.messages.iter().rev().map(|(_, message)| message).find(|message| is_reply(message));
        // From the last message to the first, and where the latest run of replies begins.
        let (mut late, mut run, mut found): (Vec<Message>, usize, bool) = (Vec::new(), 0, false);
        recorded.each_backwards(Role::User, &mut seen.lists, |message| {
            if !(is_reply(&message) && late.last().is_some_and(is_reply)) {
                run = late.len();
            }
            late.push(message);
            let last = late.len() - 1;
            // The items of a reply may be messages of their own.
            let since = [last, run].into_iter().find(|&at| anchor.is_some_and(|anchor| is_repeat(anchor, &late[at..])));
            if let Some(since) = since {
                late.truncate(since);
                found = true;
            }
            found
        })?;
        let has_history = found || late.iter().any(is_reply);
        late.reverse();
        if anchor.is_none() {
            // There are only questions so far, and these repeat them.
            self.messages.clear();
            // What comes before the last question is history: earlier turns, whose calls are those of their own traces.
            let question = late.iter().rposition(is_question);
            if let Some(before) = question.and_then(|at| late[..at].iter().rposition(|one| one.role != Role::User)) {
                let history: Vec<Message> = late.drain(..=before).collect();
                self.known.extend(history.iter().flat_map(Message::calls).flat_map(names_of));
            }
        } else if !found && let Some(last) = late.iter().rposition(is_reply) {
            let fresh = late.split_off(last + 1);
            let earlier = mem::replace(&mut late, fresh);
            let unknown = earlier.into_iter().filter(|message| self.has_unknown_call(message)).collect::<Vec<_>>();
            late.splice(0..0, unknown);
        }
        self.gap &= !has_history;
        for message in joined_replies(late) {
            self.push(time, message);
        }
        Ok(())
    }

    fn push(&mut self, time: u64, message: Message) {
        self.known.extend(message.calls().flat_map(names_of));
        self.messages.push((time, message));
    }

    fn has_unknown_call(&self, message: &Message) -> bool {
        message.calls().any(|call| !names_of(call).any(|name| self.known.contains(&name)))
    }

    /// Whether no message is missing.
    pub(super) fn is_complete(&self) -> bool {
        !self.gap && !self.messages.is_empty()
    }
}

fn is_reply(message: &Message) -> bool {
    message.role == Role::Assistant
}

/// Whether a message of the user has text. Some APIs put answers into messages of the user.
fn is_question(message: &Message) -> bool {
    message.role == Role::User && (message.texts().next().is_some() || message.answers().next().is_none())
}

/// Replies that follow each other as one: recorders of some APIs write every item of a reply as a message of its own. A text
/// after calls is another reply.
fn joined_replies(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let continues = |last: &Message| last.calls().next().is_none() || message.texts().next().is_none();
        match out.last_mut().filter(|last| is_reply(last) && is_reply(&message) && continues(last)) {
            Some(last) => {
                last.parts.extend(message.parts);
                last.stop = message.stop;
            }
            None => out.push(message),
        }
    }
    out
}

/// Whether messages, the last one first, repeat a reply. Ids are not compared: some recorders give a call another id when they
/// repeat it.
fn is_repeat(reply: &Message, again: &[Message]) -> bool {
    let is_said = |part: &&Part| !matches!(part, Part::Other);
    let size = |message: &Message| message.parts.iter().filter(is_said).count();
    // Comparing what cannot be the same would take too long.
    let mut left = size(reply);
    let fits = again.iter().all(|message| {
        let own = size(message);
        let is_less = own <= left && is_reply(message);
        left = left.saturating_sub(own);
        is_less
    });
    if !fits || left > 0 {
        return false;
    }
    let all = || again.iter().rev();
    reply.texts().eq(all().flat_map(Message::texts))
        && reply
            .calls()
            .map(|call| (&call.name, &call.args))
            .eq(all().flat_map(Message::calls).map(|call| (&call.name, &call.args)))
        && reply.answers().map(|answer| &answer.result).eq(all().flat_map(Message::answers).map(|one| &one.result))
}

/// What a call is known by: its id, and its name with its arguments.
fn names_of(call: &Call) -> impl Iterator<Item = String> {
    let id = call.id.as_ref().map(|id| format!("id {id}"));
    let args = call.args.as_ref().map_or_else(String::new, json::canonical);
    id.into_iter().chain([format!("call {} {args}", call.name)])
}
