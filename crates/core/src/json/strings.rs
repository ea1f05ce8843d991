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
fn filled<'t>(text: &'t [u8], padded: &'t mut [u8; 64]) -> &'t [u8; 64] {
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
#[inline]
pub(super) fn end(text: &[u8], begin: usize, is_strict: bool) -> Option<End> {
    // Keys and names are short.
    if let Some(first) = text.get(begin..)?.first_chunk()
        && let Some(length) = dispatch!(Level::baseline(), simd => length_of_short(simd, *first))
    {
        return Some(End { at: begin + length, has_escapes: false, is_canonical: true });
    }
    if is_strict {
        dispatch!(Level::new(), simd => end_of_long::<_, true>(simd, text, begin))
    } else {
        dispatch!(Level::new(), simd => end_of_long::<_, false>(simd, text, begin))
    }
}

/// How long a string is that ends within its first bytes, and has neither escapes nor control characters.
#[inline(always)]
fn length_of_short<S: Simd>(simd: S, first: [u8; 16]) -> Option<usize> {
    let first = u8x16::simd_from(simd, first);
    let quotes = first.simd_eq(b'"').to_bitmask();
    let before = quotes.wrapping_sub(1) & !quotes;
    let others = (first.simd_eq(b'\\') | first.simd_lt(b' ')).to_bitmask();
    (quotes != 0 && others & before == 0).then_some(quotes.trailing_zeros() as usize)
}

#[inline(always)]
fn end_of_long<S: Simd, const IS_STRICT: bool>(simd: S, text: &[u8], begin: usize) -> Option<End> {
    let (mut at, mut is_open, mut has_escapes, mut low_half) = (begin, false, false, usize::MAX);
    let mut is_canonical = true;
    loop {
        let mut padded = [b'"'; 64];
        // Behind the text, quotes end the search.
        let block = u8x64::simd_from(simd, *filled(text.get(at..)?, &mut padded));
        let (quotes, backslashes) = (block.simd_eq(b'"').to_bitmask(), block.simd_eq(b'\\').to_bitmask());
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
    dispatch!(Level::new(), simd => unescape_in(simd, raw.as_bytes(), out));
}

#[inline(always)]
fn unescape_in<S: Simd>(simd: S, text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + SHORT);
    let (mut at, mut is_open, mut copied) = (0, false, 0);
    while at < text.len() {
        let mut padded = [0; 64];
        let block = u8x64::simd_from(simd, *filled(&text[at..], &mut padded));
        let mut escapes = escaped(block.simd_eq(b'\\').to_bitmask(), &mut is_open);
        while escapes != 0 {
            let place = at + escapes.trailing_zeros() as usize;
            escapes &= escapes - 1;
            // The second half of a pair was read with the first. Nothing follows the last backslash of a text that was cut.
            let Some(byte) = text.get(place).filter(|_| place >= copied) else { continue };
            copy(text, copied, place - 1, out);
            copied = place + 1;
            if *byte != b'u' {
                out.push(ESCAPES[usize::from(*byte)]);
            } else if let Some((char, length)) = unicode(text, place) {
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                copied += length;
            }
        }
        at += 64;
    }
    copy(text, copied, text.len(), out);
}

/// Appends the bytes of a range.
#[inline]
fn copy(text: &[u8], from: usize, to: usize, out: &mut Vec<u8>) {
    let length = to - from;
    match text[from..].first_chunk::<SHORT>() {
        // Most ranges are shorter: copying some bytes too many is cheaper than a copy of any length.
        Some(chunk) if length <= SHORT => {
            out.extend_from_slice(chunk);
            out.truncate(out.len() - (SHORT - length));
        }
        _ => out.extend_from_slice(&text[from..to]),
    }
}
