//! Distinct texts, found by hash.

use std::fmt;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::text::texts::Texts;

/// Numbers of texts in the order in which they came, each text once.
#[derive(Default)]
pub(crate) struct TextTable {
    texts: Texts,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl TextTable {
    /// The number of a text.
    #[inline]
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        if self.numbers.is_empty() {
            return None;
        }
        self.find_hashed(self.hasher.hash_one(text), text)
    }

    fn find_hashed(&self, hash: u64, text: &str) -> Option<u32> {
        let is_it = |number: &u32| self.texts.get(*number as usize) == Some(text);
        self.numbers.find(hash, is_it).copied()
    }
}

impl<I: AsRef<str>> FromIterator<I> for TextTable {
    fn from_iter<T: IntoIterator<Item = I>>(texts: T) -> Self {
        let texts = texts.into_iter();
        let numbers = HashTable::with_capacity(texts.size_hint().1.unwrap_or_default());
        let mut table = Self { numbers, ..Self::default() };
        for text in texts {
            let hash = table.hasher.hash_one(text.as_ref());
            if table.find_hashed(hash, text.as_ref()).is_none() {
                let Self { texts, numbers, hasher } = &mut table;
                let number = u32::try_from(texts.len()).unwrap_or(u32::MAX);
                texts.extend([text]);
                numbers.insert_unique(hash, number, |number| hash_of(texts, hasher, *number));
            }
        }
        let Self { texts, mut numbers, hasher } = table;
        numbers.shrink_to_fit(|number| hash_of(&texts, &hasher, *number));
        Self { texts: texts.shrunk(), numbers, hasher }
    }
}

impl fmt::Debug for TextTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(formatter)
    }
}

fn hash_of(texts: &Texts, hasher: &RandomState, number: u32) -> u64 {
    hasher.hash_one(texts.get(number as usize).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_the_number_of_its_first_place() {
        let texts: Vec<String> = (0..1000).map(|number| format!("{}", number % 700)).collect();
        let table: TextTable = texts.iter().collect();
        for (number, text) in (0..700).zip(&texts) {
            assert_eq!(table.find(text), Some(number));
        }
        assert_eq!(table.find("700"), None);
        assert_eq!(TextTable::default().find(""), None);
        assert_eq!(TextTable::from_iter([""]).find(""), Some(0));
    }
}
