//! A state carried over to changed definitions, in memory, to the same end as a
//! snapshot that is saved by the old ones and restored by the new ones.

use foldhash::fast::RandomState;

use crate::definitions::{Clause, Definitions};
use crate::entity::{ActiveMitigation, Entity};
use crate::frozen::FrozenState;
use crate::key::split;
use crate::state::State;
use crate::window::{Rule, Window};

/// What of a state the new definitions have a place for.
pub(crate) fn carried(
    old: &Definitions,
    new: &Definitions,
    frozen: &FrozenState,
    hasher: RandomState,
) -> State {
    let places = Places::new(old, new);
    let mut state = State::new(new.max_keys, hasher.clone());
    for entity in frozen.iter().filter_map(|entity| places.entity(entity, &hasher)) {
        state.adopt(entity);
    }
    state.set_evictions(frozen.evictions());
    state.limit();
    state
}

/// By the numbers of the old definitions, what the new ones have.
struct Places<'n> {
    entities: Vec<Option<u32>>,
    clauses: Vec<Option<&'n Clause>>,
    /// By clause, whether the rule of its window stayed the same.
    same_rule: Vec<bool>,
}

impl<'n> Places<'n> {
    fn new(old: &Definitions, new: &'n Definitions) -> Self {
        let entity = |slug: &str, len: usize| {
            new.entity_of(slug).filter(|&(_, new_len)| new_len == len).map(|(number, _)| number)
        };
        let entities: Vec<Option<u32>> = old
            .entities
            .iter()
            .map(|definition| entity(&definition.slug, definition.key_fields.len()))
            .collect();
        let old_clauses = || {
            old.policies
                .iter()
                .flat_map(|policy| policy.clauses.iter().map(move |clause| (policy, clause)))
        };
        let clauses: Vec<Option<&Clause>> = old_clauses()
            .map(|(policy, clause)| {
                let definition = number_at(&entities, clause.entity?)?;
                new.clause_of(definition, &policy.slug, &clause.name)
            })
            .collect();
        let rule = |clause: &Clause| clause.window.as_ref().map(|window| window.rule);
        let same_rule = old_clauses()
            .zip(&clauses)
            .map(|((_, old), new)| new.is_some_and(|new| rule(new) == rule(old)))
            .collect();
        Self { entities, clauses, same_rule }
    }

    fn entity(&self, entity: &Entity, hasher: &RandomState) -> Option<Entity> {
        let (old, parts) = split(entity.key());
        let number = number_at(&self.entities, old)?;
        let key = format!("{number}{parts}");
        let windows = entity.windows().iter().filter_map(|window| self.window(window, hasher));
        let mut windows: Vec<Window> = windows.collect();
        windows.sort_by_key(Window::clause);
        let mitigations = entity.mitigations().iter().filter_map(|each| {
            let clause = self.clause(each.clause)?;
            clause.mitigation?;
            Some(ActiveMitigation { clause: clause.number, expires_at: each.expires_at })
        });
        let mut mitigations: Vec<ActiveMitigation> = mitigations.collect();
        mitigations.sort_by_key(|each| each.clause);
        let times = (entity.first_seen(), entity.last_seen());
        Some(Entity::restored(&key, entity.event_count(), times, windows, mitigations))
    }

    fn window(&self, window: &Window, hasher: &RandomState) -> Option<Window> {
        let clause = self.clause(window.clause())?;
        let rule = clause.window.as_ref()?.rule;
        let is_distinct = clause.window.as_ref()?.distinct.is_some();
        if is_distinct != matches!(window, Window::Distinct { .. }) {
            return None;
        }
        let index = usize::try_from(window.clause()).ok()?;
        if self.same_rule.get(index).copied().unwrap_or_default() {
            return Some(window.clone().of(clause.number));
        }
        Some(counted_again(window, clause.number, rule, hasher))
    }

    fn clause(&self, number: u32) -> Option<&'n Clause> {
        self.clauses.get(usize::try_from(number).ok()?).copied().flatten()
    }
}

/// As much of a window as another rule looks at.
fn counted_again(window: &Window, clause: u32, rule: Rule, hasher: &RandomState) -> Window {
    if let Window::Distinct { .. } = window {
        let mut again = Window::distinct(clause);
        window.values().for_each(|(value, time)| again.add_value(rule, time, value, hasher));
        again
    } else {
        let mut again = Window::count(clause);
        window.times().for_each(|time| again.add(rule, time));
        again
    }
}

fn number_at(numbers: &[Option<u32>], index: u32) -> Option<u32> {
    numbers.get(usize::try_from(index).ok()?).copied().flatten()
}
