//! The words the reader knows: verbs and their forms, function words, plurals.
//!
//! Tables and small functions of one word. Nothing here looks at the words around it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Verbs that say something was changed.
pub const VERBS: [&str; 22] = [
    "create", "update", "delete", "remove", "send", "write", "post", "insert", "set", "put", "patch", "publish",
    "destroy", "drop", "add", "edit", "upload", "merge", "close", "cancel", "approve", "revoke",
];

/// Verbs that may stand for each other when a claim is held against a call.
pub const FAMILIES: [&[&str]; 4] = [
    &["delete", "remove", "destroy", "drop"],
    &["create", "add", "insert", "write"],
    &["update", "edit", "patch", "write", "set", "put"],
    &["send", "post", "publish"],
];

/// Things made of words: writing one is not an action on the world.
pub const PROSE_NOUNS: [&str; 11] =
    ["summary", "answer", "reply", "explanation", "overview", "list", "table", "example", "draft", "plan", "question"];

/// Base, past and participle of irregular verbs that agents and tools use.
const IRREGULAR: [(&str, &str, &str); 44] = [
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
    /// `set`, `put`: base and past alike.
    Unmarked,
}

/// The forms of the fixed verbs, made once: a suite may have thousands of gates.
static FIXED: LazyLock<Forms> = LazyLock::new(|| forms_of(VERBS));

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
        FIXED.get(word).or_else(|| self.own.get(word)).map(|(verb, form)| (verb.as_str(), *form))
    }
}

