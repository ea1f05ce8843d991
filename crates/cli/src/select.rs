//! Which tests are selected: by name, tag, model and share.

use std::fmt;
use std::str::FromStr;

use mcptest_core::diag::printable;
use mcptest_core::suite::AgentTest;
use regex::Regex;

/// A part of a test's name, or a pattern for it between slashes.
#[derive(Debug, Clone)]
pub(crate) enum Filter {
    Part(String),
    Pattern(Regex),
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BadFilter {
    Empty,
    Pattern(regex::Error),
}

impl fmt::Display for BadFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("an empty filter would select every test (hint: omit it, or give a part of a name)")
            }
            Self::Pattern(error) => {
                let hint = "to search for text between slashes, escape one: /\\/text\\//";
                write!(f, "invalid regex between the slashes: {error}\nhint: {hint}")
            }
        }
    }
}

impl std::error::Error for BadFilter {}

impl FromStr for Filter {
    type Err = BadFilter;

    fn from_str(typed: &str) -> Result<Self, BadFilter> {
        match typed.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some("") => Err(BadFilter::Empty),
            Some(pattern) => Regex::new(pattern).map(Self::Pattern).map_err(BadFilter::Pattern),
            None if typed.is_empty() => Err(BadFilter::Empty),
            None => Ok(Self::Part(typed.to_owned())),
        }
    }
}

impl Filter {
    pub(crate) fn takes(&self, name: &str) -> bool {
        match self {
            Self::Part(part) => name.contains(part),
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

/// One of several shares of the tests, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partition {
    share: u64,
    of: u64,
}

/// A share that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadPartition {
    Shape,
    None,
    Zero,
    Beyond { share: u64, of: u64 },
}

impl fmt::Display for BadPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("expected two numbers, as in `1/3` (hint: the first of three partitions)"),
            Self::None => f.write_str("there cannot be 0 partitions (hint: `1/1` is all tests)"),
            Self::Zero => f.write_str("partitions are numbered from 1 (hint: the first of three is `1/3`)"),
            Self::Beyond { share, of } => {
                write!(f, "there is no partition {share} of {of} (hint: the last is `{of}/{of}`)")
            }
        }
    }
}

impl std::error::Error for BadPartition {}

impl FromStr for Partition {
    type Err = BadPartition;

    fn from_str(typed: &str) -> Result<Self, BadPartition> {
        // Only digits: `parse` would accept a sign too.
        let number = |text: &str| text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let (share, of) = typed.split_once('/').ok_or(BadPartition::Shape)?;
        match (number(share).ok_or(BadPartition::Shape)?, number(of).ok_or(BadPartition::Shape)?) {
            (_, 0) => Err(BadPartition::None),
            (0, _) => Err(BadPartition::Zero),
            (share, of) if share > of => Err(BadPartition::Beyond { share, of }),
            (share, of) => Ok(Self { share, of }),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.share, self.of)
    }
}

impl Partition {
    /// Whether a test belongs to this share. Only its name decides: a test stays in its share when others are added or removed.
    fn takes(self, name: &str) -> bool {
        fnv(name) % self.of == self.share - 1
    }
}

/// FNV-1a: the same number on every machine and in every version, which the hashes of the standard library are not.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Which tests and models are selected. Without any condition, all are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection<'a> {
    pub(crate) filters: &'a [Filter],
    pub(crate) tags: &'a [String],
    pub(crate) skip_tags: &'a [String],
    pub(crate) models: &'a [String],
}

impl Selection<'_> {
    /// The models on which to run a test; empty if it is not selected.
    pub(crate) fn models<'t>(&self, test: &'t AgentTest) -> Vec<&'t str> {
        let tagged = |tags: &[String]| test.tags.iter().any(|tag| tags.contains(tag));
        let is_selected = (self.filters.is_empty() || self.filters.iter().any(|filter| filter.takes(&test.name)))
            && (self.tags.is_empty() || tagged(self.tags))
            && !tagged(self.skip_tags);
        let wanted = |model: &&str| self.models.is_empty() || self.models.iter().any(|wanted| wanted == model);
        if is_selected { test.models.iter().map(String::as_str).filter(wanted).collect() } else { Vec::new() }
    }

    /// The selection as typed on the command line: `--tag slow --models a`.
    pub(crate) fn typed(&self) -> String {
        let mut words = Vec::new();
        let mut add = |flag: &str, value: &str| words.push(format!("{flag} {}", printable(value)));
        for filter in self.filters {
            match filter {
                Filter::Part(part) => add("--filter", part),
                Filter::Pattern(pattern) => add("--filter", &format!("/{pattern}/")),
            }
        }
        self.tags.iter().for_each(|tag| add("--tag", tag));
        self.skip_tags.iter().for_each(|tag| add("--skip-tag", tag));
        self.models.iter().for_each(|model| add("--models", model));
        words.join(" ")
    }
}

/// Whether a test belongs to the requested share.
pub(crate) fn in_share(share: Option<Partition>, test: &AgentTest) -> bool {
    share.is_none_or(|share| share.takes(&test.name))
}

