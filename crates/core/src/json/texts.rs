//! The end of a JSON string, found by 64 bytes at a time.
//!
//! Most bytes of a trace are texts that no gate reads, and answers of tools are JSON inside of JSON, with a backslash every
//! few bytes. Going from one backslash to the next costs a wrong guess of the processor each time; here the bytes of a block
//! become bits, and which marks are escaped follows from arithmetic.

use wide::u8x16;

const BLOCK: usize = 64;
const LANES: usize = 16;
/// Every other bit, from the second on.
const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;

/// The end of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// Where its closing mark is.
    pub(crate) at: usize,
    /// Whether there is a backslash in it.
    pub(crate) has_escapes: bool,
}

/// The end of the string whose first byte after the opening mark is at `from`; `None` when it does not end, or is none:
/// control characters have to be escaped, and only some characters may be.
pub(crate) fn end(bytes: &[u8], from: usize) -> Option<End> {
    // Names and short words end here.
    if let Some(near) = bytes.get(from..).and_then(|rest| rest.first_chunk::<LANES>()) {
        let marks = bits(near, |lanes| {
            lanes.simd_eq(u8x16::splat(b'"')) | lanes.simd_eq(u8x16::splat(b'\\')) | is_control(lanes)
        });
        if marks != 0 {
            let at = from + marks.trailing_zeros() as usize;
            if bytes[at] == b'"' {
                return Some(End { at, has_escapes: false });
            }
        }
    }
    long(bytes, from)
}

fn long(bytes: &[u8], from: usize) -> Option<End> {
    let mut at = from;
    let mut has_escapes = false;
    // Whether the block begins with an escaped byte, as a bit.
    let mut carried = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        let quotes = all_bits(block, |lanes| lanes.simd_eq(u8x16::splat(b'"')));
        let backslashes = all_bits(block, |lanes| lanes.simd_eq(u8x16::splat(b'\\')));
        let controls = if has_control(block) { all_bits(block, is_control) } else { 0 };
        if quotes | backslashes | controls | carried == 0 {
            at += BLOCK;
            continue;
        }
        let escaped;
        (escaped, carried) = escaped_by(backslashes, carried);
        let ends = quotes & !escaped;
        // All bits below the first end, or all.
        let inside = ends.wrapping_sub(1) & !ends;
        has_escapes |= (backslashes & inside) != 0;
        if controls & inside != 0 || !are_known(bytes, at, escaped & inside & !(quotes | backslashes)) {
            return None;
        }
        if ends != 0 {
            return Some(End { at: at + ends.trailing_zeros() as usize, has_escapes });
        }
        at += BLOCK;
    }
    if carried == 1 {
        at = after_escape(bytes, at - 1)?;
    }
    loop {
        match bytes.get(at)? {
            b'"' => return Some(End { at, has_escapes }),
            b'\\' => {
                has_escapes = true;
                at = after_escape(bytes, at)?;
            }
            ..=0x1F => return None,
            _ => at += 1,
        }
    }
}

/// The lanes that may not stand in a string.
fn is_control(lanes: u8x16) -> u8x16 {
    lanes.simd_eq(lanes.min(u8x16::splat(0x1F)))
}

/// Whether any byte of a block is a control character, which is rare.
fn has_control(block: &[u8; BLOCK]) -> bool {
    let (lanes, _) = block.as_chunks::<LANES>();
    let least = lanes.iter().fold(u8x16::splat(u8::MAX), |least, lanes| least.min(u8x16::new(*lanes)));
    is_control(least).to_bitmask() != 0
}

fn bits(lanes: &[u8; LANES], test: impl Fn(u8x16) -> u8x16) -> u64 {
    u64::from(test(u8x16::new(*lanes)).to_bitmask())
}

fn all_bits(block: &[u8; BLOCK], test: impl Fn(u8x16) -> u8x16) -> u64 {
    let (lanes, _) = block.as_chunks::<LANES>();
    lanes.iter().rev().fold(0, |all, lanes| all << LANES | bits(lanes, &test))
}

/// The bytes that a backslash stands before and is not itself escaped, and whether the next block begins with one.
///
/// In a run of backslashes every other one escapes the next byte. Subtracting the runs from the bits at odd places lets a
/// borrow travel through each run, so that its end tells whether the run was odd.
fn escaped_by(backslashes: u64, carried: u64) -> (u64, u64) {
    let starts = backslashes & !carried;
    let both = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    (both ^ (backslashes | carried), (both & backslashes) >> 63)
}

/// Whether each of these bytes may stand after a backslash.
fn are_known(bytes: &[u8], base: usize, mut escaped: u64) -> bool {
    while escaped != 0 {
        let at = base + escaped.trailing_zeros() as usize;
        if after_escape(bytes, at - 1).is_none() {
            return false;
        }
        escaped &= escaped - 1;
    }
    true
}

/// Where an escape ends that begins with the backslash at `at`.
fn after_escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(at + 6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    /// Pieces of which strings are made, right ones and wrong ones.
    const PIECES: [&str; 16] = [
        "\"",
        "\\",
        "\\\\",
        "\\\"",
        "\\n",
        "\\u00e9",
        "\\u00",
        "\\x",
        "n",
        "u",
        "0041",
        "\u{1f}",
        "\u{7f}",
        "é",
        " word",
        "fifteen letters",
    ];

    /// Where another parser finds the end.
    fn other(text: &str) -> Option<End> {
        let quoted = format!("\"{text}");
        let mut values = serde_json::Deserializer::from_str(&quoted).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let at = values.byte_offset() - 2;
        Some(End { at, has_escapes: text[..at].contains('\\') })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_string_ends_where_another_parser_ends_it(pieces in prop::collection::vec(0..PIECES.len(), 0..40)) {
            let text: String = pieces.iter().map(|at| PIECES[*at]).chain(["\""]).collect();
            prop_assert_eq!(end(text.as_bytes(), 0), other(&text), "{:?}", text);
        }

        #[test]
        fn a_long_string_of_escapes_ends_where_another_parser_ends_it(
            before in 0..70_usize,
            run in 0..140_usize,
            after in 0..70_usize,
            mark in prop::sample::select(vec!["\\", "\\\"", "\\n", "\\u0020", "\"", "\u{b}"]),
        ) {
            let text = format!("{}{}{mark}{}\"", "a".repeat(before), "\\".repeat(run), "b".repeat(after));
            prop_assert_eq!(end(text.as_bytes(), 0), other(&text), "{:?}", text);
        }
    }
}
