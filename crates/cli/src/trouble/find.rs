//! From a message as somebody pasted it to the entries that explain it.
//!
//! Messages arrive with colour codes, places, quotes that a shell took away, line breaks of a terminal in the middle of a
//! word, or cut to a few words. So first the fixed parts of messages are looked for with everything removed that a terminal
//! or a shell may change; only when no message is there whole, words are counted.

use std::collections::BTreeSet;

use super::{Trouble, all};

/// Most characters between two fixed parts of one message: a path, a value, an excerpt.
const GAP: usize = 600;

/// Most entries that are named beside the best.
const MOST: usize = 5;

/// Least share of the words of a message that an entry must have, by weight.
const ENOUGH: f64 = 0.6;

/// Least share of those words that makes an entry worth a mention.
const NEAR: f64 = 0.4;

/// Entries that have words of a message, the likeliest first.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Those that it is about, as far as words tell.
    pub(crate) about: Vec<&'static Trouble>,
    /// Those that only have some of its words.
    pub(crate) near: Vec<&'static Trouble>,
}

/// The entries whose messages are there whole, the likeliest first.
pub(crate) fn whole(message: &str) -> Vec<&'static Trouble> {
    by_marks(&without_colour(message))
}

/// The entries that a message may be about, the likeliest first; none when it says nothing that is known.
#[cfg(test)]
pub(super) fn find(message: &str) -> Vec<&'static Trouble> {
    let whole = whole(message);
    if whole.is_empty() { by_words(message).about } else { whole }
}

