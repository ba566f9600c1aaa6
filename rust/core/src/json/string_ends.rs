//! The ends of strings: the special bytes of a JSON text, found ahead of reading.
//!
//! One vectorised pass marks every quote, backslash and control character in a
//! bit set, so that the end of a string is found without a loop over its bytes
//! and without its mispredicted branches.

use bumpalo::Bump;
use wide::u8x16;

const BLOCK: usize = 64;
/// Places from one window to the next.
const STEP: usize = 32;

/// The places of the special bytes of a text, one bit for each byte.
///
/// Windows of 64 bits begin at every 32nd byte, so that one look sees at least the 33
/// places that follow: the end of most strings, wherever they begin.
#[derive(Clone, Copy)]
pub(crate) struct StringEnds<'a> {
    windows: &'a [u64],
    length: usize,
}

impl<'a> StringEnds<'a> {
    /// Marks the special bytes of a text.
    pub(crate) fn of(bytes: &[u8], arena: &'a Bump) -> Self {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let windows = arena.alloc_slice_fill_copy(blocks.len().wrapping_add(1), [0; 2]);
        let mut after = 0;
        if let Some(window) = windows.last_mut() {
            let mut last = [b' '; BLOCK];
            for (place, byte) in last.iter_mut().zip(rest) {
                *place = *byte;
            }
            after = mark_block(&last);
            *window = [after, after >> STEP];
        }
        for (window, block) in windows.iter_mut().zip(blocks).rev() {
            let marks = mark_block(block);
            *window = [marks, (marks >> STEP) | (after << STEP)];
            after = marks;
        }
        Self { windows: windows.as_flattened(), length: bytes.len() }
    }

    /// The first special byte at or after a place, or the end of the text.
    #[inline]
    pub(crate) fn next(&self, at: usize) -> usize {
        at.wrapping_add(self.distance(at))
    }

    /// The distance from a place to the first special byte, or to the end of the text.
    #[inline(always)]
    pub(crate) fn distance(&self, at: usize) -> usize {
        match self.windows.get(at / STEP).map(|marks| marks >> (at % STEP)) {
            Some(marks) if marks != 0 => marks.trailing_zeros() as usize,
            _ => self.far_distance(at),
        }
    }

    #[inline(never)]
    fn far_distance(&self, at: usize) -> usize {
        let mut index = at / BLOCK;
        loop {
            index = index.wrapping_add(1);
            let start = index.wrapping_mul(BLOCK);
            let place = match self.windows.get(start / STEP) {
                Some(0) => continue,
                Some(marks) => start.wrapping_add(marks.trailing_zeros() as usize),
                None => self.length,
            };
            return place.saturating_sub(at);
        }
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
        for length in [0, 1, 32, 64, 70, 140] {
            for byte in 0..=255u8 {
                for at in 0..length {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    let is_special = matches!(byte, b'"' | b'\\' | 0..=31);
                    let string_ends = StringEnds::of(&bytes, &arena);
                    assert_eq!(string_ends.next(0), if is_special { at } else { length });
                    assert_eq!(string_ends.next(at + 1), length);
                }
            }
        }
    }

    #[test]
    fn the_next_of_many_is_the_nearest() {
        let arena = Bump::new();
        let bytes = b"a\"b\\c\n".repeat(50);
        let string_ends = StringEnds::of(&bytes, &arena);
        for at in 0..=bytes.len() {
            let walked = bytes.iter().skip(at).position(|byte| !byte.is_ascii_alphabetic());
            assert_eq!(string_ends.next(at), walked.map_or(bytes.len(), |distance| at + distance));
        }
    }
}
