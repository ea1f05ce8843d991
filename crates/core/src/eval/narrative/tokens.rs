//! From a message to words: markup made invisible, quoted text, code and names separated, sentences found.
//!
//! One pass over the text. Lookahead is bounded, so the cost is linear for any text.

use std::borrow::Cow;
use std::ops::Range;

use super::index::Key;
use super::lexicon::{self, Known, Lexicon};
use super::scan;
use super::words::Class;

/// How far a quote or a link may reach before it counts as unclosed.
const REACH: usize = 600;

/// Text of the mark that ends a cell of a table.
pub(super) const CELL: &str = "|";

/// Text of the mark before a heading.
pub(super) const HEADING: &str = "#";

/// Text of the mark before an item of a list.
pub(super) const ITEM: &str = "-";

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Lowercase text of a word; original text otherwise.
    pub(super) text: Cow<'a, str>,
    /// Bytes of the message.
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// Whether it is a run of ASCII letters: nothing in it parts words.
    pub(super) is_plain: bool,
    /// The properties of a word; empty for other tokens.
    pub(super) known: &'static Known,
}

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word that can be read.
    Word(Class),
    /// Figures.
    Number,
    /// Quoted text, code, an address, a name: mentioned, not claimed.
    Mention,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// A bracket, a dash, a picture: ends a clause.
    Stop,
    /// End of a sentence or a line.
    End {
        /// The sentence is a question.
        question: bool,
    },
}

impl Token<'_> {
    pub(super) fn class(&self) -> Option<Class> {
        match self.kind {
            Kind::Word(class) => Some(class),
            _ => None,
        }
    }

    pub(super) fn is(&self, class: Class) -> bool {
        self.class() == Some(class)
    }

    /// A word that may be (part of) a noun phrase's core.
    pub(super) fn is_noun(&self) -> bool {
        self.is(Class::Noun)
    }

    /// `no`, `nothing`, `0`: there is none of what follows.
    pub(super) fn says_none(&self) -> bool {
        self.is(Class::None) || (self.kind == Kind::Number && self.text == "0")
    }

    pub(super) fn ends_clause(&self) -> bool {
        matches!(self.kind, Kind::Comma | Kind::Colon | Kind::Stop | Kind::End { .. })
    }
}

/// The letters of a word that is not read as one.
const CANNOT: u64 = u64::from_le_bytes(*b"cannot\0\0");

/// How many bytes of a message there are for each token, about.
const BYTES_PER_TOKEN: usize = 5;

/// About how many bytes are read at a time if not all are needed.
const PIECE: usize = 512;

/// Reads a message into tokens. `lower` is the message with its ASCII letters in lower case: words are parts of it.
pub(super) fn read<'a>(text: &'a str, lower: &'a str) -> Vec<Token<'a>> {
    let mut tokens = Tokens::new(text, lower);
    tokens.read_all();
    tokens.reader.out
}

/// The tokens of a message, read as far as they are needed.
pub(super) struct Tokens<'a> {
    reader: Reader<'a>,
    is_complete: bool,
}

impl<'a> Tokens<'a> {
    /// Reads nothing yet. `lower` is the message with its ASCII letters in lower case: words are parts of it.
    pub(super) fn new(text: &'a str, lower: &'a str) -> Self {
        debug_assert_eq!(text.len(), lower.len());
        let reader = Reader { text, lower, lexicon: Lexicon::get(), at: 0, line_start: true, out: Vec::new() };
        Self { reader, is_complete: false }
    }

    pub(super) fn so_far(&self) -> &[Token<'a>] {
        &self.reader.out
    }

    /// The tokens of a single line that is not in a fence, apart from their places. It starts behind a line feed or at the
    /// start of the message, and has none.
    pub(super) fn line(&self, line: Range<usize>) -> Vec<Token<'a>> {
        read(&self.reader.text[line.clone()], &self.reader.lower[line])
    }

    /// Reads the rest of the message.
    pub(super) fn read_all(&mut self) {
        self.read_to(self.reader.text.len());
    }

    /// Reads another piece of the message, if there is any.
    pub(super) fn read_more(&mut self) -> bool {
        let is_more = !self.is_complete;
        self.read_to(self.reader.at + PIECE);
        is_more
    }

    fn read_to(&mut self, end: usize) {
        if self.is_complete {
            return;
        }
        let reader = &mut self.reader;
        let length = reader.text.len();
        if reader.out.is_empty() {
            reader.out.reserve(length / BYTES_PER_TOKEN + 8);
        }
        reader.read_to(end.min(length));
        if reader.at >= length {
            reader.mark(Kind::End { question: false }, 0);
            self.is_complete = true;
        }
    }
}

