//! What is known of a word, found in one look: its class, the fixed verb it is a form of, its root.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::actions::VERBS;
use super::index::{Index, Key};
use super::words::{ACHIEVED, CLASSES, Class, Form, IRREGULAR, forms_of, regular_root};

/// What is known of a single word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) class: Class,
    /// The fixed verb it is a form of.
    pub(super) form: Option<(&'static str, Form)>,
    /// What its inflections share; `None` if it must be computed.
    pub(super) root: Option<String>,
    /// Whether a sentence that has it may make a claim. One that has no such word makes none.
    pub(super) may_claim: bool,
}

impl Known {
    const fn only(class: Class) -> Self {
        Self { class, form: None, root: None, may_claim: false }
    }
}

/// A word in no table, or not a word.
pub(super) static NOUN: Known = Known::only(Class::Noun);
/// A word in no table that ends like an adverb.
static ADVERB: Known = Known::only(Class::Adverb);

/// All words of the tables.
pub(super) struct Lexicon(Index<String, Known>);

/// Made once: a run may judge thousands of messages.
static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut words: BTreeMap<String, Known> = BTreeMap::new();
    for (class, list) in CLASSES {
        words.extend(list.split(' ').map(|word| (word.to_owned(), Known::only(class))));
    }
    let mut entry = |word: &str, learn: &dyn Fn(&mut Known)| {
        learn(words.entry(word.to_owned()).or_insert_with(|| Known::only(by_ending(word).class)));
    };
    let verbs: BTreeSet<&'static str> = VERBS.iter().map(|(verb, _)| *verb).collect();
    for (form, (verb, kind)) in &forms_of(VERBS.map(|(verb, _)| verb)) {
        let verb = verbs.get(verb.as_str());
        entry(form, &|known| known.form = verb.map(|verb| (*verb, *kind)));
    }
    for (base, past, participle) in IRREGULAR {
        // The first verb of the table wins.
        for word in [past, participle] {
            entry(word, &|known| {
                known.root.get_or_insert_with(|| regular_root(base).into_owned());
            });
        }
    }
    for word in ACHIEVED {
        entry(word, &|known| known.may_claim = true);
    }
    let mut index = Index::with_room(words.len());
    for (word, mut known) in words {
        // A base form is a claim only behind "did", or behind what achieved it.
        let is_done = known.form.is_some_and(|(_, form)| matches!(form, Form::Done | Form::Unmarked));
        known.may_claim |= is_done || known.class == Class::Do;
        known.root.get_or_insert_with(|| regular_root(&word).into_owned());
        index.add(word, known);
    }
    Lexicon(index)
});

impl Lexicon {
    pub(super) fn get() -> &'static Self {
        &LEXICON
    }

    /// What is known of a lower-case word with this key.
    #[inline]
    pub(super) fn known(&self, key: Key, word: &str) -> &Known {
        self.0.find(key, word).unwrap_or_else(|| by_ending(word))
    }
}

/// What is known of a lower-case word.
pub(super) fn known(word: &str) -> &'static Known {
    Lexicon::get().known(Key::of(word), word)
}

/// Every word that may make a claim.
pub(super) fn each_of_claims() -> impl Iterator<Item = &'static str> {
    LEXICON.0.iter().filter(|(_, known)| known.may_claim).map(|(word, _)| word)
}

/// Every word of the tables.
#[cfg(test)]
pub(super) fn each() -> impl Iterator<Item = &'static str> {
    LEXICON.0.iter().map(|(word, _)| word)
}

fn by_ending(word: &str) -> &'static Known {
    if word.len() > 4 && word.ends_with("ly") { &ADVERB } else { &NOUN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_by_the_tables_or_by_its_ending() {
        let show = |word| {
            let Known { class, form, root, .. } = known(word);
            (*class, *form, root.as_deref())
        };
        for (word, expected) in [
            ("the", (Class::Determiner, None, Some("th"))),
            ("done", (Class::Noun, None, Some("do"))),
            ("did", (Class::Do, None, Some("do"))),
            ("deleted", (Class::Noun, Some(("delete", Form::Done)), Some("delet"))),
            ("sent", (Class::Noun, Some(("send", Form::Done)), Some("send"))),
            ("put", (Class::Noun, Some(("put", Form::Unmarked)), Some("put"))),
            ("only", (Class::Adverb, None, Some("only"))),
            ("quickly", (Class::Adverb, None, None)),
            ("reply", (Class::Noun, Some(("reply", Form::Base)), Some("reply"))),
            ("oly", (Class::Noun, None, None)),
            ("", (Class::Noun, None, None)),
        ] {
            assert_eq!(show(word), expected, "{word}");
        }
    }

    #[test]
    fn every_word_of_the_tables_is_listed_under_one_class() {
        for (class, list) in CLASSES {
            for word in list.split(' ') {
                assert_eq!(known(word).class, class, "{word}");
            }
        }
    }
}
