//! `man/`: one manual page per command, made from the definition of the command line.
//!
//! The pages have no date, so the same program gives the same pages. The text below the options of a help text becomes sections:
//! exit status, examples and notes.

use std::fs;
use std::path::Path;

use clap_mangen::Man;

use crate::failure::Failure;

const FOLDER: &str = "man";

/// Every page: its path and its text.
pub(super) fn pages() -> Result<Vec<(String, String)>, Failure> {
    let mut root = mcptest::cli().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    let mut ahead = vec![root];
    while let Some(command) = ahead.pop() {
        ahead.extend(command.get_subcommands().cloned());
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
            .map_err(|error| Failure::broken(format!("cannot make the manual page of {name}: {error}")))?;
        let sections_of_clap = String::from_utf8_lossy(&bytes).replace(APOSTROPHES, "");
        let mut text = format!("{}{sections_of_clap}", title(&name));
        text.push_str(&sections(&after));
        if name != "mcptest" {
            text.push_str(".SH \"SEE ALSO\"\nmcptest(1), mcptest\\-explain(1)\n");
        }
        pages.push((format!("{FOLDER}/{name}.1"), text));
    }
    pages.sort();
    Ok(pages)
}

/// How every section of the library begins: it makes groff print apostrophes unchanged. Once at the top is enough.
const APOSTROPHES: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// The first lines of a page.
fn title(name: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{APOSTROPHES}.TH \"{}\" \"1\" \"\" \"mcptest {version}\" \"mcptest\"\n", line(&name.to_uppercase()))
}

/// Pages in the folder that belong to no command.
pub(super) fn obsolete(root: &Path, pages: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let folder = root.join(FOLDER);
    let entries = fs::read_dir(&folder).map_err(|error| Failure::io("read", &folder, &error))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Failure::io("read", &folder, &error))?;
        let path = format!("{FOLDER}/{}", entry.file_name().to_string_lossy());
        if !pages.iter().any(|(known, _)| *known == path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The text below the options of a help text as sections.
fn sections(after: &str) -> String {
    let mut out = String::new();
    let mut last = "";
    for part in after.split("\n\n").filter(|part| !part.trim().is_empty()) {
        let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
        let (heading, body) = if let Some(codes) = part.strip_prefix("Exit codes: ") {
            ("EXIT STATUS", codes.to_owned())
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

/// A line escaped for groff.
fn line(text: &str) -> String {
    let plain = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if plain.starts_with('.') { format!("\\&{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_examples_and_no_date() {
        let pages = pages().unwrap();
        assert!(pages.len() > mcptest::cli().get_subcommands().count());
        for (path, text) in &pages {
            assert!(text.contains(".SH \"EXAMPLES\""), "{path} has no example");
            assert!(text.contains(" \"1\" \"\" \"mcptest "), "{path} has a date");
        }
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
}
