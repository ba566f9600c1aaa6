//! Where a value ends that is in brackets, without a look at what is in it.
//!
//! 64 bytes are looked at together: which of them are in strings follows from the quotes before
//! them, of which each turns that over (Langdale and Lemire, "Parsing Gigabytes of JSON per
//! Second", 2019).

use wide::u8x16;

const BLOCK: usize = 64;
/// The bit in which brackets of arrays and of objects differ.
const CURLY: u8 = b'{' ^ b'[';

/// A bit for each byte of a block.
#[derive(Default)]
struct Marks {
    quotes: u64,
    backslashes: u64,
    opening: u64,
    closing: u64,
}

impl Marks {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let (quarters, _) = block.as_chunks::<16>();
        quarters.iter().rev().fold(Self::default(), |marks, quarter| {
            let bytes = u8x16::new(*quarter);
            let curly = bytes | u8x16::splat(CURLY);
            let add = |marks: u64, found: u8x16| (marks << 16) | u64::from(found.to_bitmask());
            Self {
                quotes: add(marks.quotes, bytes.simd_eq(u8x16::splat(b'"'))),
                backslashes: add(marks.backslashes, bytes.simd_eq(u8x16::splat(b'\\'))),
                opening: add(marks.opening, curly.simd_eq(u8x16::splat(b'{'))),
                closing: add(marks.closing, curly.simd_eq(u8x16::splat(b'}'))),
            }
        })
    }
}

/// What is known of a text up to a block.
#[derive(Default)]
struct Walk {
    /// All bits where it ends within a string.
    string: u64,
    /// The first bit where the next byte is behind a backslash.
    escaped: u64,
    open: u32,
}

impl Walk {
    /// The place in a block behind the bracket that closes the first one.
    #[inline]
    fn end(&mut self, block: &[u8; BLOCK]) -> Option<usize> {
        let marks = Marks::of(block);
        let quotes = marks.quotes & !self.escaped(marks.backslashes);
        let strings = [1, 2, 4, 8, 16, 32].iter().fold(quotes, |bits, by| bits ^ (bits << by));
        let strings = strings ^ self.string;
        self.string = (strings >> 63).wrapping_neg();
        let (opening, closing) = (marks.opening & !strings, marks.closing & !strings);
        if closing.count_ones() < self.open {
            let open = self.open.wrapping_add(opening.count_ones());
            self.open = open.wrapping_sub(closing.count_ones());
            return None;
        }
        let mut left = opening | closing;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            if opening & bit != 0 {
                self.open = self.open.wrapping_add(1);
            } else if self.open > 1 {
                self.open = self.open.wrapping_sub(1);
            } else {
                return Some((bit.trailing_zeros() as usize).wrapping_add(1));
            }
        }
        None
    }

    /// The bytes of a block that a backslash is before, and is none of a pair itself.
    #[inline]
    fn escaped(&mut self, mut backslashes: u64) -> u64 {
        let mut escaped = std::mem::take(&mut self.escaped);
        backslashes &= !escaped;
        while backslashes != 0 {
            let bit = backslashes & backslashes.wrapping_neg();
            escaped |= bit << 1;
            self.escaped = bit >> 63;
            backslashes &= !(bit | bit << 1);
        }
        escaped
    }
}

/// Behind the bracket that closes the one which the text begins with.
pub(super) fn end(text: &[u8]) -> Option<usize> {
    let mut walk = Walk::default();
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    for (block, start) in blocks.iter().zip((0_usize..).step_by(BLOCK)) {
        if let Some(end) = walk.end(block) {
            return Some(start.wrapping_add(end));
        }
    }
    let mut last = [b' '; BLOCK];
    last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
    let end = walk.end(&last)?;
    Some(text.len().wrapping_sub(rest.len()).wrapping_add(end))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests {
    use super::*;

    /// The same, byte by byte.
    fn walked(text: &[u8]) -> Option<usize> {
        let (mut open, mut is_string, mut is_escaped) = (0, false, false);
        for (at, byte) in text.iter().enumerate() {
            let was_escaped = std::mem::take(&mut is_escaped);
            match byte {
                b'\\' => is_escaped = !was_escaped,
                b'"' if !was_escaped => is_string = !is_string,
                b'[' | b'{' if !is_string => open += 1,
                b']' | b'}' if !is_string && open > 1 => open -= 1,
                b']' | b'}' if !is_string => return Some(at + 1),
                _ => {}
            }
        }
        None
    }

    #[test]
    fn a_value_ends_where_its_first_bracket_is_closed() {
        for (value, rest) in [
            ("[]", ""),
            ("{}", ",[]"),
            (r#"{"a":[1,{"b":"]}"}]}"#, "}"),
            (r#"["\"]","\\"]"#, "]"),
            (r#"["\\\"]"]"#, ",1]"),
        ] {
            for pad in 0..130 {
                let value = format!("[{}{value}]", " ".repeat(pad));
                assert_eq!(end(format!("{value}{rest}").as_bytes()), Some(value.len()));
            }
        }
        for text in ["", "[", r#"["]"#, r#"["\"]"#, "[[]"] {
            assert_eq!(end(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn any_text_ends_where_a_walk_does() {
        let mut state = 1_u32;
        for _ in 0..20_000 {
            let mut byte = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b"\"\"\\\\[]{}[{ a,;\x7F\x1B\xDB"[(state >> 8) as usize % 17]
            };
            let mut text = vec![b'['];
            text.extend((0..300).map(|_| byte()));
            assert_eq!(end(&text), walked(&text), "{text:?}");
        }
    }
}
