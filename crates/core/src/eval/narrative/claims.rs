//! Which deeds a message claims as its author's own.
//!
//! Each verb form is read with the words directly around it: the group of auxiliaries and adverbs on its left says
//! whether it happened, the subject before that says who did it, the words on its right or the subject of a passive
//! say to what. Every scan is bounded, so a long sentence costs no more per word than a short one.

use std::borrow::Cow;
use std::ops::Range;

use super::tokens::{CELL, Kind, Token};
use super::words::{self, Class, Form, Verbs};

/// Most words looked at to either side of a verb.
pub(super) const REACH: usize = 48;

/// A deed that a message claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Base form of the verb.
    pub verb: String,
    /// The words read as its object, singular; empty for the verb alone.
    pub nouns: Vec<String>,
    /// Bytes of the message from the first to the last word of the claim.
    pub span: Range<usize>,
}

impl Claim {
    /// `verb_noun`, the noun being the head of the object; the verb alone without one.
    pub fn stem(&self) -> String {
        match self.nouns.last() {
            Some(head) => [&self.verb, "_", head].concat(),
            None => self.verb.clone(),
        }
    }
}

/// Every claim of a message, in order. `is_deed` says whether a noun can be acted on; prose cannot.
pub(super) fn extract(tokens: &[Token<'_>], verbs: &Verbs, is_deed: &dyn Fn(&str) -> bool) -> Vec<Claim> {
    let mut out = Vec::new();
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        if let Kind::End { question } = token.kind {
            // A single word in a cell of a table is a heading or a state: "| 12 | closed |".
            let lone_cell = token.text == CELL && start + 1 == at;
            if !question && start < at && !lone_cell {
                Sentence { tokens: &tokens[start..=at], verbs, is_deed }.claims(&mut out);
            }
            start = at + 1;
        }
    }
    out
}

/// Who did what a verb says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doer {
    /// The author, or nobody named.
    Own,
    /// Somebody else, or it did not happen.
    Other,
    /// It was done to the subject of the auxiliary at this place.
    Passive(usize),
}

/// The auxiliaries and adverbs directly left of a verb.
struct Group<'a> {
    /// Place of the first of them.
    start: usize,
    words: &'a [Token<'a>],
}

impl Group<'_> {
    fn has(&self, class: Class) -> bool {
        self.words.iter().any(|token| token.is(class))
    }

    fn says(&self, words: &[&str]) -> bool {
        self.words.iter().any(|token| words.contains(&token.text.as_ref()))
    }

    /// Denied, or not said to have happened: a modal, an infinitive.
    fn is_unreal(&self) -> bool {
        let denied = self.has(Class::Negation) || self.has(Class::None) || self.says(&["almost", "nearly"]);
        denied || self.has(Class::Modal) || self.has(Class::To)
    }

    /// "would" and adverbs, as a contraction is written out; a real "would" has a base form or "have" after it.
    fn is_contracted_had(&self) -> bool {
        self.says(&["would"]) && self.words.iter().all(|token| token.text == "would" || token.is(Class::Adverb))
    }

    fn is_passive(&self) -> bool {
        [Class::Been, Class::Was, Class::State, Class::Be].into_iter().any(|class| self.has(class))
    }
}

pub(super) struct Sentence<'a> {
    /// The sentence with its end mark.
    pub(super) tokens: &'a [Token<'a>],
    pub(super) verbs: &'a Verbs,
    is_deed: &'a dyn Fn(&str) -> bool,
}

