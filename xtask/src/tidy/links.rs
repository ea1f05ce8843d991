//! Links between documents: each leads somewhere, and every page can be reached from the README.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Finding;
use crate::tree::{Tree, is_document};

/// Documents that tests compare whole; a link in them is the text of an agent.
const SAMPLES: &str = "crates/cli/src/report/samples/";
const START: &str = "README.md";
const PAGES: &str = "docs/";

struct Link {
    /// From 1.
    line: usize,
    target: String,
    /// For an image: whether it has alternative text.
    is_described: bool,
}

/// Every link and image in every document leads to something that exists.
pub(super) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in documents(tree) {
        for link in links_in(text) {
            let mut report = |message: String| findings.push(Finding::at_line(path, link.line, message));
            if !link.is_described {
                report(format!("the image `{}` has no alt text", link.target));
            }
            if let Err(message) = follow(tree, path, &link.target) {
                report(format!("the link `{}` {message}", link.target));
            }
        }
    }
    findings
}

/// Every page can be reached from the README.
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
    lost.map(|path| Finding::in_file(path, format!("cannot be reached from {START}"))).collect()
}

fn documents(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.files().filter(|(path, _)| is_document(path) && !path.starts_with(SAMPLES))
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

fn links_in(text: &str) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut images = Vec::new();
    for (event, place) in parser(text).into_offset_iter() {
        let line = text.get(..place.start).map_or(1, |before| before.matches('\n').count() + 1);
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                links.push(Link { line, target: dest_url.into_string(), is_described: true });
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                images.push(links.len());
                links.push(Link { line, target: dest_url.into_string(), is_described: false });
            }
            Event::End(TagEnd::Image) => drop(images.pop()),
            Event::Text(_) | Event::Code(_) => {
                if let Some(image) = images.last().and_then(|at| links.get_mut(*at)) {
                    image.is_described = true;
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let attribute = |name: &str| html.split_once(&format!(" {name}=\""))?.1.split('"').next();
                if let Some(target) = attribute("src").or_else(|| attribute("href")) {
                    let is_described = !html.contains("<img ") || attribute("alt").is_some_and(|text| !text.is_empty());
                    links.push(Link { line, target: target.to_owned(), is_described });
                }
            }
            _ => {}
        }
    }
    links
}

/// The anchors of the headings, by GitHub's rules.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in parser(text) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.push_str(&text),
            (Event::End(TagEnd::Heading(_)), Some(text)) => {
                let anchor = anchor(text);
                let numbered = (1..).map(|number| format!("{anchor}-{number}"));
                let free = std::iter::once(anchor.clone()).chain(numbered).find(|anchor| !anchors.contains(anchor));
                anchors.extend(free);
                heading = None;
            }
            _ => {}
        }
    }
    anchors
}

/// The anchor of a heading: lower case, without punctuation, with hyphens for spaces.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|kept| kept.is_alphanumeric() || matches!(kept, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|kept| if kept == ' ' { '-' } else { kept }).collect()
}

/// Why a link leads nowhere.
fn follow(tree: &Tree, document: &str, target: &str) -> Result<(), String> {
    if let Some((scheme, rest)) = target.split_once(':').filter(|(scheme, _)| !scheme.contains(['/', '#'])) {
        let host = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next());
        return match (scheme, host) {
            ("http" | "https", Some(host)) if host.contains('.') || host.starts_with("localhost") => Ok(()),
            ("http" | "https", _) => Err("has no host".to_owned()),
            ("mailto", _) => Ok(()),
            _ => Err("is neither relative nor http".to_owned()),
        };
    }
    if target.starts_with('/') {
        return Err("is absolute: write it relative to the folder of the document".to_owned());
    }
    let path = file_of(document, target).ok_or("leads out of the repository")?;
    if !path.is_empty() && !tree.has(&path) {
        return Err(format!("leads to `{path}`, which does not exist"));
    }
    match target.split_once('#') {
        None => Ok(()),
        Some((_, anchor)) => match tree.get(&path).filter(|_| is_document(&path)).map(anchors) {
            None => Err(format!("has an anchor, and `{path}` has no headings")),
            Some(anchors) if anchors.contains(anchor) => Ok(()),
            Some(_) => Err(format!("leads to a heading that `{path}` does not have")),
        },
    }
}

