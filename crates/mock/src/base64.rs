//! Base64 (RFC 4648), read only: contents of resources, and names that do not fit in a header.

/// The bytes that a text stands for; nothing where it is no base64 with its padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let digits = &text.as_bytes()[..text.len() - padding];
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            bits = (bits << 6) | u32::from(digit(*byte)?);
        }
        // A group of n digits holds n - 1 bytes. What is left over must be nought, or two texts would mean the same.
        let (spare, bytes) = match group.len() {
            4 => (0, 3),
            3 => (2, 2),
            2 => (4, 1),
            _ => return None,
        };
        if bits & ((1 << spare) - 1) != 0 {
            return None;
        }
        out.extend_from_slice(&(bits >> spare).to_be_bytes()[4 - bytes..]);
    }
    Some(out)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn texts_of_the_standard_and_of_the_protocol_are_read() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
            ("SGVsbG8sIOS4lueVjA==", "Hello, 世界"),
            ("PT9iYXNlNjQ/bGl0ZXJhbD89", "=?base64?literal?="),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/+/").as_deref(), Some(&[0xfb, 0xff, 0xbf][..]));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zm9v!A==", "Zh==", "Zm9=", "Zg==Zg==", "é123"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