/// Whether a text may open a fence. Nothing else reaches beyond a line.
pub(super) fn may_have_fence(text: &str) -> bool {
    text.contains("```") || text.contains("~~~")
}

struct Reader<'a> {
    text: &'a str,
    /// The text with its ASCII letters in lower case.
    lower: &'a str,
    lexicon: &'static Lexicon,
    at: usize,
    line_start: bool,
    out: Vec<Token<'a>>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    fn before(&self) -> Option<char> {
        self.text[..self.at].chars().next_back()
    }

    fn push(&mut self, text: impl Into<Cow<'a, str>>, end: usize, kind: Kind) {
        self.out.push(Token { text: text.into(), span: self.at..end, kind, is_plain: false, known: &lexicon::NOUN });
    }

    /// Adds a word in lower case.
    fn say(&mut self, word: impl Into<Cow<'a, str>>, end: usize) {
        let text = word.into();
        let known = lexicon::known(&text);
        self.out.push(Token { text, span: self.at..end, kind: Kind::Word(known.class), is_plain: false, known });
    }

    /// Adds a mark of `length` bytes and moves past it.
    fn mark(&mut self, kind: Kind, length: usize) {
        let end = self.at + length;
        self.push("", end, kind);
        self.at = end;
    }

    /// Adds a mark of one byte and moves past it and the space behind it.
    fn joint(&mut self, kind: Kind) {
        self.mark(kind, 1);
        self.at += usize::from(self.text.as_bytes().get(self.at) == Some(&b' '));
    }

    fn mention(&mut self, end: usize) {
        self.push(&self.text[self.at..end], end, Kind::Mention);
        self.at = end;
    }

    fn read_to(&mut self, end: usize) {
        while self.at < end {
            self.step();
        }
    }

    #[inline]
    fn step(&mut self) {
        let first = self.text.as_bytes().get(self.at).copied().unwrap_or(0);
        if self.line_start && !first.is_ascii_alphabetic() && self.line_opening() {
            return;
        }
        self.line_start = false;
        // Most of a message is letters with spaces between them.
        match first {
            b'a'..=b'z' | b'A'..=b'Z' => {
                if !self.plain_word() {
                    self.joined_word();
                }
                return;
            }
            b'0'..=b'9' => {
                if !self.plain_number() {
                    self.joined_word();
                }
                return;
            }
            b',' => return self.joint(Kind::Comma),
            b':' => return self.joint(Kind::Colon),
            // Emphasis and other small signs are invisible, below there are more of them.
            b' ' | b'{' | b'}' | b'*' | b'_' | b'/' | b'$' => return self.at += 1,
            b'"' => return self.quoted('"', '"'),
            b'\n' | b'\r' => {
                self.mark(Kind::End { question: false }, 1);
                self.line_start = true;
                return;
            }
            _ => {}
        }
        let Some(c) = self.char_at(self.at) else { return };
        let next = self.char_at(self.at + c.len_utf8());
        match c {
            '`' => self.quoted('`', '`'),
            '“' => self.quoted(c, '”'),
            '„' => self.quoted(c, '“'),
            '«' => self.quoted(c, '»'),
            '‘' => self.quoted(c, '’'),
            '\'' if !self.before().is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric) => {
                self.quoted('\'', '\'');
            }
            '[' => self.link(),
            '?' => self.mark(Kind::End { question: true }, 1),
            '!' | ';' => self.mark(Kind::End { question: false }, 1),
            '|' => {
                self.push(CELL, self.at + 1, Kind::End { question: false });
                self.at += 1;
            }
            '.' if !next.is_some_and(char::is_alphanumeric) => self.full_stop(),
            '…' => self.mark(Kind::End { question: false }, c.len_utf8()),
            '(' | ')' => {
                self.push(if c == '(' { "(" } else { ")" }, self.at + 1, Kind::Stop);
                self.at += 1;
            }
            ']' | '—' | '–' | '→' => self.mark(Kind::Stop, c.len_utf8()),
            '-' if next.is_none_or(char::is_whitespace) => self.mark(Kind::Stop, 1),
            '&' => {
                self.say("and", self.at + 1);
                self.at += 1;
            }
            '@' | '#' if next.is_some_and(char::is_alphanumeric) => self.joined_word(),
            c if c.is_alphanumeric() => self.joined_word(),
            // Emphasis, currency and other small signs are invisible; pictures end a clause.
            c if c.is_ascii() || c.is_whitespace() || is_quiet(c) => self.at += c.len_utf8(),
            _ => self.mark(Kind::Stop, c.len_utf8()),
        }
    }

    /// Bullets, headings and fences at the start of a line. They end what came before and say nothing themselves.
    fn line_opening(&mut self) -> bool {
        let rest = self.rest();
        let indent = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let line = &rest[indent..];
        if line.starts_with("```") || line.starts_with("~~~") {
            let fence = &line[..3];
            let body = self.at + indent + 3;
            // The closing fence is on its own line, indented or not.
            let mut lines = self.text[body..].match_indices('\n').map(|(at, _)| body + at + 1);
            let close = lines.find_map(|start| {
                let line = self.text[start..].trim_start_matches([' ', '\t']);
                line.starts_with(fence).then(|| self.text.len() - line.len() + fence.len())
            });
            let end = close.unwrap_or(self.text.len());
            self.mention(end);
            self.mark(Kind::End { question: false }, 0);
            self.line_start = false;
            return true;
        }
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let numbered = digits > 0 && digits < 4 && line[digits..].starts_with(['.', ')']);
        let bullet = match line.chars().next() {
            _ if numbered => digits + 1,
            Some(c @ ('-' | '*' | '+' | '•' | '‣' | '◦' | '>' | '·')) => c.len_utf8(),
            Some('#') => line.len() - line.trim_start_matches('#').len(),
            _ => 0,
        };
        if bullet > 0 && line[bullet..].starts_with([' ', '\t']) {
            let mark = if line.starts_with('#') { HEADING } else { ITEM };
            self.push(mark, self.at + indent + bullet, Kind::End { question: false });
            self.at += indent + bullet;
            // Quoted text is from someone else, or a draft.
            if line.starts_with('>') {
                let end = self.rest().find('\n').map_or(self.text.len(), |found| self.at + found);
                self.mention(end);
                return true;
            }
            // A bullet may have a checkbox, or another bullet. An unchecked item is not done: its line is not read for
            // claims.
            if self.rest().starts_with(" [ ]") {
                let end = self.rest().find('\n').map_or(self.text.len(), |found| self.at + found);
                self.mention(end);
            } else if self.rest().starts_with(" [x]") || self.rest().starts_with(" [X]") {
                self.at += " [x]".len();
            }
            return true;
        }
        false
    }

    /// The rest of the line from a place on, as far as a quote or a link may reach.
    fn window(&self, from: usize) -> &'a str {
        let rest = &self.text[from..];
        let near = &rest[..rest.floor_char_boundary(REACH)];
        near.split('\n').next().unwrap_or(near)
    }

    /// Quoted text up to its closing sign on the same line; an unclosed sign is passed over.
    fn quoted(&mut self, open: char, close: char) {
        let start = self.at + open.len_utf8();
        let single = close == '\'' || close == '’';
        if let Some(close) = u8::try_from(close).ok().filter(|close| close.is_ascii() && !single) {
            // The common signs, in one pass over what they quote.
            let rest = &self.text.as_bytes()[start..];
            let length = scan::until(&rest[..rest.len().min(REACH)], close, b'\n');
            return match rest.get(length) {
                Some(byte) if *byte == close && length < REACH => self.mention(start + length + 1),
                _ => self.at = start,
            };
        }
        let found = self.window(start).match_indices(close).map(|(at, sign)| start + at + sign.len()).find(|end| {
            // An apostrophe inside a word closes nothing.
            !(single && self.char_at(*end).is_some_and(char::is_alphanumeric))
        });
        match found {
            Some(end) => self.mention(end),
            None => self.at = start,
        }
    }

    /// `[text](address)` reads as its text; any other bracket ends a clause.
    fn link(&mut self) {
        let Some(close) = self.window(self.at).find("](") else { return self.mark(Kind::Stop, 1) };
        let inner = self.at + 1..self.at + close;
        self.at = inner.start;
        self.read_to(inner.end);
        // A quote inside may have reached past the text of the link; its address then belongs to the quote.
        if self.at == inner.end {
            self.at += self.window(self.at).find(')').map_or("](".len(), |at| at + 1);
        }
    }

    fn full_stop(&mut self) {
        let abbreviation = self.out.last().is_some_and(|last| {
            last.span.end == self.at
                && matches!(&*last.text, "mr" | "mrs" | "ms" | "dr" | "vs" | "etc" | "approx" | "e.g" | "i.e")
        });
        if abbreviation {
            self.at += 1;
        } else {
            self.mark(Kind::End { question: false }, 1);
        }
    }

    /// A run of letters and figures with what joins them.
    #[inline(never)]
    fn joined_word(&mut self) {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with("http://") || rest.starts_with("https://") || rest.starts_with("www.") {
            let end = rest
                .find(|c: char| c.is_whitespace() || matches!(c, ')' | '>' | ']' | '"' | '|'))
                .unwrap_or(rest.len());
            let end = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '\'']).len();
            return self.mention(start + end.max(1));
        }
        let piece = Piece::of_ascii(rest.as_bytes()).unwrap_or_else(|| Piece::of(rest));
        let (end, piece_text) = (start + piece.length, &rest[..piece.length]);
        if piece.has_figures && !piece.has_letters {
            self.push(piece_text, end, Kind::Number);
            self.at = end;
        } else if piece.has_figures || piece.is_name {
            self.mention(end);
        } else {
            self.spoken(piece_text, end);
        }
    }

    /// Adds the word that starts here if it is a run of letters of ASCII, only the first of them a capital or none, and
    /// nothing joins it to more: neither a contraction nor an address.
    #[inline]
    fn plain_word(&mut self) -> bool {
        let start = self.at;
        let written = &self.text.as_bytes()[start..];
        let (first, second) = scan::first(written);
        let head = scan::letters(first);
        let (mut length, mut capitals, mut tail) = (head.count, head.capitals & !0xff, 0);
        if length == 8 {
            let more = scan::letters(second);
            length += more.count;
            capitals |= more.capitals;
            tail = more.lower;
        }
        if length == 0 || length == 16 || capitals != 0 || !ends_word(&written[length..]) {
            return false;
        }
        let end = start + length;
        let Some(text) = self.lower.get(start..end) else { return false };
        let sign = written.get(length);
        let is_address = || matches!(sign, Some(b':' | b'.')) && matches!(text, "http" | "https" | "www");
        if (head.lower, length) == (CANNOT, 6) || is_address() {
            return false;
        }
        let known = self.lexicon.known(Key::new(head.lower, tail, length), text);
        let kind = Kind::Word(known.class);
        self.out.push(Token { text: Cow::Borrowed(text), span: start..end, kind, is_plain: true, known });
        self.at = end + usize::from(sign == Some(&b' '));
        true
    }

    /// Adds the number that starts here if it consists of digits and nothing joins it to more.
    fn plain_number(&mut self) -> bool {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_thousands = matches!(rest.as_bytes()[digits..], [b',', b'0'..=b'9', ..]);
        if digits == 0 || is_thousands || !ends_word(&rest.as_bytes()[digits..]) {
            return false;
        }
        let end = self.at + digits;
        self.push(&rest[..digits], end, Kind::Number);
        self.at = end;
        true
    }

    /// A word of prose, its contraction written out.
    fn spoken(&mut self, piece: &str, end: usize) {
        let helper = if piece.is_ascii() {
            let (word, helper) = written_out(&self.lower[end - piece.len()..end]);
            self.say(word, end);
            helper
        } else {
            let lower = piece.to_lowercase().replace('’', "'");
            let (word, helper) = written_out(&lower);
            self.say(word.to_owned(), end);
            helper
        };
        if let Some(helper) = helper {
            self.say(helper, end);
        }
        self.at = end;
    }
}