/// A text without the sequences that colour it.
pub(crate) fn without_colour(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.peek() == Some(&'[') {
            chars.next();
            // A sequence ends with its first letter.
            for end in chars.by_ref() {
                if end.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A text without what terminals and shells change: white space, quotes, case.
fn bare(text: &str) -> String {
    let kept = |c: &char| !c.is_whitespace() && !matches!(c, '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '\\');
    text.chars().filter(kept).flat_map(char::to_lowercase).collect()
}

/// A message that was found whole.
struct Hit {
    trouble: &'static Trouble,
    /// Bytes of its fixed parts.
    weight: usize,
    start: usize,
    end: usize,
}

fn by_marks(message: &str) -> Vec<&'static Trouble> {
    let text = bare(message);
    let mut hits: Vec<Hit> = all().filter_map(|trouble| hit(trouble, &text)).collect();
    // The sort is stable: of two that say as much the first of the table goes first.
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.weight));
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits {
        // A general message lies inside of a special one, and says less about the same words.
        if kept.iter().all(|better| hit.end <= better.start || better.end <= hit.start) {
            kept.push(hit);
        }
    }
    kept.into_iter().map(|hit| hit.trouble).take(MOST).collect()
}

/// The heaviest message of an entry in a bare text.
fn hit(trouble: &'static Trouble, text: &str) -> Option<Hit> {
    let hits = trouble.marks.iter().filter_map(|mark| {
        let parts: Vec<String> = mark.split('…').map(bare).filter(|part| !part.is_empty()).collect();
        let (start, end) = span(&parts, text)?;
        Some(Hit { trouble, weight: parts.iter().map(String::len).sum(), start, end })
    });
    hits.max_by_key(|hit| hit.weight)
}

/// Where the parts stand in a text, one after the other and not too far apart.
fn span(parts: &[String], text: &str) -> Option<(usize, usize)> {
    let (first, rest) = parts.split_first()?;
    text.match_indices(first.as_str()).find_map(|(start, _)| {
        let mut end = start + first.len();
        for part in rest {
            let window = &text[end..text.floor_char_boundary((end + GAP).min(text.len()))];
            end += window.find(part.as_str())? + part.len();
        }
        Some((start, end))
    })
}

/// The entries that have words of a message.
pub(crate) fn by_words(message: &str) -> Found {
    let message = &without_colour(message);
    let asked = words(message);
    let known: Vec<(&'static Trouble, BTreeSet<String>)> = all().map(|trouble| (trouble, text_of(trouble))).collect();
    // A word that few entries have says more than one that all have.
    let weight = |word: &str| {
        let having = known.iter().filter(|(_, words)| has(words, word)).count();
        1.0 / (1.0 + having as f64).sqrt()
    };
    let asked: Vec<(&str, f64)> = asked.iter().map(|word| (word.as_str(), weight(word))).collect();
    let total: f64 = asked.iter().map(|(_, weight)| weight).sum();
    if total == 0.0 {
        return Found::default();
    }
    let phrase = bare(message);
    let is_one_word = message.split_whitespace().nth(1).is_none();
    let (mut about, mut near) = (Vec::new(), Vec::new());
    for &(trouble, ref words) in &known {
        let share = |words: &BTreeSet<String>| {
            asked.iter().filter(|(word, _)| has(words, word)).map(|(_, weight)| weight).sum::<f64>() / total
        };
        // What stands in an example alone is what differs from case to case, unless it is a part of the sentence.
        let example = Some(trouble.example).filter(|_| !is_one_word);
        let verbatim = phrase.len() >= 6 && fixed(trouble).chain(example).any(|text| bare(text).contains(&phrase));
        // Of two that have the same words the one that calls itself so is meant.
        let named = asked.iter().filter(|(word, _)| has(&self::words(trouble.title), word)).count();
        let score = share(words) + if verbatim { 1.0 } else { 0.0 } + 0.1 * named as f64 / asked.len() as f64;
        let own: BTreeSet<String> = fixed(trouble).flat_map(self::words).collect();
        if share(&own) >= ENOUGH || verbatim {
            about.push((score, trouble));
        } else if share(words) >= NEAR {
            near.push((score, trouble));
        }
    }
    Found { about: best(about), near: best(near) }
}

/// The entries with the highest scores.
fn best(mut scored: Vec<(f64, &'static Trouble)>) -> Vec<&'static Trouble> {
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    scored.into_iter().filter(|(score, _)| *score >= 0.7 * best).map(|(_, trouble)| trouble).take(MOST).collect()
}

/// What an entry says in every case.
fn fixed(trouble: &Trouble) -> impl Iterator<Item = &'static str> {
    [trouble.name, trouble.title].into_iter().chain(trouble.marks.iter().copied())
}

/// Everything of an entry that a message about it may repeat.
fn text_of(trouble: &Trouble) -> BTreeSet<String> {
    fixed(trouble).chain([trouble.example]).flat_map(words).collect()
}

/// Words that every message has.
const COMMON: [&str; 12] = ["and", "are", "but", "error", "for", "has", "hint", "its", "not", "that", "the", "with"];

/// Least letters of a word that says something.
const LEAST: usize = 3;

/// The words of a text that say something.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_lowercase);
    parts.filter(|word| word.chars().count() >= LEAST && !COMMON.contains(&word.as_str())).collect()
}

/// Whether a word is there, in the same or in a longer or shorter form: `record`, `recorded`.
fn has(words: &BTreeSet<String>, word: &str) -> bool {
    let alike = |known: &String| {
        let (short, long) = if known.len() < word.len() { (known.as_str(), word) } else { (word, known.as_str()) };
        short.len() >= 4 && long.len() - short.len() <= 3 && long.starts_with(short)
    };
    words.contains(word) || words.iter().any(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(message: &str) -> &'static str {
        find(message).first().map_or("", |trouble| trouble.name)
    }

    #[test]
    fn a_message_is_known_with_colour_place_and_line_breaks() {
        let plain = "cassettes/ok/finds-it-48ae7370/demo/1.json: stale: `prompt` was \"Find the note.\" and is \"Find a note.\"";
        assert_eq!(first(plain), "stale-cassette");
        assert_eq!(
            first(&format!("\u{1b}[31m! ERROR\u{1b}[0m  t  replayed\n    {plain}\n    hint: record it")),
            "stale-cassette"
        );
        // A terminal breaks lines in the middle of words, and a shell takes backticks and quotes away.
        let broken: Vec<String> =
            plain.chars().collect::<Vec<_>>().chunks(9).map(|part| part.iter().collect()).collect();
        assert_eq!(first(&broken.join("\n   ")), "stale-cassette");
        assert_eq!(first(&plain.replace(['`', '"'], "")), "stale-cassette");
        assert_eq!(first(&plain.to_uppercase()), "stale-cassette");
    }

    #[test]
    fn a_few_words_are_enough_and_unknown_ones_find_nothing() {
        assert_eq!(first("cassette is stale"), "stale-cassette");
        assert_eq!(first("stale"), "stale-cassette");
        assert_eq!(first("no recording"), "no-recording");
        assert_eq!(first("rests on prose"), "rests-on-prose");
        assert_eq!(first("needs a key"), "no-key");
        assert_eq!(first("banana split with cream"), "");
        assert_eq!(first("the of and"), "");
        assert_eq!(first("x"), "");
        assert_eq!(first(""), "");
    }

    #[test]
    fn the_special_message_wins_over_the_general_one_it_contains() {
        let names = |message: &str| find(message).iter().map(|trouble| trouble.name).collect::<Vec<_>>();
        assert_eq!(names("error: `runs` must be a whole number of at least 1, found a string (\"3\")"), ["wrong-type"]);
        assert_eq!(
            names("error: `contains-all` must be a list of at least one item, found a list of 0"),
            ["unknown-matcher"]
        );
    }

    #[test]
    fn several_messages_are_all_told() {
        let two =
            "a.yml:3:5: error: unknown key `promt` in an agent test\n\na.yml:4:5: error: the test checks nothing\n";
        let names: Vec<&str> = find(two).iter().map(|trouble| trouble.name).collect();
        assert_eq!(names, ["asserts-nothing", "unknown-key"]);
    }
}
