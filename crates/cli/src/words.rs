//! Splits a command line like a shell: with quotes and backslashes, without expansion. Variables before the command are kept
//! separately.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CommandLine {
    /// Variables set before the command.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) argv: Vec<String>,
}

/// Why a command line cannot be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsplit {
    /// A quote that is opened at this column, from 1, is not closed.
    Quote(char, usize),
    /// Nothing follows the last backslash.
    Backslash,
    /// It names no program.
    Empty,
}

impl std::fmt::Display for Unsplit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Quote(quote, column) => write!(f, "the quote {quote} at column {column} is not closed"),
            Self::Backslash => f.write_str("nothing follows the backslash at its end"),
            Self::Empty => f.write_str("it names no program"),
        }
    }
}

impl CommandLine {
    pub(crate) fn read(line: &str) -> Result<Self, Unsplit> {
        let mut out = Self::default();
        for Word { text, bare_name } in split(line)? {
            match bare_name.filter(|_| out.argv.is_empty()) {
                Some(length) => {
                    out.env.insert(text[..length].to_owned(), text[length + 1..].to_owned());
                }
                None => out.argv.push(text),
            }
        }
        if out.argv.first().is_none_or(String::is_empty) { Err(Unsplit::Empty) } else { Ok(out) }
    }
}

/// A word, and where the variable name ends if it sets one. A quoted name sets none.
struct Word {
    text: String,
    bare_name: Option<usize>,
}

fn split(line: &str) -> Result<Vec<Word>, Unsplit> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    // Whether all characters so far were unquoted.
    let mut is_bare = true;
    let mut rest = line.chars().enumerate().peekable();
    while let Some((at, c)) = rest.next() {
        // A backslash before the end of a line joins it with the next one.
        if c == '\\' && rest.next_if(|(_, next)| *next == '\n').is_some() {
            continue;
        }
        if c.is_ascii_whitespace() {
            words.extend(word.take());
            is_bare = true;
            continue;
        }
        let Word { text, bare_name } = word.get_or_insert_with(|| Word { text: String::new(), bare_name: None });
        match c {
            '\'' => loop {
                match rest.next() {
                    Some((_, '\'')) => break,
                    Some((_, inner)) => text.push(inner),
                    None => return Err(Unsplit::Quote(c, at + 1)),
                }
            },
            '"' => loop {
                match rest.next() {
                    Some((_, '"')) => break,
                    Some((_, '\\')) => match rest.next() {
                        Some((_, '\n')) => {}
                        Some((_, escaped @ ('"' | '\\' | '$' | '`'))) => text.push(escaped),
                        Some((_, other)) => text.extend(['\\', other]),
                        None => return Err(Unsplit::Quote(c, at + 1)),
                    },
                    Some((_, inner)) => text.push(inner),
                    None => return Err(Unsplit::Quote(c, at + 1)),
                }
            },
            '\\' => match rest.next() {
                Some((_, escaped)) => text.push(escaped),
                None => return Err(Unsplit::Backslash),
            },
            '=' if is_bare && bare_name.is_none() && is_name(text) => {
                *bare_name = Some(text.len());
                text.push('=');
            }
            plain => text.push(plain),
        }
        is_bare = is_bare && !matches!(c, '\'' | '"' | '\\');
    }
    words.extend(word);
    Ok(words)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, env: &[(&str, &str)], argv: &[&str]) {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(CommandLine::read(line), Ok(CommandLine { env, argv }), "{line}");
    }

    #[test]
    fn words_are_split_like_in_a_shell_and_not_expanded() {
        check(
            "npx -y @modelcontextprotocol/server-filesystem /data",
            &[],
            &["npx", "-y", "@modelcontextprotocol/server-filesystem", "/data"],
        );
        check("  a\t'b  c' \"d e\"f\\ g ''  ", &[], &["a", "b  c", "d ef g", ""]);
        check(r#"a "\"\\\$\`\n" '\n' \\ \""#, &[], &["a", r#""\$`\n"#, r"\n", r"\", "\""]);
        check("a $HOME ~ * `b` #c \"${X}\" ; d", &[], &["a", "$HOME", "~", "*", "`b`", "#c", "${X}", ";", "d"]);
        check("a \\\n b \"c\\\nd\"", &[], &["a", "b", "cd"]);
        check("søk 'é 😀'", &[], &["søk", "é 😀"]);
    }

    #[test]
    fn only_leading_variables_are_separated() {
        check("A=1 _B2='x y=z' run C=3 --d=4", &[("A", "1"), ("_B2", "x y=z")], &["run", "C=3", "--d=4"]);
        check("'A'=1 B=2", &[], &["A=1", "B=2"]);
        check("A= run", &[("A", "")], &["run"]);
        check("1A=1", &[], &["1A=1"]);
    }

    #[test]
    fn an_incomplete_command_line_is_rejected_with_its_position() {
        let check = |line: &str, why: &str| assert_eq!(CommandLine::read(line).unwrap_err().to_string(), why, "{line}");
        check("a 'b", "the quote ' at column 3 is not closed");
        check("é \"b\\", "the quote \" at column 3 is not closed");
        check("a \\", "nothing follows the backslash at its end");
        for line in ["", "  ", "A=1", "''"] {
            check(line, "it names no program");
        }
    }
}
