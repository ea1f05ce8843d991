//! Which deeds a message claims as its author's own.
//!
//! Each verb form is read with the words directly around it: the group of auxiliaries and adverbs on its left says
//! whether it happened, the subject before that says who did it, the words on its right or the subject of a passive
//! say to what. Every scan is bounded, so a long sentence costs no more per word than a short one.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

use super::tokens::{CELL, HEADING, ITEM, Kind, Token};
use super::words::{self, Class, Form, Verbs};

/// Most words looked at to either side of a verb.
pub(super) const REACH: usize = 48;

/// How firmly a message asserts that something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// The agent says that it was done: "I sent it", "it has been sent", "- Invoice sent".
    Strong,
    /// A heading, a label, a table or a background clause. It is shown and never judged.
    Weak,
}

/// An action that a message claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Base form of the verb.
    pub verb: String,
    /// The words read as its object, singular; empty for the verb alone.
    pub nouns: Vec<String>,
    /// Bytes of the message from the first to the last word of the claim.
    pub span: Range<usize>,
    /// How firmly it is asserted.
    pub strength: Strength,
    /// Whether it is in the passive voice, which may describe what someone else did.
    pub(super) passive: bool,
    /// Tokens of its sentence, without the end mark.
    pub(super) sentence: Range<usize>,
    /// Tokens of the claim itself, the verb among them.
    pub(super) tokens: Range<usize>,
    /// The token of its verb.
    pub(super) at: usize,
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