/// Words that contractions and signs stand for without having their letters.
pub(super) const HELPERS: [&str; 11] = ["not", "us", "have", "will", "would", "are", "am", "is", "and", "shall", "can"];

/// The two words of a contraction; a word that is none, alone.
fn written_out(word: &str) -> (&str, Option<&'static str>) {
    match word {
        "can't" | "cannot" => ("can", Some("not")),
        "won't" => ("will", Some("not")),
        "shan't" => ("shall", Some("not")),
        "let's" => ("let", Some("us")),
        _ => match word.split_once('\'') {
            Some((verb, "t")) if verb.ends_with('n') => (&verb[..verb.len() - 1], Some("not")),
            Some((who, "ve")) => (who, Some("have")),
            Some((who, "ll")) => (who, Some("will")),
            Some((who, "d")) => (who, Some("would")),
            Some((who, "re")) => (who, Some("are")),
            Some((who, "m")) => (who, Some("am")),
            Some((who @ ("it" | "that" | "this" | "there" | "here" | "what" | "he" | "she" | "who"), "s")) => {
                (who, Some("is"))
            }
            Some((who, "s" | "")) => (who, None),
            _ => (word, None),
        },
    }
}

/// Whether what follows letters or digits does not join them to more.
#[inline]
fn ends_word(rest: &[u8]) -> bool {
    match rest {
        [b' ' | b',' | b'\n', ..] | [] => true,
        [b'_' | b'.' | b'/' | b'@' | b'#' | b'-' | b'\'' | b':', next, ..] => {
            next.is_ascii() && !next.is_ascii_alphanumeric()
        }
        [sign, ..] => sign.is_ascii() && !sign.is_ascii_alphanumeric(),
    }
}