impl Sentence<'_> {
    fn claims(&self, out: &mut Vec<Claim>) {
        let mut condition: Option<Condition> = None;
        let mut own: Option<usize> = None;
        let mut last_verb: Option<(usize, Doer)> = None;
        let mut last_helper: Option<usize> = None;
        let is_deed = |token: &Token<'_>| self.form(token).is_some_and(|(_, form)| form != Form::Ongoing);
        let Some(last_deed) = self.tokens.iter().rposition(is_deed) else { return };
        for (at, token) in self.tokens[..=last_deed].iter().enumerate() {
            self.track_condition(at, &mut condition);
            match token.class() {
                Some(Class::Own) => own = Some(at),
                Some(Class::Was | Class::Been | Class::State) => last_helper = Some(at),
                _ => {}
            }
            let Some((verb, form)) = self.form(token) else { continue };
            if form == Form::Ongoing {
                continue;
            }
            let group = self.group(at);
            let doer = self.doer(at, form, &group, own, last_verb, last_helper);
            if let Some(doer) = doer {
                last_verb = Some((at, doer));
                if condition.is_none() {
                    self.claim(at, verb, doer, out);
                }
            }
        }
    }

    /// The verb and form of a word.
    fn form(&self, token: &Token<'_>) -> Option<(&str, Form)> {
        token.class().and_then(|_| token.known.form.or_else(|| self.verbs.own(&token.text)))
    }

    /// A clause that opens with a condition claims nothing until it ends.
    fn track_condition(&self, at: usize, condition: &mut Option<Condition>) {
        let token = &self.tokens[at];
        let as_soon_as = token.text == "soon" && at > 0 && self.tokens[at - 1].text == "as";
        let in_case = token.text == "case" && at > 0 && self.tokens[at - 1].text == "in";
        if token.is(Class::Condition) || as_soon_as || in_case {
            let leads = (0..at)
                .rev()
                .take(REACH)
                .all(|before| !self.tokens[before].is_noun() || self.tokens[before].text == "case");
            *condition = Some(Condition { leads, finite: false });
            return;
        }
        let Some(open) = condition else { return };
        match token.kind {
            Kind::Comma | Kind::Colon | Kind::Stop => *condition = None,
            Kind::Word(Class::Conjunction) => {
                let follows = self.after_adverbs(at + 1);
                let verb_follows = self.tokens.get(follows).is_some_and(|next| self.verbs.form(&next.text).is_some());
                let own_follows = self.tokens.get(follows).is_some_and(|next| next.is(Class::Own));
                let turns = matches!(token.text.as_ref(), "but" | "so" | "then");
                // "after a check and closed it": the phrase held no verb of its own, so this one is the sentence's.
                if (turns && (verb_follows || own_follows)) || (!open.finite && !open.leads && verb_follows) {
                    *condition = None;
                }
            }
            Kind::Word(
                Class::Own
                | Class::Have
                | Class::State
                | Class::Was
                | Class::Been
                | Class::Be
                | Class::Do
                | Class::Modal
                | Class::Pronoun,
            ) => open.finite = true,
            _ => {}
        }
    }

    pub(super) fn after_adverbs(&self, mut at: usize) -> usize {
        while self.tokens.get(at).is_some_and(|token| token.is(Class::Adverb) || token.text == "then") {
            at += 1;
        }
        at
    }

    fn group(&self, verb: usize) -> Group<'_> {
        let belongs = |at: usize| match self.tokens[at].class() {
            Some(
                Class::Adverb
                | Class::Negation
                | Class::Modal
                | Class::To
                | Class::Have
                | Class::Was
                | Class::State
                | Class::Been
                | Class::Be
                | Class::Do,
            ) => true,
            // "is no longer set"
            Some(Class::None) => self.tokens[at + 1].text == "longer",
            _ => false,
        };
        let start = (verb.saturating_sub(12)..verb).rev().take_while(|at| belongs(*at)).last().unwrap_or(verb);
        Group { start, words: &self.tokens[start..verb] }
    }

    /// Who did it, when the words say that it was done; `None` for anything but a finished deed.
    fn doer(
        &self,
        at: usize,
        form: Form,
        group: &Group<'_>,
        own: Option<usize>,
        last_verb: Option<(usize, Doer)>,
        last_helper: Option<usize>,
    ) -> Option<Doer> {
        let before = group.start.checked_sub(1).map(|left| &self.tokens[left]);
        let own_before = before.is_some_and(|token| token.is(Class::Own));
        // "I'd deleted it": before a participle the contraction stands for "had".
        let had = form == Form::Done && group.is_contracted_had();
        if group.is_unreal() && !had {
            return Some(Doer::Other);
        }
        let have = group.has(Class::Have) || had;
        match form {
            Form::Ongoing => return None,
            Form::Base if !group.has(Class::Do) => return None,
            Form::Base => return Some(if own_before || before.is_none() { Doer::Own } else { Doer::Other }),
            Form::Unmarked => {
                // "I closed it and set a reminder": past only by the company it keeps.
                let joined = before.is_some_and(|token| token.kind == Kind::Comma || token.is(Class::Conjunction))
                    && matches!(last_verb, Some((_, Doer::Own)))
                    && self.has_object(at);
                if !group.is_passive() && !have && !own_before && !joined {
                    return None;
                }
            }
            Form::Done => {}
        }
        if group.has(Class::Do) {
            return Some(Doer::Other);
        }
        if group.is_passive() {
            return Some(self.passive(at, group));
        }
        if !have && self.is_attributive(at, group) {
            return None;
        }
        Some(match before {
            None if self.is_dated(at) => Doer::Other,
            None => Doer::Own,
            Some(token) if token.is(Class::Own) => Doer::Own,
            Some(token) if token.kind == Kind::Comma || token.is(Class::Conjunction) => {
                self.coordinated(at, own, last_verb, last_helper)
            }
            Some(token) if matches!(token.kind, Kind::Colon | Kind::Stop) => {
                // "Status: closed" names a state; "Done: closed the ticket" says what was done.
                if self.has_object(at) { Doer::Own } else { Doer::Other }
            }
            Some(_) if !have && self.is_reduced_passive(at) => Doer::Passive(at),
            Some(_) => Doer::Other,
        })
    }

    fn passive(&self, at: usize, group: &Group<'_>) -> Doer {
        let happened = if group.has(Class::Be) {
            false
        } else if group.has(Class::Been) {
            // "It's been sent" and "the file's been sent" leave the word out or show it as "is".
            let tail = self.tail(at);
            let by = tail.iter().position(|token| token.text == "by");
            let somebody = by.is_some_and(|by| Self::by_somebody(&tail[by + 1..]));
            !somebody && !group.says(&["had", "having", "already", "previously"])
        } else if group.has(Class::Was) {
            !group.says(&["already", "previously", "originally", "earlier"]) && !self.is_history(at)
        } else {
            group.says(&["now"])
        };
        if happened { Doer::Passive(group.start) } else { Doer::Other }
    }

    /// A participle that stands like an adjective: after a determiner, a preposition or a number, before a noun.
    fn is_attributive(&self, at: usize, group: &Group<'_>) -> bool {
        let noun_follows = self.tokens.get(at + 1).is_some_and(Token::is_noun);
        let Some(left) = group.start.checked_sub(1).map(|left| &self.tokens[left]) else {
            // "Newly created issues" speaks of issues, "Cancelled orders are refunded" of orders; "Successfully created
            // issue 5" of a deed.
            let newly = group.has(Class::Adverb) && !group.says(&["successfully"]);
            return noun_follows && (newly || self.is_before_auxiliary(self.phrase(at + 1, self.tokens.len()).1));
        };
        let leads = matches!(
            left.class(),
            Some(Class::Determiner | Class::Demonstrative | Class::Preposition | Class::To | Class::None)
        ) || left.kind == Kind::Number
            || words::is_number_word(&left.text);
        leads && noun_follows
    }

    fn is_before_auxiliary(&self, at: usize) -> bool {
        let class = self.tokens.get(at).and_then(Token::class);
        matches!(class, Some(Class::State | Class::Was | Class::Have | Class::Modal | Class::Do))
    }

    /// The doer of a verb that follows a comma or a conjunction.
    fn coordinated(
        &self,
        at: usize,
        own: Option<usize>,
        last_verb: Option<(usize, Doer)>,
        last_helper: Option<usize>,
    ) -> Doer {
        let helper = last_helper.filter(|helper| own.is_none_or(|own| own < *helper));
        if let Some(helper) = helper
            && !self.has_object(at)
        {
            // "was upgraded and then canceled": the auxiliary is shared.
            let group = self.group(helper + 1);
            return if group.is_unreal() { Doer::Other } else { self.passive(at, &group) };
        }
        match (last_verb, own) {
            (Some((verb, doer)), own) if own.is_none_or(|own| own < verb) => match doer {
                Doer::Passive(_) if self.has_object(at) => Doer::Other,
                // "I did not cancel it but updated it": only "or" carries the denial on.
                Doer::Other if own.is_some() && !self.or_before(at) && self.own_verb(verb, own) => Doer::Own,
                doer => doer,
            },
            (_, Some(_)) => Doer::Own,
            _ if self.opens_with_past() || self.opens_with_interjection(at) => Doer::Own,
            _ => Doer::Other,
        }
    }

    fn or_before(&self, at: usize) -> bool {
        let mut left = (0..at).rev().map(|left| &self.tokens[left]).skip_while(|token| token.is(Class::Adverb));
        left.next().is_some_and(|token| token.text == "or")
    }

    /// Whether the subject of the verb at `verb` is the author: only its own group stands between the two.
    fn own_verb(&self, verb: usize, own: Option<usize>) -> bool {
        let start = self.group(verb).start;
        start.checked_sub(1) == own
    }

    /// A sentence such as "Checked the logs and ..." or "Ran the tests and ...": nobody is named, so the author did it.
    fn opens_with_past(&self) -> bool {
        let first = self.after_adverbs(0);
        self.tokens.get(first).is_some_and(|token| {
            let regular = token.text.len() > 4 && token.text.ends_with("ed");
            token.is_noun() && (regular || words::is_irregular_past(&token.text))
        })
    }

    /// "Ok, deleted the record": a word of assent, then what was done.
    fn opens_with_interjection(&self, at: usize) -> bool {
        let lead: Vec<&Token<'_>> = self.tokens[..at].iter().filter(|token| !token.is(Class::Adverb)).take(3).collect();
        matches!(lead.as_slice(), [word, comma] if comma.kind == Kind::Comma && words::is_interjection(&word.text))
    }

    pub(super) fn has_object(&self, at: usize) -> bool {
        let next = self.after_adverbs(at + 1);
        self.tokens.get(next).is_some_and(|token| {
            matches!(token.kind, Kind::Number | Kind::Mention)
                || matches!(
                    token.class(),
                    Some(
                        Class::Noun
                            | Class::Determiner
                            | Class::Demonstrative
                            | Class::Pronoun
                            | Class::Particle
                            | Class::None
                    )
                )
        })
    }

    fn claim(&self, at: usize, verb: &str, doer: Doer, out: &mut Vec<Claim>) {
        let mut add = |nouns: Vec<Cow<'_, str>>, first: usize, last: usize| {
            if nouns.last().is_none_or(|head| (self.is_deed)(head)) {
                let span = self.tokens[first].span.start..self.tokens[last].span.end;
                let nouns = nouns.into_iter().map(Cow::into_owned).collect();
                out.push(Claim { verb: verb.to_owned(), nouns, span });
            }
        };
        match doer {
            Doer::Other => {}
            Doer::Own => {
                let mut next = self.after_verb(at + 1);
                // "I sent no invoices", "I deleted 0 records"
                if self.tokens.get(next).is_some_and(Token::says_none) {
                    return;
                }
                loop {
                    let (nouns, end) = self.object(verb, next);
                    add(nouns, at, end.max(at + 1) - 1);
                    match self.further_object(end) {
                        Some(further) if end > at => next = further,
                        _ => return,
                    }
                }
            }
            Doer::Passive(helper) => {
                if let Some((nouns, first)) = self.subject(helper) {
                    add(nouns, first, at);
                }
            }
        }
    }
}

/// A clause that claims nothing.
#[derive(Debug, Clone, Copy)]
struct Condition {
    /// It opens the sentence.
    leads: bool,
    /// It holds a subject or a finite verb of its own.
    finite: bool,
}
