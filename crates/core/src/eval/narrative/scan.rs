//! Runs of bytes, eight at a time: words have any length, so a loop over single bytes ends where no processor expects it.

/// A number with the same byte everywhere.
const fn all(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The highest bit of every byte.
const HIGH: u64 = all(0x80);

/// The first 16 bytes of a text as two numbers, zero behind its end.
pub(super) fn first(bytes: &[u8]) -> (u64, u64) {
    let sixteen = match bytes.first_chunk::<16>() {
        Some(sixteen) => u128::from_le_bytes(*sixteen),
        None => bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u128::from(*byte)),
    };
    (sixteen as u64, (sixteen >> 64) as u64)
}

/// The highest bit of each byte that is from `low` to `high`, both ASCII.
fn between(eight: u64, low: u8, high: u8) -> u64 {
    let seven = eight & !HIGH;
    let (from, behind) = (seven + all(0x80 - low), seven + all(0x7f - high));
    from & !behind & !eight & HIGH
}

/// Where the lowercase letters at the start of eight bytes end.
pub(super) struct Letters {
    pub(super) count: usize,
    /// All bits of them.
    pub(super) mask: u64,
}

/// The lowercase letters at the start of eight bytes.
pub(super) fn letters(eight: u64) -> Letters {
    let others = between(eight, b'a', b'z') ^ HIGH;
    let end = (others & others.wrapping_neg()) >> 7;
    Letters { count: (others.trailing_zeros() / 8) as usize, mask: end.wrapping_sub(1) }
}

/// How many lowercase letters and digits of ASCII a text starts with.
pub(super) fn small(bytes: &[u8]) -> usize {
    run(bytes, |eight| between(eight, b'a', b'z') | between(eight, b'0', b'9'))
}

/// How many bytes a text starts with that are neither of two.
pub(super) fn until(bytes: &[u8], one: u8, other: u8) -> usize {
    run(bytes, |eight| !(between(eight, one, one) | between(eight, other, other)) & HIGH)
}

/// How many bytes a text starts with that belong to a class. `class` sets the highest bit of each byte that does.
fn run(bytes: &[u8], class: impl Fn(u64) -> u64) -> usize {
    let mut count = 0;
    while let Some(eight) = bytes.get(count..).and_then(<[u8]>::first_chunk) {
        let others = class(u64::from_le_bytes(*eight)) ^ HIGH;
        if others != 0 {
            return count + (others.trailing_zeros() / 8) as usize;
        }
        count += 8;
    }
    let rest = bytes.get(count..).unwrap_or_default();
    let others = class(first(rest).0) ^ HIGH;
    count + rest.len().min((others.trailing_zeros() / 8) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                    assert_eq!(found.count, eight.iter().take_while(|byte| byte.is_ascii_lowercase()).count());
                    assert_eq!(found.mask, (1_u128 << (8 * found.count)).wrapping_sub(1) as u64);
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
