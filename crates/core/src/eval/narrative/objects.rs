//! Objects with a name: ids, paths, addresses and quoted names, in claims and in calls.
//!
//! Where claims name different objects, each needs an action on its own. Objects without a name do not compete.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value;

use super::claims::Claim;
use super::tokens::{Kind as TokenKind, Token};
use super::words::Class;

/// Most names that are looked for in calls. Claims beyond that do not compete.
const MAX_NAMES: usize = 4096;
/// Most objects of one claim.
const MAX_OBJECTS: usize = 16;
/// Most names that are each searched for. An automaton for all of them takes longer to build than most calls to search.
const FEW: usize = 12;

/// What a name looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Id,
    Path,
    Address,
    Name,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Id, Self::Path, Self::Address, Self::Name];
}

/// A name in the form used for lookups: without case, quotes and folders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) name: String,
}

/// Signs around a quoted name.
const QUOTES: [char; 12] = ['"', '\'', '`', '“', '”', '„', '‘', '’', '«', '»', '*', '#'];

/// The object that a word names, if any.
pub(super) fn object(text: &str) -> Option<Object> {
    let is_quoted = text.starts_with(QUOTES) && !text.starts_with('#');
    let bare = text.trim_matches(QUOTES).trim().trim_end_matches(['.', ',', ':', ';']);
    if bare.len() < 2
        || bare.len() > 200
        || bare.starts_with("http:")
        || bare.starts_with("https:")
        || bare.starts_with("www.")
    {
        return None;
    }
    let lower = bare.to_lowercase();
    let has_space = bare.contains(char::is_whitespace);
    let kind = if has_space {
        Kind::Name
    } else if is_address(bare) {
        Kind::Address
    } else if is_path(bare) {
        let name = lower.trim_end_matches('/').rsplit('/').next().unwrap_or("").to_owned();
        return (name.len() >= 2).then_some(Object { kind: Kind::Path, name });
    } else if bare.bytes().any(|byte| byte.is_ascii_digit())
        && bare.len() >= 3
        && bare.chars().all(|c| c.is_alphanumeric() || "-_#.:".contains(c))
    {
        Kind::Id
    } else {
        Kind::Name
    };
    (kind != Kind::Name || is_quoted).then_some(Object { kind, name: lower })
}

fn is_address(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.') && !host.contains('@'))
}

/// Endings of file names.
const EXTENSIONS: &str = "txt md py js ts json jsonl yaml yml csv tsv html htm css rs go java c h cpp hpp cc rb sh bash sql xml pdf \
    doc docx xls xlsx ppt pptx png jpg jpeg gif svg webp zip tar gz tgz bz2 xz log conf cfg ini toml env lock tmp bak db sqlite \
    ipynb tsx jsx vue kt swift php pl lua mp3 mp4 wav mov eml ics rst tex bib scss less cs fs scala proto parquet dat bin exe";

/// A path or a file name: it has a slash, or an ending of files.
fn is_path(text: &str) -> bool {
    let has_ending = text.rsplit_once('.').is_some_and(|(stem, ending)| {
        let ending = ending.to_ascii_lowercase();
        !stem.is_empty() && EXTENSIONS.split_whitespace().any(|known| known == ending)
    });
    let has_folder = text.contains('/') && text.chars().any(char::is_alphabetic) && !text.contains("//");
    (has_folder || has_ending) && !text.contains(['(', ')', '=', '@', '<'])
}

/// The objects that a claim is about: those of its object or subject and what is joined to them, and the addresses that
/// something was sent to.
pub(super) fn of_claim(claim: &Claim, tokens: &[Token<'_>]) -> Vec<Object> {
    let mut out: Vec<Object> = Vec::new();
    let add = |token: &Token<'_>, out: &mut Vec<Object>| {
        if let Some(object) = named(token).filter(|object| !out.contains(object)) {
            out.push(object);
        }
    };
    // "an event called 'Lunch' with Sarah": what follows a preposition describes the object.
    let own = claim.tokens.start..claim.tokens.end;
    let mut place = own.start;
    let mut seen = false;
    while place < claim.sentence.end && out.len() < MAX_OBJECTS {
        let token = &tokens[place];
        match token.kind {
            TokenKind::Mention => {
                add(token, &mut out);
                seen = true;
            }
            _ if place < own.end => {}
            TokenKind::Comma | TokenKind::Word(Class::Conjunction | Class::Determiner | Class::Noun)
                if seen && joins(tokens, place, claim.sentence.end) => {}
            _ => break,
        }
        place += 1;
    }
    let is_sent = matches!(
        claim.verb.as_str(),
        "send" | "email" | "share" | "forward" | "invite" | "notify" | "mail" | "message"
    );
    if is_sent && !out.iter().any(|object| object.kind == Kind::Address) {
        let behind = &tokens[claim.at..claim.sentence.end];
        let addresses = behind.iter().take(40).filter_map(named).filter(|object| object.kind == Kind::Address);
        for address in addresses.take(MAX_OBJECTS) {
            if !out.contains(&address) {
                out.push(address);
            }
        }
    }
    out
}

/// Whether only joining words are between a position and the next name.
fn joins(tokens: &[Token<'_>], place: usize, end: usize) -> bool {
    let mut joined = false;
    for token in tokens[place.saturating_sub(2)..end].iter().take(6) {
        match token.kind {
            TokenKind::Mention if joined => return true,
            TokenKind::Comma | TokenKind::Word(Class::Conjunction) => joined = true,
            TokenKind::Mention | TokenKind::Word(Class::Determiner | Class::Noun) => {}
            _ => return false,
        }
    }
    false
}

fn named(token: &Token<'_>) -> Option<Object> {
    (token.kind == TokenKind::Mention && token.text.len() <= 400).then(|| object(&token.text)).flatten()
}

/// Finds the names of claims in the arguments of calls.
pub(super) struct Finder<'o> {
    /// The names, in the order of their numbers.
    numbers: BTreeMap<&'o Object, usize>,
    kinds: Vec<Kind>,
    search: Search<'o>,
}

