//! `man/`: one page of the manual per command, made from what the program itself says of its commands.
//!
//! The pages carry no date, so the same program gives the same pages. What stands below the options of a help text becomes
//! sections of its own: a manual page has room for that, and shows examples line by line.

use std::fs;
use std::path::Path;

use clap_mangen::Man;

use crate::failure::Failure;

/// The folder of the pages.
pub(super) const FOLDER: &str = "man";

/// Every page: its text and its path.
pub(super) fn pages() -> Result<Vec<(String, String)>, Failure> {
    let mut root = mcptest::typed().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    let mut left = vec![root];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let has_subcommands = command.has_subcommands();
        let man = Man::new(command);
        let mut bytes = Vec::new();
        man.render_name_section(&mut bytes)
            .and_then(|()| man.render_synopsis_section(&mut bytes))
            .and_then(|()| man.render_description_section(&mut bytes))
            .and_then(|()| man.render_options_section(&mut bytes))
            .and_then(|()| if has_subcommands { man.render_subcommands_section(&mut bytes) } else { Ok(()) })
            .map_err(|error| Failure::broken(format!("the manual page of {name} cannot be made: {error}")))?;
        let mut text = format!("{}{}", title(&name), once(&String::from_utf8_lossy(&bytes)));
        text.push_str(&sections(&after));
        if name != "mcptest" {
            text.push_str(".SH \"SEE ALSO\"\nmcptest(1), mcptest\\-explain(1)\n");
        }
        pages.push((text, format!("{FOLDER}/{name}.1")));
    }
    pages.sort_by(|(_, one), (_, other)| one.cmp(other));
    Ok(pages)
}

/// How every section of the library begins: it makes the typesetter write apostrophes as they are.
const APOSTROPHES: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// The first lines of a page. The date is left empty, which says more than the day on which somebody built it.
fn title(name: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{APOSTROPHES}.TH \"{}\" \"1\" \"\" \"mcptest {version}\" \"mcptest\"\n", line(&name.to_uppercase()))
}

/// A text without the lines that every section begins with: once at the top is enough.
fn once(text: &str) -> String {
    text.replace(APOSTROPHES, "")
}

/// Pages in the folder that no command has any more.
pub(super) fn gone(root: &Path, pages: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let folder = root.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::io("read", &folder, &error)),
    };
    let mut out = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Failure::io("read", &folder, &error))?;
        let path = format!("{FOLDER}/{}", entry.file_name().to_string_lossy());
        if !pages.iter().any(|(_, known)| *known == path) {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

/// What stands below the options of a help text, as sections: exit codes, examples, and the rest.
fn sections(after: &str) -> String {
    let mut out = String::new();
    let mut last = "";
    for part in after.split("\n\n").filter(|part| !part.trim().is_empty()) {
        let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
        let (heading, body) = if let Some(said) = part.strip_prefix("Exit codes: ") {
            ("EXIT STATUS", said.to_owned())
        } else if let Some(line) = first.strip_prefix("Example: ") {
            ("EXAMPLES", format!("{line}\n{rest}"))
        } else if first.starts_with("Example") && first.ends_with(':') {
            ("EXAMPLES", rest.to_owned())
        } else {
            ("NOTES", part.to_owned())
        };
        if heading == last {
            out.push_str(".PP\n");
        } else {
            out.push_str(&format!(".SH \"{heading}\"\n"));
        }
        last = heading;
        let lines: Vec<String> = body.trim_end().lines().map(line).collect();
        let text = lines.join("\n");
        out.push_str(&if heading == "EXIT STATUS" { format!("{text}\n") } else { format!(".nf\n{text}\n.fi\n") });
    }
    out
}

/// A line of text as the typesetter takes it for nothing but text.
fn line(text: &str) -> String {
    let plain = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if plain.starts_with('.') { format!("\\&{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_page_with_its_exit_codes_and_examples() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(_, path)| path.as_str()).collect();
        let mut due = vec!["man/mcptest.1".to_owned()];
        for command in mcptest::typed().get_subcommands() {
            due.push(format!("man/mcptest-{}.1", command.get_name()));
            let inner = command
                .get_subcommands()
                .map(|inner| format!("man/mcptest-{}-{}.1", command.get_name(), inner.get_name()));
            due.extend(inner);
        }
        due.sort();
        assert_eq!(names, due);
        for (text, path) in &pages {
            assert!(text.contains(".SH \"EXAMPLES\""), "{path} has no example");
            assert_eq!(text.matches(APOSTROPHES).count(), 1, "{path}");
            assert!(text.contains(" \"1\" \"\" \"mcptest "), "{path} has no date");
        }
        let run = &pages.iter().find(|(_, path)| path == "man/mcptest-run.1").unwrap().0;
        assert!(run.contains("\n.SH \"EXIT STATUS\"\n0 everything holds"), "{run}");
        assert!(run.contains("\n  mcptest run tests/weather.yml\n"), "{run}");
    }

    #[test]
    fn text_below_the_options_becomes_sections() {
        assert_eq!(
            sections(
                "Faults:\n  none  no fault\n\nExit codes: 0 fine,\n2 not.\n\nExamples:\n  mcptest a --b 'c'\n  .x \\n"
            ),
            ".SH \"NOTES\"\n.nf\nFaults:\n  none  no fault\n.fi\n\
             .SH \"EXIT STATUS\"\n0 fine,\n2 not.\n\
             .SH \"EXAMPLES\"\n.nf\n  mcptest a \\-\\-b \\(aqc\\(aq\n  .x \\en\n.fi\n"
        );
        assert_eq!(sections("Example: mcptest x"), ".SH \"EXAMPLES\"\n.nf\nmcptest x\n.fi\n");
        assert_eq!(line(".TH x"), "\\&.TH x");
    }

    #[test]
    fn a_page_whose_command_is_gone_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let pages = vec![(String::new(), "man/mcptest.1".to_owned())];
        assert_eq!(gone(root.path(), &pages), Ok(vec![]));
        fs::create_dir(root.path().join(FOLDER)).unwrap();
        fs::write(root.path().join("man/mcptest.1"), "").unwrap();
        fs::write(root.path().join("man/mcptest-old.1"), "").unwrap();
        assert_eq!(gone(root.path(), &pages), Ok(vec!["man/mcptest-old.1".to_owned()]));
    }
}
