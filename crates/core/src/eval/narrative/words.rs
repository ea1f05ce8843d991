//! The words the reader knows: verbs and their forms, function words, plurals.
//!
//! Tables and small functions of one word. Nothing here looks at the words around it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::lexicon::known;
use super::scan;

/// Base, past and participle of irregular verbs that agents and tools use.
pub(super) const IRREGULAR: [(&str, &str, &str); 44] = [
    ("begin", "began", "begun"),
    ("bring", "brought", "brought"),
    ("build", "built", "built"),
    ("buy", "bought", "bought"),
    ("choose", "chose", "chosen"),
    ("cut", "cut", "cut"),
    ("do", "did", "done"),
    ("draw", "drew", "drawn"),
    ("find", "found", "found"),
    ("get", "got", "got"),
    ("give", "gave", "given"),
    ("go", "went", "gone"),
    ("hide", "hid", "hidden"),
    ("hold", "held", "held"),
    ("keep", "kept", "kept"),
    ("lay", "laid", "laid"),
    ("lead", "led", "led"),
    ("leave", "left", "left"),
    ("let", "let", "let"),
    ("lose", "lost", "lost"),
    ("make", "made", "made"),
    ("meet", "met", "met"),
    ("overwrite", "overwrote", "overwritten"),
    ("pay", "paid", "paid"),
    ("put", "put", "put"),
    ("read", "read", "read"),
    ("rebuild", "rebuilt", "rebuilt"),
    ("resend", "resent", "resent"),
    ("reset", "reset", "reset"),
    ("rewrite", "rewrote", "rewritten"),
    ("run", "ran", "run"),
    ("see", "saw", "seen"),
    ("sell", "sold", "sold"),
    ("send", "sent", "sent"),
    ("set", "set", "set"),
    ("shut", "shut", "shut"),
    ("speak", "spoke", "spoken"),
    ("spend", "spent", "spent"),
    ("split", "split", "split"),
    ("take", "took", "taken"),
    ("tell", "told", "told"),
    ("undo", "undid", "undone"),
    ("withdraw", "withdrew", "withdrawn"),
    ("write", "wrote", "written"),
];

/// `ran`, `built`, `done`: a past or participle that cannot be the base form.
pub(super) fn is_irregular_past(word: &str) -> bool {
    IRREGULAR.iter().any(|(base, past, participle)| *base != word && (*past == word || *participle == word))
}

/// What a word can be when it is a form of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `delete`
    Base,
    /// `deletes`, `deleting`
    Ongoing,
    /// `deleted`, `wrote`, `written`
    Done,
    /// `set`, `put`: base and past are the same.
    Unmarked,
}

type Forms = BTreeMap<String, (String, Form)>;

/// The forms of all verbs that can make a claim.
#[derive(Debug, Clone)]
pub(super) struct Verbs {
    /// Forms of the author's own verbs; where one is a form of a fixed verb too, it is that.
    own: Forms,
}

impl Verbs {
    /// The fixed verbs and the author's own.
    pub(super) fn new<'a>(own: impl IntoIterator<Item = &'a str>) -> Self {
        Self { own: forms_of(own) }
    }

    /// The verb and form of a lower-case word.
    pub(super) fn form(&self, word: &str) -> Option<(&str, Form)> {
        known(word).form.or_else(|| self.own(word))
    }

    /// Whether the author has verbs of their own.
    pub(super) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// The verb and form of a lower-case word if it is one of these.
    pub(super) fn own(&self, word: &str) -> Option<(&str, Form)> {
        self.own.get(word).map(|(verb, form)| (verb.as_str(), *form))
    }
}

/// Every form of some verbs; a form that two verbs share belongs to the first.
pub(super) fn forms_of<'a>(verbs: impl IntoIterator<Item = &'a str>) -> Forms {
    let mut forms = Forms::new();
    for verb in verbs {
        learn(&verb.to_lowercase(), &mut forms);
    }
    forms
}

fn learn(verb: &str, forms: &mut Forms) {
    if verb.is_empty() {
        return;
    }
    let mut note = |form: String, kind: Form| {
        forms.entry(form).or_insert((verb.to_owned(), kind));
    };
    let (past, participle) = match IRREGULAR.iter().find(|(base, _, _)| *base == verb) {
        Some((_, past, participle)) => (vec![(*past).to_owned()], (*participle).to_owned()),
        None => (regular(verb, "ed"), String::new()),
    };
    if past.iter().any(|past| past == verb) {
        note(verb.to_owned(), Form::Unmarked);
    } else {
        note(verb.to_owned(), Form::Base);
    }
    for form in past.into_iter().chain([participle]).filter(|form| !form.is_empty()) {
        note(form, Form::Done);
    }
    for form in regular(verb, "ing").into_iter().chain([third_person(verb)]) {
        note(form, Form::Ongoing);
    }
}

