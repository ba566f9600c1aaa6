//! Inspection of entities by operators, and the one change they can make.

use std::collections::BinaryHeap;
use std::fmt::Write;

use uuid::Uuid;

use crate::decision::effects;
use crate::decision::record::entity_id;
use crate::definitions::Definitions;
use crate::definitions::document::Mode;
use crate::definitions::entity_key::split;
use crate::definitions::window_rule::Rule;
use crate::engine::Engine;
use crate::json::write::{list, write_string};
use crate::state::entity::{ActiveMitigation, Entity};
use crate::state::passes::{PassChange, PassDoes};
use crate::state::snapshot::per_clause::{PerClauseWindow, per_clause_windows};

/// A mitigation of an entity by its names, in the order of which they are listed:
/// the slug of the entity's definition, the JSON array of its key, the slug of the
/// policy and the name of the clause.
pub type MitigationName<'a> = (&'a str, &'a str, &'a str, &'a str);

impl Engine {
    /// Mitigations that have not ended at `at`, as JSON: the first `limit` after one.
    pub fn active_mitigations(
        &self,
        at: i64,
        limit: usize,
        after: Option<MitigationName<'_>>,
    ) -> String {
        let frozen = self.state().freeze();
        let definitions = self.definitions();
        // The greatest on top: it makes room for a smaller one.
        let mut first: BinaryHeap<(MitigationName<'_>, i64, u32)> = BinaryHeap::new();
        for entity in frozen.mitigated() {
            for each in active(entity, at) {
                let Some(name) = name(definitions, entity, each) else { continue };
                if after.is_some_and(|after| name <= after) {
                    continue;
                }
                first.push((name, each.expires_at, each.clause));
                if first.len() > limit {
                    first.pop();
                }
            }
        }
        let mut out = String::new();
        list(&mut out, first.into_sorted_vec().into_iter(), |out, (name, expires_at, clause)| {
            let (definition, parts, ..) = name;
            out.push('{');
            write_entity(out, definitions, definition, parts);
            out.push(',');
            write_mitigation(out, definitions, ActiveMitigation { clause, expires_at });
            out.push('}');
        });
        out
    }

    /// Ends the mitigations that a policy, or one of its clauses, has set for an entity
    /// and that have not ended at `at`. Returns the effects that repeat it; `None`
    /// if nothing was ended. The key is the JSON array of its parts.
    pub fn lift(
        &self,
        definition: &str,
        key: &[u8],
        policy: &str,
        clause: Option<&str>,
        at: i64,
    ) -> Option<String> {
        let definitions = self.definitions();
        let key = effects::read_key(definitions, definition, key)?;
        let mut state = self.state();
        let entity = state.get(state.find(&key))?;
        let is_named = |number: u32| {
            definitions.clause(number).is_some_and(|(of, each)| {
                *of.slug == *policy && clause.is_none_or(|name| *each.name == *name)
            })
        };
        let clauses: Vec<u32> =
            active(entity, at).map(|each| each.clause).filter(|&number| is_named(number)).collect();
        if clauses.is_empty() {
            return None;
        }
        state.lift(&key, at, &clauses);
        let lifted = effects::write_lift(definitions, &key, at, &clauses);
        self.followers().tell(|| lifted.clone());
        Some(lifted)
    }

    /// Revokes a pass that has not expired at `at`. Gives the effects that repeat it; `None` when
    /// it is revoked already.
    pub fn revoke_pass(&self, pass_id: Uuid, expires_at: i64, at: i64) -> Option<String> {
        let change = PassChange { pass_id, at, expires_at, does: PassDoes::Revoke };
        let state = self.state();
        let mut passes = state.passes();
        let is_revoked = passes.get().get(pass_id).is_some_and(|pass| pass.is_revoked);
        if expires_at <= at || is_revoked {
            return None;
        }
        passes.apply(&change);
        let revoked = effects::written_pass(&change);
        self.followers().tell(|| revoked.clone());
        Some(revoked)
    }

    /// Whether a pass was revoked, as far as that is remembered.
    pub fn is_revoked(&self, pass_id: Uuid) -> bool {
        self.state().passes().get().get(pass_id).is_some_and(|pass| pass.is_revoked)
    }

    /// The state of an entity at `at`, as JSON; `None` if nothing is known of it. The key is the
    /// JSON array of its parts.
    pub fn entity_state(&self, definition: &str, key: &[u8], at: i64) -> Option<String> {
        let definitions = self.definitions();
        let key = effects::read_key(definitions, definition, key)?;
        let entity = {
            let state = self.state();
            state.get(state.find(&key))?.clone()
        };
        let (_, parts) = split(&key);
        let mut out = String::from("{");
        write_entity(&mut out, definitions, definition, parts);
        _ = write!(
            out,
            ",\"event_count\":{},\"first_seen_at\":{},\"last_seen_at\":{},\"windows\":",
            entity.event_count(),
            entity.first_seen(),
            entity.last_seen()
        );
        list(&mut out, per_clause_windows(definitions, &entity).iter(), |out, window| {
            write_window(out, definitions, window, at);
        });
        out.push_str(",\"mitigations\":");
        list(&mut out, active(&entity, at), |out, each| {
            out.push('{');
            write_mitigation(out, definitions, *each);
            out.push('}');
        });
        out.push('}');
        Some(out)
    }

    /// The definition and key of the entity with an id, as JSON, if it is known; walks through the
    /// whole state.
    pub fn find_entity(&self, id: &str) -> Option<String> {
        let id = Uuid::parse_str(id).ok()?;
        let frozen = self.state().freeze();
        let definitions = self.definitions();
        let entity = frozen.iter().find(|entity| entity_id(definitions, entity.key()) == id)?;
        let (definition, parts) = split(entity.key());
        let mut out = String::from("[");
        write_string(&mut out, &definitions.entity(definition)?.slug);
        _ = write!(out, ",{parts}]");
        Some(out)
    }
}

fn active(entity: &Entity, at: i64) -> impl Iterator<Item = &ActiveMitigation> {
    entity.mitigations().iter().filter(move |each| at < each.expires_at)
}

fn name<'a>(
    definitions: &'a Definitions,
    entity: &'a Entity,
    mitigation: &ActiveMitigation,
) -> Option<MitigationName<'a>> {
    let (definition, parts) = split(entity.key());
    let (policy, clause) = definitions.clause(mitigation.clause)?;
    Some((&definitions.entity(definition)?.slug, parts, &policy.slug, &clause.name))
}