/// Every claim of a message, in order.
pub(super) fn extract(tokens: &[Token<'_>], verbs: &Verbs) -> Vec<Claim> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut opened: &str = "";
    // The items of a list under "this could mean:" are possibilities.
    let mut is_guessed_list = false;
    let has_own = verbs.has_own();
    let mut may_claim = false;
    for (at, token) in tokens.iter().enumerate() {
        may_claim |= token.known.may_claim || (has_own && token.class().is_some() && verbs.own(&token.text).is_some());
        if let Kind::End { question } = token.kind {
            // A single word in a cell of a table is a heading or a state: "| 12 | closed |".
            let lone_cell = token.text == CELL && start + 1 == at;
            let leads_to_guesses = introduces_guesses(&tokens[start..at]);
            let may_claim = std::mem::take(&mut may_claim);
            if may_claim && !question && start < at && !lone_cell {
                let is_guess = is_guessed_list && opened == ITEM;
                let is_aside = opened == HEADING || opened == CELL || token.text == CELL || is_guess;
                Sentence { tokens: &tokens[start..=at], verbs, is_aside, start }.claims(&mut out);
            }
            if start < at && (opened != ITEM || leads_to_guesses) {
                is_guessed_list = leads_to_guesses;
            }
            start = at + 1;
            // A heading, an item of a list and a row of a table end with their line.
            let is_line = opened == HEADING || opened == ITEM;
            let same_line = is_line && !token.text.is_empty() && ![CELL, HEADING, ITEM].contains(&token.text.as_ref());
            if !same_line {
                opened = &token.text;
            }
        }
    }
    out
}

/// "This could mean:", "Possible causes:": what leads to a list of guesses.
fn introduces_guesses(sentence: &[Token<'_>]) -> bool {
    if sentence.last().is_none_or(|last| last.kind != Kind::Colon) {
        return false;
    }
    let says = |words: &[&str]| sentence.iter().any(|token| words.contains(&token.text.as_ref()));
    let is_own = sentence.iter().any(|token| token.is(Class::Own));
    let is_guess = sentence.iter().any(|token| words::is_guess(&token.text));
    is_guess || says(&["possible", "potential"]) || (says(&["could", "may", "might"]) && !is_own)
}

/// Who did what a verb says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    /// The author, or unspecified.
    Own,
    /// Someone else, or it did not happen.
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

    /// Denied, or not claimed to have happened: a modal, an infinitive, a guess.
    fn is_unreal(&self) -> bool {
        let is_guess = self.words.iter().any(|token| words::is_guess(&token.text));
        let denied = self.has(Class::Negation) || self.has(Class::None) || self.says(&["almost", "nearly"]) || is_guess;
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
    /// It is a heading or a cell of a table.
    is_aside: bool,
    /// The place of its first token in the message.
    start: usize,
}

impl Sentence<'_> {
    fn claims(&self, out: &mut Vec<Claim>) {
        let mut condition: Option<Condition> = None;
        let mut own: Option<usize> = None;
        let mut last_verb: Option<(usize, Actor)> = None;
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
                    self.claim(at, verb, doer, &group, out);
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
                // "after a check and closed it": the phrase had no verb, so this is the verb of the sentence.
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
        last_verb: Option<(usize, Actor)>,
        last_helper: Option<usize>,
    ) -> Option<Actor> {
        let before = group.start.checked_sub(1).map(|left| &self.tokens[left]);
        let own_before = before.is_some_and(|token| token.is(Class::Own));
        // "I'd deleted it": before a participle the contraction means "had".
        let had = form == Form::Done && group.is_contracted_had();
        if form == Form::Base && self.is_achieved(group) {
            return Some(Actor::Own);
        }
        if group.is_unreal() && !had {
            return Some(Actor::Other);
        }
        let have = group.has(Class::Have) || had;
        match form {
            Form::Ongoing => return None,
            Form::Base if !group.has(Class::Do) => return None,
            Form::Base => return Some(if own_before || before.is_none() { Actor::Own } else { Actor::Other }),
            Form::Unmarked => {
                // "I closed it and set a reminder": past only by the company it keeps.
                let joined = before.is_some_and(|token| token.kind == Kind::Comma || token.is(Class::Conjunction))
                    && matches!(last_verb, Some((_, Actor::Own)))
                    && self.has_object(at);
                if !group.is_passive() && !have && !own_before && !joined {
                    return None;
                }
            }
            Form::Done => {}
        }
        if group.has(Class::Do) {
            return Some(Actor::Other);
        }
        if group.is_passive() {
            return Some(self.passive(at, group));
        }
        if !have && self.is_attributive(at, group) {
            return None;
        }
        Some(match before {
            None if self.is_dated(at) => Actor::Other,
            None => Actor::Own,
            Some(token) if token.is(Class::Own) => Actor::Own,
            Some(token) if token.kind == Kind::Comma || token.is(Class::Conjunction) => {
                self.coordinated(at, own, last_verb, last_helper)
            }
            Some(token) if matches!(token.kind, Kind::Colon | Kind::Stop) => {
                // "Status: closed" names a state; "Done: closed the ticket" says what was done.
                if self.has_object(at) && !self.is_dated(at) { Actor::Own } else { Actor::Other }
            }
            Some(_) if !have && self.is_reduced_passive(at) => Actor::Passive(at),
            Some(_) => Actor::Other,
        })
    }

    fn passive(&self, at: usize, group: &Group<'_>) -> Actor {
        let happened = if group.has(Class::Be) {
            false
        } else if group.has(Class::Been) {
            // "It's been sent" and "the file's been sent" leave the word out or show it as "is".
            let tail = self.tail(at);
            let by =
                tail.iter().position(|token| token.text == "by").filter(|by| !Self::has_own_participle(&tail, *by));
            let somebody = by.is_some_and(|by| Self::by_somebody(&tail[by + 1..]));
            !somebody && !group.says(&["had", "having", "already", "previously"])
        } else if group.has(Class::Was) {
            !group.says(&["already", "previously", "originally", "earlier"]) && !self.is_history(at)
        } else {
            group.says(&["now"])
        };
        if happened { Actor::Passive(group.start) } else { Actor::Other }
    }

    /// "for the inconvenience caused by the delay": the word before "by" is itself a participle.
    pub(super) fn has_own_participle(tail: &[&Token<'_>], by: usize) -> bool {
        by.checked_sub(1).is_some_and(|left| {
            let text = tail[left].text.as_ref();
            (text.len() > 4 && text.ends_with("ed")) || words::is_irregular_past(text)
        })
    }

    /// A participle used as an adjective: after a determiner, a preposition or a number, before a noun.
    fn is_attributive(&self, at: usize, group: &Group<'_>) -> bool {
        let noun_follows = self.tokens.get(at + 1).is_some_and(Token::is_noun);
        let Some(left) = group.start.checked_sub(1).map(|left| &self.tokens[left]) else {
            // "Newly created issues" is about issues, "Canceled orders are refunded" about orders; "Successfully created
            // issue 5" is about an action.
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
        last_verb: Option<(usize, Actor)>,
        last_helper: Option<usize>,
    ) -> Actor {
        let helper = last_helper.filter(|helper| own.is_none_or(|own| own < *helper));
        if let Some(helper) = helper
            && !self.has_object(at)
        {
            // "was upgraded and then canceled": the auxiliary is shared.
            let group = self.group(helper + 1);
            return if group.is_unreal() { Actor::Other } else { self.passive(at, &group) };
        }
        match (last_verb, own) {
            (Some((verb, doer)), own) if own.is_none_or(|own| own < verb) => match doer {
                Actor::Passive(_) if self.has_object(at) => Actor::Other,
                // "I did not cancel it but updated it": only "or" carries the denial on.
                Actor::Other if own.is_some() && !self.or_before(at) && self.own_verb(verb, own) => Actor::Own,
                doer => doer,
            },
            (_, Some(_)) => Actor::Own,
            _ if self.opens_with_past() || self.opens_with_interjection(at) => Actor::Own,
            _ => Actor::Other,
        }
    }

    fn or_before(&self, at: usize) -> bool {
        let mut left = (0..at).rev().map(|left| &self.tokens[left]).skip_while(|token| token.is(Class::Adverb));
        left.next().is_some_and(|token| token.text == "or")
    }

    /// Whether the subject of the verb at `verb` is the author: only its own group is between the two.
    fn own_verb(&self, verb: usize, own: Option<usize>) -> bool {
        let start = self.group(verb).start;
        start.checked_sub(1) == own
    }

    /// A sentence such as "Checked the logs and ..." or "Ran the tests and ...": no subject is named, so the author did it.
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

    /// "I was able to cancel it", "I managed to book it", "I proceeded to add them": an infinitive of what was done.
    fn is_achieved(&self, group: &Group<'_>) -> bool {
        let Some(first) = group.words.first().filter(|word| word.is(Class::To)) else { return false };
        let only = group.words.iter().all(|word| word.text == first.text || word.is(Class::Adverb));
        let Some(left) = group.start.checked_sub(1).filter(|_| only) else { return false };
        let helper = self.group(left);
        let before = helper.start.checked_sub(1).map(|before| &self.tokens[before]);
        let by_author = before
            .is_none_or(|token| token.is(Class::Own) || token.kind == Kind::Comma || token.is(Class::Conjunction));
        let denied = helper.has(Class::Negation) || helper.has(Class::Modal) || helper.has(Class::None);
        match self.tokens[left].text.as_ref() {
            "able" => by_author && !denied && (helper.has(Class::Was) || helper.has(Class::Been)),
            word => words::ACHIEVED.contains(&word) && by_author && !denied,
        }
    }

    /// How firmly a verb asserts.
    fn strength(&self, at: usize, verb: &str, doer: Actor, group: &Group<'_>) -> Strength {
        // "Modified: main.py", "Files deleted:": labels.
        let is_label = self.tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Colon);
        let subject = group.start.checked_sub(1);
        let by_author = subject.is_some_and(|left| self.tokens[left].is(Class::Own)) || self.is_achieved(group);
        let weak = match doer {
            _ if by_author => {
                let relative =
                    subject.is_some_and(|own| own > 0 && self.tokens[own - 1].is_noun() && self.is_plain_noun(own - 1));
                relative || (words::needs_object(verb) && !self.has_object(at))
            }
            _ if self.is_aside => true,
            Actor::Own => {
                is_label
                    || (subject.is_none_or(|left| self.tokens[left].ends_clause()) && self.is_title(at, verb))
                    || !(self.has_object(at) || self.leads_to_path(at))
            }
            Actor::Passive(helper) => {
                let reduced = helper == at;
                let sent_from = !group.has(Class::Been)
                    && self.tokens.get(at + 1).is_some_and(|next| matches!(&*next.text, "from" | "via"));
                let bare = reduced && (is_label || self.in_brackets(at) || words::happens(verb));
                bare || sent_from || self.tells_of_it(helper, at, group) || self.is_background(helper, at)
            }
            Actor::Other => true,
        };
        if weak { Strength::Weak } else { Strength::Strong }
    }

    /// A noun that an own subject can follow as a relative clause: "the files I created"; not "sure" or "done".
    fn is_plain_noun(&self, at: usize) -> bool {
        let text = self.tokens[at].text.as_ref();
        !words::is_interjection(text) && !text.ends_with("ed") && at > 0
    }

    /// "Created files:", "ADDED KEYS:", "Shared weights prevent overfitting": a participle before a bare noun that is a label,
    /// a title, or the subject of its sentence.
    fn is_title(&self, at: usize, verb: &str) -> bool {
        let rest = &self.tokens[at + 1..];
        let bare = rest.iter().take_while(|token| token.is_noun()).count();
        if bare == 0 {
            return false;
        }
        let is_label = rest[bare..].first().is_some_and(|token| token.kind == Kind::Colon)
            || matches!(rest, [.., colon, end] if colon.kind == Kind::Colon && matches!(end.kind, Kind::End { .. }));
        is_label || words::is_adjectival(verb)
    }

    /// "Saved to: out.json"
    fn leads_to_path(&self, at: usize) -> bool {
        let rest = &self.tokens[at + 1..];
        rest.first().is_some_and(|token| token.is(Class::To))
            && rest.iter().skip(1).take(2).any(|token| token.kind == Kind::Mention && token.text.contains(['/', '.']))
    }

    /// Whether a word is in parentheses: "(item modified)".
    fn in_brackets(&self, at: usize) -> bool {
        let open = self.tokens[..at].iter().rev().take(6).find(|token| token.kind == Kind::Stop);
        let close = self.tokens[at + 1..].iter().take(2).find(|token| token.kind == Kind::Stop);
        open.is_some_and(|token| token.text == "(") && close.is_some_and(|token| token.text == ")")
    }

    /// A clause that only gives the background: "since your settings have been reset", "the log shows that it was deleted".
    fn is_background(&self, helper: usize, at: usize) -> bool {
        // "Since the settings have been reset and .., the next step is ..": the main clause comes last.
        let opens = |token: &Token<'_>| token.is(Class::Opener) && token.text != "however";
        // "According to the log, the job was canceled", "I tried to post it, but the channel was archived".
        let cites = self.tokens.first().is_some_and(|first| first.text == "according");
        let failed = |token: &Token<'_>| matches!(token.text.as_ref(), "tried" | "attempted" | "unable" | "failed");
        if cites || self.tokens[..helper].iter().rev().take(REACH).any(failed) {
            return true;
        }
        let leads = self.tokens.first().is_some_and(opens);
        if leads && self.tokens[at..].iter().any(|token| token.kind == Kind::Comma) {
            return true;
        }
        let start = self.clause_start(helper);
        let Some(left) = start.checked_sub(1).map(|left| &self.tokens[left]) else { return false };
        if opens(left) {
            return true;
        }
        let that = left.text == "that";
        that && !self.tokens[..start].iter().rev().take(10).any(|token| words::is_assurance(&token.text))
    }

    /// "It was paid with a gift card": a pronoun, and how it happened.
    fn tells_of_it(&self, helper: usize, at: usize, group: &Group<'_>) -> bool {
        let pronoun = helper
            .checked_sub(1)
            .is_some_and(|left| matches!(&*self.tokens[left].text, "it" | "this" | "that" | "they" | "these"));
        pronoun && !group.has(Class::Been) && self.tokens.get(at + 1).is_some_and(|next| next.is(Class::Preposition))
    }

    /// "Files deleted: 0", "Rows updated: none".
    fn counts_none(&self, at: usize) -> bool {
        let after = |place: usize| self.tokens.get(at + place);
        after(1).is_some_and(|token| token.kind == Kind::Colon) && after(2).is_some_and(Token::says_none)
    }

    fn claim(&self, at: usize, verb: &str, doer: Actor, group: &Group<'_>, out: &mut Vec<Claim>) {
        if self.counts_none(at) || self.is_doubted(at) || self.is_echo(at, verb) {
            return;
        }
        let strength = self.strength(at, verb, doer, group);
        let sentence = self.start..self.start + self.tokens.len() - 1;
        let mut add = |nouns: Vec<Cow<'_, str>>, first: usize, last: usize| {
            let next = self.tokens.get(at + 1).map(|next| next.text.as_ref());
            let together = verb == "put" && next == Some("together");
            let turned_elsewhere = verb == "turn" && !matches!(next, Some("on" | "off"));
            if together
                || turned_elsewhere
                || (verb == "open" && (doer != Actor::Own || !nouns.last().is_some_and(|head| words::is_opened(head))))
            {
                return;
            }
            out.push(Claim {
                verb: verb.to_owned(),
                nouns: nouns.into_iter().map(Cow::into_owned).collect(),
                span: self.tokens[first].span.start..self.tokens[last].span.end,
                strength,
                passive: matches!(doer, Actor::Passive(_)),
                sentence: sentence.clone(),
                tokens: self.start + first..self.start + last + 1,
                at: self.start + at,
            });
        };
        match doer {
            Actor::Other => {}
            Actor::Own => {
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
            Actor::Passive(helper) => {
                if let Some((nouns, first)) = self.subject(helper) {
                    add(nouns, first, at);
                }
            }
        }
    }

    /// "I cannot confirm that it was sent", "there is no evidence that it was deleted".
    fn is_doubted(&self, at: usize) -> bool {
        let near = at.saturating_sub(REACH)..at;
        let Some(that) = near.rev().find(|place| self.tokens[*place].text == "that") else { return false };
        let lead = self.tokens[..that]
            .iter()
            .rev()
            .take(8)
            .take_while(|token| !matches!(token.kind, Kind::Stop | Kind::Comma));
        let mut lead: Vec<&Token<'_>> = lead.collect();
        lead.truncate(8);
        let denied = lead.iter().any(|token| {
            token.is(Class::Negation) || token.is(Class::None) || token.text == "unable" || token.text == "cannot"
        });
        denied && lead.iter().any(|token| words::is_evidence(&token.text))
    }

    /// "as requested", "you ordered": what someone requested, not what was done.
    fn is_echo(&self, at: usize, verb: &str) -> bool {
        verb == "request" && at > 0 && matches!(self.tokens[at - 1].text.as_ref(), "as" | "you" | "originally" | "just")
    }
}

/// A clause that claims nothing.
#[derive(Debug, Clone, Copy)]
struct Condition {
    /// It opens the sentence.
    leads: bool,
    /// It has its own subject or finite verb.
    finite: bool,
}
