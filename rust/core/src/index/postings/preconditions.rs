//! Facts that an event must meet for an index to pass over rules.

use std::collections::BTreeMap;

use crate::event::record::Record;
use crate::index::build::IndexedRule;
use crate::index::requirements::access_path::AccessPath;
use crate::index::requirements::error_free::Requirement;
use crate::index::requirements::formula::Reason;
use crate::index::requirements::worst_cost::{Cost, Size};
use crate::value::limits::Limits;

/// Rules by the facts without which they may be errors.
#[derive(Debug, Default)]
pub(crate) struct Preconditions {
    requirements: BTreeMap<Requirement, Vec<u32>>,
    costs: BTreeMap<Cost, Vec<u32>>,
}

impl Preconditions {
    /// The preconditions of rules. A rule without an access path is passed over only for missing
    /// common subexpressions.
    pub(crate) fn new(
        rules: &[IndexedRule],
        access_paths: &[Result<AccessPath<'_>, Reason>],
    ) -> Self {
        let mut preconditions = Self::default();
        for (number, (rule, access_path)) in (0..).zip(rules.iter().zip(access_paths)) {
            let cost = rule.cost.unwrap_or_default().rounded();
            preconditions.costs.entry(cost).or_default().push(number);
            let of_access = access_path.as_ref().map_or(&[][..], |path| &path.requirements);
            for requirement in of_access.iter().chain(&rule.requirements) {
                let rules = preconditions.requirements.entry(*requirement).or_default();
                if rules.last() != Some(&number) {
                    rules.push(number);
                }
            }
        }
        preconditions
    }

    /// Calls `take` with the rules that may be errors of a record, some more than once.
    pub(crate) fn each_unmet(
        &self,
        record: &Record<'_>,
        limits: &Limits,
        mut take: impl FnMut(u32),
    ) {
        for (requirement, rules) in &self.requirements {
            if !requirement.is_met(record) {
                rules.iter().for_each(|rule| take(*rule));
            }
        }
        let size = Size::of(record);
        for (cost, rules) in &self.costs {
            if !cost.is_within(limits, size) {
                rules.iter().for_each(|rule| take(*rule));
            }
        }
    }
}
