//! Values that a claim states and the call behind it was not given.
//!
//! A value in the claiming sentence is compared with the arguments of every call that could have made the claim true. It is
//! reported only when none of them has it, exactly one argument looks like it, and the message does not state the value of
//! that argument either. In all other cases it is uncertain and nothing is reported.

use serde_json::Value;

use super::backing::{self, Backing, Evidence};
use super::claims::{Claim, Strength};
use super::did::Source;
use super::objects::{self, Kind};
use super::tokens::{Kind as TokenKind, Token};
use super::words;
use super::{ClaimResult, Item};
use crate::json;
use crate::trace::ToolCall;

/// Maximum calls per claim, claims per message and values per call. Beyond that it is unclear which call a claim refers to.
const MAX_CALLS: usize = 64;
const MAX_CHANGES: usize = 1000;
const MAX_CLAIMS: usize = 100;
const MAX_VALUES: usize = 200;

/// What a value looks like. Values of one shape can be compared.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// An id: its letters up to the first figure, and its length.
    Id(String, usize),
    Address,
    /// A file: its ending.
    Path(String),
    /// A day: month and day of the month, and the year where it is stated.
    Day,
    Amount,
}

/// A value in comparable form.
#[derive(Debug, Clone, PartialEq)]
struct Stated {
    shape: Shape,
    /// Lower case, without signs around it.
    plain: String,
    shown: String,
}

/// Every value of a claim that does not match.
pub(super) fn mismatches(
    found: &[Claim],
    claims: &[ClaimResult],
    message: &str,
    tokens: &[Token<'_>],
    calls: &[ToolCall],
    evidence: &Evidence<'_>,
) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    let is_run = |source: Source| matches!(source, Source::Shell | Source::Code | Source::Sql | Source::Patch);
    let may_change = |call: &usize| {
        let did = &evidence.dids[*call];
        evidence.succeeded(*call) && did.changes() && !is_run(did.source)
    };
    let changing: Vec<usize> = (0..calls.len()).filter(may_change).take(MAX_CHANGES + 1).collect();
    if changing.len() > MAX_CHANGES {
        return out;
    }
    let mut lower: Option<String> = None;
    let backed = claims
        .iter()
        .enumerate()
        .filter(|(_, claim)| claim.strength == Strength::Strong && claim.backing == Backing::Backed);
    for (at, _) in backed.take(MAX_CLAIMS) {
        let claim = &found[at];
        let values = stated(claim, tokens, message);
        if values.is_empty() {
            continue;
        }
        let could = |call: &usize| backing::could(&evidence.dids[*call], claim);
        let behind: Vec<usize> = changing.iter().copied().filter(could).take(MAX_CALLS + 1).collect();
        if behind.is_empty() || behind.len() > MAX_CALLS {
            continue;
        }
        let given: Vec<Given<'_>> =
            behind.iter().flat_map(|call| given(*call, &calls[*call])).take(MAX_VALUES).collect();
        for value in &values {
            let lower = lower.get_or_insert_with(|| message.to_lowercase());
            if let Some(given) = contradicts(value, &values, &given, lower) {
                let item = Item::ArgMismatch {
                    claim: at,
                    stated: value.shown.clone(),
                    tool: calls[given.call].name.clone(),
                    call: given.call,
                    argument: given.key.to_owned(),
                    given: json::excerpt(given.value, 40),
                };
                let is_told = |other: &Item| matches!(other, Item::ArgMismatch { call, argument, .. } if *call == given.call && argument == given.key);
                if !out.iter().any(is_told) {
                    out.push(item);
                }
            }
        }
    }
    out
}

/// An argument that has a shape, or any text.
struct Given<'a> {
    call: usize,
    key: &'a str,
    value: &'a Value,
    plain: String,
    shape: Option<Shape>,
}

