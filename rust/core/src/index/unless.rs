//! Rules that are true unless something is found.

use std::collections::BTreeMap;

use crate::index::certainty::Requirement;
use crate::index::postings::Posting;
use crate::record::Record;

/// Rules that only say what must not be, by the facts without which they may be errors.
/// One of which no condition is found is true where its facts are met.
#[derive(Debug, Default)]
pub(crate) struct Unless {
    groups: Box<[Group]>,
}

#[derive(Debug)]
struct Group {
    facts: Box<[Requirement]>,
    rules: Box<[Posting]>,
}

impl Unless {
    pub(crate) fn new(groups: BTreeMap<Vec<Requirement>, Vec<Posting>>) -> Self {
        let group =
            |(facts, rules): (Vec<_>, Vec<_>)| Group { facts: facts.into(), rules: rules.into() };
        Self { groups: groups.into_iter().map(group).collect() }
    }

    /// Hands over each rule and whether the facts that it needs are met.
    #[inline]
    pub(crate) fn each(&self, record: &Record<'_>, mut take: impl FnMut(Posting, bool)) {
        for Group { facts, rules } in &self.groups {
            let are_met = facts.iter().all(|fact| fact.is_met(record));
            rules.iter().for_each(|rule| take(*rule, are_met));
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let bytes =
            |group: &Group| size_of_val(&*group.facts).saturating_add(size_of_val(&*group.rules));
        let groups = self.groups.iter().map(bytes).sum::<usize>();
        groups.saturating_add(size_of_val(&*self.groups))
    }
}
