//! Rules that are true unless something is found.

use std::collections::BTreeMap;

use crate::index::certainty::Requirement;
use crate::index::postings::Needs;
use crate::record::Record;

/// What rules have in common that are true together unless something is found: the facts
/// without which they may be errors, and the shared conjuncts that they need.
pub(crate) type Grounds = (Vec<Requirement>, u64);

/// Rules that say what must not be, by what else they ask for. One of which no condition
/// is found is true where that is met.
#[derive(Debug, Default)]
pub(crate) struct Unless {
    groups: Box<[Group]>,
}

#[derive(Debug)]
struct Group {
    facts: Box<[Requirement]>,
    need: u64,
    /// In ascending order.
    rules: Box<[u32]>,
}

impl Unless {
    /// Groups of rules, each in ascending order.
    pub(crate) fn new(groups: BTreeMap<Grounds, Vec<u32>>) -> Self {
        let group = |((facts, need), rules): (Grounds, Vec<u32>)| Group {
            facts: facts.into(),
            need,
            rules: rules.into(),
        };
        Self { groups: groups.into_iter().map(group).collect() }
    }

    /// Hands over the rules that have what they need, but for exceptions in ascending order,
    /// and whether they are certainly true.
    #[inline]
    pub(crate) fn each(
        &self,
        record: &Record<'_>,
        needs: &mut Needs<'_, '_>,
        exceptions: &[u32],
        mut take: impl FnMut(&[u32], bool),
    ) {
        for Group { facts, need, rules } in &self.groups {
            if needs.lacks(*need) {
                continue;
            }
            let are_certain = facts.iter().all(|fact| fact.is_met(record)) && !needs.are_open();
            each_run(rules, exceptions, |rules| take(rules, are_certain));
        }
    }
}

/// The runs of rules between exceptions; both are in ascending order.
fn each_run(rules: &[u32], exceptions: &[u32], mut take: impl FnMut(&[u32])) {
    let mut rest = rules;
    for exception in exceptions {
        let run;
        (run, rest) = rest.split_at_checked(rank(rest, *exception)).unwrap_or((rest, &[]));
        if !run.is_empty() {
            take(run);
        }
        if let Some((first, others)) = rest.split_first()
            && first == exception
        {
            rest = others;
        }
    }
    if !rest.is_empty() {
        take(rest);
    }
}

/// How many rules are below one; it is found soon where these are few.
fn rank(rules: &[u32], rule: u32) -> usize {
    let mut bound = 1_usize;
    while rules.get(bound).is_some_and(|other| *other < rule) {
        bound = bound.saturating_mul(2);
    }
    rules.get(..bound).unwrap_or(rules).partition_point(|other| *other < rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_all_rules_but_the_exceptions() {
        let rules: Vec<u32> = (0..100).map(|number| number * 3).collect();
        for exceptions in [
            vec![],
            vec![0],
            vec![297],
            vec![1, 2, 4],
            vec![3, 4, 6, 150, 151, 999],
            rules.clone(),
            (0..300).collect(),
        ] {
            let mut runs = Vec::new();
            each_run(&rules, &exceptions, |run| {
                assert!(!run.is_empty());
                runs.extend_from_slice(run);
            });
            let expected = rules.iter().filter(|rule| !exceptions.contains(rule));
            assert_eq!(runs, expected.copied().collect::<Vec<u32>>(), "{exceptions:?}");
        }
    }
}