/// Letters and figures with what joins them, at the start of a text.
struct Piece {
    length: usize,
    has_figures: bool,
    has_letters: bool,
    /// It has a sign or a capital that only names have.
    is_name: bool,
}

impl Piece {
    /// A piece that consists of ASCII, as does what follows it.
    fn of_ascii(text: &[u8]) -> Option<Self> {
        let mut piece = Self { length: 0, has_figures: false, has_letters: false, is_name: false };
        let mut before = b' ';
        for (at, sign) in text.iter().enumerate() {
            let next = || text.get(at + 1).copied().unwrap_or(b' ');
            match sign {
                b'a'..=b'z' => piece.has_letters = true,
                b'A'..=b'Z' => {
                    piece.has_letters = true;
                    piece.is_name |= before.is_ascii_lowercase();
                }
                b'0'..=b'9' => piece.has_figures = true,
                b'_' | b'.' | b'/' | b'@' | b'#' | b':' | b'-' | b'\'' => {
                    if at > 0 && !next().is_ascii() {
                        return None;
                    }
                    if at > 0 && !next().is_ascii_alphanumeric() {
                        break;
                    }
                    piece.is_name |= !matches!(sign, b'-' | b'\'');
                }
                b',' if before.is_ascii_digit() && next().is_ascii_digit() => {}
                sign if !sign.is_ascii() => return None,
                _ => break,
            }
            before = *sign;
            piece.length = at + 1;
        }
        Some(piece)
    }

