//! Licence expressions of packages: whether what the house accepts is enough to use one.

/// Licences under which a crate may be part of the build. `docs/decisions/0001-dependencies.md` says what makes them fit.
pub(crate) const ACCEPTED: [&str; 8] =
    ["Apache-2.0", "BSD-3-Clause", "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Zlib"];

/// Whether an expression can be met with accepted licences alone: `None` when it cannot be read.
pub(super) fn is_met(expression: &str) -> Option<bool> {
    // A slash is how manifests said `OR` before there were expressions.
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words { words: spaced.split_whitespace().collect(), at: 0 };
    let met = words.any()?;
    (words.at == words.words.len()).then_some(met)
}

struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> Words<'a> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = *self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    /// Parts joined by `OR`.
    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.take("OR") {
            met |= self.all()?;
        }
        Some(met)
    }

    /// Parts joined by `AND`, which binds tighter.
    fn all(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Some(met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let met = self.any()?;
            return self.take(")").then_some(met);
        }
        let name = self.next().filter(|word| !["AND", "OR", "WITH", ")"].contains(word))?;
        if self.take("WITH") {
            // An exception changes a licence, and the two together are not in the list.
            self.next()?;
            return Some(false);
        }
        Some(ACCEPTED.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_met_when_accepted_licences_are_enough() {
        for expression in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "Apache-2.0 / MIT",
            "Apache-2.0 AND ISC",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "GPL-3.0 AND BSL-1.0 OR Zlib",
        ] {
            assert_eq!(is_met(expression), Some(true), "{expression}");
        }
    }

    #[test]
    fn an_expression_is_not_met_by_half() {
        for expression in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
            "MIT AND (GPL-3.0 OR LGPL-2.1-or-later)",
            "Apache-2.0 WITH LLVM-exception",
            "mit",
            "MIT OR-later",
        ] {
            assert_ne!(is_met(expression), Some(true), "{expression}");
        }
    }

    #[test]
    fn an_expression_that_cannot_be_read_is_not_met() {
        for expression in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT AND", "()", "MIT WITH"] {
            assert_eq!(is_met(expression), None, "{expression}");
        }
    }
}
