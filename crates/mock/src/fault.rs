//! The faults: the table of kinds, how each is written, and which tools it applies to.

use std::collections::BTreeMap;
use std::fmt;

use mcptest_core::diag::{Code, Failure, did_you_mean, suggest};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault; for a tool that the general fault must not affect.
    None,
    Hang,
    /// No answer, ever, even if the call is canceled.
    Wedged,
    /// The answer after this many milliseconds, unless it was canceled.
    Slow(u64),
    /// This many calls hang, later ones are answered.
    RecoverAfter(u64),
    /// The answer after this many milliseconds, canceled or not.
    ReplyAfterCancel(u64),
    /// The connection closes instead of an answer.
    Drop,
    /// Bytes that are neither JSON nor UTF-8 instead of the answer.
    Garbage,
    /// The answer with an id that was never sent.
    WrongId,
    Duplicate,
    /// An answer of this many mebibytes.
    Flood(u64),
    Crash,
    /// A JSON-RPC error with this code.
    Error(i64),
    /// A result with `isError`.
    IsError,
}

#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    /// The number after the colon.
    pub number: Option<Number>,
    /// What it does, in one line.
    pub meaning: &'static str,
}

/// A number that a kind takes.
#[derive(Debug, Clone, Copy)]
pub struct Number {
    pub unit: &'static str,
    /// The least it may be.
    pub least: i64,
    /// The most it may be.
    pub most: i64,
}

/// An hour, which is longer than any client waits.
const MAX_MS: i64 = 3_600_000;

const fn kind(name: &'static str, meaning: &'static str) -> Kind {
    Kind { name, number: None, meaning }
}

const fn numbered(name: &'static str, unit: &'static str, least: i64, most: i64, meaning: &'static str) -> Kind {
    Kind { name, number: Some(Number { unit, least, most }), meaning }
}

/// Every kind, in the order of the documentation.
pub const KINDS: [Kind; 14] = [
    kind("none", "no fault; exempts a tool from a fault that applies to every tool"),
    kind("hang", "never answers; a canceled call is dropped"),
    kind("wedged", "never answers, and ignores cancellation"),
    numbered("slow", "ms", 1, MAX_MS, "answers after this many milliseconds, unless the call was canceled"),
    numbered("recover-after", "n", 1, 1_000_000, "the first n calls hang, the ones after are answered"),
    numbered(
        "reply-after-cancel",
        "ms",
        1,
        MAX_MS,
        "answers after this many milliseconds even if the call was canceled",
    ),
    kind("drop", "closes the connection instead of answering"),
    kind("garbage", "sends bytes that are neither JSON nor UTF-8 instead of the answer"),
    kind("wrong-id", "answers with an id that was never sent"),
    kind("duplicate", "answers twice"),
    numbered("flood", "mb", 1, 4096, "answers with this many mebibytes of text"),
    kind("crash", "exits at once with code 101"),
    numbered("error", "code", -2_147_483_648, 2_147_483_647, "answers with a JSON-RPC error of this code"),
    kind("is-error", "answers with an error result (`isError`)"),
];

impl Kind {
    /// How it is written: `slow:<ms>`.
    pub fn spelling(&self) -> String {
        match self.number {
            Some(number) => format!("{}:<{}>", self.name, number.unit),
            None => self.name.to_owned(),
        }
    }
}

fn invalid(message: String, hint: impl Into<String>) -> Failure {
    Failure::error((), message).code(Code::BadMockFault).hint(hint)
}

/// How every kind is written, in one line.
fn kinds() -> String {
    KINDS.iter().map(Kind::spelling).collect::<Vec<_>>().join(", ")
}

