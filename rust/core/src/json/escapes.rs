//! Strings with escapes, decoded into the arena.

use super::{Reader, Result};

impl<'a> Reader<'a> {
    /// Decodes a string whose first escape, control character or end is at `special`.
    #[cold]
    pub(super) fn escaped_string(&mut self, start: usize, special: usize) -> Result<&'a str> {
        self.escaped = self.escaped.wrapping_add(1);
        let capacity = special.saturating_sub(start).saturating_add(64);
        let mut decoded = bumpalo::collections::String::with_capacity_in(capacity, self.arena);
        let mut plain = start;
        self.at = special;
        loop {
            decoded.push_str(self.text.get(plain..self.at).unwrap_or_default());
            if decoded.len() > self.max_string_bytes {
                return Err(self.long_string(start));
            }
            match self.byte_at(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {}
                Some(_) => return Err(self.text_fault("a control character must be escaped")),
                None => return Err(self.text_fault("the string has no end")),
            }
            let escaped = self.at.wrapping_add(1);
            if let Some(b'"' | b'\\' | b'/') = self.byte_at(escaped) {
                // The escaped character is literal: the plain run continues after the backslash.
                plain = escaped;
                self.at = self.string_ends.next(escaped.wrapping_add(1));
            } else {
                decoded.push(self.escape()?);
                plain = self.at;
                self.at = self.string_ends.next(self.at);
            }
        }
        self.step();
        Ok(decoded.into_bump_str())
    }

    /// Reads one escape sequence of another character, from its backslash.
    fn escape(&mut self) -> Result<char> {
        let letter = self.byte_at(self.at.wrapping_add(1));
        let decoded = match letter {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.text_fault("unknown escape sequence")),
        };
        self.at = self.at.wrapping_add(2);
        Ok(decoded)
    }

    /// Reads `\uXXXX`, or the two that write one character outside the basic plane.
    fn unicode_escape(&mut self) -> Result<char> {
        let high = self.code_unit(self.at)?;
        if let Some(character) = char::from_u32(high) {
            self.at = self.at.wrapping_add(6);
            return Ok(character);
        }
        let next = self.at.wrapping_add(6);
        let has_next =
            self.text.as_bytes().get(next..).is_some_and(|rest| rest.starts_with(b"\\u"));
        let low = if has_next { self.code_unit(next)? } else { 0 };
        let units = [high, low].map(|unit| u16::try_from(unit).unwrap_or_default());
        match char::decode_utf16(units).next() {
            Some(Ok(character)) => {
                self.at = next.wrapping_add(6);
                Ok(character)
            }
            _ => Err(self.text_fault("a surrogate stands alone")),
        }
    }

    /// The four hexadecimal digits of the `\u` at a place.
    fn code_unit(&self, at: usize) -> Result<u32> {
        let digits = self.text.get(at.wrapping_add(2)..at.wrapping_add(6)).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.text_fault("`\\u` needs four hexadecimal digits"));
        }
        u32::from_str_radix(digits, 16).map_err(|_| self.text_fault("bad escape sequence"))
    }
}
