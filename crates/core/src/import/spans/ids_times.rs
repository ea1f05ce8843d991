//! Ids, times and statuses of spans as exporters write them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use super::super::ImportError;
use super::super::wire::{self, Text};
use crate::json;
use crate::redact::base64_decode;

/// An id in lowercase hexadecimal digits. Exporters that follow the usual JSON of Protocol Buffers write base64, consoles
/// write `0x`. `None` for an empty id or one of zeros.
pub(in super::super) fn id(text: &str) -> Option<Cow<'_, str>> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    if text.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let is_base64 = match text.len() {
        24 => text.ends_with("=="),
        12 => text.ends_with('='),
        _ => false,
    };
    if let Some(hex) = is_base64.then(|| base64_to_hex(text)).flatten() {
        return Some(hex.into());
    }
    let has_capitals = text.bytes().any(|byte| byte.is_ascii_uppercase());
    if has_capitals && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(text.to_ascii_lowercase().into());
    }
    Some(text.into())
}

/// The same, without a copy where it is written so.
pub(in super::super) fn own_id(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    match text {
        Cow::Borrowed(text) => id(text),
        Cow::Owned(text) => id(&text).map(|id| Cow::Owned(id.into_owned())),
    }
}

/// The status of a span, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in super::super) enum Status {
    /// Recorders set a status when something failed.
    #[default]
    Unset,
    Good,
    /// A word that is not known.
    Unknown,
    Failed,
}

impl Status {
    /// The worst of several codes of a span, as JSON.
    pub(in super::super) fn of<'a>(codes: impl IntoIterator<Item = Option<&'a RawValue>>) -> Self {
        codes.into_iter().flatten().map(|code| Self::by_code(code.get())).max().unwrap_or_default()
    }

    /// The status of a span and its message: a code, or an object with one. An object without any known key is unknown.
    pub(in super::super) fn read(raw: &RawValue) -> Result<(Self, Option<Text<'_>>), ImportError> {
        if !raw.get().starts_with('{') {
            return Ok((Self::by_code(raw.get()), None));
        }
        let keys: BTreeMap<Text<'_>, &RawValue> = wire::part(raw)?;
        let (mut status, mut texts, mut is_known) = (None, [None, None], keys.is_empty());
        for (key, value) in keys {
            let place = match &*key {
                "code" | "Code" | "statusCode" | "status_code" | "StatusCode" => None,
                "message" | "Message" => Some(0),
                "description" | "Description" => Some(1),
                _ => continue,
            };
            is_known = true;
            match place {
                _ if value.get() == "null" => {}
                None => status = status.max(Some(Self::by_code(value.get()))),
                Some(place) => texts[place] = Some(wire::part(value).map_err(|error| error.at(key.into_cow()))?),
            }
        }
        let [message, description] = texts;
        let default = if is_known { Self::Unset } else { Self::Unknown };
        Ok((status.unwrap_or(default), message.or(description)))
    }

    /// The status of one code: a number, or a word with or without the prefix that some languages write. A word that only ends
    /// in a known one may mean the opposite.
    pub(super) fn by_code(code: &str) -> Self {
        let code = code.trim_matches('"').trim().to_ascii_uppercase();
        let word = ["STATUS_CODE_", "STATUSCODE."].iter().find_map(|prefix| code.strip_prefix(prefix));
        match (word.unwrap_or(&code), word.is_none()) {
            ("", true) | ("UNSET", _) => Self::Unset,
            ("OK", _) => Self::Good,
            ("ERROR", _) => Self::Failed,
            (number, true) => Self::by_number(number),
            _ => Self::Unknown,
        }
    }

    /// Languages without integers write `2.0`.
    fn by_number(text: &str) -> Self {
        match text.strip_suffix(".0").unwrap_or(text) {
            "0" => Self::Unset,
            "1" => Self::Good,
            "2" => Self::Failed,
            _ => Self::Unknown,
        }
    }
}

fn base64_to_hex(text: &str) -> Option<String> {
    let bytes = base64_decode(text)?;
    Some(
        bytes
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 0xF])
            .filter_map(|digit| char::from_digit(digit.into(), 16))
            .collect(),
    )
}

