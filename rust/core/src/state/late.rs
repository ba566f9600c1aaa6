//! Events that are counted after later ones: at their own time, not at the newest.
//!
//! They are rare and may be slow, so a block is split into its windows by clause, changed there,
//! and put together again, like a snapshot.

use foldhash::fast::RandomState;

use crate::definitions::Definitions;
use crate::definitions::window_rule::Rule;
use crate::state::entity::{ActiveMitigation, Entity};
use crate::state::snapshot::per_clause::{folded, per_clause_windows};
use crate::state::window::Window;

/// The change of an entity by a late event, or by mitigations alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late<'a> {
    /// The number of events it counts: one or none.
    pub(crate) events: u64,
    /// Numbers of the windows that count it, and the values they count.
    pub(crate) counts: Vec<(u32, Option<&'a str>)>,
    pub(crate) mitigations: Vec<ActiveMitigation>,
}

impl Late<'_> {
    /// The block of an entity afterwards.
    pub(crate) fn applied(
        &self,
        definitions: &Definitions,
        entity: &Entity,
        time: i64,
        hasher: &RandomState,
    ) -> Entity {
        let windows = folded(definitions, self.windows(definitions, entity, time, hasher));
        let mut mitigations = entity.mitigations().to_vec();
        for new in &self.mitigations {
            match mitigations.binary_search_by_key(&new.clause, |each| each.clause) {
                Ok(place) => {
                    if let Some(active) = mitigations.get_mut(place) {
                        active.expires_at = active.expires_at.max(new.expires_at);
                    }
                }
                Err(place) => mitigations.insert(place, *new),
            }
        }
        let times = (entity.first_seen().min(time), entity.last_seen().max(time));
        let events = entity.event_count().saturating_add(self.events);
        let mut changed = Entity::restored(entity.key(), events, times, windows, mitigations);
        changed.forget(&[], time);
        changed
    }

    /// Numbers of the windows that hold enough with the event.
    pub(crate) fn reached(
        &self,
        definitions: &Definitions,
        entity: &Entity,
        time: i64,
        hasher: &RandomState,
    ) -> Vec<u32> {
        let windows = self.windows(definitions, entity, time, hasher);
        let is_reached = |window: &&Window| {
            let number = window.number();
            self.counts.iter().any(|&(counted, _)| counted == number)
                && rule_of(definitions, number)
                    .is_some_and(|rule| window.inside(rule, 0) >= usize::from(rule.threshold))
        };
        windows.iter().filter(is_reached).map(Window::number).collect()
    }

    /// All windows with the event, each by itself, in the order of their numbers.
    fn windows(
        &self,
        definitions: &Definitions,
        entity: &Entity,
        time: i64,
        hasher: &RandomState,
    ) -> Vec<Window> {
        let windows = per_clause_windows(definitions, entity);
        let own = windows.iter().filter_map(|window| {
            let (_, clause) = definitions.clause(window.clause)?;
            Some(window.window(window.rule, clause.window.as_ref()?.number, hasher))
        });
        let mut windows: Vec<Window> = own.collect();
        for &(number, value) in &self.counts {
            let Some(rule) = rule_of(definitions, number) else { continue };
            let place = windows.iter().position(|window| window.number() == number);
            let before = place.map(|place| windows.swap_remove(place));
            let empty = || match value {
                Some(_) => Window::distinct(number),
                None => Window::count(number),
            };
            windows.push(before.unwrap_or_else(empty).with_late(rule, time, value, hasher));
        }
        windows.sort_by_key(Window::number);
        windows
    }
}

fn rule_of(definitions: &Definitions, number: u32) -> Option<Rule> {
    let family = definitions.groups.family_of(number)?.family();
    family.rule(family.position(number)?)
}