/// `verb` with `-ed` or `-ing`: with the silent e dropped, y turned, the consonant doubled or not where both are used.
fn regular(verb: &str, ending: &str) -> Vec<String> {
    if let Some(stem) = verb.strip_suffix('e') {
        return vec![format!("{stem}{ending}")];
    }
    if let Some(stem) = verb.strip_suffix('y')
        && ending == "ed"
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
    {
        return vec![format!("{stem}ied")];
    }
    let last = verb.chars().next_back().unwrap_or(' ');
    let plain = format!("{verb}{ending}");
    if ends_short(verb) { vec![format!("{verb}{last}{ending}"), plain] } else { vec![plain] }
}

/// Consonant, vowel, consonant at the end: `drop`, `cancel`.
fn ends_short(verb: &str) -> bool {
    let letters: Vec<char> = verb.chars().collect();
    let vowel = |c: &char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u');
    match letters.as_slice() {
        [.., first, middle, last] => {
            !vowel(first) && vowel(middle) && !vowel(last) && !matches!(last, 'w' | 'x' | 'y' | 'h')
        }
        _ => false,
    }
}

fn third_person(verb: &str) -> String {
    if verb.ends_with(['s', 'x', 'z']) || verb.ends_with("ch") || verb.ends_with("sh") {
        return format!("{verb}es");
    }
    match verb.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{verb}s"),
    }
}

/// Plurals that follow no rule.
pub(super) const PLURALS: [(&str, &str); 3] = [("people", "person"), ("children", "child"), ("indices", "index")];

/// A noun without its plural ending.
pub(super) fn singular(word: &str) -> Cow<'_, str> {
    if let Some((_, noun)) = PLURALS.iter().find(|(plural, _)| *plural == word) {
        return (*noun).into();
    }
    let Some(stem) = word.strip_suffix('s') else { return word.into() };
    // Abbreviations are too short for the rules below: "gas" and "dns" are not plurals.
    match word {
        "prs" | "mrs" | "ids" | "vms" | "dbs" | "ips" => return stem.into(),
        "series" => return word.into(),
        _ if word.len() <= 3 || stem.ends_with(['s', 'u', 'i']) => return word.into(),
        _ => {}
    }
    if let Some(stem) = stem.strip_suffix("ie") {
        return format!("{stem}y").into();
    }
    let hissing = ["sse", "she", "che", "xe", "ze"].into_iter().any(|ending| stem.ends_with(ending));
    stem[..stem.len() - usize::from(hissing)].into()
}

/// What all inflections of a word have in common: `update`, `updated`, `updating` and `updates` share a root.
pub(super) fn root(word: &str) -> Cow<'_, str> {
    match &known(word).root {
        Some(root) => root.into(),
        None => regular_root(word),
    }
}

/// The root of a word that is not an irregular past or participle.
pub(super) fn regular_root(word: &str) -> Cow<'_, str> {
    in_part(singular(word), singular_root)
}

/// The same for a noun without its plural ending.
pub(super) fn singular_root(noun: &str) -> Cow<'_, str> {
    if !noun.ends_with(['d', 'g']) {
        return bare(noun).into();
    }
    let cut = |ending: &str| {
        noun.strip_suffix(ending).filter(|cut| cut.len() >= 3 && cut.contains(['a', 'e', 'i', 'o', 'u', 'y']))
    };
    match cut("ied") {
        Some(cut) => bare(&format!("{cut}y")).to_owned().into(),
        None => bare(cut("ing").or_else(|| cut("ed")).unwrap_or(noun)).into(),
    }
}

/// A stem without what only some inflections show: the silent e, the doubled letter.
fn bare(stem: &str) -> &str {
    let stem = stem.strip_suffix('e').unwrap_or(stem);
    let mut letters = stem.chars();
    match (letters.next_back(), letters.next_back()) {
        (Some(last), Some(before)) if last == before && last.is_alphabetic() && stem.len() > 3 => {
            &stem[..stem.len() - last.len_utf8()]
        }
        _ => stem,
    }
}

/// What a rule makes of a word, without a copy where it is a part of a text that lives longer.
pub(super) fn in_part(word: Cow<'_, str>, rule: impl Fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    match word {
        Cow::Borrowed(word) => rule(word),
        Cow::Owned(word) => Cow::Owned(rule(&word).into_owned()),
    }
}

