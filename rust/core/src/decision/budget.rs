//! Where the budget of a decision ended (docs/decision.md, "Budget"): places in decision order.

use crate::definitions::stop::{Part, Stop};
use smallvec::SmallVec;

use crate::decision::Place;
use crate::definitions::Definitions;
use crate::definitions::candidates_index::Step;
use crate::value::meter::units;

/// Bytes of a kept text per unit of work.
const BYTES_KEPT_A_UNIT: usize = 4;

/// Units for a clause that fires: it is recorded, and mitigates an entity.
pub(crate) const FIRED_UNITS: u64 = 6;
/// Units for an error that is recorded.
pub(crate) const ERROR_UNITS: u64 = 4;

/// Units for a text that is kept and recorded: a key, or a value that a window counts.
pub(crate) const fn kept_units(bytes: usize) -> u64 {
    (bytes / BYTES_KEPT_A_UNIT) as u64
}

/// Units for a value that windows count, since each of them searches for it.
pub(crate) fn window_units(value: Option<&str>, windows: usize) -> u64 {
    let bytes = value.map_or(0, str::len);
    kept_units(bytes).saturating_add(units(bytes).saturating_mul(windows as u64))
}

/// Units of work that a decision took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Units of the search of the index.
    pub search: u64,
    /// Units of expressions of entities.
    pub entities: u64,
    /// Units of expressions of actions and policies.
    pub walk: u64,
}

impl Spent {
    /// The sum of all units.
    pub const fn total(&self) -> u64 {
        self.search.saturating_add(self.entities).saturating_add(self.walk)
    }
}

/// The bounds of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Budget {
    /// The work that the definitions allow.
    #[default]
    Own,
    /// The recorded places where it ended, without another bound.
    Known(Ends),
}

/// Where the budget ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Its place among actions and policies.
    pub(crate) walk: Option<Stop>,
    /// Its place among entities.
    pub(crate) entities: Option<EntityStop>,
}

/// A place of an entity definition: its match expression, then the parts of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityStop {
    definition: u32,
    part: u32,
}

impl EntityStop {
    pub(crate) const fn matching(definition: u32) -> Self {
        Self { definition, part: 0 }
    }

    pub(crate) fn key_field(definition: u32, index: usize) -> Self {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        Self { definition, part: index.saturating_add(1) }
    }
}

impl Ends {
    /// The ends at some places, as a record names them; None if a place is not in these
    /// definitions.
    pub fn at<'t>(
        definitions: &Definitions,
        places: impl IntoIterator<Item = &'t str>,
    ) -> Option<Self> {
        let mut ends = Self::default();
        for place in places {
            match entity_stop(definitions, place) {
                Some(stop) => ends.stop_entities(stop),
                None => ends.stop(stop(definitions, place)?),
            }
        }
        Some(ends)
    }

    /// Whether the budget ended anywhere.
    pub const fn are_any(&self) -> bool {
        self.walk.is_some() || self.entities.is_some()
    }

    /// Ends the walk at a place, unless it ended before that.
    pub(crate) fn stop(&mut self, at: Stop) {
        self.walk = Some(self.walk.map_or(at, |known| known.min(at)));
    }

    /// Ends the entities at a place, unless they ended before it.
    pub(crate) fn stop_entities(&mut self, at: EntityStop) {
        self.entities = Some(self.entities.map_or(at, |known| known.min(at)));
    }

    /// Whether the walk ended at a place or before it.
    #[inline]
    pub(crate) fn are_before(&self, place: Stop) -> bool {
        self.walk.is_some_and(|end| end <= place)
    }

    #[inline]
    pub(crate) fn are_before_entity(&self, place: EntityStop) -> bool {
        self.entities.is_some_and(|end| end <= place)
    }

    /// The places where the budget ended.
    pub(crate) fn places<'d>(&self, definitions: &'d Definitions) -> SmallVec<[Place<'d>; 2]> {
        let walk = self.walk.and_then(|stop| place_of(definitions, stop));
        let entities = self.entities.and_then(|stop| place_of_entity(definitions, stop));
        walk.into_iter().chain(entities).collect()
    }
}

fn place_of(definitions: &Definitions, stop: Stop) -> Option<Place<'_>> {
    let (step, part) = match stop {
        Stop::Action(position) => {
            return Some(Place::Action { slug: &definitions.action(position)?.slug });
        }
        Stop::Step(step, part) => (step, part),
    };
    let policy = definitions.policy(step.policy())?;
    let Some(clause) = step.clause_position() else { return Some(Place::Scope { policy }) };
    let clause = clause as usize;
    Some(match part {
        Part::Expression => Place::Condition { policy, clause },
        Part::WindowField => Place::WindowField { policy, clause },
    })
}

fn place_of_entity(definitions: &Definitions, stop: EntityStop) -> Option<Place<'_>> {
    let entity = &*definitions.entity(stop.definition)?.slug;
    Some(match stop.part.checked_sub(1) {
        None => Place::Match { entity },
        Some(index) => Place::KeyField { entity, index: index as usize },
    })
}

fn stop(definitions: &Definitions, place: &str) -> Option<Stop> {
    if let Some(rest) = place.strip_prefix("actions.") {
        let slug = rest.strip_suffix(".expression")?;
        return Some(Stop::Action(position(definitions.actions.iter().map(|it| &*it.slug), slug)?));
    }
    let (slug, rest) = place.strip_prefix("policies.")?.split_once('.')?;
    let policy = position(definitions.policies.iter().map(|it| &*it.slug), slug)?;
    if rest == "expression" {
        return Some(Stop::scope(policy));
    }
    let (clause, rest) = rest.strip_prefix("clauses[")?.split_once(']')?;
    let clause: u32 = clause.parse().ok()?;
    definitions.policy(policy)?.clauses.get(clause as usize)?;
    match rest {
        ".expression" => Some(Stop::expression(Step::clause(policy, clause))),
        ".window.field" => Some(Stop::window_field(Step::clause(policy, clause))),
        _ => None,
    }
}

fn entity_stop(definitions: &Definitions, place: &str) -> Option<EntityStop> {
    let (slug, rest) = place.strip_prefix("entities.")?.split_once('.')?;
    let entity = position(definitions.entities.iter().map(|it| &*it.slug), slug)?;
    if rest == "match_expression" {
        return Some(EntityStop::matching(entity));
    }
    let index: usize = rest.strip_prefix("key_fields[")?.strip_suffix(']')?.parse().ok()?;
    definitions.entity(entity)?.key_fields.get(index)?;
    Some(EntityStop::key_field(entity, index))
}

fn position<'s>(mut slugs: impl Iterator<Item = &'s str>, slug: &str) -> Option<u32> {
    u32::try_from(slugs.position(|other| other == slug)?).ok()
}
