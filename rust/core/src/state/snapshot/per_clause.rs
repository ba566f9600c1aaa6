//! An entity's windows by clause, as seen outside the process, even if windows share memory.

use std::borrow::Cow;

use foldhash::fast::RandomState;

use crate::definitions::Definitions;
use crate::definitions::window_rule::Rule;
use crate::state::entity::Entity;
use crate::state::window::Window;

/// The content of a clause's window, which is at least one time or value.
#[derive(Clone, Debug)]
pub(crate) struct PerClauseWindow<'e> {
    /// The number of the clause.
    pub(crate) clause: u32,
    pub(crate) rule: Rule,
    /// The window that has the content.
    source: Cow<'e, Window>,
}

impl PerClauseWindow<'_> {
    pub(crate) fn is_distinct(&self) -> bool {
        self.source.is_distinct()
    }

    /// Times of a count window, oldest first.
    pub(crate) fn times(&self) -> impl Iterator<Item = i64> {
        self.source.times_of(self.rule)
    }

    /// Values of a distinct window and when each was last seen, oldest first.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, i64)> {
        self.source.values_of(self.rule)
    }

    /// The number of them inside at `time`.
    pub(crate) fn inside(&self, time: i64) -> usize {
        self.source.inside(self.rule, time).min(usize::from(self.rule.threshold))
    }

    /// The oldest time of those inside at `time`.
    pub(crate) fn oldest_inside(&self, time: i64) -> Option<i64> {
        let past = self.len().saturating_sub(self.inside(time));
        if self.is_distinct() {
            self.values().map(|(_, seen)| seen).nth(past)
        } else {
            self.times().nth(past)
        }
    }

    fn len(&self) -> usize {
        if self.is_distinct() { self.values().count() } else { self.times().count() }
    }

    /// The part of it that another rule needs, as a window.
    pub(crate) fn window(&self, rule: Rule, number: u32, hasher: &RandomState) -> Window {
        let own = self.source.narrowed(self.rule, number, hasher);
        if rule == self.rule { own } else { own.narrowed(rule, number, hasher) }
    }
}

/// The windows of an entity, in the order of clauses.
pub(crate) fn per_clause_windows<'e>(
    definitions: &Definitions,
    entity: &'e Entity,
) -> Vec<PerClauseWindow<'e>> {
    let numbers = entity.window_numbers();
    let mut all = Vec::with_capacity(numbers.len());
    let (mut near, mut next) = (0, 0);
    for number in numbers {
        let Some(family) = definitions.groups.family_of(number).filter(|_| number >= next) else {
            continue;
        };
        let windows = entity.family_after(&mut near, family.family());
        for (number, rule, step) in family.members() {
            next = number.saturating_add(1);
            let source = windows.kept_source(number).filter(|source| !source.is_empty());
            let clause = definitions.at(step).map(|(_, clause)| clause.number);
            if let (Some(source), Some(clause)) = (source, clause) {
                all.push(PerClauseWindow { clause, rule, source });
            }
        }
    }
    all.sort_unstable_by_key(|window| window.clause);
    all
}

/// Windows of one entity, one for each clause and in the order of their numbers, as its block keeps
/// them.
pub(crate) fn folded(definitions: &Definitions, windows: Vec<Window>) -> Vec<Window> {
    let mut folded: Vec<Window> = Vec::with_capacity(windows.len());
    let mut windows = windows.into_iter().peekable();
    while let Some(first) = windows.next() {
        let family = definitions.groups.family_of(first.number());
        let Some(family) = family.filter(|it| it.family().first == first.number()) else {
            folded.push(first);
            continue;
        };
        let mut own = Vec::new();
        for (number, rule, _) in family.members().skip(1) {
            let other = windows.next_if(|window| window.number() == number);
            let other = other.unwrap_or_else(|| first.emptied(number));
            if !first.holds_by(rule, &other) {
                own.push(other);
            }
        }
        folded.push(first);
        folded.append(&mut own);
    }
    folded
}