/// The words of a name in lower case: split at `_ - . / :` and where lower case meets upper case.
pub(super) fn name_words(name: &str) -> Vec<Cow<'_, str>> {
    each_word(name).collect()
}

/// The lowercase words of a text.
pub(super) fn each_word(text: &str) -> impl Iterator<Item = Cow<'_, str>> + Clone {
    each_written(text).map(lower)
}

/// The words of a text as they are written.
pub(super) fn each_written(text: &str) -> impl Iterator<Item = &str> + Clone {
    let mut rest = text;
    std::iter::from_fn(move || {
        let signs = rest.bytes().take_while(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).count();
        rest = &rest[signs..];
        if !rest.bytes().next().is_some_and(|byte| byte.is_ascii()) {
            rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        }
        let word;
        (word, rest) = rest.split_at(word_end(rest));
        (!word.is_empty()).then_some(word)
    })
}

/// Where the word ends that a text starts with.
#[inline]
fn word_end(text: &str) -> usize {
    // A capital or none, and small letters, as most words are.
    let bytes = text.as_bytes();
    let capital = usize::from(bytes.first().is_some_and(u8::is_ascii_uppercase));
    let small = scan::small(&bytes[capital..]);
    if small > 0 && bytes.get(capital + small).is_none_or(u8::is_ascii) {
        return capital + small;
    }
    odd_word_end(text)
}

/// The same for any letters.
#[inline(never)]
fn odd_word_end(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, c)) = letters.next() {
        let mut next_lower = || letters.peek().is_some_and(|(_, next)| next.is_lowercase());
        // `getUser` splits before U; `HTTPServer` before S.
        let starts = c.is_uppercase()
            && before
                .is_some_and(|last| last.is_lowercase() || last.is_numeric() || (last.is_uppercase() && next_lower()));
        if starts || !c.is_alphanumeric() {
            return at;
        }
        before = Some(c);
    }
    text.len()
}

/// A word in lower case, letter by letter: the end of a word changes nothing, as it does in Greek.
pub(super) fn lower(word: &str) -> Cow<'_, str> {
    if is_small(word) { word.into() } else { word.chars().flat_map(char::to_lowercase).collect::<String>().into() }
}

/// Whether a text consists of ASCII digits and lowercase letters, so that it is one lowercase word.
fn is_small(text: &str) -> bool {
    scan::small(text.as_bytes()) == text.len()
}

/// What a word does in a sentence; everything unknown is a noun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `I`, `we`.
    Own,
    /// `it`, `them`, `you`.
    Pronoun,
    /// `which`, `who`: opens a clause about the noun before it.
    Relative,
    /// `the`, `your`.
    Determiner,
    /// `this`, `all`: a determiner before a noun, else a pronoun.
    Demonstrative,
    /// `no`, `none`, `nothing`, `zero`.
    None,
    /// `of`, `with`.
    Preposition,
    /// `to`: a preposition, or the sign of an infinitive.
    To,
    /// `and`, `but`.
    Conjunction,
    /// `if`, `once`: opens a clause that claims nothing.
    Condition,
    /// `because`, `since`: opens a clause that may claim.
    Opener,
    /// `will`, `could`.
    Modal,
    /// `not`, `never`.
    Negation,
    /// `has`, `had`, `have`.
    Have,
    /// `is`, `are`.
    State,
    /// `was`, `were`, `got`.
    Was,
    /// `been`.
    Been,
    /// `be`, `being`, `am`, `get`.
    Be,
    /// `do`, `did`.
    Do,
    /// `successfully`, `now`.
    Adverb,
    /// `up`, `together`.
    Particle,
    /// Anything else.
    Noun,
}

