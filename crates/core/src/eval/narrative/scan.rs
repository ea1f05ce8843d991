//! Runs of bytes, eight at a time: words have any length, so a loop over single bytes ends where no processor expects it.
#![expect(clippy::inline_always, reason = "what is inlined is compiled for the vectors that the machine has")]

use fearless_simd::{Level, Simd, SimdBase, SimdFrom, SimdMask, dispatch, u8x64};

use crate::json::filled;

/// A number with the same byte everywhere.
const fn all(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The highest bit of every byte.
const HIGH: u64 = all(0x80);

/// The first 16 bytes of a text as two numbers, zero behind its end.
#[inline]
pub(super) fn first(bytes: &[u8]) -> (u64, u64) {
    match (bytes.first_chunk::<8>(), bytes.get(8..).and_then(<[u8]>::first_chunk)) {
        (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
        (Some(head), None) => (u64::from_le_bytes(*head), last(bytes, bytes.len() - 8)),
        (None, _) => (few(bytes), 0),
    }
}

/// Fewer than eight bytes as one number, zero behind their end.
#[inline]
pub(super) fn few(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (bytes.len() - 4))
        }
        _ => bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    }
}

/// The last bytes of a text, at most seven of them, as one number. All others are shifted out, half of them at a time.
#[inline]
fn last(bytes: &[u8], count: usize) -> u64 {
    match bytes.last_chunk() {
        Some(eight) => u64::from_le_bytes(*eight) >> (32 - 4 * count) >> (32 - 4 * count),
        None => few(bytes),
    }
}

/// The highest bit of each byte that is from `low` to `high`, both ASCII.
#[inline]
fn between(eight: u64, low: u8, high: u8) -> u64 {
    let seven = eight & !HIGH;
    let (from, behind) = (seven + all(0x80 - low), seven + all(0x7f - high));
    from & !behind & !eight & HIGH
}

/// The letters of ASCII at the start of eight bytes.
pub(super) struct Letters {
    pub(super) count: usize,
    /// In lower case, zero behind their end.
    pub(super) lower: u64,
    /// Not zero in each byte that is a capital.
    pub(super) capitals: u64,
}

/// The letters of ASCII at the start of eight bytes.
#[inline]
pub(super) fn letters(eight: u64) -> Letters {
    // Of all signs, only capitals become small letters by this bit.
    let case = all(b'a' - b'A');
    let lower = eight | case;
    let others = between(lower, b'a', b'z') ^ HIGH;
    let mask = ((others & others.wrapping_neg()) >> 7).wrapping_sub(1);
    let count = (others.trailing_zeros() / 8) as usize;
    Letters { count, lower: lower & mask, capitals: !eight & case & mask }
}

/// How many lowercase letters and digits of ASCII a text starts with.
#[inline]
pub(super) fn small(bytes: &[u8]) -> usize {
    run(bytes, |eight| between(eight, b'a', b'z') | between(eight, b'0', b'9'))
}

/// How many bytes a text starts with that are neither of two.
pub(super) fn until(bytes: &[u8], one: u8, other: u8) -> usize {
    // The lowest byte that is marked is zero, those above it may not be.
    let zero = |eight: u64| eight.wrapping_sub(all(1)) & !eight;
    let (one, other) = (all(one), all(other));
    run(bytes, |eight| !(zero(eight ^ one) | zero(eight ^ other)) & HIGH)
}

/// How many bytes a text starts with that belong to a class. `class` sets the highest bit of each byte that does.
#[inline]
fn run(bytes: &[u8], class: impl Fn(u64) -> u64) -> usize {
    let mut count = 0;
    while let Some(eight) = bytes.get(count..).and_then(<[u8]>::first_chunk) {
        let others = class(u64::from_le_bytes(*eight)) ^ HIGH;
        if others != 0 {
            return count + (others.trailing_zeros() / 8) as usize;
        }
        count += 8;
    }
    let rest = bytes.len() - count;
    let others = class(last(bytes, rest)) ^ HIGH;
    count + rest.min((others.trailing_zeros() / 8) as usize)
}

/// Whether a condition holds for the place behind any run of lowercase letters.
pub(super) fn each_word_end(text: &[u8], holds: impl FnMut(usize) -> bool) -> bool {
    dispatch!(Level::new(), simd => each_word_end_in(simd, text, holds))
}

#[inline(always)]
fn each_word_end_in<S: Simd>(simd: S, text: &[u8], mut holds: impl FnMut(usize) -> bool) -> bool {
    let (mut at, mut last) = (0, 0);
    let mut padded = [0; 64];
    loop {
        let rest = &text[at..];
        let block = u8x64::simd_from(simd, *filled(rest, &mut padded));
        // The lowest bit is the first byte.
        let letters = (block - b'a').simd_le(b'z' - b'a').to_bitmask();
        let mut ends = (letters << 1 | last) & !letters;
        while ends != 0 {
            if holds(at + ends.trailing_zeros() as usize) {
                return true;
            }
            ends &= ends - 1;
        }
        if rest.len() < 64 {
            return false;
        }
        (at, last) = (at + 64, letters >> 63);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_letters_end_in_front_of_any_other_byte() {
        for length in 0..200 {
            for every in 1..70 {
                let byte = |at: usize| if at % every == every - 1 { b"`{@[A\x801 "[at % 8] } else { b"az"[at % 2] };
                let text: Vec<u8> = (0..length).map(byte).collect();
                let mut found = Vec::new();
                assert!(!each_word_end(&text, |end| {
                    found.push(end);
                    false
                }));
                let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_lowercase);
                let ends: Vec<usize> = (1..=length).filter(|at| is_letter(at - 1) && !is_letter(*at)).collect();
                assert_eq!(found, ends);
            }
        }
    }

    #[test]
    fn runs_end_where_bytes_say_so() {
        let is_small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        for byte in 0..=u8::MAX {
            for at in 0..20 {
                let mut text = *b"abcxyz0189azbymq7jk";
                if let Some(place) = text.get_mut(at) {
                    *place = byte;
                }
                for end in 0..=text.len() {
                    let text = &text[..end];
                    assert_eq!(small(text), text.iter().take_while(|byte| is_small(byte)).count());
                    let found = text.iter().position(|byte| matches!(byte, b'"' | b'\n')).unwrap_or(end);
                    assert_eq!(until(text, b'"', b'\n'), found);
                    let eight = first(text).0.to_le_bytes();
                    let found = letters(u64::from_le_bytes(eight));
                    let count = eight.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                    let word = eight[..count].to_ascii_lowercase();
                    assert_eq!((found.count, found.lower), (count, first(&word).0));
                    let capitals = found.capitals.to_le_bytes().map(|byte| byte != 0);
                    assert_eq!(capitals, std::array::from_fn(|at| at < count && eight[at].is_ascii_uppercase()));
                }
            }
        }
    }

    #[test]
    fn the_start_of_a_text_is_two_numbers() {
        assert_eq!(first(b""), (0, 0));
        assert_eq!(first(b"ab"), (0x6261, 0));
        assert_eq!(first(b"abcdefghijklmnopqrst"), (0x6867_6665_6463_6261, 0x706f_6e6d_6c6b_6a69));
        assert_eq!(first(b"abcdefghi"), (0x6867_6665_6463_6261, 0x69));
    }
}
