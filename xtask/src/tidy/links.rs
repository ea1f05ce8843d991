//! Links between documents: each leads somewhere, and every page is led to.

use std::collections::BTreeSet;

use super::Finding;
use super::markdown::{Link, anchors, links as links_in};
use crate::tree::{Tree, is_document};

/// Documents that tests compare whole; what looks like a link in them is what an agent said.
const NOT_DOCUMENTS: [&str; 1] = ["crates/cli/src/report/samples/"];
/// Where reading starts.
const START: &str = "README.md";
/// Where every page has to be found.
const PAGES: &str = "docs/";

/// Every link and picture of every document leads to something that is there.
pub(super) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in documents(tree) {
        for link in links_in(text) {
            let mut complain = |message: String| findings.push(Finding::at_line(path, link.line, message));
            if link.is_picture && link.text.trim().is_empty() {
                complain(format!("the picture `{}` has no text for those who do not see it", link.target));
            }
            if let Err(message) = follow(tree, path, &link) {
                complain(message);
            }
        }
    }
    findings
}

/// Every page is found by following links from the README.
pub(super) fn orphans(tree: &Tree) -> Vec<Finding> {
    let mut found = BTreeSet::new();
    let mut ahead = vec![START.to_owned()];
    while let Some(path) = ahead.pop() {
        let Some(text) = tree.get(&path) else { continue };
        let targets = links_in(text).into_iter().filter_map(|link| file_of(&path, &link.target));
        ahead.extend(targets.filter(|target| is_document(target) && !found.contains(target)));
        found.insert(path);
    }
    let pages = documents(tree).map(|(path, _)| path).filter(|path| path.starts_with(PAGES));
    let lost = pages.filter(|path| !found.contains(*path));
    lost.map(|path| Finding::in_file(path, format!("no links lead from {START} to this page"))).collect()
}

fn documents(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.files().filter(|(path, _)| is_document(path) && !NOT_DOCUMENTS.iter().any(|folder| path.starts_with(folder)))
}

/// Why a link leads nowhere.
fn follow(tree: &Tree, document: &str, link: &Link) -> Result<(), String> {
    let target = link.target.as_str();
    if let Some((scheme, rest)) = target.split_once(':').filter(|(scheme, _)| !scheme.contains(['/', '#'])) {
        let host = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next());
        return match (scheme, host) {
            ("http" | "https", Some(host)) if host.contains('.') || host.starts_with("localhost") => Ok(()),
            ("http" | "https", _) => Err(format!("the link `{target}` has no host")),
            ("mailto", _) => Ok(()),
            _ => Err(format!("the link `{target}` is neither relative nor http")),
        };
    }
    if target.starts_with('/') {
        return Err(format!("the link `{target}` is absolute: write it from the folder of the document"));
    }
    let path = file_of(document, target).ok_or_else(|| format!("the link `{target}` leads out of the repository"))?;
    if !path.is_empty() && !tree.has(&path) {
        return Err(format!("the link `{target}` leads to `{path}`, which does not exist"));
    }
    match target.split_once('#') {
        None => Ok(()),
        Some((_, anchor)) => match tree.get(&path).filter(|_| is_document(&path)).map(anchors) {
            None => Err(format!("the link `{target}` has an anchor, and `{path}` has no headings")),
            Some(anchors) if anchors.contains(anchor) => Ok(()),
            Some(_) => Err(format!("the link `{target}` leads to a heading that `{path}` does not have")),
        },
    }
}

/// The path, from the root, of the file that a relative link leads to; `None` when it leads out of the repository. The root
/// itself has no name.
fn file_of(document: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().unwrap_or(target);
    if path.is_empty() {
        return Some(document.to_owned());
    }
    let mut steps: Vec<&str> = document.split('/').collect();
    steps.pop();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()?),
            step => steps.push(step),
        }
    }
    Some(steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[track_caller]
    fn check(document: &str, complaints: &[&str]) {
        let tree = Tree::from([
            ("docs/a.md", document),
            ("docs/b.md", "# One\n\n## Two, or more?\n\n## One\n"),
            ("docs/deep/c.md", ""),
            ("src/x.rs", ""),
            ("README.md", ""),
        ]);
        assert_eq!(lines(&links(&tree)), complaints, "{document}");
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        check("# Top\n[b](b.md) [c](deep/c.md) [up](../README.md) [x](../src/x.rs) [folder](deep) [also](deep/)", &[]);
        check("# Top\n[a](#top) [b](b.md#two-or-more) [b](b.md#one-1) [root](..)", &[]);
        check("[w](https://example.test/a#b) [m](mailto:a@example.test) <https://example.test>", &[]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_line() {
        check("a\n\n[b](c.md)", &["docs/a.md:3: the link `c.md` leads to `docs/c.md`, which does not exist"]);
        check("[b](../../x.md)", &["docs/a.md:1: the link `../../x.md` leads out of the repository"]);
        check(
            "[b](/docs/b.md)",
            &["docs/a.md:1: the link `/docs/b.md` is absolute: write it from the folder of the document"],
        );
        check("[b](b.md#two)", &["docs/a.md:1: the link `b.md#two` leads to a heading that `docs/b.md` does not have"]);
        check("[b](#one)", &["docs/a.md:1: the link `#one` leads to a heading that `docs/a.md` does not have"]);
        check(
            "[b](../src/x.rs#L3)",
            &["docs/a.md:1: the link `../src/x.rs#L3` has an anchor, and `src/x.rs` has no headings"],
        );
        check("[b](https:///x)", &["docs/a.md:1: the link `https:///x` has no host"]);
        check("[b](file:///x)", &["docs/a.md:1: the link `file:///x` is neither relative nor http"]);
        check("[b]: c.md", &["docs/a.md:1: the link `c.md` leads to `docs/c.md`, which does not exist"]);
    }

    #[test]
    fn pictures_exist_and_say_what_they_show() {
        check("![A tree](../src/x.rs)\n<img src=\"../src/x.rs\" alt=\"A tree\">", &[]);
        check(
            "![](x.png)",
            &[
                "docs/a.md:1: the picture `x.png` has no text for those who do not see it",
                "docs/a.md:1: the link `x.png` leads to `docs/x.png`, which does not exist",
            ],
        );
        check(
            "<img src=\"../src/x.rs\">",
            &["docs/a.md:1: the picture `../src/x.rs` has no text for those who do not see it"],
        );
    }

    #[test]
    fn a_page_that_no_link_leads_to_is_found() {
        let tree = Tree::from([
            ("README.md", "[a](docs/a.md#top) `[d](docs/d.md)`"),
            ("docs/a.md", "# Top\n[b](b.md) [a](#top) [README](../README.md)"),
            ("docs/b.md", "[sub](sub/)"),
            ("docs/d.md", "[d](d.md)"),
            ("docs/sub/e.md", ""),
            ("examples/f.md", ""),
        ]);
        assert_eq!(
            lines(&orphans(&tree)),
            [
                "docs/d.md: no links lead from README.md to this page",
                "docs/sub/e.md: no links lead from README.md to this page"
            ]
        );
    }
}
