//! Files before they are written, validated as the program would read them.

use mcptest_core::diag::{Code, Diagnostic, Failure, Severity, Source};
use mcptest_core::suite::yaml::MAX_BYTES;
use mcptest_core::suite::{self, Variables};
use mcptest_runner::provider::script;

use super::files::File;
use super::stop;
use crate::kind::Kind;
use crate::report::text::many;

/// Everything to write and print.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) files: Vec<File>,
    /// Paragraphs about the source of the suite.
    pub(super) lines: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Draft {
    /// Validates every file. Returns the warnings of the mock server, which are about the tools that were found; any other
    /// diagnostic is a bug of this command.
    pub(super) fn check(&self) -> Result<String, Failure> {
        let mut warnings = String::new();
        for file in &self.files {
            if file.text.len() > MAX_BYTES {
                let message =
                    format!("{} would have {} bytes, and the limit is {MAX_BYTES}", file.name, file.text.len());
                return Err(stop(
                    Code::FileTooLarge,
                    message,
                    "make the server offer fewer tools, or use a shorter trace",
                ));
            }
            let source = Source::new(file.name, file.text.as_str());
            let is_snapshot = std::path::Path::new(file.name).extension().is_some_and(|ext| ext == "json");
            let kind = if is_snapshot { Kind::Mock } else { Kind::of(&source) };
            let diagnostics = match kind {
                Kind::Suite => suite::load(&source, &Variables { suite_dir: ".", outside: &|_| None }).diagnostics,
                Kind::Script => script::load(&source).diagnostics,
                Kind::Mock => mcptest_mock::load(&source).diagnostics,
                Kind::Gates | Kind::Cassette => {
                    suite::load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None }).diagnostics
                }
            };
            let is_fine = |found: &&Diagnostic| kind == Kind::Mock && found.severity == Severity::Warning;
            if let Some(first) = diagnostics.iter().find(|found| !is_fine(found)) {
                let message = format!(
                    "the generated files are not valid, so nothing was written\n{}",
                    first.render(&source).trim_end()
                );
                return Err(Failure::error((), message).hint("start with plain `mcptest init`, and copy what you need"));
            }
            warnings.push_str(&warned(&diagnostics, &source));
        }
        Ok(warnings)
    }
}

/// The first warnings: a server may have hundreds of tools with odd names.
fn warned(diagnostics: &[Diagnostic], source: &Source) -> String {
    const SHOWN: usize = 3;
    let mut out = String::new();
    for found in diagnostics.iter().take(SHOWN) {
        out.push_str(found.render(source).trim_end());
        out.push('\n');
    }
    if let Some(more) = diagnostics.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let rest = many(more, "more warning");
        out.push_str(&format!("note: {rest} like these\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &'static str, text: &str) -> Result<String, Failure> {
        let files = vec![File { name, what: "", text: text.to_owned() }];
        Draft { files, lines: Vec::new(), notes: Vec::new() }.check()
    }

    #[test]
    fn a_suite_or_a_script_with_a_mistake_or_a_warning_is_not_written() {
        let suite = "agents:\n  - { name: a, model: claude-sonnet-4-5, prompt: p, narrative: {} }\n";
        let stop = check("mcptest.yml", suite).unwrap_err();
        assert_eq!(
            stop.message,
            "the generated files are not valid, so nothing was written\n\
             mcptest.yml:2:13: warning[passes-on-empty-trace]: `a` passes when the agent makes no calls\n   |\n \
             2 |   - { name: a, model: claude-sonnet-4-5, prompt: p, narrative: {} }\n   |             ^\n   \
             = hint: add a `trajectory:` or an `expect:` that fails when the agent does nothing"
        );
        assert!(check("mcptest/script.yml", "script: 1\nruns: []\n").is_err());
        assert!(check("mcptest/tools.json", "{\"tools\": 1}").is_err());
        assert_eq!(check("mcptest/tools.json", "{\"tools\": []}"), Ok(String::new()));
    }

    #[test]
    fn odd_tools_of_real_servers_get_a_warning_and_are_written() {
        let odd: Vec<String> = (0..5).map(|n| format!("{{\"name\": \"a {n}\", \"inputSchema\": {{}}}}")).collect();
        let warnings = check("mcptest/tools.json", &format!("{{\"tools\": [{}]}}", odd.join(",\n"))).unwrap();
        assert_eq!(warnings.matches("clients may reject this tool name").count(), 3);
        assert!(warnings.ends_with("note: 2 more warnings like these\n"), "{warnings}");
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused_by_its_size() {
        let long = format!("{{\"tools\": []}}{}", " ".repeat(MAX_BYTES));
        let stop = check("mcptest/tools.json", &long).unwrap_err();
        assert_eq!(stop.message, "mcptest/tools.json would have 16777229 bytes, and the limit is 16777216");
    }
}
