//! Finds the end of strings in JSON, checks their escapes and replaces them: 64 bytes at a time, without a branch per escape.
//!
//! Most of a recording is long texts, so this is where the time goes when one is read.

use wide::u8x16;

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
}

/// Which of 64 bytes are quotes and backslashes: the lowest bit is the first byte.
struct Block {
    quotes: u64,
    backslashes: u64,
}

impl Block {
    #[inline]
    fn of(bytes: &[u8; 64]) -> Self {
        Self { quotes: equal(bytes, b'"'), backslashes: equal(bytes, b'\\') }
    }
}

#[inline]
fn lane(bytes: &[u8; 16]) -> u8x16 {
    u8x16::new(*bytes)
}

/// Which of 16 bytes are this one.
#[inline]
fn equal_in(lane: u8x16, byte: u8) -> u32 {
    lane.simd_eq(u8x16::splat(byte)).to_bitmask()
}

/// Which of 64 bytes are this one.
#[inline]
fn equal(bytes: &[u8; 64], byte: u8) -> u64 {
    let lanes = bytes.as_chunks::<16>().0.iter().enumerate();
    lanes.fold(0, |mask, (at, bytes)| mask | u64::from(equal_in(lane(bytes), byte)) << (16 * at))
}

/// Whether any of 64 bytes is this one.
#[inline]
fn has(bytes: &[u8; 64], byte: u8) -> bool {
    let lanes = bytes.as_chunks::<16>().0.iter().map(|bytes| lane(bytes).simd_eq(u8x16::splat(byte)));
    lanes.fold(u8x16::ZERO, |any, lane| any | lane).to_bitmask() != 0
}

/// Whether the smallest of the bytes in each place is a control character, as bits.
#[inline]
fn controls_in(lane: u8x16) -> u32 {
    lane.min(u8x16::splat(0x1f)).simd_eq(lane).to_bitmask()
}

/// Which of 64 bytes are control characters.
#[inline]
fn controls(bytes: &[u8; 64]) -> u64 {
    let lanes = || bytes.as_chunks::<16>().0.iter().map(lane);
    // Texts have none.
    if controls_in(lanes().fold(u8x16::MAX, u8x16::min)) == 0 {
        return 0;
    }
    lanes().enumerate().fold(0, |mask, (at, lane)| mask | u64::from(controls_in(lane)) << (16 * at))
}

/// The first 64 bytes of a text. A shorter one is copied over the beginning of `padded`.
#[inline]
fn filled<'t>(text: &'t [u8], padded: &'t mut [u8; 64]) -> &'t [u8; 64] {
    if let Some(bytes) = text.first_chunk() {
        return bytes;
    }
    padded[..text.len()].copy_from_slice(text);
    padded
}

/// Which bytes a backslash before them escapes. `is_open` says whether the block before ended in such a backslash.
#[inline]
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
    if let Some(at) = end_of_short(text, begin) {
        return Some(End { at, has_escapes: false });
    }
    if is_strict { end_of_long::<true>(text, begin) } else { end_of_long::<false>(text, begin) }
}

/// The end of a string of less than 32 bytes without escapes; `None` for any other, and at the end of a text.
#[inline]
pub(super) fn end_of_short(text: &[u8], begin: usize) -> Option<usize> {
    for at in [begin, begin + 16] {
        let lane = lane(text.get(at..)?.first_chunk()?);
        let quotes = equal_in(lane, b'"');
        let before = quotes.wrapping_sub(1) & !quotes;
        // Without a quote, all of them are before it.
        let others = equal_in(lane, b'\\') | controls_in(lane);
        if others & before != 0 {
            return None;
        }
        if quotes != 0 {
            return Some(at + quotes.trailing_zeros() as usize);
        }
    }
    None
}

