//! Shell text as a list of simple commands. It is read, never run.
//!
//! The lexer knows what POSIX shells and bash share: quoting (`'..'`, `".."`, `\`), comments, here-documents, redirections,
//! the operators that end a command, command substitution, keywords and functions. Here-documents and comments are left
//! out, quoted text becomes part of a word, and `$(..)` is parsed as separate commands. Expansion is not attempted: a
//! variable is kept as written. `programs` knows what the commands do.
//!
//! One pass over the text; nested substitutions are read again up to a small depth, so the cost is linear.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::scan;

/// How deep command substitutions are followed.
const MAX_DEPTH: usize = 4;

/// One command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Command<'a> {
    /// The program and its arguments, quotes removed.
    pub(super) words: Vec<Cow<'a, str>>,
    /// Files its output is redirected into.
    pub(super) writes: Vec<Cow<'a, str>>,
}

/// Functions that a shell text defines.
pub(super) type Functions<'a> = BTreeSet<Cow<'a, str>>;

/// The functions that a shell text defines.
pub(super) fn functions(text: &str) -> Functions<'_> {
    // Few texts define any, and then they have to be known before the first command.
    if text.contains("()") { read(text, &mut |_| {}) } else { Functions::new() }
}

/// Reads a shell text, command by command.
pub(super) fn each_command<'a>(text: &'a str, use_command: &mut dyn FnMut(&Command<'a>)) {
    read(text, use_command);
}

