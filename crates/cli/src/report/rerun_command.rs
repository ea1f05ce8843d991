//! The command that runs a row again, to be copied into a shell.

use mcptest_core::diag::{is_unprintable, shell_word};
use mcptest_core::report::{Origin, Row, RowVerdict};

/// The command for a row of a suite; none without a suite, and none if a hint is a command already.
pub(super) fn command(row: &Row, file: &str) -> Option<String> {
    let is_judged = matches!(
        row.verdict,
        RowVerdict::Fail | RowVerdict::Inconclusive | RowVerdict::Unassessable | RowVerdict::Absorbed
    );
    if row.line == 0 || !is_judged {
        return None;
    }
    let mut out = format!("mcptest run {}", path(file)?);
    out.push_str(&flag("--filter", &filter(&row.test))?);
    // The name of a row includes the model if the test runs on several.
    if row.name.starts_with(&format!("{} [", row.test)) {
        out.push_str(&flag("--models", &row.model)?);
    }
    if let Some(runs) = row.runs {
        out.push_str(&format!(" --runs {runs}"));
    }
    // What was recorded is replayed, which costs nothing and gives the same verdict. A script runs live again only if nothing was
    // recorded.
    if !row.recorded && matches!(row.origin, Some(Origin::Live | Origin::Scripted)) {
        out.push_str(" --live");
    }
    if row.origin == Some(Origin::Rerun) {
        out.push_str(" --rerun");
    }
    Some(out)
}

/// A path as an argument of a command; none if it cannot be copied from a screen.
pub(crate) fn path(file: &str) -> Option<String> {
    // A leading dash would make it a flag.
    if file.starts_with('-') { shell_word(&format!("./{file}")) } else { shell_word(file) }
}

fn flag(name: &str, value: &str) -> Option<String> {
    // A leading dash would make it a flag.
    let between = if value.starts_with('-') { '=' } else { ' ' };
    Some(format!(" {name}{between}{}", shell_word(value)?))
}

/// The filter that selects a test: its name, or a pattern if the name would be read as something else.
fn filter(name: &str) -> String {
    let is_plain = !name.is_empty() && !name.starts_with('/') && !name.contains(is_unprintable);
    if is_plain {
        return name.to_owned();
    }
    let mut pattern = String::from("/^");
    for c in name.chars() {
        if is_unprintable(c) {
            pattern.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
        } else {
            pattern.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
        }
    }
    pattern.push_str("$/");
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_recorded_is_judged_again_by_a_replay() {
        let row = |origin, recorded| {
            let failed = Row { line: 3, verdict: RowVerdict::Fail, origin: Some(origin), recorded, ..Row::named("t") };
            command(&failed, "suite.yml").unwrap()
        };
        let replay = "mcptest run suite.yml --filter t";
        assert_eq!(row(Origin::Replayed, false), replay);
        for origin in [Origin::Live, Origin::Scripted] {
            assert_eq!(row(origin, true), replay);
            assert_eq!(row(origin, false), format!("{replay} --live"));
        }
    }

    #[test]
    fn an_unusual_name_is_selected_by_a_pattern() {
        assert_eq!(filter("a.b"), "a.b");
        assert_eq!(filter("/a.b/"), "/^/a\\.b/$/");
        let pattern = filter("a\u{1b}\tb");
        assert_eq!(pattern, "/^a\\x{1b}\\x{9}b$/");
        let inner = pattern.trim_matches('/');
        assert!(regex::Regex::new(inner).unwrap().is_match("a\u{1b}\tb"));
        assert_eq!(flag("--filter", "-v").as_deref(), Some(" --filter=-v"));
    }
}
