//! The order of the rules of a set that changes.

/// Keys are in the order of the rules, and stay theirs while rules come and go; the place of a
/// rule is how many come before it.
#[derive(Clone, Debug)]
pub(in crate::ruleset) struct Places {
    /// The next key.
    end: u32,
    /// Keys that no rule has any more, in order.
    removed: Vec<u32>,
}

impl Places {
    /// Of rules whose keys are their places.
    pub(in crate::ruleset) fn new(len: usize) -> Self {
        Self { end: u32::try_from(len).unwrap_or(u32::MAX), removed: Vec::new() }
    }

    /// How many rules there are.
    pub(in crate::ruleset) fn len(&self) -> usize {
        (self.end as usize).saturating_sub(self.removed.len())
    }

    /// The next key, past those of all rules so far.
    pub(in crate::ruleset) const fn end(&self) -> u32 {
        self.end
    }

    /// The key of a rule that comes last.
    pub(in crate::ruleset) const fn push(&mut self) -> u32 {
        let key = self.end;
        self.end = self.end.saturating_add(1);
        key
    }

    /// Takes its key from a rule.
    pub(in crate::ruleset) fn remove(&mut self, key: u32) {
        if let Err(position) = self.removed.binary_search(&key) {
            self.removed.insert(position, key);
        }
    }

    /// The place of the rule with a key.
    #[inline]
    pub(in crate::ruleset) fn place(&self, key: u32) -> u32 {
        let before = self.removed.partition_point(|removed| *removed < key);
        key.saturating_sub(u32::try_from(before).unwrap_or(u32::MAX))
    }

    /// The key of the rule at a place.
    pub(in crate::ruleset) fn key(&self, place: usize) -> Option<u32> {
        // The first of the list are those removed before it.
        let (mut low, mut high) = (0, self.removed.len());
        while low < high {
            let middle = low.midpoint(high);
            let removed = self.removed.get(middle).map_or(0, |key| *key as usize);
            if removed.saturating_sub(middle) <= place {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        let key = u32::try_from(place.saturating_add(low)).ok()?;
        (key < self.end).then_some(key)
    }

    /// The keys of all rules, in order.
    pub(in crate::ruleset) fn keys(&self) -> impl Iterator<Item = u32> {
        let mut removed = self.removed.iter().peekable();
        (0..self.end).filter(move |key| removed.next_if_eq(&key).is_none())
    }

    /// The same rules where others have other keys: in place of each key that `renewed` gives
    /// None for, none; `end` is the next.
    pub(in crate::ruleset) fn renewed(
        &self,
        end: u32,
        renewed: impl Fn(u32) -> Option<u32>,
    ) -> Self {
        Self { end, removed: self.removed.iter().filter_map(|key| renewed(*key)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_close_up_where_rules_are_gone() {
        let mut places = Places::new(5);
        let mut keys: Vec<u32> = (0..5).collect();
        for gone in [3, 0, 4] {
            places.remove(gone);
            keys.retain(|key| *key != gone);
            keys.push(places.push());
            assert_eq!(places.keys().collect::<Vec<_>>(), keys);
            assert_eq!(places.len(), keys.len());
            for (place, key) in (0..).zip(&keys) {
                assert_eq!(places.place(*key), place);
                assert_eq!(places.key(place as usize), Some(*key));
            }
            assert_eq!(places.key(keys.len()), None);
        }
    }
}
