//! ARCHITECTURE.md against the tree: its code map leads everywhere and to nowhere else, and it names every check.

use std::collections::BTreeSet;

use super::Finding;
use crate::tree::Tree;

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Code map";
const CHECK_PREFIX: &str = "tidy::";

/// Every path in the code map exists, and every source file of a crate is in it, itself or by a folder below `src`.
pub(super) fn code_map(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.get(DOCUMENT) else {
        return vec![Finding::in_file(DOCUMENT, "does not exist")];
    };
    let mut listed = BTreeSet::new();
    let mut findings = Vec::new();
    for (line, path) in code_spans(text).filter(|(line, span)| span.contains('/') && in_section(text, *line)) {
        if !tree.has(path) {
            findings.push(Finding::at_line(
                DOCUMENT,
                line,
                format!("the code map names `{path}`, which does not exist"),
            ));
        }
        listed.insert(path.trim_end_matches('/'));
    }
    if listed.is_empty() {
        return vec![Finding::in_file(DOCUMENT, format!("has no paths under `{HEADING}`"))];
    }
    let uncovered = tree.files().filter(|(path, _)| is_crate_source(path) && !is_covered(path, &listed));
    findings.extend(uncovered.map(|(path, _)| Finding::in_file(path, format!("is not in the code map of {DOCUMENT}"))));
    findings
}

/// Every check of this tool is named in the document, and every check it names exists.
pub(super) fn named_checks(tree: &Tree, checks: &[&str]) -> Vec<Finding> {
    let text = tree.get(DOCUMENT).unwrap_or("");
    let named: Vec<_> =
        code_spans(text).filter_map(|(line, span)| Some((line, span.strip_prefix(CHECK_PREFIX)?))).collect();
    let unknown = named.iter().filter(|(_, name)| !checks.contains(name));
    let mut findings: Vec<_> = unknown
        .map(|(line, name)| Finding::at_line(DOCUMENT, *line, format!("there is no check `{CHECK_PREFIX}{name}`")))
        .collect();
    let unnamed = checks.iter().filter(|check| !named.iter().any(|(_, name)| name == *check));
    findings.extend(unnamed.map(|check| {
        Finding::in_file(DOCUMENT, format!("does not say what the check `{CHECK_PREFIX}{check}` is for"))
    }));
    findings
}

/// Text between single backticks, with its line.
fn code_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with("```"));
    lines.flat_map(|(at, line)| line.split('`').skip(1).step_by(2).map(move |span| (at + 1, span)))
}

/// Whether a line, from 1, stands under the heading of the code map.
fn in_section(text: &str, line: usize) -> bool {
    let last = text.lines().take(line).filter(|line| line.starts_with("## ")).last();
    last.is_some_and(|heading| heading.trim_end() == HEADING)
}

fn is_crate_source(path: &str) -> bool {
    let steps: Vec<&str> = path.split('/').collect();
    matches!(steps.as_slice(), ["crates", _, "src", ..] | ["xtask", "src", ..])
        && std::path::Path::new(path).extension().is_some_and(|ext| ext == "rs")
}

/// Whether a file is listed, or lies in a listed folder. A crate's root or its `src` says too little to count.
fn is_covered(path: &str, listed: &BTreeSet<&str>) -> bool {
    let mut at = Some(path);
    while let Some(here) = at {
        if here.ends_with("/src") {
            return false;
        }
        if listed.contains(here) {
            return true;
        }
        at = here.rsplit_once('/').map(|(folder, _)| folder);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn check(document: &str, files: [&str; 3]) -> Vec<String> {
        let [a, b, c] = files.map(|path| (path, "//! Doc.\n"));
        lines(&code_map(&Tree::from([(DOCUMENT, document), a, b, c])))
    }

    const FILES: [&str; 3] = ["crates/a/src/lib.rs", "crates/a/src/eval/x.rs", "crates/a/src/eval/x/y.rs"];

    #[test]
    fn a_map_of_files_and_folders_is_complete() {
        let map =
            "# A\n## Code map\n- `crates/a/`: a\n- `crates/a/src/lib.rs`, `crates/a/src/eval/`\n## Else\n`no/path`\n";
        assert_eq!(check(map, FILES), [""; 0]);
    }

    #[test]
    fn a_path_that_does_not_exist_is_found_with_its_line() {
        let map = "## Code map\n`crates/a/src/lib.rs` `crates/a/src/eval`\n\n`crates/a/src/gone.rs`\n";
        assert_eq!(
            check(map, FILES),
            ["ARCHITECTURE.md:4: the code map names `crates/a/src/gone.rs`, which does not exist"]
        );
    }

    #[test]
    fn a_source_file_that_no_entry_covers_is_found_and_a_whole_crate_covers_nothing() {
        let map = "## Code map\n`crates/a/` `crates/a/src/` `crates/a/src/eval/x/`\n## Other\n`crates/a/src/lib.rs`\n";
        assert_eq!(
            check(map, FILES),
            [
                "crates/a/src/eval/x.rs: is not in the code map of ARCHITECTURE.md",
                "crates/a/src/lib.rs: is not in the code map of ARCHITECTURE.md",
            ]
        );
    }

    #[test]
    fn a_document_without_a_map_is_found() {
        assert_eq!(check("# A\n", FILES), ["ARCHITECTURE.md: has no paths under `## Code map`"]);
        assert_eq!(lines(&code_map(&Tree::default())), ["ARCHITECTURE.md: does not exist"]);
    }

    #[test]
    fn checks_and_document_name_each_other() {
        let tree = Tree::from([(DOCUMENT, "No clock (`tidy::purity`).\nNo cycle (`tidy::arows`).\n")]);
        assert_eq!(named_checks(&tree, &["purity"]).len(), 1);
        assert_eq!(
            lines(&named_checks(&tree, &["purity", "arrows"])),
            [
                "ARCHITECTURE.md:2: there is no check `tidy::arows`",
                "ARCHITECTURE.md: does not say what the check `tidy::arrows` is for",
            ]
        );
    }
}
