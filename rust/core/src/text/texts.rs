//! Many texts in one.

/// Texts by number.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    whole: String,
    /// Where each ends; it begins where the one before ends.
    ends: Vec<u32>,
}

impl Texts {
    pub(crate) fn get(&self, number: usize) -> Option<&str> {
        let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end as usize);
        self.whole.get(start..*self.ends.get(number)? as usize)
    }

    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// The same with no room for more.
    pub(crate) fn shrunk(mut self) -> Self {
        self.whole.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }
}

impl<I: AsRef<str>> Extend<I> for Texts {
    fn extend<T: IntoIterator<Item = I>>(&mut self, texts: T) {
        for text in texts {
            self.whole.push_str(text.as_ref());
            self.ends.push(u32::try_from(self.whole.len()).unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_number() {
        let mut texts = Texts::default();
        texts.extend(["one", "", "zwölf"]);
        let texts = texts.shrunk();
        let found: Vec<Option<&str>> = (0..4).map(|number| texts.get(number)).collect();
        assert_eq!(found, [Some("one"), Some(""), Some("zwölf"), None]);
    }
}