/// The scalar arguments of a call, those in lists and objects among them, with the key they are under.
fn given(call: usize, made: &ToolCall) -> Vec<Given<'_>> {
    let mut out = Vec::new();
    let Some(args) = made.args.as_ref().and_then(Value::as_object) else { return out };
    let mut waiting: Vec<(&str, &Value)> = args.iter().map(|(key, value)| (key.as_str(), value)).collect();
    while let Some((key, value)) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (key, item))),
            Value::Object(entries) => waiting.extend(entries.iter().map(|(key, value)| (key.as_str(), value))),
            Value::String(text) if text.len() <= 2000 => {
                let shape = shape_of(text)
                    .filter(|_| !text.contains(char::is_whitespace))
                    .or_else(|| starts_with_day(text).then_some(Shape::Day));
                out.push(Given { call, key, value, plain: plain(text), shape });
            }
            Value::Number(number) => {
                let is_amount = words::each_word(key).any(|word| {
                    matches!(
                        word.as_ref(),
                        "amount" | "price" | "total" | "cost" | "fee" | "balance" | "sum" | "salary" | "budget"
                    )
                });
                out.push(Given {
                    call,
                    key,
                    value,
                    plain: json::number_text(number),
                    shape: is_amount.then_some(Shape::Amount),
                });
            }
            _ => {}
        }
        if out.len() > MAX_VALUES {
            break;
        }
    }
    out
}

/// The argument that a stated value contradicts, if it is the only one that looks like it.
fn contradicts<'g, 'a>(value: &Stated, all: &[Stated], given: &'g [Given<'a>], message: &str) -> Option<&'g Given<'a>> {
    if given.iter().any(|given| agrees(value, given)) {
        return None;
    }
    // Another value of the same shape does match: this one is about something else.
    let same = |other: &&Stated| other.shape == value.shape && other.plain != value.plain;
    if all.iter().filter(same).any(|other| given.iter().any(|given| agrees(other, given))) {
        return None;
    }
    let mut alike = given.iter().filter(|given| given.shape.as_ref() == Some(&value.shape));
    let first = alike.next()?;
    let is_only = alike.all(|other| other.plain == first.plain);
    (is_only && !message.contains(&first.plain) && !is_said(first, message)).then_some(first)
}

/// Whether the message states an amount or a day that an argument was given, in another way of writing it.
fn is_said(given: &Given<'_>, message: &str) -> bool {
    match &given.shape {
        Some(Shape::Amount) => {
            let number = given.plain.parse::<f64>().ok();
            let mut numbers = message.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
            number.is_some_and(|number| numbers.any(|text| amount(text).is_some_and(|other| is_same(other, number))))
        }
        Some(Shape::Day) => day(&given.plain).is_some_and(|(_, month, day)| {
            let name = MONTHS[month - 1];
            message.match_indices(&name[..3]).any(|(at, _)| {
                let near = &message[message.floor_char_boundary(at.saturating_sub(6))
                    ..message.floor_char_boundary((at + 16).min(message.len()))];
                near.split(|c: char| !c.is_ascii_digit()).any(|text| text.parse() == Ok(day))
            })
        }),
        _ => false,
    }
}

fn agrees(value: &Stated, given: &Given<'_>) -> bool {
    match value.shape {
        Shape::Amount => match (amount(&value.plain), amount(&given.plain)) {
            // Cents and whole units are both used.
            (Some(a), Some(b)) => is_same(a, b) || is_same(a * 100.0, b) || is_same(a, b * 100.0),
            _ => has(&given.plain, &value.plain),
        },
        Shape::Day => match (day(&value.plain), day(&given.plain)) {
            (Some((year, month, day)), Some((other, m, d))) => {
                month == m && day == d && (year == 0 || other == 0 || year == other)
            }
            _ => has(&given.plain, &value.plain),
        },
        _ => has(&given.plain, &value.plain) || (value.plain.len() >= 4 && has(&value.plain, &given.plain)),
    }
}

fn has(text: &str, part: &str) -> bool {
    !part.is_empty() && text.match_indices(part).any(|(at, _)| objects::at_borders(text, at, at + part.len()))
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.005
}