fn end_of_long<const IS_STRICT: bool>(text: &[u8], begin: usize) -> Option<End> {
    let (mut at, mut is_open, mut has_escapes, mut low_half) = (begin, false, false, usize::MAX);
    // Behind the text, quotes end the search.
    let mut padded = [b'"'; 64];
    loop {
        let bytes = filled(text.get(at..)?, &mut padded);
        if !IS_STRICT && !is_open && bytes[63] != b'\\' && !has(bytes, b'"') {
            has_escapes = has_escapes || has(bytes, b'\\');
            at += 64;
            continue;
        }
        let block = Block::of(bytes);
        let escapes = escaped(block.backslashes, &mut is_open);
        let ends = block.quotes & !escapes;
        let inside = ends.wrapping_sub(1) & !ends;
        has_escapes |= block.backslashes & inside != 0;
        if IS_STRICT {
            if controls(bytes) & inside != 0 {
                return None;
            }
            // Most escapes are quotes and backslashes, which are valid.
            let mut escapes = escapes & inside & !(block.quotes | block.backslashes);
            while escapes != 0 {
                let place = at + escapes.trailing_zeros() as usize;
                escapes &= escapes - 1;
                let byte = *text.get(place)?;
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
            return (end < text.len()).then_some(End { at: end, has_escapes });
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

/// Whether a string has escapes. `raw` is what is between the quotes.
pub(super) fn has_escapes(raw: &str) -> bool {
    fold_escapes(raw.as_bytes(), (), |(), _, _| None).is_none()
}

/// Whether the escapes of a string, which are valid, are those that canonical text has and spelled as there.
pub(super) fn is_canonical(raw: &str) -> bool {
    // Control characters other than these are rare.
    let is_usual = |byte| matches!(byte, b'"' | b'\\' | b'n' | b'r' | b't');
    fold_escapes(raw.as_bytes(), (), |(), _, byte| is_usual(byte).then_some(())).is_some()
}

/// Calls `take` with the place and the byte behind the backslash of each escape, and with what it returned for the one before.
/// Ends where it returns `None`.
#[inline]
fn fold_escapes<T>(text: &[u8], first: T, mut take: impl FnMut(T, usize, u8) -> Option<T>) -> Option<T> {
    let (mut at, mut is_open, mut folded) = (0, false, first);
    let mut padded = [0; 64];
    while at < text.len() {
        let bytes = filled(&text[at..], &mut padded);
        let mut escapes = escaped(equal(bytes, b'\\'), &mut is_open);
        while escapes != 0 {
            let offset = escapes.trailing_zeros() as usize;
            escapes &= escapes - 1;
            folded = take(folded, at + offset, bytes[offset % 64])?;
        }
        at += 64;
    }
    Some(folded)
}

/// Appends a string without its escapes, which are valid. `raw` is what is between the quotes.
pub(super) fn unescape(raw: &str, out: &mut Vec<u8>) {
    let text = raw.as_bytes();
    let begin = out.len();
    // No escape is shorter than what it stands for.
    out.resize(begin + text.len() + SHORT, 0);
    let length = unescape_into(text, &mut out[begin..]);
    out.truncate(begin + length);
}

/// Writes a text without its escapes, and returns its length.
fn unescape_into(text: &[u8], out: &mut [u8]) -> usize {
    let (copied, end) = fold_escapes(text, (0, 0), |(copied, end), place, byte| {
        // The second half of a pair was read with the first.
        if place < copied {
            return Some((copied, end));
        }
        let end = copy(text, copied, place - 1, out, end);
        if byte == b'u' {
            return Some(match unicode(text, place) {
                Some((char, length)) => (place + 1 + length, end + char.encode_utf8(&mut out[end..]).len()),
                None => (place + 1, end),
            });
        }
        out[end] = ESCAPES[usize::from(byte)];
        Some((place + 1, end + 1))
    })
    .unwrap_or_default();
    copy(text, copied, text.len(), out, end)
}

/// Copies the bytes of a range to `end`, and returns the new end. What follows the range may be copied too: it is overwritten
/// later.
#[inline]
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
