//! Bytes as lower-case hex.

/// Encodes `bytes`.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of a text of hex digits of either case; `None` for anything else.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4) | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(decode(&encode(&[0, 1, 0x7f, 0xff])), Some(vec![0, 1, 0x7f, 0xff]));
        assert_eq!(decode("FF"), Some(vec![0xff]));
        for text in ["f", "fg", "0x", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
