//! Finds the end of strings in JSON, checks their escapes and replaces them: 64 bytes at a time, without a branch per escape.
//!
//! Most of a recording is long texts, so this is where the time goes when one is read.
#![expect(clippy::inline_always, reason = "what is inlined is compiled for the vectors that the machine has")]

use fearless_simd::{Level, Simd, SimdBase, SimdFrom, SimdMask, dispatch, u8x16, u8x64};

/// The character that a backslash and this byte stand for; 0 for none.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let (names, meanings) = (b"\"\\/ntrbf", b"\"\\/\n\t\r\x08\x0c");
    let mut at = 0;
    while at < names.len() {
        table[names[at] as usize] = meanings[at];
        at += 1;
    }
    table
};

/// Bytes of a short copy, whose length is known when the program is compiled.
const SHORT: usize = 16;

/// Where a string ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// The closing quote.
    pub(super) at: usize,
    pub(super) has_escapes: bool,
    /// Whether all escapes are those that canonical text has, spelled as there. Noticed only where escapes are checked.
    pub(super) is_canonical: bool,
}

/// The first 64 bytes of a text. A shorter one is copied over the beginning of `padded`.
#[inline(always)]
pub(crate) fn filled<'t>(text: &'t [u8], padded: &'t mut [u8; 64]) -> &'t [u8; 64] {
    if let Some(bytes) = text.first_chunk() {
        return bytes;
    }
    padded[..text.len()].copy_from_slice(text);
    padded
}

/// Which bytes a backslash before them escapes. `is_open` says whether the block before ended in such a backslash.
#[inline(always)]
fn escaped(backslashes: u64, is_open: &mut bool) -> u64 {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let carried = u64::from(std::mem::take(is_open));
    if backslashes == 0 {
        return carried;
    }
    // Subtracting the first backslash of each run flips the bits up to the end of the run, so that every second bit of a run
    // is an escaped backslash and the bit after a run of odd length is an escaped byte, whether it begins at an odd bit or not.
    let starts = backslashes & !carried;
    let flipped = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    *is_open = (flipped & backslashes) >> 63 == 1;
    flipped ^ (backslashes | carried)
}

/// The end of the string whose first byte after the quote is at `begin`. `None` if it has none, or if `is_strict` and it has
/// a control character or an escape that means nothing.
#[inline(always)]
pub(super) fn end(text: &[u8], begin: usize, is_strict: bool) -> Option<End> {
    // Keys and names are short.
    if let Some(at) = end_of_short(text, begin) {
        return Some(End { at, has_escapes: false, is_canonical: true });
    }
    end_of_any(text, begin, is_strict)
}

#[inline(never)]
fn end_of_any(text: &[u8], begin: usize, is_strict: bool) -> Option<End> {
    if is_strict {
        dispatch!(Level::new(), simd => end_of_long::<_, true>(simd, text, begin))
    } else {
        dispatch!(Level::new(), simd => end_of_long::<_, false>(simd, text, begin))
    }
}

/// The end of a string of less than 32 bytes without escapes; `None` for any other, and at the end of a text.
#[inline(always)]
fn end_of_short(text: &[u8], begin: usize) -> Option<usize> {
    dispatch!(Level::baseline(), simd => end_of_short_in(simd, text, begin))
}

#[inline(always)]
fn end_of_short_in<S: Simd>(simd: S, text: &[u8], begin: usize) -> Option<usize> {
    for at in [begin, begin + 16] {
        let lane = u8x16::simd_from(simd, *text.get(at..)?.first_chunk()?);
        let quotes = lane.simd_eq(b'"').to_bitmask();
        let before = quotes.wrapping_sub(1) & !quotes;
        // Without a quote, all of them are before it.
        let others = (lane.simd_eq(b'\\') | lane.simd_lt(b' ')).to_bitmask();
        if others & before != 0 {
            return None;
        }
        if quotes != 0 {
            return Some(at + quotes.trailing_zeros() as usize);
        }
    }
    None
}