/// How names are searched for.
enum Search<'o> {
    /// One after the other.
    Each(Vec<&'o str>),
    All(AhoCorasick),
}

impl<'o> Finder<'o> {
    pub(super) fn new(objects: impl Iterator<Item = &'o Object>) -> Self {
        let mut numbers = BTreeMap::new();
        let mut names: Vec<&str> = Vec::new();
        let mut kinds = Vec::new();
        for object in objects {
            if names.len() < MAX_NAMES && !numbers.contains_key(object) {
                numbers.insert(object, names.len());
                names.push(&object.name);
                kinds.push(object.kind);
            }
        }
        let build = || {
            // Matches may overlap: `a.txt` is also part of `data.txt`, and only one of the two is at word boundaries.
            // It searches one trace, so it must be cheap to build.
            let mut builder = AhoCorasick::builder();
            builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard);
            builder.kind(Some(AhoCorasickKind::ContiguousNFA)).build(&names).ok()
        };
        let automaton = if names.len() > FEW { build() } else { None };
        Self { search: automaton.map_or(Search::Each(names), Search::All), numbers, kinds }
    }

    pub(super) fn number(&self, object: &Object) -> Option<usize> {
        self.numbers.get(object).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn kind(&self, number: usize) -> Kind {
        self.kinds[number]
    }

    /// The numbers of the names that the arguments of a call have, each once.
    pub(super) fn find(&self, args: Option<&Value>) -> Vec<usize> {
        let mut out = Vec::new();
        let Some(args) = args.filter(|_| self.len() > 0) else { return out };
        let mut lower = String::new();
        each_text(args, &mut |text| match &self.search {
            Search::Each(names) => {
                lower.clear();
                lower.push_str(text);
                lower.make_ascii_lowercase();
                let found = names.iter().enumerate().filter(|(_, name)| has_whole(&lower, name));
                out.extend(found.map(|(number, _)| number));
            }
            Search::All(automaton) => {
                let found = automaton.find_overlapping_iter(text);
                let whole = found.filter(|found| at_borders(text, found.start(), found.end()));
                out.extend(whole.map(|found| found.pattern().as_usize()));
            }
        });
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Whether a text has a name that is not a part of a longer word there. Places may overlap.
fn has_whole(text: &str, name: &str) -> bool {
    let next = name.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    // To learn that a name is not there is much cheaper than to find it.
    while let Some(at) = text.get(from..).filter(|rest| rest.contains(name)).and_then(|rest| rest.find(name)) {
        let start = from + at;
        if at_borders(text, start, start + name.len()) {
            return true;
        }
        from = start + next;
    }
    false
}

/// Whether a part of a text is not a part of a longer word.
pub(super) fn at_borders(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let after = text.get(end..).and_then(|text| text.chars().next());
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !joins(before) && !joins(after)
}

/// Every text and number in a value, without recursion.
pub(super) fn each_text(value: &Value, use_text: &mut dyn FnMut(&str)) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => use_text(text),
            Value::Number(number) => use_text(&crate::json::number_text(number)),
            Value::Array(items) => waiting.extend(items),
            Value::Object(entries) => waiting.extend(entries.values()),
            Value::Null | Value::Bool(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_recognized_by_their_form() {
        for (text, expected) in [
            ("#W100", Some((Kind::Id, "w100"))),
            ("ENG-14", Some((Kind::Id, "eng-14"))),
            ("`/src/main.py`", Some((Kind::Path, "main.py"))),
            ("`/data/`", Some((Kind::Path, "data"))),
            ("report.pdf", Some((Kind::Path, "report.pdf"))),
            ("lee@example.com", Some((Kind::Address, "lee@example.com"))),
            ("\"Product sync\"", Some((Kind::Name, "product sync"))),
            ("'general'", Some((Kind::Name, "general"))),
            ("GitHub", None),
            ("https://x.test/1", None),
            ("''", None),
        ] {
            let found = object(text);
            let found = found.as_ref().map(|object| (object.kind, object.name.as_str()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn few_names_and_many_are_found_alike() {
        let mut objects: Vec<Object> =
            ["a.txt", "data.txt", "- -", "\"a a\"", "\"é-é\"", "'-a-'"].into_iter().filter_map(object).collect();
        let texts = ["x-a-a-", "a a a", "A a_ba a", "é-é-é É-é", "data.txt.a.txt", "- - -", ""];
        let args = serde_json::json!(texts);
        let few = Finder::new(objects.iter()).find(Some(&args));
        objects.extend((0..=FEW).filter_map(|at| object(&format!("none-{at}"))));
        let finder = Finder::new(objects.iter());
        assert!(matches!(finder.search, Search::All(_)));
        assert_eq!(few, finder.find(Some(&args)));
        assert!(!few.is_empty());
    }

    #[test]
    fn names_are_found_at_word_borders_only() {
        let objects = [object("a.txt").unwrap(), object("data.txt").unwrap(), object("#W10").unwrap()];
        let finder = Finder::new(objects.iter());
        let found = |args: Value| finder.find(Some(&args));
        assert_eq!(found(serde_json::json!({ "path": "/x/data.txt", "n": { "id": "#W100" } })), [1]);
        assert_eq!(found(serde_json::json!(["rm a.txt A.TXT", "#w10"])), [0, 2]);
        assert_eq!(found(serde_json::json!(["aa.txt a.txt_ Data.txt/a.txt"])), [0, 1]);
        assert_eq!(finder.find(None), Vec::<usize>::new());
    }
}
