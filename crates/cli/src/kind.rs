//! Which kind of file a YAML file is. Suites, scripts of their models, manifests of mock servers and gates files can be in one
//! folder. The keys at the root decide.

use mcptest_core::diag::Source;
use mcptest_core::keys::Block;
use mcptest_core::suite::{GATE_FILE, SUITE, yaml};

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Tests. Also the default, so that a suite with a mistake at its root is not skipped.
    Suite,
    /// What a scripted model answers.
    Script,
    /// The tools of a mock server.
    Mock,
    Gates,
    Cassette,
}

impl Kind {
    /// The kind of a file.
    pub(crate) fn of(source: &Source) -> Self {
        match yaml::tree(source) {
            Ok(root) => Self::by(|key| root.get(key).is_some()),
            // In a file that is not valid YAML, keys at the root are still at the start of a line.
            Err(_) => Self::by(|key| {
                let mut lines = source.text().lines();
                lines.any(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')))
            }),
        }
    }

    fn by(has: impl Fn(&str) -> bool) -> Self {
        let any = |block: &Block| block.keys.iter().any(|key| has(key.name));
        match (has("agents"), has("script"), has("mock_server")) {
            (false, true, false) => Self::Script,
            (false, false, true) => Self::Mock,
            (false, false, false) if has("mcptest") && has("fingerprint") => Self::Cassette,
            // A gate next to servers or models is one outside its test.
            (false, false, false) if any(&GATE_FILE) && !any(&SUITE) => Self::Gates,
            _ => Self::Suite,
        }
    }

    /// What a file is that was named as a suite, and what to do instead.
    pub(crate) fn instead_of_suite(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Suite => None,
            Self::Script => {
                Some(("is a script for a model, not a suite", "name the suite that uses it as the `script` of a model"))
            }
            Self::Mock => {
                Some(("is a mock server, not a suite", "name the suite that uses it, or serve it with `mcptest mock`"))
            }
            Self::Gates => Some((
                "is a gates file for `mcptest score`, not a suite",
                "use it with `mcptest score TRACES --gates FILE`",
            )),
            Self::Cassette => Some((
                "is a cassette, not a suite",
                "name the suite that replays it, or show it with `mcptest cassette show`",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, kind: Kind) {
        assert_eq!(Kind::of(&Source::new("x.yml", text)), kind, "{text}");
    }

    #[test]
    fn the_root_keys_decide_the_kind_of_a_file() {
        check("agents: []\n", Kind::Suite);
        check("script: 1\nruns: []\n", Kind::Script);
        check("{ \"script\": 1 }\n", Kind::Script);
        check("mock_server: { tools: [] }\n", Kind::Mock);
        check("models:\n  demo:\n    script: demo.yml\n", Kind::Suite);
        check("narrative: {}\n", Kind::Gates);
        check("expect: []\n", Kind::Gates);
        check("{ \"mcptest\": 1, \"fingerprint\": \"ab\" }\n", Kind::Cassette);
        check("", Kind::Suite);
        check("- script: 1\n", Kind::Suite);
    }

    #[test]
    fn a_suite_with_a_stray_key_is_still_a_suite() {
        check("script: demo.yml\nagents: []\n", Kind::Suite);
        check("mock_server: {}\nagents: []\n", Kind::Suite);
        check("script: 1\nmock_server: {}\n", Kind::Suite);
        check("narrative: {}\nservers: {}\n", Kind::Suite);
        check("narrative: {}\nagents: []\n", Kind::Suite);
    }

    #[test]
    fn a_file_that_is_not_yaml_is_recognized_by_its_lines() {
        check("script: 1\nruns: [\n", Kind::Script);
        check("script : 1\nscript: 1\n", Kind::Script);
        check("mock_server:\n  tools: [\n", Kind::Mock);
        check("script: 1\nagents: [\n", Kind::Suite);
        check("models: { demo: {\n  script: demo.yml\n", Kind::Suite);
        check("scripts: [\n", Kind::Suite);
        check("narrative: {\n", Kind::Gates);
    }
}