#[inline(always)]
fn end_of_long<S: Simd, const IS_STRICT: bool>(simd: S, text: &[u8], begin: usize) -> Option<End> {
    let (mut at, mut is_open, mut has_escapes, mut low_half) = (begin, false, false, usize::MAX);
    let mut is_canonical = true;
    // Behind the text, quotes end the search.
    let mut padded = [b'"'; 64];
    loop {
        let block = u8x64::simd_from(simd, *filled(text.get(at..)?, &mut padded));
        let (quotes, backslashes) = (block.simd_eq(b'"').to_bitmask(), block.simd_eq(b'\\').to_bitmask());
        if !IS_STRICT && quotes == 0 && !is_open && backslashes >> 63 == 0 {
            has_escapes |= backslashes != 0;
            at += 64;
            continue;
        }
        let escapes = escaped(backslashes, &mut is_open);
        let ends = quotes & !escapes;
        let inside = ends.wrapping_sub(1) & !ends;
        has_escapes |= backslashes & inside != 0;
        if IS_STRICT {
            if block.simd_lt(b' ').to_bitmask() & inside != 0 {
                return None;
            }
            // Most escapes are quotes and backslashes, which are valid.
            let mut escapes = escapes & inside & !(quotes | backslashes);
            while escapes != 0 {
                let place = at + escapes.trailing_zeros() as usize;
                escapes &= escapes - 1;
                let byte = *text.get(place)?;
                // Control characters other than these are rare.
                is_canonical &= matches!(byte, b'n' | b'r' | b't');
                if byte == b'u' {
                    if place != low_half && unicode(text, place)?.1 > 4 {
                        low_half = place + 6;
                    }
                } else if ESCAPES[usize::from(byte)] == 0 {
                    return None;
                }
            }
        }
        if ends != 0 {
            let end = at + ends.trailing_zeros() as usize;
            return (end < text.len()).then_some(End { at: end, has_escapes, is_canonical });
        }
        at += 64;
    }
}

/// The character of an escape whose `u` is at `place`, and how many bytes follow the `u`: four, or ten for a pair of surrogates.
fn unicode(text: &[u8], place: usize) -> Option<(char, usize)> {
    let hex = |from: usize| {
        let digits = text.get(from..from + 4)?;
        let unit = digits.iter().try_fold(0, |unit, digit| Some((unit << 4) | char::from(*digit).to_digit(16)?))?;
        u16::try_from(unit).ok()
    };
    let first = hex(place + 1)?;
    if !(0xD800..=0xDBFF).contains(&first) {
        return char::from_u32(first.into()).map(|char| (char, 4));
    }
    if !text.get(place + 5..)?.starts_with(b"\\u") {
        return None;
    }
    char::decode_utf16([first, hex(place + 7)?]).next()?.ok().map(|char| (char, 10))
}

/// Appends a string without its escapes, which are valid. `raw` is what is between the quotes.
pub(super) fn unescape(raw: &str, out: &mut Vec<u8>) {
    let text = raw.as_bytes();
    let begin = out.len();
    // No escape is shorter than what it stands for.
    out.resize(begin + text.len() + SHORT, 0);
    let length = dispatch!(Level::new(), simd => unescape_into(simd, text, &mut out[begin..]));
    out.truncate(begin + length);
}

/// Writes a text without its escapes, and returns its length.
#[inline(always)]
fn unescape_into<S: Simd>(simd: S, text: &[u8], out: &mut [u8]) -> usize {
    let (mut at, mut is_open, mut copied, mut end) = (0, false, 0, 0);
    let mut padded = [0; 64];
    while at < text.len() {
        let block = u8x64::simd_from(simd, *filled(&text[at..], &mut padded));
        let mut escapes = escaped(block.simd_eq(b'\\').to_bitmask(), &mut is_open);
        while escapes != 0 {
            let place = at + escapes.trailing_zeros() as usize;
            escapes &= escapes - 1;
            // The second half of a pair was read with the first.
            let Some(byte) = text.get(place).filter(|_| place >= copied) else { continue };
            end = copy(text, copied, place - 1, out, end);
            copied = place + 1;
            if *byte != b'u' {
                out[end] = ESCAPES[usize::from(*byte)];
                end += 1;
            } else if let Some((char, length)) = unicode(text, place) {
                end += char.encode_utf8(&mut out[end..]).len();
                copied += length;
            }
        }
        at += 64;
    }
    copy(text, copied, text.len(), out, end)
}

/// Copies the bytes of a range to `end`, and returns the new end. What follows the range may be copied too: it is overwritten
/// later.
#[inline(always)]
fn copy(text: &[u8], from: usize, to: usize, out: &mut [u8], end: usize) -> usize {
    let (rest, place, length) = (&text[from..], &mut out[end..], to - from);
    match (rest.first_chunk::<SHORT>(), place.first_chunk_mut::<SHORT>()) {
        // Most are shorter: copying some bytes too many is cheaper than a copy of any length.
        (Some(chunk), Some(place)) if length <= SHORT => *place = *chunk,
        _ => copy_long(&rest[..length], place),
    }
    end + length
}

/// Not a part of its caller, where both copies would become one of any length.
#[inline(never)]
fn copy_long(bytes: &[u8], place: &mut [u8]) {
    place[..bytes.len()].copy_from_slice(bytes);
}
