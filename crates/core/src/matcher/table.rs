//! The one table of matchers: name, when it matches, how it is written.

/// One matcher as its users meet it.
#[derive(Debug, Clone, Copy)]
pub struct MatcherInfo {
    /// Its key.
    pub name: &'static str,
    /// When it matches.
    pub holds: &'static str,
    /// How it is written.
    pub example: &'static str,
}

const fn matcher(name: &'static str, holds: &'static str, example: &'static str) -> MatcherInfo {
    MatcherInfo { name, holds, example }
}

/// Every matcher, in the order of [`NAMES`](super::NAMES).
pub static MATCHERS: [MatcherInfo; 8] = [
    matcher(
        "exact",
        "the value equals it; `1` equals `1.0`, and the order of keys does not count",
        "{ exact: get_invoice }",
    ),
    matcher(
        "contains",
        "a text has it as a part; a list has it as an item, or inside a text that is an item; an object has its keys and values",
        "{ contains: Oslo }",
    ),
    matcher("icontains", "like `contains` for text, upper or lower case", "{ icontains: oslo }"),
    matcher("contains-all", "every item of the list is contained", "{ contains-all: [search, book] }"),
    matcher("regex", "the pattern is found in the text, or in a text of the list", "{ regex: \"^INV-[0-9]+$\" }"),
    matcher(
        "schema",
        "the value fits the JSON Schema (2020-12, formats count, nothing is fetched)",
        "{ schema: { minimum: 80 } }",
    ),
    matcher("near", "a number is at most `tolerance` away from `value`", "{ near: { value: 59.9, tolerance: 0.05 } }"),
    matcher(
        "not",
        "the inner matcher does not match; a value that it cannot judge fails either way",
        "{ not: { contains: delete } }",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::NAMES;
    use super::*;

    #[test]
    fn every_matcher_that_can_be_written_is_in_the_table() {
        assert_eq!(MATCHERS.map(|matcher| matcher.name), NAMES);
    }

    #[test]
    fn every_example_is_a_matcher_of_its_name() {
        use crate::diag::Source;
        for info in &MATCHERS {
            let text = format!("expect: [{{ target: final_response, matcher: {} }}]\n", info.example);
            let source = Source::new("gates.yml", text);
            let outside = |_: &str| None;
            let variables = crate::suite::Variables { suite_dir: ".", outside: &outside };
            let loaded = crate::suite::load_gates(&source, &variables);
            assert!(loaded.value.is_some(), "{}: {:?}", info.name, loaded.diagnostics);
            assert!(info.example.starts_with(&format!("{{ {}: ", info.name)), "{}", info.example);
        }
    }
}
