//! What CI servers read as commands: the rules of their runners, for the tests.
//!
//! Ported from the sources of GitHub's runner (`ActionCommand.cs`: `TryParseV2` and `TryParse`), of the agent of Azure
//! Pipelines (`Command.cs`: `TryParse`, and its log, which looks for `##[group]` in any case), and from the documents of
//! `TeamCity`. The rules here know fewer reasons to leave a line alone: any name counts, also of a command that no runner has,
//! and a command counts without its end, because another stream may write the rest of the line.

/// A command that a runner would find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// Its name, such as `error` or `vso`.
    pub(crate) name: String,
    /// The line it is in.
    pub(crate) line: String,
}

/// Every command in a log.
pub(crate) fn commands(log: &str) -> Vec<Command> {
    // A carriage return ends a line too.
    log.split(['\n', '\r']).flat_map(of_line).collect()
}

fn of_line(line: &str) -> Vec<Command> {
    let found = |name: &str| Command { name: name.to_owned(), line: line.to_owned() };
    let mut out = Vec::new();
    // At its beginning: `::name key=value::data`.
    if let Some(rest) = line.trim_start().strip_prefix("::") {
        let info = rest.split("::").next().unwrap_or(rest);
        out.push(found(info.split(' ').next().unwrap_or(info)));
    }
    // Anywhere: `##[name key=value]data`, `##vso[area.event key=value]data`.
    for part in line.split("##").skip(1) {
        let rest = part.trim_start_matches('#');
        let prefix = rest.find('[').filter(|end| rest[..*end].chars().all(char::is_alphanumeric));
        if let Some(end) = prefix {
            out.push(found(&rest[..end]));
        }
    }
    out
}

/// Whether a character is invisible and changes how others are displayed: a separate list, to compare the program's list
/// with.
pub(crate) fn is_invisible(c: char) -> bool {
    let ranges = [
        (0x00ad, 0x00ad),
        (0x034f, 0x034f),
        (0x061c, 0x061c),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x2028, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0d),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff9, 0xfffb),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
    ];
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)))
}

/// Texts that a hostile agent or server would write.
pub(crate) const HOSTILE: [&str; 12] = [
    "::error::x",
    "\n::set-output name=a::b",
    "\r\n \t::stop-commands::x",
    "##[group]x",
    "a ##[error]b]",
    "##vso[task.setvariable variable=a]b",
    "word ###VSO[task.complete result=Succeeded;]done",
    "##teamcity[buildStatus text='ok']",
    "\u{3000}::add-mask::e",
    "\u{200b}\u{ad}\u{61c}\u{e0041}\u{2066}\u{feff}\u{e0101}##\u{2060}[error]",
    "w ord ::warning file=a::b ::notice::c ::debug::d ::endgroup:: ::x:: ::y::",
    "##[a]##[b]##vso[c.d]##",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_as_runners_find_them() {
        let names = |log: &str| commands(log).into_iter().map(|found| found.name).collect::<Vec<_>>();
        assert_eq!(names("a\n ::error file=a::b\r\u{a0}::x::"), ["error", "x"]);
        assert_eq!(names("a ##[group]b ###vso[task.x] ##TEAMCITY[y]"), ["", "vso", "TEAMCITY"]);
        assert_eq!(names("a ::error:: # [a] #[b] ## [c] ##\\u005bd] :\\u003ae::"), [""; 0]);
        for text in HOSTILE {
            assert!(!commands(text).is_empty() || text.contains("::") || text.contains('\u{2060}'), "{text:?}");
        }
    }
}