impl Fault {
    /// Reads `hang` or `slow:250`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (name, given) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            // A suite spells it `recover_after`.
            let near = did_you_mean(&name.replace('_', "-"), KINDS.iter().map(|kind| kind.name));
            let suggestion = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            return Err(invalid(format!("unknown fault `{text}`"), format!("{suggestion}the kinds are {}", kinds())));
        };
        let number = match (kind.number, given) {
            (None, None) => 0,
            (None, Some(_)) => {
                return Err(invalid(format!("the fault `{name}` takes no number"), format!("write `{name}`")));
            }
            (Some(range), given) => {
                let fits = |number: &i64| (range.least..=range.most).contains(number);
                given.and_then(|given| given.parse().ok()).filter(fits).ok_or_else(|| {
                    invalid(
                        match given {
                            Some(given) => format!("the fault `{name}` does not accept `{given}`"),
                            None => format!("the fault `{name}` needs a number"),
                        },
                        format!("write `{}`, from {} to {}", kind.spelling(), range.least, range.most),
                    )
                })?
            }
        };
        let count = number.unsigned_abs();
        Ok(match name {
            "hang" => Self::Hang,
            "wedged" => Self::Wedged,
            "slow" => Self::Slow(count),
            "recover-after" => Self::RecoverAfter(count),
            "reply-after-cancel" => Self::ReplyAfterCancel(count),
            "drop" => Self::Drop,
            "garbage" => Self::Garbage,
            "wrong-id" => Self::WrongId,
            "duplicate" => Self::Duplicate,
            "flood" => Self::Flood(count),
            "crash" => Self::Crash,
            "error" => Self::Error(number),
            "is-error" => Self::IsError,
            _ => Self::None,
        })
    }
}

impl fmt::Display for Fault {
    /// As written on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Hang => f.write_str("hang"),
            Self::Wedged => f.write_str("wedged"),
            Self::Slow(ms) => write!(f, "slow:{ms}"),
            Self::RecoverAfter(count) => write!(f, "recover-after:{count}"),
            Self::ReplyAfterCancel(ms) => write!(f, "reply-after-cancel:{ms}"),
            Self::Drop => f.write_str("drop"),
            Self::Garbage => f.write_str("garbage"),
            Self::WrongId => f.write_str("wrong-id"),
            Self::Duplicate => f.write_str("duplicate"),
            Self::Flood(mib) => write!(f, "flood:{mib}"),
            Self::Crash => f.write_str("crash"),
            Self::Error(code) => write!(f, "error:{code}"),
            Self::IsError => f.write_str("is-error"),
        }
    }
}

/// The faults of a server, by tool.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    list: Vec<Fault>,
    general: Option<usize>,
    by_tool: BTreeMap<String, usize>,
}

impl Faults {
    /// Reads `KIND` and `TOOL=KIND` for a server with these tools. Returns every error, not only the first.
    pub fn read(texts: &[impl AsRef<str>], tools: &[&str]) -> Result<Self, Vec<Failure>> {
        let mut faults = Self::default();
        let mut errors = Vec::new();
        for text in texts {
            if let Err(error) = faults.add(text.as_ref(), tools) {
                errors.push(error);
            }
        }
        if errors.is_empty() { Ok(faults) } else { Err(errors) }
    }

