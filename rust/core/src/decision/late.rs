//! Decisions made elsewhere, checked against the state here (docs/decision.md, "Late events").

use std::fmt::Write;

use crate::decision::effects::{Does, Effect, LATE};
use crate::definitions::Definitions;
use crate::definitions::entity_key::split;
use crate::json::write::{list, write_string};
use crate::state::entity::{ActiveMitigation, Entity};
use crate::state::lock::StateGuard;
use crate::state::snapshot::write_clause;
use crate::value::limits::CLOCK_TOLERANCE;

impl Effect<'_> {
    /// The late event as it counts here: a window that no longer holds its time at `now` does not
    /// count it, and a window that is reached mitigates. `None` for other entries.
    pub(crate) fn judged(
        mut self,
        definitions: &Definitions,
        state: &StateGuard<'_>,
        now: i64,
    ) -> Option<Self> {
        let Does::Late(late) = &mut self.does else { return None };
        let time = self.time.min(now.saturating_add(CLOCK_TOLERANCE));
        self.time = time;
        let families = &definitions.groups;
        let member = |number: u32| {
            families.family_of(number)?.members().find(|&(other, ..)| other == number)
        };
        late.counts.retain(|&(number, _)| {
            member(number).is_some_and(|(_, rule, _)| time > rule.edge(now))
        });
        let entity = state.get(state.find(&self.key)).cloned();
        let entity = entity.unwrap_or_else(|| Entity::new(&self.key, time));
        for number in late.reached(definitions, &entity, time, state.hasher()) {
            let clause = member(number).and_then(|(_, _, step)| definitions.at(step));
            let Some((_, clause)) = clause else { continue };
            let ttl = definitions.mitigation(clause).map_or(0, |mitigation| mitigation.ttl);
            if ttl > 0 {
                let expires_at = time.saturating_add(ttl);
                late.mitigations.push(ActiveMitigation { clause: clause.number, expires_at });
            }
        }
        late.mitigations.retain(|each| now < each.expires_at);
        late.mitigations.sort_by_key(|each| (each.clause, each.expires_at.wrapping_neg()));
        late.mitigations.dedup_by_key(|each| each.clause);
        Some(self)
    }
}

/// Appends the effect of an event that was counted late.
pub(crate) fn write_late(out: &mut String, definitions: &Definitions, effect: &Effect<'_>) {
    let Does::Late(late) = &effect.does else { return };
    let (definition, parts) = split(&effect.key);
    let slug = definitions.entity(definition).map_or("", |definition| &definition.slug);
    _ = write!(out, "[\"{LATE}\",");
    write_string(out, slug);
    _ = write!(out, ",{parts},\"{}\",", effect.time);
    list(out, late.counts.iter(), |out, (number, value)| {
        let family = definitions.groups.family_of(*number);
        let member = family.and_then(|it| it.members().find(|(other, ..)| other == number));
        let clause = member.and_then(|(_, _, step)| definitions.at(step));
        out.push('[');
        write_clause(out, definitions, clause.map_or(u32::MAX, |(_, clause)| clause.number));
        out.push(',');
        match value {
            Some(value) => write_string(out, value),
            None => out.push_str("null"),
        }
        out.push(']');
    });
    out.push(',');
    list(out, late.mitigations.iter(), |out, each| {
        out.push('[');
        write_clause(out, definitions, each.clause);
        _ = write!(out, ",\"{}\"]", each.expires_at);
    });
    out.push(']');
}
