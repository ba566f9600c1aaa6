//! ASCII letters in one case, without a copy if they are in it already.

use bumpalo::Bump;
use wide::u8x16;

/// The text in ASCII lower case.
pub(crate) fn lower<'a>(text: &'a str, arena: &'a Bump) -> &'a str {
    if !has_upper(text.as_bytes()) {
        return text;
    }
    let copy = arena.alloc_str(text);
    copy.make_ascii_lowercase();
    copy
}

/// The text in ASCII upper case.
pub(crate) fn upper<'a>(text: &'a str, arena: &'a Bump) -> &'a str {
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return text;
    }
    let copy = arena.alloc_str(text);
    copy.make_ascii_uppercase();
    copy
}

/// Whether there is an ASCII capital; it reads sixteen or eight bytes a step, since every event has
/// many texts, and most are short.
#[inline]
pub(crate) fn has_upper(text: &[u8]) -> bool {
    let (blocks, rest) = text.as_chunks::<16>();
    match text.last_chunk::<16>() {
        // The last block may have bytes of the one before it.
        Some(last) => {
            blocks.iter().any(|block| has_upper_16(*block))
                || (!rest.is_empty() && has_upper_16(*last))
        }
        None => match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
            (Some(first), Some(last)) => has_upper_8(*first) || has_upper_8(*last),
            _ => text.iter().any(u8::is_ascii_uppercase),
        },
    }
}

#[inline]
fn has_upper_16(bytes: [u8; 16]) -> bool {
    let bytes = u8x16::new(bytes);
    let from_a = bytes.max(u8x16::splat(b'A')).simd_eq(bytes);
    let to_z = bytes.min(u8x16::splat(b'Z')).simd_eq(bytes);
    (from_a & to_z).to_bitmask() != 0
}

#[inline]
fn has_upper_8(bytes: [u8; 8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    /// The number that, added to a byte, sets its top bit from `A` on, or after `Z`.
    const FROM_A: u64 = 0x80 - b'A' as u64;
    const AFTER_Z: u64 = 0x80 - b'[' as u64;
    // Without its top bit no byte carries into the next.
    let word = u64::from_le_bytes(bytes);
    let low = word & EACH.wrapping_mul(0x7f);
    let from_a = low.wrapping_add(EACH.wrapping_mul(FROM_A));
    let after_z = low.wrapping_add(EACH.wrapping_mul(AFTER_Z));
    (from_a & !after_z & !word & EACH.wrapping_mul(0x80)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_copied_where_a_letter_changes() {
        let arena = Bump::new();
        for (text, lowered, uppered) in
            [("", "", ""), ("aé-1", "aé-1", "Aé-1"), ("aÉB", "aÉb", "AÉB"), ("Z", "z", "Z")]
        {
            assert_eq!(lower(text, &arena), lowered);
            assert_eq!(upper(text, &arena), uppered);
            assert_eq!(std::ptr::eq(lower(text, &arena), text), lowered == text);
            assert_eq!(std::ptr::eq(upper(text, &arena), text), uppered == text);
        }
    }

    #[test]
    fn capitals_are_seen_at_every_place() {
        for length in 1..40 {
            for byte in 0..=255u8 {
                for at in 0..length {
                    let mut name = vec![b'a'; length];
                    name[at] = byte;
                    assert_eq!(has_upper(&name), byte.is_ascii_uppercase(), "{byte} {at}");
                }
            }
        }
        assert!(!has_upper(b""));
    }
}
