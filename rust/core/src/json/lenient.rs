//! Reading of texts that are not events: canonical trees and their envelopes.

use super::{Reader, Result};

impl<'a> Reader<'a> {
    /// Reads an object whose names may repeat; `entry` is called after each and reads its value.
    pub(crate) fn entries(
        &mut self,
        mut entry: impl FnMut(&mut Self, &'a str) -> Result<()>,
    ) -> Result<()> {
        self.open(b'{', "an object")?;
        if self.closes(b'}') {
            return Ok(());
        }
        loop {
            let name = self.name()?;
            entry(self, name)?;
            if self.ends(b'}')? {
                return Ok(());
            }
        }
    }

    /// Reads an array of two whole numbers without space; reads nothing if something else comes
    /// next.
    pub(crate) fn span(&mut self) -> Option<(u32, u32)> {
        let array = self.text.as_bytes().get(self.at..).filter(|_| self.depth < self.max_depth)?;
        let (start, rest) = position(array.strip_prefix(b"[")?)?;
        let (end, rest) = position(rest.strip_prefix(b",")?)?;
        let rest = rest.strip_prefix(b"]")?;
        self.at = self.text.len().wrapping_sub(rest.len());
        Some((start, end))
    }
}

/// The whole number that a text begins with, and the rest of the text.
fn position(text: &[u8]) -> Option<(u32, &[u8])> {
    let (mut number, mut rest) = (0_u32, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        number = number.checked_mul(10)?.checked_add(u32::from(digit & 0xF))?;
        rest = after;
    }
    let digits = text.len().wrapping_sub(rest.len());
    let is_number = digits == 1 || (digits > 1 && !text.starts_with(b"0"));
    is_number.then_some((number, rest))
}
