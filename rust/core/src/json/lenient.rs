//! Reading of texts that are no events: canonical trees and what is around them.

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

    /// The text of the next value, which is checked and passed over.
    pub(crate) fn checked(&mut self) -> Result<&'a str> {
        self.kind()?;
        let start = self.at;
        self.skip()?;
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// The text of the next value, which is passed over and read later: no more is seen of it than
    /// where its strings and its brackets end.
    pub(crate) fn raw(&mut self) -> Result<&'a str> {
        self.kind()?;
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.byte_at(self.at) {
                Some(b'"') => self.pass_string()?,
                Some(b'[' | b'{') => open = open.saturating_add(1),
                Some(b',' | b']' | b'}') | None if open == 0 => break,
                Some(b']' | b'}') => open = open.saturating_sub(1),
                Some(_) => {}
                None => return Err(self.unexpected("a bracket")),
            }
            self.step();
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Goes from the quote that begins a string to the one that ends it.
    fn pass_string(&mut self) -> Result<()> {
        loop {
            self.at = self.specials.next(self.at.wrapping_add(1));
            match self.byte_at(self.at) {
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.step(),
                _ => return Err(self.unexpected("the end of a string")),
            }
        }
    }
}
