//! Objects that the message itself delivers: "I wrote a short summary below" needs no call.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::claims::Claim;
use super::objects;
use super::tokens::{Kind, Token};

/// Verbs for making something of words.
const MAKING: [&str; 9] = ["write", "create", "generate", "add", "draft", "put", "update", "convert", "merge"];

/// Things of words, which a message can be.
static TEXTS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    "summary answer reply explanation overview list table example draft plan question report analysis comparison \
    script function query code command regex breakdown recommendation outline poem story version guide itinerary schedule \
    description snippet response note section article letter template checklist proposal review program formula diagram \
    solution text message email statement paragraph essay post tweet pattern expression prompt idea meal menu recipe haiku \
    joke song limerick"
        .split_whitespace()
        .collect()
});

/// How many words to either side of a verb are looked at.
const NEAR: usize = 40;

/// How many bytes behind a sentence are looked at.
const BEHIND: usize = 400;

/// Whether the message delivers the object of a claim: it consists of text, has no name or location, and text that can be
/// it follows or is referred to.
pub(super) fn is_delivered(claim: &Claim, message: &str, tokens: &[Token<'_>]) -> bool {
    if !MAKING.contains(&claim.verb.as_str()) {
        return false;
    }
    // A long sentence is looked at near the claim only.
    let near = claim.at.saturating_sub(NEAR).max(claim.sentence.start)..(claim.at + NEAR).min(claim.sentence.end);
    let sentence = &tokens[near.clone()];
    let pointed = |word: &str| matches!(word, "below" | "above" | "following" | "here");
    let points = sentence.iter().any(|token| matches!(token.kind, Kind::Word(_)) && pointed(&token.text));
    let is_text = claim.nouns.last().is_some_and(|head| TEXTS.contains(head.as_str()));
    let has_name = sentence.iter().any(|token| token.kind == Kind::Mention && objects::object(&token.text).is_some());
    // "added the following to your list": a place that is not the message.
    let has_place = tokens[claim.tokens.end.min(near.end)..near.end]
        .iter()
        .any(|token| matches!(token.text.as_ref(), "to" | "in" | "into" | "on"));
    if !is_text || has_name || (has_place && claim.verb != "write") {
        return false;
    }
    let rest = &message[tokens[claim.sentence.end].span.end.min(message.len())..];
    let is_introduced = sentence.last().is_some_and(|last| last.kind == Kind::Colon) && !rest.trim().is_empty();
    points || is_introduced || follows(rest)
}

/// Whether a list, a block of code, a quote, a table or a heading follows on one of the next lines.
fn follows(rest: &str) -> bool {
    let rest = &rest[..rest.floor_char_boundary(BEHIND)];
    let mut lines = rest.lines().map(str::trim_start).filter(|line| !line.is_empty());
    lines.by_ref().take(3).any(|line| {
        line.starts_with(['-', '*', '•', '|', '>', '#'])
            || line.starts_with("```")
            || line.starts_with(|c: char| c.is_ascii_digit())
    })
}
