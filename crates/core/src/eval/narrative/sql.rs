//! SQL text as a list of statements: the first keyword of each says what it does.
//!
//! A small lexer skips strings, quoted names, comments and dollar quotes, so that a keyword inside them is not a statement.
//! Nothing is parsed beyond that.

use super::actions::Actions;

/// Keywords that open a statement which changes something, and the actions.
const CHANGES: [(&str, &str); 21] = [
    ("insert", "insert add create write save register"),
    (
        "update",
        "update change modify set edit mark close cancel assign enable disable move rename adjust replace remove fix",
    ),
    ("delete", "delete remove clear"),
    ("create", "create add make"),
    ("alter", "alter change modify add remove rename drop update"),
    ("drop", "drop delete remove"),
    ("truncate", "truncate clear delete remove empty"),
    ("merge", "merge upsert insert update add"),
    ("replace", "replace upsert insert update"),
    ("upsert", "upsert insert update add"),
    ("grant", "grant share add set enable"),
    ("revoke", "revoke remove disable"),
    ("rename", "rename move change"),
    ("copy", "copy import export insert"),
    ("load", "import insert load"),
    ("comment", "comment set add"),
    ("reindex", "update"),
    ("vacuum", "clean"),
    ("attach", "attach add"),
    ("import", "import insert"),
    ("into", "create write"),
];

/// Keywords that open a statement which changes no data.
const READS: &str = "select with explain show describe desc pragma values table analyze use set begin commit rollback start \
    end savepoint release declare fetch close listen check help";

/// Keywords that run what is not in the text.
const RUNS: &str = "call do execute exec perform";

/// What SQL text does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Effects {
    pub(super) actions: Actions,
    /// It runs a procedure.
    pub(super) hidden: bool,
}

fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Whether a text opens like SQL.
pub(super) fn is_sql(text: &str) -> bool {
    let mut words = Words { rest: text };
    let Some(first) = words.next() else { return false };
    let known = CHANGES.iter().any(|(word, _)| *word == first) || lists(READS, &first) || lists(RUNS, &first);
    // A single word is not a statement.
    known && first != "into" && words.next().is_some()
}

/// What the statements of a text do.
pub(super) fn effects(text: &str) -> Effects {
    let mut effects = Effects::default();
    let (mut opens, mut with, mut explain) = (true, false, false);
    for word in (Words { rest: text }) {
        if word == ";" {
            (opens, with, explain) = (true, false, false);
            continue;
        }
        // The statement behind `with x as (..)` may be anywhere in it; an explained statement runs only under `analyze`.
        let change = CHANGES.iter().find(|(known, _)| *known == word);
        let is_into = word == "into";
        if let Some((_, words)) = change
            .filter(|_| (opens && !is_into) || (with && matches!(&*word, "insert" | "update" | "delete" | "merge")))
            && !explain
        {
            effects.actions = effects.actions.or(Actions::of(words));
        }
        if opens {
            with = word == "with";
            explain = word == "explain";
            effects.hidden |= lists(RUNS, &word);
        }
        opens = false;
    }
    effects
}

/// Lower-case words of SQL text, and `;` between statements.
struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    /// Skips to behind the next `mark`, or to the end.
    fn skip_past(&mut self, from: usize, mark: &str) {
        let end =
            self.rest.get(from..).and_then(|rest| rest.find(mark)).map_or(self.rest.len(), |at| from + at + mark.len());
        self.skip(end);
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let c = self.rest.chars().next()?;
            match c {
                '\'' => self.skip_past(1, "'"),
                '"' => self.skip_past(1, "\""),
                '`' => self.skip_past(1, "`"),
                '-' if self.rest.starts_with("--") => self.skip_past(2, "\n"),
                '/' if self.rest.starts_with("/*") => self.skip_past(2, "*/"),
                '$' => {
                    // `$tag$ .. $tag$`
                    let tag =
                        self.rest[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(1, |at| at + 1);
                    if self.rest[tag..].starts_with('$') {
                        let mark = self.rest[..=tag].to_owned();
                        self.skip_past(mark.len(), &mark);
                    } else {
                        self.skip(1);
                    }
                }
                ';' => {
                    self.skip(1);
                    return Some(";".to_owned());
                }
                c if c.is_alphabetic() => {
                    let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
                    let word = self.rest[..end].to_ascii_lowercase();
                    self.skip(end);
                    return Some(word);
                }
                c => self.skip(c.len_utf8()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::actions::needed;
    use super::*;

    #[test]
    fn the_first_keyword_of_a_statement_counts() {
        for (text, verb, done) in [
            ("DELETE FROM sessions WHERE x < 1", "delete", true),
            ("SELECT count(*) FROM sessions", "delete", false),
            ("SELECT * FROM audit WHERE action = 'DELETE FROM users'", "delete", false),
            ("select 1; drop table t", "drop", true),
            ("-- delete from t\nselect 1", "delete", false),
            ("/* drop table t; */ select 1", "drop", false),
            ("with old as (select 1) delete from t using old", "delete", true),
            ("explain analyze delete from t", "delete", false),
            ("ALTER TABLE users ADD COLUMN n text; UPDATE users SET n = name;", "add", true),
            ("select \"delete\" from t; ", "delete", false),
            ("select $$ ; delete from t $$", "delete", false),
            ("select $1, 'it''s; delete from t'", "delete", false),
            ("update t set a = 1", "update", true),
            ("'unclosed; delete from t", "delete", false),
        ] {
            assert_eq!(effects(text).actions.meets(needed(verb, &[])), done, "{text}");
        }
        assert!(effects("CALL purge_all()").hidden);
    }

    #[test]
    fn prose_is_not_sql() {
        for (text, expected) in [
            ("select name from t", true),
            ("  INSERT into t values (1)", true),
            ("best restaurants in Rome", false),
            ("delete", false),
            ("", false),
            ("; ;", false),
        ] {
            assert_eq!(is_sql(text), expected, "{text}");
        }
    }
}
