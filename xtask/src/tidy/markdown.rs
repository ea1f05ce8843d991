//! As much of Markdown as it takes to find links and headings.

use std::collections::BTreeSet;

/// A link or a picture of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// From 1.
    pub(super) line: usize,
    /// What it leads to, as it is written.
    pub(super) target: String,
    /// What is shown for it.
    pub(super) text: String,
    pub(super) is_picture: bool,
}

/// Every link and picture, in the order of their places, but for those in code.
pub(super) fn links(text: &str) -> Vec<Link> {
    let plain = without_code(text);
    let mut found = Vec::new();
    for (at, _) in plain.match_indices('[') {
        let is_picture = plain.get(..at).is_some_and(|before| before.ends_with('!'));
        let Some((shown, rest)) = bracketed(plain.get(at + 1..).unwrap_or("")) else { continue };
        let starts_line = plain.get(..at).is_some_and(|before| before.is_empty() || before.ends_with('\n'));
        let target = match (rest.strip_prefix('('), rest.strip_prefix("]: ").or_else(|| rest.strip_prefix(": "))) {
            (Some(inside), _) => inside.split(')').next(),
            (None, Some(definition)) if starts_line => definition.lines().next(),
            _ => None,
        };
        // A title may stand after the target, and the target in angle brackets.
        let Some(target) = target.and_then(|target| target.split_whitespace().next()) else { continue };
        let target = target.trim_start_matches('<').trim_end_matches('>').to_owned();
        found.push((at, Link { line: line_of(&plain, at), target, text: shown.to_owned(), is_picture }));
    }
    for (tag, key, is_picture) in [("<img ", "src", true), ("<a ", "href", false)] {
        for (at, _) in plain.match_indices(tag) {
            let tag = plain.get(at..).and_then(|rest| rest.split('>').next()).unwrap_or("");
            let Some(target) = attribute(tag, key) else { continue };
            let shown = attribute(tag, "alt").unwrap_or("").to_owned();
            found.push((at, Link { line: line_of(&plain, at), target: target.to_owned(), text: shown, is_picture }));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, link)| link).collect()
}

/// The anchors of the headings, by GitHub's rules, and those that HTML gives.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let plain = without_code(text);
    let mut anchors = BTreeSet::new();
    for (line, blanked) in text.lines().zip(plain.lines()) {
        // A line of a fenced block is blank here, code within a heading is not.
        let hashes = blanked.chars().take_while(|hash| *hash == '#').count();
        let Some(heading) = line.get(hashes..).filter(|rest| (1..=6).contains(&hashes) && rest.starts_with(' ')) else {
            continue;
        };
        let anchor = anchor(heading.trim().trim_end_matches('#').trim_end());
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    for key in ["id", "name"] {
        for (at, _) in plain.match_indices("<a ") {
            let tag = plain.get(at..).and_then(|rest| rest.split('>').next()).unwrap_or("");
            anchors.extend(attribute(tag, key).map(str::to_owned));
        }
    }
    anchors
}

/// The anchor of a heading: lower case, without punctuation, with hyphens for spaces. Of a link only its text counts.
pub(crate) fn anchor(heading: &str) -> String {
    let mut shown = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        shown.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    let kept = shown.chars().filter(|kept| kept.is_alphanumeric() || matches!(kept, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|kept| if kept == ' ' { '-' } else { kept }).collect()
}

/// The text up to the bracket that closes, and what follows that; `None` when none does in the same paragraph.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    for (at, sign) in paragraph.char_indices() {
        match sign {
            '[' => depth += 1,
            ']' if depth == 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The value of an attribute of a tag.
fn attribute<'a>(tag: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {key}=\""))?;
    rest.split('"').next()
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
}

/// The text with spaces in place of fenced blocks, code and comments, so that places stay what they are.
fn without_code(text: &str) -> String {
    let mut plain = String::new();
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        match fence {
            Some(open) if bare == open => fence = None,
            None if ticks >= 3 => fence = bare.get(..ticks),
            None => {
                plain.push_str(line);
                continue;
            }
            Some(_) => {}
        }
        blank(line, &mut plain);
    }
    without_spans(&plain)
}

/// The text with spaces in place of code between backticks and of comments.
fn without_spans(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('`').into_iter().chain(rest.find("<!--")).min() {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let ticks = from.len() - from.trim_start_matches('`').len();
        let (open, end) = if ticks == 0 { (4, "-->") } else { (ticks, from.get(..ticks).unwrap_or("`")) };
        let inside = from.get(open..).unwrap_or("");
        // Code ends in its paragraph; backticks that nothing closes are text.
        let reach = if ticks == 0 { inside } else { inside.split("\n\n").next().unwrap_or(inside) };
        let length = reach.find(end).map_or(open, |at| open + at + end.len());
        let (span, after) = from.split_at(length);
        blank(span, &mut plain);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// As many spaces as the text has bytes, with its ends of lines.
fn blank(text: &str, plain: &mut String) {
    plain.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String, String)> {
        links(text).into_iter().map(|link| (link.line, link.text, link.target)).collect()
    }

    fn link(line: usize, text: &str, target: &str) -> (usize, String, String) {
        (line, text.to_owned(), target.to_owned())
    }

    #[test]
    fn links_are_found_wherever_they_stand() {
        assert_eq!(found("a [b](c) d\n[e\nf](<g> \"h\")"), [link(1, "b", "c"), link(2, "e\nf", "g")]);
        assert_eq!(found("[![b](c)](d)"), [link(1, "![b](c)", "d"), link(1, "b", "c")]);
        assert_eq!(found("x\n[b]: c\n[d] [e]"), [link(2, "b", "c")]);
        assert_eq!(found("é <a href=\"c\">b</a> [b](d)"), [link(1, "", "c"), link(1, "b", "d")]);
    }

    #[test]
    fn what_is_code_or_a_comment_is_no_link() {
        assert_eq!(found("`[b](c)` ``[b]`(c)`` <!-- [b](c) -->\n```text\n[b](c)\n```\n"), []);
        assert_eq!(found("[`b`](c) ` [d](e)"), [link(1, "   ", "c"), link(1, "d", "e")]);
        assert_eq!(found("````markdown\n```\n````\n[b](c)"), [link(4, "b", "c")]);
        assert_eq!(found("[b] (c) [open\n\n](c)"), []);
    }

    #[test]
    fn anchors_follow_the_rules_of_github() {
        let text = "# What's `tool_calls[0]`?\n\n## A [link](b.md) – and_more\n## One ##\n### One\n#no\n```sh\n# no\n```\n\
                    <a id=\"here\"></a>\n## Ärger 2.0\n";
        let expected = ["whats-tool_calls0", "a-link--and_more", "one", "one-1", "here", "ärger-20"];
        assert_eq!(anchors(text), expected.map(str::to_owned).into());
    }
}
