//! Where strings end: the special bytes of a JSON text, found ahead of reading.
//!
//! One vectorised pass marks every quote, backslash and control character in a
//! bit set, so that the end of a string is found without a loop over its bytes
//! and without its mispredicted branches.

use bumpalo::Bump;
use wide::u8x16;

const BLOCK: usize = 64;

/// The places of the special bytes of a text, one bit for each byte.
#[derive(Clone, Copy)]
pub(crate) struct Specials<'a> {
    blocks: &'a [u64],
    length: usize,
}

impl<'a> Specials<'a> {
    /// Marks the special bytes of a text.
    pub(crate) fn of(bytes: &[u8], arena: &'a Bump) -> Self {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let marks = arena.alloc_slice_fill_copy(blocks.len().wrapping_add(1), 0);
        for (marks, block) in marks.iter_mut().zip(blocks) {
            *marks = mark_block(block);
        }
        if let Some(marks) = marks.last_mut() {
            let mut last = [b' '; BLOCK];
            for (place, byte) in last.iter_mut().zip(rest) {
                *place = *byte;
            }
            *marks = mark_block(&last);
        }
        Self { blocks: marks, length: bytes.len() }
    }

    /// The first special byte at or after a place, or the end of the text.
    #[inline]
    pub(crate) fn next(self, at: usize) -> usize {
        let index = at / BLOCK;
        match self.blocks.get(index).map(|marks| marks >> (at % BLOCK)) {
            Some(marks) if marks != 0 => at.wrapping_add(marks.trailing_zeros() as usize),
            _ => self.next_from_block(index.wrapping_add(1)),
        }
    }

    fn next_from_block(self, mut index: usize) -> usize {
        while let Some(marks) = self.blocks.get(index) {
            if *marks != 0 {
                return index.wrapping_mul(BLOCK).wrapping_add(marks.trailing_zeros() as usize);
            }
            index = index.wrapping_add(1);
        }
        self.length
    }
}

/// The bit set of 64 bytes.
#[inline]
fn mark_block(block: &[u8; BLOCK]) -> u64 {
    let (quarters, _) = block.as_chunks::<16>();
    quarters.iter().rev().fold(0, |marks, quarter| {
        let bytes = u8x16::new(*quarter);
        // With this bit turned over, a quote is what follows the control characters.
        let turned = bytes ^ u8x16::splat(b'"' ^ b' ');
        let controls_and_quotes = turned.min(u8x16::splat(b' ')).simd_eq(turned);
        let backslashes = bytes.simd_eq(u8x16::splat(b'\\'));
        (marks << 16) | u64::from((controls_and_quotes | backslashes).to_bitmask())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_judged_at_every_place() {
        let arena = Bump::new();
        for length in [0, 1, 64, 70] {
            for byte in 0..=255u8 {
                for at in 0..length {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    let is_special = matches!(byte, b'"' | b'\\' | 0..=31);
                    let specials = Specials::of(&bytes, &arena);
                    assert_eq!(specials.next(0), if is_special { at } else { length });
                    assert_eq!(specials.next(at + 1), length);
                }
            }
        }
    }

    #[test]
    fn the_next_of_many_is_the_nearest() {
        let arena = Bump::new();
        let bytes = b"a\"b\\c\n".repeat(50);
        let specials = Specials::of(&bytes, &arena);
        for at in 0..=bytes.len() {
            let walked = bytes.iter().skip(at).position(|byte| !byte.is_ascii_alphabetic());
            assert_eq!(specials.next(at), walked.map_or(bytes.len(), |distance| at + distance));
        }
    }
}