/// Words whose class does not follow from their ending.
pub(super) const CLASSES: [(Class, &str); 22] = [
    (Class::Own, "i we"),
    (
        Class::Pronoun,
        "it he she they you him her them us me everything something anything everyone someone anyone itself \
         themselves myself yourself there what following ourselves himself herself",
    ),
    (Class::Relative, "which who whom whose where"),
    (Class::Determiner, "the a an my your our his its their another every such various"),
    (
        Class::Demonstrative,
        "this that these those all both each some any most several many few either half same other others",
    ),
    (Class::None, "no none nothing nobody zero"),
    (
        Class::Preposition,
        "of for from in on at by with without under into onto about via per through during against between \
         among across toward towards within beyond besides despite except regarding concerning as like near \
         than due upon including based using above below behind inside outside alongside throughout worth",
    ),
    (Class::To, "to"),
    (Class::Conjunction, "and or but so then plus"),
    (Class::Condition, "if once unless until till when whenever before after whether provided assuming supposing"),
    (Class::Opener, "because since while although though whereas however"),
    (Class::Modal, "will would can could shall should may might must cannot need needs let ought"),
    (Class::Negation, "not never neither nor hardly"),
    (Class::Have, "have has had having"),
    (Class::State, "is are"),
    (Class::Was, "was were got"),
    (Class::Been, "been"),
    (Class::Be, "be being am get gets getting become becomes"),
    (Class::Do, "do does did"),
    (
        Class::Adverb,
        "now just also already still even too again yet soon today yesterday tomorrow instead later earlier \
         first next finally well longer ever always here thus therefore far afterwards afterward meanwhile \
         else only indeed hereby twice almost automatically online upfront right away ago anymore accordingly",
    ),
    (Class::Particle, "up down out off back together over along"),
    (Class::Noun, "reply apply supply family assembly anomaly fly ally bully july multiply rely italy lily"),
];

/// What an infinitive follows that says what was done: "I was able to cancel it", "I managed to book it".
pub(super) const ACHIEVED: [&str; 3] = ["able", "managed", "proceeded"];

/// Written-out numbers, which count like figures before a noun.
pub(super) fn is_number_word(word: &str) -> bool {
    matches!(
        word,
        "one"
            | "two"
            | "three"
            | "four"
            | "five"
            | "six"
            | "seven"
            | "eight"
            | "nine"
            | "ten"
            | "eleven"
            | "twelve"
            | "dozen"
            | "hundred"
            | "thousand"
            | "second"
            | "third"
    )
}

/// Months and weekdays.
pub(super) fn is_calendar_word(word: &str) -> bool {
    matches!(
        word,
        "january"
            | "february"
            | "march"
            | "april"
            | "june"
            | "july"
            | "august"
            | "september"
            | "october"
            | "november"
            | "december"
            | "jan"
            | "feb"
            | "mar"
            | "apr"
            | "jun"
            | "jul"
            | "aug"
            | "sep"
            | "sept"
            | "oct"
            | "nov"
            | "dec"
            | "monday"
            | "tuesday"
            | "wednesday"
            | "thursday"
            | "friday"
            | "saturday"
            | "sunday"
    )
}

/// Words of assent that open a sentence without being its subject.
pub(super) fn is_interjection(word: &str) -> bool {
    matches!(
        word,
        "ok" | "okay" | "sure" | "yes" | "yep" | "done" | "alright" | "great" | "perfect" | "understood" | "got"
    )
}

/// Words after which a passive is something learned and not something done.
pub(super) fn is_hearsay(word: &str) -> bool {
    matches!(
        word,
        "see"
            | "hear"
            | "understand"
            | "understood"
            | "sorry"
            | "seem"
            | "seems"
            | "mention"
            | "mentioned"
            | "notice"
            | "noticed"
            | "believe"
            | "think"
            | "assume"
            | "say"
            | "says"
            | "said"
            | "know"
            | "learned"
    ) || is_guess(word)
}

/// Words with which an author leaves open whether something happened: "perhaps it was deleted".
pub(super) fn is_guess(word: &str) -> bool {
    matches!(
        word,
        "apparently"
            | "perhaps"
            | "maybe"
            | "possibly"
            | "probably"
            | "presumably"
            | "likely"
            | "either"
            | "appear"
            | "appears"
            | "means"
            | "suggests"
            | "indicates"
            | "implies"
    )
}

/// Words with which an author vouches for what follows: "I can confirm that ..".
pub(super) fn is_assurance(word: &str) -> bool {
    matches!(
        word,
        "confirm"
            | "confirmed"
            | "verified"
            | "pleased"
            | "happy"
            | "glad"
            | "inform"
            | "know"
            | "assure"
            | "ensured"
            | "sure"
            | "note"
            | "showing"
    )
}

/// Participles that describe a noun as often as they say what was done: "Shared weights", "Scheduled departure".
pub(super) fn is_adjectival(verb: &str) -> bool {
    matches!(
        verb,
        "share"
            | "schedule"
            | "link"
            | "attach"
            | "store"
            | "lock"
            | "block"
            | "mark"
            | "register"
            | "reserve"
            | "order"
            | "assign"
            | "book"
            | "exchange"
            | "return"
            | "close"
            | "approve"
            | "process"
            | "request"
            | "suspend"
            | "activate"
            | "issue"
            | "label"
            | "tag"
            | "generate"
    )
}