/// The path, from the root, of the file that a relative link leads to; `None` when it is outside of the repository.
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
    fn check(document: &str, expected: &[&str]) {
        let tree = Tree::from([
            ("docs/a.md", document),
            ("docs/b.md", "# One\n\n## Two, or `more`?\n\n## One\n"),
            ("docs/deep/c.md", ""),
            ("src/x.rs", ""),
            ("README.md", ""),
        ]);
        assert_eq!(lines(&links(&tree)), expected, "{document}");
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        check("# Top\n[b](b.md) [c](deep/c.md) [up](../README.md) [x](../src/x.rs) [folder](deep) [also](deep/)", &[]);
        check("# Top\n[a](#top) [b](b.md#two-or-more) [b](b.md#one-1) [root](..)", &[]);
        check("[w](https://example.test/a#b) [m](mailto:a@example.test) <https://example.test>", &[]);
        check("`[b](c)` <!-- [b](c) -->\n\n```text\n[b](c)\n```\n", &[]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_line() {
        check("a\n\n[b](c.md)", &["docs/a.md:3: the link `c.md` leads to `docs/c.md`, which does not exist"]);
        check("[b]\n\n[b]: c.md", &["docs/a.md:1: the link `c.md` leads to `docs/c.md`, which does not exist"]);
        check("x <a href=\"c.md\">b</a>", &["docs/a.md:1: the link `c.md` leads to `docs/c.md`, which does not exist"]);
        check("[b](../../x.md)", &["docs/a.md:1: the link `../../x.md` leads out of the repository"]);
        check("[b](b.md#two)", &["docs/a.md:1: the link `b.md#two` leads to a heading that `docs/b.md` does not have"]);
        check(
            "[b](../src/x.rs#L3)",
            &["docs/a.md:1: the link `../src/x.rs#L3` has an anchor, and `src/x.rs` has no headings"],
        );
        check("[b](https:///x)", &["docs/a.md:1: the link `https:///x` has no host"]);
        check("[b](file:///x)", &["docs/a.md:1: the link `file:///x` is neither relative nor http"]);
        let absolute =
            "docs/a.md:1: the link `/docs/b.md` is absolute: write it relative to the folder of the document";
        check("[b](/docs/b.md)", &[absolute]);
    }

    #[test]
    fn images_exist_and_have_alt_text() {
        check("![A tree](../src/x.rs)\n\n<img src=\"../src/x.rs\" alt=\"A tree\">", &[]);
        check(
            "![](x.png)",
            &[
                "docs/a.md:1: the image `x.png` has no alt text",
                "docs/a.md:1: the link `x.png` leads to `docs/x.png`, which does not exist",
            ],
        );
        check("<img src=\"../src/x.rs\">", &["docs/a.md:1: the image `../src/x.rs` has no alt text"]);
    }

    #[test]
    fn anchors_follow_the_rules_of_github() {
        let text = "# What's `tool_calls[0]`?\n\n## A [link](b.md) – and_more\n## One ##\n### One\n#no\n```sh\n# no\n```\n\
                    ## Ärger 2.0\n";
        let expected = ["whats-tool_calls0", "a-link--and_more", "one", "one-1", "ärger-20"];
        assert_eq!(anchors(text), expected.map(str::to_owned).into());
    }

    #[test]
    fn a_page_that_no_link_leads_to_is_found() {
        let tree = Tree::from([
            ("README.md", "[a](docs/a.md#top) `[d](docs/d.md)`"),
            ("docs/a.md", "# Top\n[b](b.md) [a](#top) [README](../README.md)"),
            ("docs/b.md", "[sub](sub/)"),
            ("docs/d.md", "[d](d.md)"),
            ("examples/f.md", ""),
        ]);
        assert_eq!(lines(&orphans(&tree)), ["docs/d.md: cannot be reached from README.md"]);
    }
}