fn forms_of<'a>(verbs: impl IntoIterator<Item = &'a str>) -> Forms {
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

/// A noun without its plural ending.
pub(super) fn singular(word: &str) -> String {
    // Irregular ones, and abbreviations, which are too short for the rules below: "gas" and "dns" are no plurals.
    for (plural, one) in [
        ("people", "person"),
        ("children", "child"),
        ("indices", "index"),
        ("series", "series"),
        ("prs", "pr"),
        ("mrs", "mr"),
        ("ids", "id"),
        ("vms", "vm"),
        ("dbs", "db"),
        ("ips", "ip"),
    ] {
        if word == plural {
            return one.to_owned();
        }
    }
    let keep = word.len() <= 3 || word.ends_with("ss") || word.ends_with("us") || word.ends_with("is");
    if keep {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

/// What all inflections of a word have in common: `update`, `updated`, `updating` and `updates` share a root.
pub(super) fn root(word: &str) -> String {
    let irregular = IRREGULAR.iter().find(|(_, past, participle)| *past == word || *participle == word);
    let word = irregular.map_or(word, |(base, _, _)| base);
    let mut stem = singular(word);
    for (ending, put) in [("ied", "y"), ("ing", ""), ("ed", "")] {
        if let Some(cut) = stem.strip_suffix(ending)
            && cut.len() >= 3
            && cut.contains(['a', 'e', 'i', 'o', 'u', 'y'])
        {
            stem = format!("{cut}{put}");
            break;
        }
    }
    if let Some(cut) = stem.strip_suffix('e') {
        stem = cut.to_owned();
    }
    let mut letters = stem.chars().rev();
    if let (Some(last), Some(before)) = (letters.next(), letters.next())
        && last == before
        && last.is_alphabetic()
        && stem.len() > 3
    {
        stem.pop();
    }
    stem
}

/// The words of a name: split at `_ - . / :` and where lower case meets upper case.
pub(super) fn name_words(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    each_word(name, |word| out.push(word.to_owned()));
    out
}

/// Hands out the lower-case words of a text one by one.
pub(super) fn each_word(text: &str, mut found: impl FnMut(&str)) {
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(c) = letters.next() {
        let next_lower = letters.peek().is_some_and(|next| next.is_lowercase());
        // `getUser` splits before U; `HTTPServer` before S.
        let starts = c.is_uppercase()
            && before
                .is_some_and(|last| last.is_lowercase() || last.is_numeric() || (last.is_uppercase() && next_lower));
        if (starts || !c.is_alphanumeric()) && !word.is_empty() {
            found(&word);
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    if !word.is_empty() {
        found(&word);
    }
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

/// The class of a lower-case word.
pub(super) fn class(word: &str) -> Class {
    match word {
        "i" | "we" => Class::Own,
        "it" | "he" | "she" | "they" | "you" | "him" | "her" | "them" | "us" | "me" | "everything" | "something"
        | "anything" | "everyone" | "someone" | "anyone" | "itself" | "themselves" | "myself" | "yourself"
        | "there" | "what" | "following" | "ourselves" | "himself" | "herself" => Class::Pronoun,
        "which" | "who" | "whom" | "whose" | "where" => Class::Relative,
        "the" | "a" | "an" | "my" | "your" | "our" | "his" | "its" | "their" | "another" | "every" | "such"
        | "various" => Class::Determiner,
        "this" | "that" | "these" | "those" | "all" | "both" | "each" | "some" | "any" | "most" | "several"
        | "many" | "few" | "either" | "half" | "same" | "other" | "others" => Class::Demonstrative,
        "no" | "none" | "nothing" | "nobody" | "zero" => Class::None,
        "of" | "for" | "from" | "in" | "on" | "at" | "by" | "with" | "without" | "under" | "into" | "onto"
        | "about" | "via" | "per" | "through" | "during" | "against" | "between" | "among" | "across" | "toward"
        | "towards" | "within" | "beyond" | "besides" | "despite" | "except" | "regarding" | "concerning" | "as"
        | "like" | "near" | "than" | "due" | "upon" | "including" | "based" | "using" | "above" | "below"
        | "behind" | "inside" | "outside" | "alongside" | "throughout" | "worth" => Class::Preposition,
        "to" => Class::To,
        "and" | "or" | "but" | "so" | "then" | "plus" => Class::Conjunction,
        "if" | "once" | "unless" | "until" | "till" | "when" | "whenever" | "before" | "after" | "whether"
        | "provided" | "assuming" | "supposing" => Class::Condition,
        "because" | "since" | "while" | "although" | "though" | "whereas" | "however" => Class::Opener,
        "will" | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" | "cannot" | "need"
        | "needs" | "let" | "ought" => Class::Modal,
        "not" | "never" | "neither" | "nor" | "hardly" => Class::Negation,
        "have" | "has" | "had" | "having" => Class::Have,
        "is" | "are" => Class::State,
        "was" | "were" | "got" => Class::Was,
        "been" => Class::Been,
        "be" | "being" | "am" | "get" | "gets" | "getting" | "become" | "becomes" => Class::Be,
        "do" | "does" | "did" => Class::Do,
        "now" | "just" | "also" | "already" | "still" | "even" | "too" | "again" | "yet" | "soon" | "today"
        | "yesterday" | "tomorrow" | "instead" | "later" | "earlier" | "first" | "next" | "finally" | "well"
        | "longer" | "ever" | "always" | "here" | "thus" | "therefore" | "far" | "afterwards" | "afterward"
        | "meanwhile" | "else" | "only" | "indeed" | "hereby" | "twice" | "almost" | "automatically" | "online"
        | "upfront" | "right" | "away" | "ago" | "anymore" | "accordingly" => Class::Adverb,
        "up" | "down" | "out" | "off" | "back" | "together" | "over" | "along" => Class::Particle,
        "reply" | "apply" | "supply" | "family" | "assembly" | "anomaly" | "fly" | "ally" | "bully" | "july"
        | "multiply" | "rely" | "italy" | "lily" => Class::Noun,
        word if word.len() > 4 && word.ends_with("ly") => Class::Adverb,
        _ => Class::Noun,
    }
}

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

/// Words under which a passive is something learnt and not something done.
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
            | "apparently"
    )
}

/// People and organisations, whose deeds are their own.
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
        let verbs = Verbs::new(["refund", "book", "pay", "notify"]);
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
