//! Programs with one index, which sets share.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use bumpalo::Bump;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Common;
use crate::event::layout::Layout;
use crate::event::sample::Sample;
use crate::index::{Index, Rules};
use crate::program::Program;
use crate::text::texts::Texts;

/// Programs by number, with their ids and one index of them all.
#[derive(Debug, Default)]
pub(super) struct Segment {
    ids: Texts,
    pub(super) programs: Box<[Program]>,
    /// The number of those in the index; they come first.
    pub(super) searched: usize,
    /// Both are made when first asked for.
    index: OnceLock<Index>,
    numbers: OnceLock<Numbers>,
}

/// Numbers by id.
#[derive(Debug)]
struct Numbers {
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Segment {
    pub(super) fn new<I: AsRef<str>>(rules: impl IntoIterator<Item = (I, Program)>) -> Self {
        let (ids, programs): (Texts, Vec<_>) = rules.into_iter().unzip();
        Self {
            ids: ids.shrunk(),
            searched: programs.len(),
            programs: programs.into(),
            index: OnceLock::new(),
            numbers: OnceLock::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.programs.len()
    }

    /// The rule of a number.
    pub(super) fn rule(&self, number: usize) -> Option<(&str, &Program)> {
        Some((self.ids.get(number)?, self.programs.get(number)?))
    }

    /// The number of a rule.
    pub(super) fn find(&self, id: &str) -> Option<u32> {
        let Numbers { table, hasher } = self.numbers.get_or_init(|| self.numbers());
        let is_it = |number: &u32| self.id(*number) == id;
        table.find(hasher.hash_one(id), is_it).copied()
    }

    fn numbers(&self) -> Numbers {
        let hasher = RandomState::default();
        let mut table = HashTable::with_capacity(self.len());
        let hash = |number: &u32| hasher.hash_one(self.id(*number));
        for number in (0_u32..).take(self.len()) {
            table.insert_unique(hash(&number), number, hash);
        }
        Numbers { table, hasher }
    }

    fn id(&self, number: u32) -> &str {
        self.ids.get(number as usize).unwrap_or_default()
    }

    /// The index; `layout` has all slots of the programs.
    pub(super) fn index(&self, layout: &Layout, common: &Common, sample: &Sample) -> &Index {
        self.index.get_or_init(|| {
            let arena = Bump::new();
            let records = sample.records(layout, &common.trusted_proxies, &common.limits, &arena);
            Index::new(self.rules(common), layout, &records)
        })
    }

    /// The index, if it was made.
    pub(super) fn made(&self) -> Option<&Index> {
        self.index.get()
    }

    /// The rules of the index.
    pub(super) fn rules<'a>(&'a self, common: &'a Common) -> Rules<'a> {
        let programs = self.programs.get(..self.searched).unwrap_or_default();
        Rules { programs, lists: &common.lists, limits: &common.limits }
    }
}