#[cfg(test)]
mod tests {
    use mcptest_core::diag::Source;
    use mcptest_core::suite::{self, Variables};

    use super::*;

    fn filter(typed: &str) -> Filter {
        typed.parse().unwrap()
    }

    #[test]
    fn a_filter_is_a_part_of_a_name_or_a_pattern_between_slashes() {
        assert!(filter("seat").takes("books a seat"));
        assert!(!filter("Seat").takes("books a seat"));
        assert!(!filter("s.at").takes("books a seat"));
        assert!(filter("/^books .* s.at$/").takes("books a seat"));
        assert!(!filter("/^seat/").takes("books a seat"));
        // One slash is not a pattern.
        assert!(filter("/v2").takes("calls /v2/users"));
        assert!(filter("/").takes("a/b"));
        assert!(filter("/\\/v2\\//").takes("calls /v2/users"));
    }

    #[test]
    fn an_empty_or_malformed_filter_is_refused() {
        assert_eq!("".parse::<Filter>().unwrap_err(), BadFilter::Empty);
        assert_eq!("//".parse::<Filter>().unwrap_err(), BadFilter::Empty);
        assert_eq!(
            "/a(/".parse::<Filter>().unwrap_err().to_string(),
            "invalid regex between the slashes: regex parse error:\n    a(\n     ^\nerror: unclosed group\n\
             hint: to search for text between slashes, escape one: /\\/text\\//"
        );
    }

    #[test]
    fn a_share_is_two_numbers_from_1() {
        let parse = |typed: &str| typed.parse::<Partition>();
        assert_eq!(parse("2/3"), Ok(Partition { share: 2, of: 3 }));
        assert_eq!(parse("1/1"), Ok(Partition { share: 1, of: 1 }));
        for typed in
            ["", "1", "/", "1/", "/2", "a/b", "+1/2", "1/-2", "1/2/3", " 1/2", "1.0/2", "99999999999999999999/1"]
        {
            assert_eq!(parse(typed), Err(BadPartition::Shape), "{typed}");
        }
        assert_eq!(parse("0/3"), Err(BadPartition::Zero));
        assert_eq!(parse("0/0"), Err(BadPartition::None));
        assert_eq!(parse("4/3"), Err(BadPartition::Beyond { share: 4, of: 3 }));
        assert_eq!(parse("4/3").unwrap_err().to_string(), "there is no partition 4 of 3 (hint: the last is `3/3`)");
    }

    #[test]
    fn every_test_is_in_exactly_one_share_and_stays_there() {
        let shares: Vec<Partition> = (1..=3).map(|share| Partition { share, of: 3 }).collect();
        let mut sizes = [0; 3];
        for at in 0..300 {
            let name = format!("test {at}");
            let taken: Vec<usize> = (0..3).filter(|share| shares[*share].takes(&name)).collect();
            assert_eq!(taken.len(), 1, "{name}");
            sizes[taken[0]] += 1;
        }
        assert!(sizes.iter().all(|size| *size > 70), "{sizes:?}");
        // The published values of FNV-1a: shares must not change between versions.
        assert_eq!(fnv(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn names_tags_and_models_select_together() {
        let text = "\
agents:
  - { name: books, models: [gpt-5, gpt-4], tags: [fast, air], prompt: p, golden_path: { calls: [a] } }
  - { name: looks, model: gpt-5, prompt: p, golden_path: { calls: [a] } }
";
        let variables = Variables { suite_dir: ".", outside: &|_| None };
        let suite = suite::load(&Source::new("a.yml", text), &variables).value.unwrap();
        let words = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let check = |filters: &[&str], tags: &str, skip_tags: &str, models: &str| {
            let (tags, skip_tags, models) = (words(tags), words(skip_tags), words(models));
            let filters: Vec<Filter> = filters.iter().map(|typed| filter(typed)).collect();
            let selection = Selection { filters: &filters, tags: &tags, skip_tags: &skip_tags, models: &models };
            let cells = suite.agents.iter().flat_map(|test| {
                selection.models(test).into_iter().map(|model| format!("{} {model}", test.name)).collect::<Vec<_>>()
            });
            (cells.collect::<Vec<_>>().join(", "), selection.typed())
        };
        let check = |filters: &[&str], tags: &str, skip_tags: &str, models: &str, cells: &str, typed: &str| {
            assert_eq!(check(filters, tags, skip_tags, models), (cells.to_owned(), typed.to_owned()));
        };
        check(&[], "", "", "", "books gpt-5, books gpt-4, looks gpt-5", "");
        check(&["look", "/^none/"], "", "", "", "looks gpt-5", "--filter look --filter /^none/");
        check(&[], "slow fast", "", "", "books gpt-5, books gpt-4", "--tag slow --tag fast");
        check(&[], "", "air", "", "looks gpt-5", "--skip-tag air");
        check(&[], "fast", "air", "", "", "--tag fast --skip-tag air");
        check(&["oo"], "", "", "gpt-5", "books gpt-5, looks gpt-5", "--filter oo --models gpt-5");
        check(&["looks"], "", "", "gpt-4", "", "--filter looks --models gpt-4");
    }
}