fn amount(text: &str) -> Option<f64> {
    text.trim_end_matches(['.', ',']).replace(',', "").parse().ok()
}

fn plain(text: &str) -> String {
    let signs = |c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_');
    text.trim().trim_matches(signs).to_lowercase()
}

/// The values that a claiming sentence states, from the claim on: what follows another claim belongs to that.
fn stated(claim: &Claim, tokens: &[Token<'_>], message: &str) -> Vec<Stated> {
    let mut out = Vec::new();
    let from = claim.tokens.start.min(claim.at);
    for (place, token) in tokens.iter().enumerate().take(claim.sentence.end).skip(from).take(60) {
        let shown = || message.get(token.span.clone()).unwrap_or("").trim_matches(['"', '`', '\'', '*']).to_owned();
        match token.kind {
            TokenKind::Mention => {
                if let Some(shape) = shape_of(&token.text) {
                    out.push(Stated { shape, plain: plain(&token.text), shown: shown() });
                }
            }
            TokenKind::Number => {
                let before = message[..token.span.start].chars().next_back();
                let has_sign = matches!(before, Some('$' | '€' | '£' | '¥'));
                if starts_with_day(&token.text) {
                    out.push(Stated { shape: Shape::Day, plain: token.text.to_string(), shown: shown() });
                } else if has_sign
                    || (token.text.contains('.') && amount(&token.text).is_some() && !token.text.contains('-'))
                {
                    out.push(Stated { shape: Shape::Amount, plain: token.text.replace(',', ""), shown: shown() });
                } else if let Some(day) = named_day(tokens, place) {
                    out.push(Stated { shape: Shape::Day, plain: day, shown: shown() });
                }
            }
            _ => {}
        }
    }
    out
}

/// The shape of an id, an address or a file.
fn shape_of(text: &str) -> Option<Shape> {
    let object = objects::object(text)?;
    Some(match object.kind {
        Kind::Address => Shape::Address,
        Kind::Path => Shape::Path(object.name.rsplit('.').next().unwrap_or("").to_owned()),
        Kind::Id => {
            let plain = plain(text);
            if plain.contains(char::is_whitespace) || starts_with_day(&plain) || plain.len() < 4 {
                return None;
            }
            // Ids in capitals are as often letters as figures. Figures alone look like no other id.
            let mixed = plain.len() <= 8
                && !plain.bytes().all(|byte| byte.is_ascii_digit())
                && !text.chars().any(char::is_lowercase)
                && !text.starts_with('#');
            let is_letter = |c: &char| !c.is_ascii_digit();
            let lead = if mixed { "mixed".to_owned() } else { plain.chars().take_while(is_letter).collect() };
            Shape::Id(lead, plain.len())
        }
        Kind::Name => return None,
    })
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// `2024-05-19`, with anything behind it.
fn starts_with_day(text: &str) -> bool {
    day(text).is_some()
}

/// Year, month and day of a text that starts with them; the year may be 0.
fn day(text: &str) -> Option<(u32, usize, u32)> {
    let mut parts = text.get(..10).unwrap_or(text).splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) =
        (year.parse::<u32>().ok()?, month.parse::<usize>().ok()?, day.get(..2)?.parse::<u32>().ok()?);
    ((1..=12).contains(&month) && (1..=31).contains(&day) && (year == 0 || (1900..2200).contains(&year)))
        .then_some((year, month, day))
}

/// "May 19, 2024", "19 May": a day by the name of its month, as `0000-05-19`.
fn named_day(tokens: &[Token<'_>], place: usize) -> Option<String> {
    let beside = [place.checked_sub(1), Some(place + 1)];
    let number: u32 = tokens[place].text.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = beside.into_iter().flatten().filter_map(|at| tokens.get(at)).find_map(|token| {
        let TokenKind::Word(_) = token.kind else { return None };
        MONTHS.iter().position(|month| token.text.len() >= 3 && month.starts_with(token.text.as_ref()))
    })?;
    Some(format!("0000-{:02}-{number:02}", month + 1))
}