fn read<'a>(text: &'a str, use_command: &mut dyn FnMut(&Command<'a>)) -> Functions<'a> {
    let mut functions = Functions::new();
    let mut waiting = vec![(text, 0)];
    while let Some((text, depth)) = waiting.pop() {
        let mut lexer = Lexer::new(text, &mut functions, &mut *use_command);
        lexer.run();
        let inner = lexer.inner;
        if depth < MAX_DEPTH {
            waiting.extend(inner.into_iter().map(|text| (text, depth + 1)));
        }
    }
    functions
}

/// Whether each byte is only a letter of a word, outside of quotes.
const PLAIN: [bool; 256] = all_but(b"\n \t\r\\'\"$`<>&();|");
/// The same between double quotes.
const QUOTED: [bool; 256] = all_but(b"\"\\$`");

const fn all_but(signs: &[u8]) -> [bool; 256] {
    let mut table = [true; 256];
    let mut at = 0;
    while at < signs.len() {
        table[signs[at] as usize] = false;
        at += 1;
    }
    table
}

/// How long the start of a text is that has only bytes of a class.
fn run_of(class: &[bool; 256], text: &str) -> usize {
    let small = scan::small(text.as_bytes());
    small + text.bytes().skip(small).take_while(|byte| class[usize::from(*byte)]).count()
}

struct Lexer<'a, 's> {
    text: &'a str,
    rest: &'a str,
    functions: &'s mut Functions<'a>,
    use_command: &'s mut dyn FnMut(&Command<'a>),
    command: Command<'a>,
    word: Cow<'a, str>,
    /// Where the word ends in the text if it is a part of it.
    word_end: usize,
    /// Whether a word has begun, if only with an empty quote.
    in_word: bool,
    /// What the next word is.
    next: Next,
    /// Here-documents that start behind this line, each with whether its end may be indented.
    documents: Vec<(Cow<'a, str>, bool)>,
    /// Texts of command substitutions.
    inner: Vec<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Argument,
    /// A file that is written.
    Written,
    /// A file that is read, or text that is given.
    Read,
    /// The end mark of a here-document; `true`: it may be indented.
    Document(bool),
}

impl<'a, 's> Lexer<'a, 's> {
    fn new(text: &'a str, functions: &'s mut Functions<'a>, use_command: &'s mut dyn FnMut(&Command<'a>)) -> Self {
        Self {
            text,
            rest: text,
            functions,
            use_command,
            command: Command::default(),
            word: Cow::Borrowed(""),
            word_end: 0,
            in_word: false,
            next: Next::Argument,
            documents: Vec::new(),
            inner: Vec::new(),
        }
    }

    fn run(&mut self) {
        while let Some(first) = self.rest.bytes().next() {
            if PLAIN[usize::from(first)] && (first != b'#' || self.in_word) {
                self.plain();
            } else {
                self.step(first);
            }
        }
        self.end_command();
    }

    /// Letters of a word, outside of quotes.
    fn plain(&mut self) {
        let count = run_of(&PLAIN, self.rest);
        let behind = self.rest.as_bytes().get(count);
        // Most words have no quotes.
        if !self.in_word && self.next == Next::Argument && matches!(behind, Some(b' ' | b'\n' | b';' | b'|')) {
            let (word, rest) = self.rest.split_at(count);
            self.command.words.push(Cow::Borrowed(word));
            self.rest = if behind == Some(&b' ') { &rest[1..] } else { rest };
        } else {
            self.take(count, true);
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    /// Reads a sign that does not belong to a word, or not as it is written.
    fn step(&mut self, sign: u8) {
        match sign {
            b'\n' => {
                self.end_command();
                self.skip(1);
                self.skip_documents();
            }
            b' ' | b'\t' | b'\r' => {
                self.end_word();
                self.skip(1);
            }
            b'#' if !self.in_word => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end);
            }
            b'\\' => {
                self.skip(1);
                let next = self.rest.chars().next();
                self.take(next.map_or(0, char::len_utf8), next.is_some_and(|next| next != '\n'));
            }
            b'\'' => self.single_quoted(),
            b'"' => self.double_quoted(),
            b'$' if self.rest.starts_with("$((") => self.skip_arithmetic(),
            b'$' if self.rest.starts_with("$(") => self.substitution(2),
            b'`' => self.backquoted(),
            b'<' if self.rest.starts_with("<(") => self.substitution(2),
            b'>' if self.rest.starts_with(">(") => self.substitution(2),
            b'<' | b'>' => self.redirection(),
            b'&' if self.rest.starts_with("&>") => {
                self.end_word();
                self.skip(1);
                self.redirection();
            }
            b'(' => {
                if self.rest.starts_with("()") && self.in_word {
                    let name = std::mem::take(&mut self.word);
                    self.in_word = false;
                    self.functions.insert(name);
                    self.skip(1);
                }
                self.end_command();
                self.skip(1);
            }
            b')' | b';' | b'&' | b'|' => {
                self.end_command();
                self.skip(1);
            }
            // A dollar that opens nothing.
            _ => self.take(1 + run_of(&PLAIN, &self.rest[1..]), true),
        }
    }

    /// Moves past some bytes, which are a part of the word or of nothing.
    fn take(&mut self, bytes: usize, is_part: bool) {
        let start = self.text.len() - self.rest.len();
        let part = &self.rest[..bytes];
        self.skip(bytes);
        if !is_part {
            return;
        }
        self.in_word = true;
        match &mut self.word {
            word if word.is_empty() => *word = Cow::Borrowed(part),
            // Nothing was left out in between.
            Cow::Borrowed(word) if start == self.word_end => *word = &self.text[start - word.len()..start + bytes],
            word => word.to_mut().push_str(part),
        }
        self.word_end = start + bytes;
    }

    fn end_word(&mut self) {
        if !self.in_word {
            return;
        }
        self.in_word = false;
        let word = std::mem::take(&mut self.word);
        match std::mem::replace(&mut self.next, Next::Argument) {
            Next::Argument => self.command.words.push(word),
            Next::Written => self.command.writes.push(word),
            Next::Read => {}
            Next::Document(indented) => self.documents.push((word, indented)),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.next = Next::Argument;
        if !self.command.words.is_empty() || !self.command.writes.is_empty() {
            (self.use_command)(&self.command);
            self.command.words.clear();
            self.command.writes.clear();
        }
    }

    fn single_quoted(&mut self) {
        self.in_word = true;
        self.skip(1);
        let end = self.rest.find('\'').unwrap_or(self.rest.len());
        self.take(end, true);
        self.skip(1);
    }

    fn double_quoted(&mut self) {
        self.in_word = true;
        self.skip(1);
        while let Some(c) = self.rest.chars().next() {
            match c {
                '"' => return self.skip(1),
                '\\' => {
                    self.skip(1);
                    let next = self.rest.chars().next();
                    self.take(next.map_or(0, char::len_utf8), next.is_some_and(|next| next != '\n'));
                }
                '$' if self.rest.starts_with("$((") => self.skip_arithmetic(),
                '$' if self.rest.starts_with("$(") => self.substitution(2),
                '`' => self.backquoted(),
                c => {
                    let first = c.len_utf8();
                    self.take(first + run_of(&QUOTED, &self.rest[first..]), true);
                }
            }
        }
    }

    /// `$((1 > 2))` is not a redirection.
    fn skip_arithmetic(&mut self) {
        self.in_word = true;
        let end = self.rest.find("))").map_or(self.rest.len(), |at| at + 2);
        self.skip(end);
    }

    /// `$(..)`: its text is parsed later, as separate commands.
    fn substitution(&mut self, open: usize) {
        self.in_word = true;
        let end = closing(&self.rest[open..]);
        self.inner.push(&self.rest[open..open + end]);
        self.skip(open + end + 1);
    }

    fn backquoted(&mut self) {
        self.in_word = true;
        let end = self.rest[1..].find('`').map_or(self.rest.len(), |at| at + 1);
        self.inner.push(&self.rest[1..end]);
        self.skip(end + 1);
    }

    fn redirection(&mut self) {
        // `2>` names a stream, not an argument.
        if self.in_word && self.word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.word = Cow::Borrowed("");
            self.in_word = false;
        }
        self.end_word();
        let (next, length) = match self.rest.as_bytes() {
            [b'<', b'<', b'<', ..] => (Next::Read, 3),
            [b'<', b'<', b'-', ..] => (Next::Document(true), 3),
            [b'<', b'<', ..] => (Next::Document(false), 2),
            [b'<' | b'>', b'&', ..] => (Next::Read, 2),
            [b'<', ..] => (Next::Read, 1),
            [b'>', b'>' | b'|', ..] => (Next::Written, 2),
            _ => (Next::Written, 1),
        };
        self.next = next;
        self.skip(length);
    }

    /// Leaves out the bodies of here-documents.
    fn skip_documents(&mut self) {
        for (mark, indented) in std::mem::take(&mut self.documents) {
            loop {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                let line = &self.rest[..end];
                let is_end = if indented { line.trim_start_matches('\t') == mark } else { line == mark };
                self.skip(end + 1);
                if is_end || self.rest.is_empty() {
                    break;
                }
            }
        }
    }
}

/// How long a text is before the bracket that closes it; quotes hide brackets.
fn closing(text: &str) -> usize {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return at,
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let mut commands = Vec::new();
        each_command(text, &mut |command| {
            let writes = command.writes.iter().map(|file| format!(" >{file}"));
            commands.push([command.words.join(" ")].into_iter().chain(writes).collect::<String>());
        });
        commands.join(" ; ")
    }

    #[test]
    fn text_becomes_commands_words_and_written_files() {
        for (text, expected) in [
            ("rm -rf build && mkdir build", "rm -rf build ; mkdir build"),
            ("sort a.txt > b.txt", "sort a.txt >b.txt"),
            ("echo 'next: rm -rf x'", "echo next: rm -rf x"),
            ("grep 'a > b' c", "grep a > b c"),
            ("make >/dev/null 2>&1", "make >/dev/null"),
            ("cmd &> all.log", "cmd >all.log"),
            ("cat > d.sh <<'EOF'\nrm -rf /\nEOF\nchmod +x d.sh", "cat >d.sh ; chmod +x d.sh"),
            ("cat <<-A <<B\n\tx\n\tA\ny\nB\nls", "cat ; ls"),
            ("cat <<EOF\nnever closed", "cat"),
            ("# rm x\nls # rm y", "ls"),
            ("echo \"$(rm x; echo 'a)b')\" done", "echo  done ; rm x ; echo a)b"),
            ("echo `mv a b`", "echo  ; mv a b"),
            ("echo $((1 > 2))", "echo "),
            ("if [ -f a ]; then rm a; fi", "if [ -f a ] ; then rm a ; fi"),
            ("a\\ b c\\\nd", "a b cd"),
            ("wc -l < in.txt; cat <<< rm", "wc -l ; cat"),
            ("x | tee -a log & y", "x ; tee -a log ; y"),
            ("diff <(ls a) <(ls b)", "diff   ; ls b ; ls a"),
            ("echo \"unclosed > x", "echo unclosed > x"),
            ("", ""),
        ] {
            assert_eq!(show(text), expected, "{text:?}");
        }
        assert_eq!(functions("f() { rm x; }\nf"), Functions::from(["f".into()]));
    }

    #[test]
    fn nested_substitutions_are_read_to_a_bounded_depth() {
        let text = format!("{}rm x{}", "$(".repeat(50_000), ")".repeat(50_000));
        let mut count = 0;
        each_command(&text, &mut |_| count += 1);
        assert!(count <= MAX_DEPTH + 2);
    }
}
