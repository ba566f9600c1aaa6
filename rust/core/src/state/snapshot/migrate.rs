//! Migration of a state to changed definitions in memory. The result is the same as saving a
//! snapshot with the old definitions and restoring it with the new ones.

use foldhash::fast::RandomState;

use crate::definitions::entity_key::split;
use crate::definitions::{Clause, ClauseWindow, Definitions};
use crate::state::State;
use crate::state::entity::{ActiveMitigation, Entity};
use crate::state::frozen::FrozenState;
use crate::state::snapshot::per_clause::{PerClauseWindow, folded, per_clause_windows};
use crate::state::window::Window;

/// The part of a state that the new definitions have a place for.
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
    state.passes().replace(frozen.passes().clone());
    state.limit();
    state
}

/// The new numbers of definitions and clauses, by their old numbers.
struct Places<'n> {
    old: &'n Definitions,
    new: &'n Definitions,
    entities: Vec<Option<u32>>,
    clauses: Vec<Option<&'n Clause>>,
}

impl<'n> Places<'n> {
    fn new(old: &'n Definitions, new: &'n Definitions) -> Self {
        let entity = |slug: &str, len: usize| {
            new.entity_of(slug).filter(|&(_, new_len)| new_len == len).map(|(number, _)| number)
        };
        let entities: Vec<Option<u32>> = old
            .entities
            .iter()
            .map(|definition| entity(&definition.slug, definition.key_fields.len()))
            .collect();
        let old_clauses = old
            .policies
            .iter()
            .flat_map(|policy| policy.clauses.iter().map(move |clause| (policy, clause)));
        let clauses = old_clauses
            .map(|(policy, clause)| {
                let definition = number_at(&entities, clause.entity?)?;
                new.clause_of(definition, &policy.slug, &clause.name)
            })
            .collect();
        Self { old, new, entities, clauses }
    }

    fn entity(&self, entity: &Entity, hasher: &RandomState) -> Option<Entity> {
        let (old, parts) = split(entity.key());
        let number = number_at(&self.entities, old)?;
        let key = format!("{number}{parts}");
        let windows = per_clause_windows(self.old, entity);
        let windows = windows.iter().filter_map(|window| self.window(window, hasher));
        let mut windows: Vec<Window> = windows.collect();
        windows.sort_by_key(Window::number);
        let windows = folded(self.new, windows);
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

    fn window(&self, window: &PerClauseWindow<'_>, hasher: &RandomState) -> Option<Window> {
        let &ClauseWindow { rule, distinct, number } =
            self.clause(window.clause)?.window.as_ref()?;
        (distinct.is_some() == window.is_distinct()).then(|| window.window(rule, number, hasher))
    }

    fn clause(&self, number: u32) -> Option<&'n Clause> {
        self.clauses.get(usize::try_from(number).ok()?).copied().flatten()
    }
}

fn number_at(numbers: &[Option<u32>], index: u32) -> Option<u32> {
    numbers.get(usize::try_from(index).ok()?).copied().flatten()
}