/// A point in time, in nanoseconds: a number, a number as text, a date as text, or seconds and nanoseconds as a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Moment(pub(in super::super) u64);

impl Moment {
    /// The same from a table, in which numbers are seconds, milliseconds or microseconds as well.
    pub(in super::super) fn of_table(self) -> Self {
        let scale = match self.0 {
            0..100_000_000_000 => 1_000_000_000,
            100_000_000_000..100_000_000_000_000 => 1_000_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1_000,
            _ => 1,
        };
        Self(self.0.saturating_mul(scale))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?.get();
        // Most are dates or digits in quotes.
        let text = raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(|text| !text.contains('\\'));
        if let Some(read) = text.and_then(|text| text.parse().ok().or_else(|| date(text))) {
            return Ok(Self(read));
        }
        let found: Value = serde_json::from_str(raw).map_err(D::Error::custom)?;
        let read = match &found {
            Value::Number(number) => nanoseconds(number),
            Value::String(text) => text.parse().ok().or_else(|| date(text)),
            Value::Array(parts) => match parts.as_slice() {
                [seconds, nanos] => seconds
                    .as_u64()
                    .zip(nanos.as_u64())
                    .map(|(seconds, nanos)| seconds.saturating_mul(1_000_000_000).saturating_add(nanos)),
                _ => None,
            },
            _ => None,
        };
        let wrong =
            || D::Error::custom(format!("expected a time in nanoseconds or a date, found {}", json::describe(&found)));
        read.map(Moment).ok_or_else(wrong)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range of u64")]
fn nanoseconds(number: &Number) -> Option<u64> {
    let float = || number.as_f64().filter(|float| (0.0..18_446_744_073_709_551_615.0).contains(float));
    number.as_u64().or_else(|| float().map(|float| float as u64))
}

/// Nanoseconds since 1970 of a date such as `2026-01-02T03:04:05.678Z`. Without a zone it is UTC.
fn date(text: &str) -> Option<u64> {
    let (numbers, rest) = match usual(text) {
        Some(usual) => usual,
        None => {
            let (day, rest) = text.split_once(['T', ' '])?;
            let mut parts = day.splitn(3, '-').map(|part| part.parse::<i64>().ok());
            let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
            let clock = rest.find(['Z', 'z', '+', '-', '.']).unwrap_or(rest.len());
            let (clock, rest) = rest.split_at_checked(clock)?;
            let mut parts = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
            ([year, month, day, parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?], rest)
        }
    };
    let [year, month, day, hour, minute, second] = numbers;
    let zone = rest.bytes().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-')).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at_checked(zone)?;
    let fraction = fraction.strip_prefix('.').unwrap_or(fraction);
    let in_range = (1970..=2500).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !in_range {
        return None;
    }
    let offset = match zone.as_bytes().first() {
        None | Some(b'Z' | b'z') => 0,
        Some(sign) => {
            let digits = zone[1..].replace(':', "");
            let (hours, minutes) = digits.split_at_checked(2)?;
            let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i64>().ok()? };
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes * 60;
            if *sign == b'-' { -seconds } else { seconds }
        }
    };
    // Days since March 1 of year 0, so that a leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468;
    let seconds = u64::try_from(days * 86_400 + hour * 3600 + minute * 60 + second - offset).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos_of(fraction)?)
}

/// The numbers of a date in which all have their usual length, and what follows.
fn usual(text: &str) -> Option<([i64; 6], &str)> {
    let (date, rest) = text.split_at_checked(19)?;
    if !(rest.is_empty() || rest.starts_with(['.', 'Z', '+', '-'])) {
        return None;
    }
    let date: [u8; 19] = date.as_bytes().try_into().ok()?;
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b' ' | b'T', h0, h1, b':', n0, n1, b':', s0, s1] = date else {
        return None;
    };
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let two = |tens: u8, ones: u8| Some(digit(tens)? * 10 + digit(ones)?);
    let year = two(y0, y1)? * 100 + two(y2, y3)?;
    Some(([year, two(m0, m1)?, two(d0, d1)?, two(h0, h1)?, two(n0, n1)?, two(s0, s1)?], rest))
}