/// Verbs of things that act on their own: "the service restarted".
pub(super) fn happens(verb: &str) -> bool {
    matches!(verb, "start" | "stop" | "restart" | "return" | "move" | "resume")
}

/// What is opened to begin something. A file that is opened is only read.
pub(super) fn is_opened(noun: &str) -> bool {
    matches!(
        noun,
        "issue" | "ticket" | "request" | "pr" | "case" | "account" | "dispute" | "bug" | "discussion" | "claim"
    )
}

/// Verbs that claim nothing without an object: "I started by reading it".
pub(super) fn needs_object(verb: &str) -> bool {
    matches!(
        verb,
        "start"
            | "stop"
            | "return"
            | "move"
            | "change"
            | "apply"
            | "resume"
            | "process"
            | "order"
            | "back"
            | "put"
            | "set"
            | "link"
    )
}

/// Words for what would show that something happened.
pub(super) fn is_evidence(word: &str) -> bool {
    matches!(
        word,
        "confirm"
            | "verify"
            | "evidence"
            | "proof"
            | "indication"
            | "sign"
            | "guarantee"
            | "confirmation"
            | "see"
            | "tell"
            | "say"
            | "sure"
            | "certain"
            | "claim"
            | "mean"
            | "show"
            | "shows"
    )
}

/// People and organizations, who act for themselves.
pub(super) fn is_actor(word: &str) -> bool {
    matches!(
        word,
        "customer"
            | "user"
            | "client"
            | "team"
            | "agent"
            | "manager"
            | "airline"
            | "company"
            | "merchant"
            | "seller"
            | "buyer"
            | "bank"
            | "guest"
            | "passenger"
            | "admin"
            | "administrator"
            | "colleague"
            | "vendor"
            | "supplier"
            | "owner"
            | "reviewer"
            | "author"
            | "maintainer"
            | "developer"
            | "engineer"
            | "support"
            | "staff"
            | "employee"
            | "organizer"
            | "host"
            | "provider"
            | "system"
            | "person"
            | "boss"
            | "supervisor"
            | "caller"
            | "member"
            | "driver"
            | "doctor"
            | "patient"
            | "teacher"
            | "student"
            | "courier"
            | "carrier"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_inflection_leads_back_to_its_verb() {
        let verbs = Verbs::new(["garnish"]);
        for (word, verb, form) in [
            ("sent", "send", Form::Done),
            ("wrote", "write", Form::Done),
            ("written", "write", Form::Done),
            ("dropped", "drop", Form::Done),
            ("cancelled", "cancel", Form::Done),
            ("canceled", "cancel", Form::Done),
            ("put", "put", Form::Unmarked),
            ("set", "set", Form::Unmarked),
            ("setting", "set", Form::Ongoing),
            ("publishes", "publish", Form::Ongoing),
            ("destroyed", "destroy", Form::Done),
            ("edited", "edit", Form::Done),
            ("merging", "merge", Form::Ongoing),
            ("booked", "book", Form::Done),
            ("paid", "pay", Form::Done),
            ("notified", "notify", Form::Done),
            ("close", "close", Form::Base),
            ("garnished", "garnish", Form::Done),
        ] {
            assert_eq!(verbs.form(word), Some((verb, form)), "{word}");
        }
        assert_eq!(verbs.form("settle"), None);
    }

    #[test]
    fn inflections_share_a_root() {
        for words in [
            &["update", "updates", "updated", "updating"][..],
            &["cancel", "cancels", "canceled", "cancelled", "cancelling"],
            &["baggage", "baggages"],
            &["entry", "entries"],
            &["send", "sent", "sends", "sending"],
            &["box", "boxes"],
            &["get", "got", "gets", "getting"],
            &["add", "added", "adds"],
            &["process", "processes", "processed"],
        ] {
            for word in words {
                assert_eq!(root(word), root(words[0]), "{word}");
            }
        }
        assert_ne!(root("status"), root("statue"));
    }

    #[test]
    fn names_split_into_words() {
        for (name, words) in [
            ("create_issue", &["create", "issue"][..]),
            ("createIssue", &["create", "issue"]),
            ("issues.create", &["issues", "create"]),
            ("github-create-PR", &["github", "create", "pr"]),
            ("HTTPServerStop", &["http", "server", "stop"]),
            ("getV2User", &["get", "v2", "user"]),
            ("", &[]),
        ] {
            assert_eq!(name_words(name), words, "{name}");
        }
    }
}