fn write_entity(out: &mut String, definitions: &Definitions, definition: &str, parts: &str) {
    let number = definitions.entity_of(definition).map_or(u32::MAX, |(number, _)| number);
    let id = entity_id(definitions, &format!("{number}{parts}"));
    _ = write!(out, "\"entity_id\":\"{id}\",\"definition\":");
    write_string(out, definition);
    _ = write!(out, ",\"key\":{parts}");
}

fn write_mitigation(out: &mut String, definitions: &Definitions, active: ActiveMitigation) {
    let mitigation =
        definitions.clause(active.clause).and_then(|(_, clause)| definitions.mitigation(clause));
    write_names(out, definitions, active.clause);
    out.push_str(",\"mitigation\":");
    write_string(out, mitigation.map_or("", |mitigation| &mitigation.slug));
    let mode = mitigation.map_or(Mode::Monitor, |mitigation| mitigation.mode);
    _ = write!(out, ",\"mode\":\"{}\",\"expires_at\":{}", mode.as_str(), active.expires_at);
}

fn write_window(
    out: &mut String,
    definitions: &Definitions,
    window: &PerClauseWindow<'_>,
    at: i64,
) {
    out.push('{');
    write_names(out, definitions, window.clause);
    let Rule { duration, threshold } = window.rule;
    _ = write!(out, ",\"value\":{},\"threshold\":{threshold}", window.inside(at));
    _ = write!(out, ",\"duration\":{duration},\"falls_at\":");
    match window.oldest_inside(at) {
        Some(time) => _ = write!(out, "{}}}", time.saturating_add(duration)),
        None => out.push_str("null}"),
    }
}

fn write_names(out: &mut String, definitions: &Definitions, clause: u32) {
    if let Some((policy, clause)) = definitions.clause(clause) {
        out.push_str("\"policy\":");
        write_string(out, &policy.slug);
        out.push_str(",\"clause\":");
        write_string(out, &clause.name);
    }
}
