//! Noun phrases and clauses: the object of a verb, and whether a clause is about the past.

use std::borrow::Cow;
use std::ops::Range;

use super::claims::{REACH, Sentence};
use super::tokens::{Kind, Token};
use super::words::{self, Class, Form};

/// Verbs with two objects, the receiver first: "sent Bob a message".
const GIVING: [&str; 6] = ["send", "write", "give", "issue", "offer", "grant"];

impl Sentence<'_> {
    /// "Created on May 1, 2024", "Updated: 2024-05-01": a fact about something, not a deed.
    pub(super) fn is_dated(&self, at: usize) -> bool {
        let label = self.tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Colon);
        if self.tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Number && is_date(&next.text)) {
            return true;
        }
        !self.has_object(at) && self.is_history(if label { at + 1 } else { at })
    }

    /// "Email sent.", "1 checked bag added": a noun phrase, a participle, the end of the clause.
    pub(super) fn is_reduced_passive(&self, at: usize) -> bool {
        let next = self.after_adverbs(at + 1);
        let ends = self.tokens.get(next).is_none_or(|token| token.ends_clause() || token.is(Class::Conjunction));
        if !ends {
            return false;
        }
        let start = self.clause_start(at);
        let phrase = &self.tokens[start..at];
        let named = phrase.iter().all(|token| match token.kind {
            Kind::Number | Kind::Mention => true,
            Kind::Word(class) => matches!(
                class,
                Class::Noun | Class::Determiner | Class::Demonstrative | Class::Adverb | Class::Preposition | Class::To
            ),
            _ => false,
        });
        let with = phrase.iter().any(|token| matches!(token.text.as_ref(), "with" | "without"));
        let nouns = self.phrase(start, at).0;
        let actor = nouns.last().is_some_and(|head| words::is_actor(head));
        let bound = start
            .checked_sub(1)
            .is_some_and(|left| matches!(self.tokens[left].text.as_ref(), "that" | "which" | "who"));
        named && !with && !actor && !bound && !nouns.is_empty()
    }

    /// The first token of the clause that contains `at`.
    pub(super) fn clause_start(&self, at: usize) -> usize {
        let opens = |token: &Token<'_>| {
            token.ends_clause()
                || matches!(
                    token.class(),
                    Some(Class::Conjunction | Class::Condition | Class::Opener | Class::Relative)
                )
                || (token.text == "that" && token.class().is_some())
        };
        (0..at)
            .rev()
            .take(REACH)
            .find(|left| opens(&self.tokens[*left]))
            .map_or_else(|| at.saturating_sub(REACH), |left| left + 1)
    }

    /// A past passive about an earlier time or another person: a date, "ago", "previously", "by the airline".
    pub(super) fn is_history(&self, at: usize) -> bool {
        let tail = self.tail(at);
        let is_in = |place: usize| place > 0 && tail[place - 1].text == "in";
        tail.iter().enumerate().any(|(place, token)| match token.kind {
            // "added in 2.1"
            Kind::Number => is_date(&token.text) || (is_in(place) && token.text.contains('.')),
            Kind::Word(_) => match token.text.as_ref() {
                "first" => place > 0 && tail[place - 1].text == "at",
                "version" => is_in(place),
                "ago" | "already" | "previously" | "yesterday" | "earlier" | "originally" => true,
                "last" => tail.get(place + 1).is_some_and(|next| {
                    matches!(next.text.as_ref(), "week" | "month" | "year" | "night" | "quarter" | "time")
                        || words::is_calendar_word(&next.text)
                }),
                "may" => {
                    let beside = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
                    beside
                        .filter_map(|beside| tail.get(beside))
                        .any(|token| matches!(token.kind, Kind::Number | Kind::Mention))
                }
                "by" => !Self::has_own_participle(&tail, place) && Self::by_somebody(&tail[place + 1..]),
                word => words::is_calendar_word(word),
            },
            _ => false,
        })
    }

    /// What follows a verb in its clause.
    pub(super) fn tail(&self, at: usize) -> Vec<&Token<'_>> {
        let tail = (at + 1..self.tokens.len()).take(REACH).take_while(|place| {
            let token = &self.tokens[*place];
            let ends = matches!(token.kind, Kind::End { .. } | Kind::Stop | Kind::Colon) || token.is(Class::Condition);
            !ends && !self.opens_clause(*place)
        });
        tail.map(|place| &self.tokens[place]).collect()
    }

    /// Whether a comma or conjunction opens a clause: what follows is neither a date, nor a phrase with a preposition,
    /// nor one more participle of the same passive.
    pub(super) fn opens_clause(&self, at: usize) -> bool {
        let joins = |token: &Token<'_>| token.kind == Kind::Comma || token.is(Class::Conjunction);
        if !joins(&self.tokens[at]) {
            return false;
        }
        let mut after = self.tokens[at + 1..].iter().take(REACH);
        let next = after.find(|token| !joins(token) && !token.is(Class::Adverb));
        next.is_some_and(|next| match next.kind {
            Kind::Number | Kind::Mention | Kind::Word(Class::Preposition) => false,
            Kind::Word(Class::Noun) => {
                let participle = self.verbs.form(&next.text).is_some() || next.text.ends_with("ed");
                !participle && !words::is_calendar_word(&next.text) && !words::is_number_word(&next.text)
            }
            _ => true,
        })
    }

    pub(super) fn by_somebody(rest: &[&Token<'_>]) -> bool {
        let Some(next) = rest.iter().find(|token| !token.is(Class::Determiner)) else { return false };
        let manner = matches!(
            next.text.as_ref(),
            "email"
                | "mail"
                | "phone"
                | "post"
                | "text"
                | "sms"
                | "default"
                | "mistake"
                | "error"
                | "accident"
                | "request"
                | "me"
                | "us"
                | "hand"
                | "law"
                | "policy"
                | "itself"
                | "then"
                | "now"
        );
        matches!(next.kind, Kind::Word(_) | Kind::Mention) && !manner && !next.text.ends_with("ing")
    }

    /// Past particles, adverbs and an indirect pronoun: "sent you the file".
    pub(super) fn after_verb(&self, mut at: usize) -> usize {
        while let Some(token) = self.tokens.get(at) {
            let indirect = matches!(token.text.as_ref(), "you" | "him" | "her" | "them" | "me" | "us")
                && self.tokens.get(at + 1).is_some_and(|next| {
                    next.is(Class::Determiner) || next.kind == Kind::Number || words::is_number_word(&next.text)
                });
            match token.class() {
                Some(Class::Adverb | Class::Particle) => at += 1,
                _ if indirect => at += 1,
                _ => break,
            }
        }
        at
    }

    /// The words of the object that starts at `at`, past a receiver, and where it ends.
    pub(super) fn object(&self, verb: &str, at: usize) -> (Vec<Cow<'_, str>>, usize) {
        let (nouns, end) = self.phrase(at, self.tokens.len());
        let thing_follows = self.tokens.get(end).is_some_and(|token| token.is(Class::Determiner));
        let is_receiver = GIVING.contains(&verb) && !nouns.is_empty() && thing_follows;
        if is_receiver { self.phrase(end, self.tokens.len()) } else { (nouns, end) }
    }

    /// A conjunct of the object: it needs its own determiner or number, and must not open a clause.
    pub(super) fn further_object(&self, end: usize) -> Option<usize> {
        let mut at = end;
        let joins =
            |token: &Token<'_>| token.kind == Kind::Comma || matches!(token.text.as_ref(), "and" | "or" | "plus");
        while self.tokens.get(at).is_some_and(|token| joins(token) && token.kind != Kind::Mention) {
            at += 1;
        }
        if at == end || at > end + 2 {
            return None;
        }
        let token = self.tokens.get(at)?;
        let own = matches!(token.class(), Some(Class::Determiner))
            || token.kind == Kind::Number
            || (token.is_noun() && words::is_number_word(&token.text));
        if !own {
            return None;
        }
        let (nouns, after) = self.phrase(at, self.tokens.len());
        let last = self.tokens.get(after.checked_sub(1)?)?;
        let clause = self.tokens.get(after).is_some_and(|token| {
            matches!(
                token.class(),
                Some(
                    Class::Have
                        | Class::State
                        | Class::Was
                        | Class::Be
                        | Class::Modal
                        | Class::Do
                        | Class::Negation
                        | Class::Relative
                )
            )
        }) || (nouns.len() > 1 && self.verbs.form(&last.text).is_some_and(|(_, form)| form == Form::Done))
            || (nouns.len() > 1 && last.text.ends_with("ed"));
        (!nouns.is_empty() && !clause).then_some(at)
    }

    /// The words of the noun phrase that starts at `at`, and where it ends.
    pub(super) fn phrase(&self, at: usize, limit: usize) -> (Vec<Cow<'_, str>>, usize) {
        let mut nouns: Vec<Cow<'_, str>> = Vec::new();
        let mut end = at;
        for place in at..limit.min(at + REACH).min(self.tokens.len()) {
            let token = &self.tokens[place];
            let next_core = self.tokens.get(place + 1).is_some_and(|next| {
                matches!(next.class(), Some(Class::Noun | Class::Determiner | Class::Adverb))
                    || matches!(next.kind, Kind::Number | Kind::Mention)
            });
            match token.kind {
                Kind::Number | Kind::Mention | Kind::Word(Class::Adverb) => {}
                Kind::Word(Class::Noun) if words::is_number_word(&token.text) && nouns.is_empty() => {}
                // "the not very useful label"
                Kind::Word(Class::Negation) if nouns.is_empty() && place > at && next_core => {}
                Kind::Word(Class::Noun) => nouns.push(words::singular(&token.text)),
                Kind::Word(Class::Determiner) if nouns.is_empty() => {}
                Kind::Word(Class::Demonstrative) if nouns.is_empty() && next_core => {}
                _ => break,
            }
            end = place + 1;
        }
        (nouns, end)
    }

    /// The subject of a passive whose auxiliaries start at `helper`, and its place; `None` when it is negated, is the
    /// author, or only identifies an object.
    pub(super) fn subject(&self, helper: usize) -> Option<(Vec<Cow<'_, str>>, usize)> {
        let left = helper.checked_sub(1)?;
        let nearest = &self.tokens[left];
        let split = matches!(nearest.kind, Kind::Comma | Kind::Stop) || nearest.is(Class::Conjunction);
        let tells_which = nearest.text == "that" && left > 0 && self.tokens[left - 1].is_noun();
        if nearest.is(Class::Own) || nearest.is(Class::Relative) || nearest.text == "there" || tells_which {
            return None;
        }
        // Commas or brackets between: the subject is the sentence's first noun phrase.
        let clause = self.clause_start(helper);
        let is_rest =
            clause > 0 && self.tokens[clause - 1].kind == Kind::Stop && self.tokens[clause].is(Class::Preposition);
        let (start, limit) = if split {
            (0, left.min(REACH))
        } else if is_rest {
            (0, clause.min(REACH))
        } else {
            (clause, helper)
        };
        let split = split || is_rest;
        if self.is_hearsay(start..limit.max(start)) {
            return None;
        }
        let mut nouns: Vec<Cow<'_, str>> = Vec::new();
        let mut first = start;
        for (place, token) in self.tokens.iter().enumerate().take(limit).skip(start) {
            match token.kind {
                Kind::Word(Class::None) => return None,
                Kind::Number if nouns.is_empty() && token.says_none() => return None,
                Kind::Word(Class::Negation) if token.text == "neither" => return None,
                // "The ticket was opened and has been closed", "posts published in May were removed": the noun phrase
                // ends before its own verb or participle.
                Kind::Comma | Kind::Stop | Kind::Colon | Kind::Word(Class::Was | Class::Have | Class::State)
                    if split && !nouns.is_empty() =>
                {
                    break;
                }
                Kind::Word(Class::Noun) if !nouns.is_empty() && self.is_trailing_participle(place) => break,
                Kind::Word(Class::Noun) if !words::is_number_word(&token.text) => {
                    nouns.push(words::singular(&token.text));
                }
                // Words before a determiner belong to another phrase.
                Kind::Word(Class::Determiner | Class::Demonstrative | Class::Noun) => {
                    nouns.clear();
                    first = place;
                }
                Kind::Word(
                    Class::Own
                    | Class::Pronoun
                    | Class::Modal
                    | Class::Have
                    | Class::State
                    | Class::Be
                    | Class::Do
                    | Class::Negation,
                ) => {
                    nouns.clear();
                    first = place + 1;
                }
                // "The reservation for your flight": the head is before the preposition.
                Kind::Word(Class::Preposition | Class::To) if !nouns.is_empty() && !nearest.is(Class::Pronoun) => break,
                Kind::Word(Class::Relative) if split => break,
                _ => {}
            }
        }
        Some((nouns, first.min(left)))
    }

    /// "I see your flight was canceled", "sorry to hear that ...": something learned, not done.
    pub(super) fn is_hearsay(&self, clause: Range<usize>) -> bool {
        let lead = self.tokens[..clause.start].iter().rev().take(4).take_while(|token| !token.ends_clause());
        lead.chain(&self.tokens[clause]).any(|token| words::is_hearsay(&token.text))
    }

    /// A participle that describes the noun before it: no noun follows that it could describe instead.
    pub(super) fn is_trailing_participle(&self, at: usize) -> bool {
        let done = self.verbs.form(&self.tokens[at].text).is_some_and(|(_, form)| form == Form::Done);
        done && !self.tokens.get(at + 1).is_some_and(Token::is_noun)
    }
}

/// A figure that names a day: `2024-05-17`, `17/05/2024`, `2024`.
fn is_date(number: &str) -> bool {
    let parts: Vec<&str> = number.split(['-', '/', '.']).collect();
    let year = |part: &&str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    (parts.len() == 3 || parts.len() == 1) && parts.iter().any(year)
}