    /// Any piece.
    fn of(text: &str) -> Self {
        let mut length = 0;
        let mut letters = text.char_indices().peekable();
        while let Some((at, c)) = letters.next() {
            let next = letters.peek().map(|(_, next)| *next);
            let joins = match c {
                '_' | '.' | '/' | '@' | '#' | '-' | '\'' | '’' | ':' => {
                    at == 0 || next.is_some_and(char::is_alphanumeric)
                }
                ',' => text[..at].ends_with(|c: char| c.is_ascii_digit()) && next.is_some_and(|c| c.is_ascii_digit()),
                c => c.is_alphanumeric(),
            };
            if !joins {
                break;
            }
            length = at + c.len_utf8();
        }
        let piece = &text[..length];
        Self {
            length,
            has_figures: piece.chars().any(|c| c.is_ascii_digit()),
            has_letters: piece.chars().any(char::is_alphabetic),
            is_name: piece.contains(['_', '.', '/', '@', '#', ':']) || is_camel(piece),
        }
    }
}

/// Lower case followed by upper case inside one word: a name from code.
fn is_camel(piece: &str) -> bool {
    let mut lower = false;
    piece.chars().any(|c| {
        let hump = lower && c.is_uppercase();
        lower = c.is_lowercase();
        hump
    })
}

