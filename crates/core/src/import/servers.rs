//! Finds the server of a tool by the tool's name.

/// How to find the server of a tool by its name.
///
/// `mcp__mail__send` and `mail__send` both mean `send` of the server `mail`, unless prefixes are given or names are not split.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Servers(How);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum How {
    /// By `__`.
    #[default]
    Underscores,
    /// Names are not split.
    Whole,
    /// By these prefixes, longest first, each with its server.
    Prefixes(Vec<(String, String)>),
}

/// A prefix without a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no server: write `PREFIX=SERVER`, a prefix such as `mail_`, or `none` alone")]
pub struct PrefixError(String);

impl Servers {
    /// From prefixes as typed: `mail_` (the server is `mail`), `m.=mail`, or `none` to split no name. Without prefixes names
    /// are split at `__`.
    pub fn parse(prefixes: &[String]) -> Result<Self, PrefixError> {
        if prefixes.is_empty() {
            return Ok(Self::default());
        }
        if prefixes == ["none"] {
            return Ok(Self(How::Whole));
        }
        let mut out = Vec::new();
        for typed in prefixes {
            let (prefix, server) =
                typed.split_once('=').unwrap_or_else(|| (typed, typed.trim_end_matches(['_', '-', '.', '/', ':'])));
            if prefix.is_empty() || server.is_empty() || typed == "none" {
                return Err(PrefixError(typed.clone()));
            }
            out.push((prefix.to_owned(), server.to_owned()));
        }
        out.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        Ok(Self(How::Prefixes(out)))
    }

    /// The server, if the name has it, and the rest of the name.
    pub(super) fn split<'a>(&'a self, name: &'a str) -> (Option<&'a str>, &'a str) {
        let whole = (None, name);
        match &self.0 {
            How::Whole => whole,
            How::Underscores => {
                let rest = name.strip_prefix("mcp__").filter(|rest| rest.contains("__")).unwrap_or(name);
                match rest.split_once("__") {
                    Some((server, tool)) if !server.is_empty() && !tool.is_empty() => (Some(server), tool),
                    _ => whole,
                }
            }
            How::Prefixes(known) => {
                let found = known.iter().find_map(|(prefix, server)| {
                    let tool = name.strip_prefix(prefix.as_str()).filter(|tool| !tool.is_empty())?;
                    Some((Some(server.as_str()), tool))
                });
                found.unwrap_or(whole)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_by_underscores_by_prefixes_or_not_at_all() {
        let cases = [
            (&[][..], "mcp__mail__send", (Some("mail"), "send")),
            (&[], "mail__send", (Some("mail"), "send")),
            (&[], "mail__send__now", (Some("mail"), "send__now")),
            (&[], "send_now", (None, "send_now")),
            (&[], "__send", (None, "__send")),
            (&[], "mcp__send", (Some("mcp"), "send")),
            (&["none"], "mail__send", (None, "mail__send")),
            (&["mail_"], "mail_send", (Some("mail"), "send")),
            (&["m.=mail", "m.x.=other"], "m.x.send", (Some("other"), "send")),
            (&["mail_"], "mail__send", (Some("mail"), "_send")),
            (&["mail_"], "mail_", (None, "mail_")),
        ];
        for (typed, name, expected) in cases {
            let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(Servers::parse(&typed).unwrap().split(name), expected, "{typed:?} {name}");
        }
        for wrong in [&["="][..], &["__"], &["a=", "b"], &["none", "a_"]] {
            let typed: Vec<String> = wrong.iter().map(|text| (*text).to_owned()).collect();
            assert!(Servers::parse(&typed).is_err(), "{typed:?}");
        }
    }
}