/// Nanoseconds of the digits behind the point of a number of seconds.
fn nanos_of(fraction: &str) -> Option<u64> {
    let digits = fraction.as_bytes().iter().take(9);
    let scale = 10_u64.pow(9 - u32::try_from(digits.len()).ok()?);
    digits
        .into_iter()
        .try_fold(0, |sum: u64, digit| Some(sum * 10 + u64::from(char::from(*digit).to_digit(10)?)))
        .map(|sum| sum * scale)
}

/// Nanoseconds of a duration such as `PT2M43.5S`; `None` for one with days or longer units.
pub(in super::super) fn duration(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix("PT").filter(|rest| !rest.is_empty())?;
    let mut sum: u64 = 0;
    for (unit, seconds) in [('H', 3600), ('M', 60), ('S', 1)] {
        let Some((number, after)) = rest.split_once(unit) else { continue };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let nanos = whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos_of(fraction)?)?;
        sum = sum.checked_add(nanos.checked_mul(seconds)?)?;
        rest = after;
    }
    rest.is_empty().then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_hours_minutes_and_seconds() {
        for (written, expected) in [
            ("PT2M43.561397S", Some(163_561_397_000)),
            ("PT0.000635S", Some(635_000)),
            ("PT1H0.5S", Some(3_600_500_000_000)),
            ("PT0S", Some(0)),
            ("PT", None),
            ("P1DT1S", None),
            ("PT1", None),
            ("PT1S2M", None),
            ("PT-1S", None),
            ("PT1.é", None),
            ("PT99999999999999999999S", None),
            ("12", None),
        ] {
            assert_eq!(duration(written), expected, "{written}");
        }
    }

    #[test]
    fn ids_are_normalized() {
        for (written, expected) in [
            ("0123456789abcdef", Some("0123456789abcdef")),
            ("0x0123456789ABCDEF", Some("0123456789abcdef")),
            ("ASNFZ4mrze8=", Some("0123456789abcdef")),
            ("S/kvNXezTaajzpKdDg5HNg==", Some("4bf92f3577b34da6a3ce929d0e0e4736")),
            ("span-1", Some("span-1")),
            ("Turn No 1 ==", Some("Turn No 1 ==")),
            ("", None),
            ("0000000000000000", None),
        ] {
            assert_eq!(id(written).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn a_time_is_nanoseconds_or_a_date() {
        for (written, expected) in [
            ("5", Some(5)),
            ("\"1700000000000000001\"", Some(1_700_000_000_000_000_001)),
            ("1.7e18", Some(1_700_000_000_000_000_000)),
            ("[1700000000, 7]", Some(1_700_000_000_000_000_007)),
            ("\"2023-11-14T22:13:20Z\"", Some(1_700_000_000_000_000_000)),
            ("\"2023-11-14T22:13:20.000000007+00:00\"", Some(1_700_000_000_000_000_007)),
            ("\"2023-11-14 17:13:20.5-05:00\"", Some(1_700_000_000_500_000_000)),
            ("\"2024-02-29T00:00:00\"", Some(1_709_164_800_000_000_000)),
            ("\"1970-01-01T00:00:00Z\"", Some(0)),
            ("\"yesterday\"", None),
            ("\"2023-13-14T22:13:20Z\"", None),
            ("\"2023-11-14T22:13:20+é1\"", None),
            ("[1]", None),
            ("-1", None),
            ("true", None),
        ] {
            assert_eq!(serde_json::from_str::<Moment>(written).ok().map(|moment| moment.0), expected, "{written}");
        }
    }

    #[test]
    fn a_number_in_a_table_is_read_in_the_unit_that_gives_a_recent_date() {
        let expected = Moment(1_700_000_000_000_000_000);
        for written in [1_700_000_000, 1_700_000_000_000, 1_700_000_000_000_000, 1_700_000_000_000_000_000] {
            assert_eq!(Moment(written).of_table(), expected, "{written}");
        }
    }
}