/// Signs that are passed over like emphasis: currency, joiners, variation selectors.
fn is_quiet(c: char) -> bool {
    matches!(c, '€' | '£' | '¥' | '’' | '”' | '»' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '°' | '×')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let piece = |token: Token<'_>| match token.kind {
            Kind::Word(_) => token.text.into_owned(),
            Kind::Number => format!("#{}", token.text),
            Kind::Mention => format!("<{}>", token.text),
            Kind::Comma => ",".to_owned(),
            Kind::Colon => ":".to_owned(),
            Kind::Stop => "|".to_owned(),
            Kind::End { question: true } => "?".to_owned(),
            Kind::End { question: false } => ".".to_owned(),
        };
        read(text, &text.to_ascii_lowercase()).into_iter().map(piece).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn markup_is_invisible_and_names_are_single_tokens() {
        for (text, expected) in [
            ("I didn’t **delete** it.", "i did not delete it . ."),
            ("- **Bag:** 1 checked bag added (free)", ". bag : #1 checked bag added | free | ."),
            ("Run `rm -rf` or create_issue", "run <`rm -rf`> or <create_issue> ."),
            ("See [the issue](https://x.test/1), ok?", "see the issue , ok ? ."),
            ("She said \"I deleted it\" twice", "she said <\"I deleted it\"> twice ."),
            ("the users' 'old name' and don't", "the users <'old name'> and do not ."),
            ("$1,194 on 2024-05-17 at 12:30", "#1,194 on #2024-05-17 at #12:30 ."),
            ("```\nI deleted it\n```\nDone", "<```\nI deleted it\n```> . . done ."),
            ("- See:\n  ```sh\n  ls\n  ```\n- Done", ". see : . <  ```sh\n  ls\n  ```> . . . done ."),
            ("1. First\n2) Second", ". first . . second ."),
            ("Issue created ✅ Email sent", "issue created | email sent ."),
            ("flight HAT052 and GitHub", "flight <HAT052> and <GitHub> ."),
            ("an unclosed \" and ` here", "an unclosed and here ."),
            ("the «né ♻» and «no", "the <«né ♻»> and no ."),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }

    #[test]
    fn pieces_of_ascii_are_read_like_any_other() {
        let signs = ["a", "B", "7", "_", ".", "/", "@", "#", ":", "-", "'", ",", " ", "(", "é", "’"];
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer = texts.iter().flat_map(|text| signs.map(|sign| [text, sign].concat()));
            texts = longer.collect();
            for text in &texts {
                let read = |piece: Piece| (piece.length, piece.has_figures, piece.has_letters, piece.is_name);
                let is_plain = text.is_ascii();
                let found = Piece::of_ascii(text.as_bytes()).map(read);
                assert!(found.is_some() || !is_plain, "{text}");
                assert!(found.is_none_or(|found| found == read(Piece::of(text))), "{text}");
            }
        }
    }

    #[test]
    fn a_message_read_in_pieces_has_the_same_tokens() {
        let text = "Mr. Lee asked: \"is it done?\" [It is](https://x.test/1). ".repeat(40);
        let text = [&text, "\n```\ncode\n```\n", &text].concat();
        let lower = text.to_ascii_lowercase();
        let mut tokens = Tokens::new(&text, &lower);
        while tokens.read_more() {}
        assert_eq!(tokens.so_far(), read(&text, &lower));
        assert!(!tokens.read_more());
    }

    #[test]
    fn lines_can_be_read_alone() {
        let pieces = [
            "a", "B", "1", " ", ".", ",", ":", "-", "- ", "# ", "> ", "[ ] ", "\"", "'", "`", "[", "](", ")", "/", "@",
            "“", "”", "é", "’", "\r", "mr", "http://x", "|",
        ];
        let lines: Vec<String> = pieces
            .iter()
            .flat_map(|a| pieces.iter().flat_map(move |b| pieces.map(|c| [a, b, c].concat())))
            .filter(|line| line != "```")
            .collect();
        let shown = |tokens: &[Token<'_>]| -> Vec<(String, Kind)> {
            tokens.iter().map(|token| (token.text.to_string(), token.kind)).collect()
        };
        for (at, line) in lines.iter().enumerate() {
            let (before, behind) = (&lines[at * 7 % lines.len()], &lines[at * 11 % lines.len()]);
            let text = [before.as_str(), line, behind].join("\n");
            let lower = text.to_ascii_lowercase();
            let tokens = Tokens::new(&text, &lower);
            assert!(!may_have_fence(&text));
            let mut alone = Vec::new();
            let mut start = 0;
            for line in text.split('\n') {
                // The end of a message is a mark like the end of a line.
                alone.extend(shown(&tokens.line(start..start + line.len())));
                start += line.len() + 1;
            }
            assert_eq!(alone, shown(&read(&text, &lower)), "{text:?}");
        }
        let fenced = "a\n  ~~~\nb";
        assert!(may_have_fence(fenced));
    }

    #[test]
    fn spans_are_bytes_of_the_message() {
        let text = "Zoë’s naïve «quote» I've sent";
        let lower = text.to_ascii_lowercase();
        let tokens = read(text, &lower);
        for token in &tokens {
            assert!(text.is_char_boundary(token.span.start) && text.is_char_boundary(token.span.end));
        }
        let sent = tokens.into_iter().find(|token| token.text == "sent").unwrap();
        assert_eq!(&text[sent.span], "sent");
    }
}
