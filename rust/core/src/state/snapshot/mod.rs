//! The state as JSON and back (docs/decision.md, "Snapshot").

pub(crate) mod migrate;
pub(crate) mod per_clause;
mod restore;

use std::convert::Infallible;
use std::fmt::Write;

use uuid::Uuid;

use crate::definitions::Definitions;
use crate::definitions::entity_key::split;
use crate::json::write::{list, write_string};
use crate::proofs::write_network;
use crate::state::Evictions;
use crate::state::entity::Entity;
use crate::state::lock::StateGuard;
use crate::state::passes::{Pass, Passes};
use crate::state::snapshot::per_clause::{PerClauseWindow, per_clause_windows};

pub use restore::restore;

const VERSION: u32 = 1;

/// The size in bytes at which a piece is passed on.
pub const PIECE: usize = 1 << 20;

/// The reason why a snapshot is rejected, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotError(pub String);

impl std::fmt::Display for SnapshotError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for SnapshotError {}

/// Writes the whole state.
pub fn save(definitions: &Definitions, state: &StateGuard<'_>) -> String {
    save_entities(definitions, (state.evictions(), state.passes().get()), state.iter())
}

/// Writes a snapshot of some blocks and passes.
pub fn save_entities<'s>(
    definitions: &Definitions,
    about: (Evictions, &Passes),
    entities: impl Iterator<Item = &'s Entity>,
) -> String {
    let mut whole = String::new();
    let written = write_entities(definitions, about, entities, |piece| {
        whole.push_str(piece);
        Ok::<_, Infallible>(())
    });
    match written {
        Ok(()) => whole,
    }
}

/// Writes a snapshot of some blocks and passes in pieces of about [`PIECE`] bytes.
///
/// # Errors
/// The error of `take` for a piece.
pub fn write_entities<'s, E>(
    definitions: &Definitions,
    (evictions, passes): (Evictions, &Passes),
    entities: impl Iterator<Item = &'s Entity>,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = String::with_capacity(256);
    let Evictions { total, mitigated } = evictions;
    _ = write!(
        out,
        "{{\"version\":{VERSION},\"tenant\":\"{}\",\"revision\":{},\
         \"evictions\":{{\"total\":{total},\"mitigated\":{mitigated}}},\"keys\":[",
        definitions.tenant, definitions.revision
    );
    for (number, entity) in entities.enumerate() {
        if number > 0 {
            out.push(',');
        }
        write_entity(&mut out, definitions, entity);
        if out.len() >= PIECE {
            take(&out)?;
            out.clear();
        }
    }
    out.push(']');
    if !passes.is_empty() {
        out.push_str(",\"passes\":");
        list(&mut out, passes.iter(), |out, (id, pass)| write_pass(out, id, pass));
    }
    out.push('}');
    take(&out)
}

fn write_pass(out: &mut String, pass_id: Uuid, pass: &Pass) {
    let Pass { expires_at, is_revoked, .. } = pass;
    _ = write!(out, "[\"{pass_id}\",\"{expires_at}\",{is_revoked},");
    list(out, pass.moved_to.iter(), |out, network| write_network(out, *network));
    out.push(']');
}

fn write_entity(out: &mut String, definitions: &Definitions, entity: &Entity) {
    let (definition, parts) = split(entity.key());
    out.push('[');
    write_string(out, definitions.entity(definition).map_or("", |definition| &definition.slug));
    out.push(',');
    write_parts(out, parts);
    _ = write!(
        out,
        ",{},\"{}\",\"{}\",",
        entity.event_count(),
        entity.first_seen(),
        entity.last_seen()
    );
    list(out, per_clause_windows(definitions, entity).iter(), |out, window| {
        write_window(out, definitions, window)
    });
    out.push(',');
    list(out, entity.mitigations().iter(), |out, each| {
        out.push('[');
        write_clause(out, definitions, each.clause);
        _ = write!(out, ",\"{}\"]", each.expires_at);
    });
    out.push(']');
}

/// The parts of a key, each with its kind.
fn write_parts(out: &mut String, parts: &str) {
    let parts: Vec<serde_json::Value> = serde_json::from_str(parts).unwrap_or_default();
    list(out, parts.iter(), |out, part| match part {
        serde_json::Value::String(text) => {
            out.push_str("{\"type\":\"string\",\"value\":");
            write_string(out, text);
            out.push('}');
        }
        serde_json::Value::Bool(value) => {
            _ = write!(out, "{{\"type\":\"bool\",\"value\":{value}}}");
        }
        number => {
            let kind = if number.is_i64() { "int" } else { "uint" };
            _ = write!(out, "{{\"type\":\"{kind}\",\"value\":\"{number}\"}}");
        }
    });
}

fn write_window(out: &mut String, definitions: &Definitions, window: &PerClauseWindow<'_>) {
    out.push('[');
    write_clause(out, definitions, window.clause);
    if window.is_distinct() {
        out.push_str(",\"distinct\",");
        list(out, window.values(), |out, (value, time)| {
            out.push('[');
            write_string(out, value);
            _ = write!(out, ",\"{time}\"]");
        });
    } else {
        out.push_str(",\"count\",");
        list(out, window.times(), |out, time| _ = write!(out, "\"{time}\""));
    }
    out.push(']');
}

pub(crate) fn write_clause(out: &mut String, definitions: &Definitions, number: u32) {
    if let Some((policy, clause)) = definitions.clause(number) {
        write_string(out, &policy.slug);
        out.push(',');
        write_string(out, &clause.name);
    }
}