    fn add(&mut self, text: &str, tools: &[&str]) -> Result<(), Failure> {
        // A name may contain `=`, a kind cannot.
        let (tool, kind) = match text.rsplit_once('=') {
            Some((tool, kind)) => (Some(tool), kind),
            None => (None, text),
        };
        let fault = Fault::parse(kind)?;
        let before = match tool {
            None => self.general,
            Some(tool) => {
                if !tools.contains(&tool) {
                    return Err(invalid(
                        format!("the fault `{text}` names the tool `{tool}`, which is not in the file"),
                        suggest(tool, tools.iter().copied()),
                    ));
                }
                self.by_tool.get(tool).copied()
            }
        };
        if let Some(before) = before {
            let whom = tool.map_or_else(|| "every tool".to_owned(), |tool| format!("the tool `{tool}`"));
            return Err(invalid(
                format!("the faults `{}` and `{fault}` both apply to {whom}", self.list[before]),
                "keep one of them".to_owned(),
            ));
        }
        let at = self.list.len();
        self.list.push(fault);
        match tool {
            None => self.general = Some(at),
            Some(tool) => drop(self.by_tool.insert(tool.to_owned(), at)),
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The fault of a tool, with its index: its own, otherwise the general one.
    pub(crate) fn for_tool(&self, tool: &str) -> Option<(usize, Fault)> {
        let at = self.by_tool.get(tool).copied().or(self.general)?;
        Some((at, self.list[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_as_it_is_shown() {
        for kind in &KINDS {
            let texts = match kind.number {
                Some(Number { least, most, .. }) => [least, most].map(|number| format!("{}:{number}", kind.name)),
                None => [kind.name.to_owned(), kind.name.to_owned()],
            };
            for text in texts {
                assert_eq!(Fault::parse(&text).map(|fault| fault.to_string()), Ok(text.clone()), "{text}");
            }
        }
    }

    #[test]
    fn a_missing_stray_or_out_of_range_number_is_refused() {
        for kind in &KINDS {
            let wrong = match kind.number {
                Some(Number { least, most, .. }) => {
                    vec![String::new(), ":".into(), ":x".into(), format!(":{}", least - 1), format!(":{}", most + 1)]
                }
                None => vec![":1".to_owned(), ":".to_owned()],
            };
            for tail in wrong {
                assert!(Fault::parse(&format!("{}{tail}", kind.name)).is_err(), "{}{tail}", kind.name);
            }
        }
        let say = |text: &str| Fault::parse(text).unwrap_err().to_string();
        assert_eq!(
            say("slow"),
            "error[bad-mock-fault]: the fault `slow` needs a number\nhint: write `slow:<ms>`, from 1 to 3600000"
        );
        assert_eq!(
            say("flood:5000"),
            "error[bad-mock-fault]: the fault `flood` does not accept `5000`\nhint: write `flood:<mb>`, from 1 to 4096"
        );
        assert_eq!(say("hang:3"), "error[bad-mock-fault]: the fault `hang` takes no number\nhint: write `hang`");
    }

    #[test]
    fn an_unknown_kind_is_answered_with_the_nearest_and_the_list() {
        assert_eq!(
            Fault::parse("recover_after:2").unwrap_err().to_string(),
            "error[bad-mock-fault]: unknown fault `recover_after:2`\nhint: did you mean `recover-after`? the kinds are none, hang, wedged, \
             slow:<ms>, recover-after:<n>, reply-after-cancel:<ms>, drop, garbage, wrong-id, duplicate, flood:<mb>, \
             crash, error:<code>, is-error"
        );
    }

    #[test]
    fn a_fault_for_a_tool_has_precedence_over_a_general_one() {
        let faults = Faults::read(&["hang", "a=none", "b=c=slow:5"], &["a", "b=c", "d"]).unwrap();
        assert_eq!(faults.for_tool("a"), Some((1, Fault::None)));
        assert_eq!(faults.for_tool("b=c"), Some((2, Fault::Slow(5))));
        assert_eq!(faults.for_tool("d"), Some((0, Fault::Hang)));
        assert_eq!(Faults::read(&["a=drop"], &["a", "d"]).unwrap().for_tool("d"), None);
    }

    #[test]
    fn every_fault_is_checked_against_the_first() {
        for (whom, prefix) in [("every tool", ""), ("the tool `a`", "a=")] {
            let texts = ["hang", "slow:1", "drop"].map(|kind| format!("{prefix}{kind}"));
            let errors = Faults::read(&texts, &["a"]).unwrap_err();
            let messages: Vec<_> = errors.into_iter().map(|error| error.message).collect();
            let clash = |kind: &str| format!("the faults `hang` and `{kind}` both apply to {whom}");
            assert_eq!(messages, [clash("slow:1"), clash("drop")]);
        }
    }

    #[test]
    fn every_mistake_of_the_command_line_is_reported() {
        let tools = &["get_forecast", "alerts"];
        let errors = Faults::read(&["hang", "slow:1", "forecast=drop", "alerts=hang", "alerts=x"], tools).unwrap_err();
        let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert_eq!(
            messages[0],
            "error[bad-mock-fault]: the faults `hang` and `slow:1` both apply to every tool\nhint: keep one of them"
        );
        assert_eq!(
            messages[1],
            "error[bad-mock-fault]: the fault `forecast=drop` names the tool `forecast`, which is not in the file\n\
             hint: did you mean `get_forecast`?"
        );
        assert!(
            messages[2].starts_with("error[bad-mock-fault]: unknown fault `x`\nhint: the kinds are none, hang"),
            "{}",
            messages[2]
        );
    }
}
