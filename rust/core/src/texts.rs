//! The ids of many rules in one text.

/// Ids by number.
#[derive(Debug, Default)]
pub(super) struct Ids {
    text: String,
    /// Where each ends; it begins where the one before ends.
    ends: Vec<u32>,
}

impl Ids {
    pub(super) fn get(&self, number: usize) -> Option<&str> {
        let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end as usize);
        self.text.get(start..*self.ends.get(number)? as usize)
    }

    /// The same with no room for more.
    pub(super) fn shrunk(mut self) -> Self {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }

    pub(super) const fn memory_bytes(&self) -> usize {
        self.text.capacity().saturating_add(size_of_val(self.ends.as_slice()))
    }
}

impl<I: AsRef<str>> Extend<I> for Ids {
    fn extend<T: IntoIterator<Item = I>>(&mut self, ids: T) {
        for id in ids {
            self.text.push_str(id.as_ref());
            self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_by_number() {
        let mut ids = Ids::default();
        ids.extend(["one", "", "zwölf"]);
        let ids = ids.shrunk();
        let found: Vec<Option<&str>> = (0..4).map(|number| ids.get(number)).collect();
        assert_eq!(found, [Some("one"), Some(""), Some("zwölf"), None]);
    }
}
