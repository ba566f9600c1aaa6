//! Decisions as JSON, and the parts of an answer that can be written beforehand.

use crate::json::write::{list, member, optional, write_id};
use std::fmt::Write;

use sha1::{Digest, Sha1};
use smallvec::SmallVec;
use uuid::{Builder, Uuid};

use crate::decision::{Decision, FiredClause, Place};
use crate::definitions::entity_key::split;
use crate::definitions::{Definitions, Response};
use crate::json::write::write_string;

/// Room for a usual record, so that its text isn't moved while it is written.
const RECORD_BYTES: usize = 1280;

/// The body of the answer to the caller: `{"action": ..., "reason": ...}`.
pub fn answer(out: &mut String, decision: &Decision<'_>, return_url: Option<&str>) {
    write_answer(out, decision, return_url);
    out.push('}');
}

/// The whole record of a decision.
pub fn record(
    definitions: &Definitions,
    decision: &Decision<'_>,
    return_url: Option<&str>,
) -> String {
    let mut out = String::with_capacity(RECORD_BYTES);
    let return_url = return_url.map(|url| definitions.kept_link(url));
    write_answer(&mut out, decision, return_url.as_deref());
    write_record(&mut out, definitions, decision, &entity_ids(definitions, decision));
    out
}

/// The two texts of a served decision, and the ids they were written with.
pub struct Written {
    pub answer: String,
    pub record: String,
    pub entity_ids: SmallVec<[Uuid; 4]>,
}

/// The record of a decision, and the answer with its id.
pub fn served(
    definitions: &Definitions,
    decision: &Decision<'_>,
    return_url: Option<&str>,
    decision_id: &str,
) -> Written {
    let entity_ids = entity_ids(definitions, decision);
    let mut record = String::with_capacity(RECORD_BYTES);
    let kept_url = return_url.map(|url| definitions.kept_link(url));
    write_answer(&mut record, decision, kept_url.as_deref());
    let mut answer = String::with_capacity(record.len().saturating_add(64));
    write_answer(&mut answer, decision, return_url);
    member(&mut answer, "decision_id", Some(decision_id));
    answer.push('}');
    write_record(&mut record, definitions, decision, &entity_ids);
    Written { answer, record, entity_ids }
}

/// The part of a record that follows the answer.
pub fn write_record(
    out: &mut String,
    definitions: &Definitions,
    decision: &Decision<'_>,
    ids: &[Uuid],
) {
    let answer = decision.answer();
    member(out, "policy", answer.map(|fired| &*fired.policy.slug));
    member(out, "clause", answer.map(|fired| &*fired.clause.name));
    member(out, "mitigation", answer.and_then(mitigation_slug));
    write_entities(out, definitions, decision, ids);
    out.push_str(",\"matched_actions\":");
    let matched = decision.matched_actions.iter().filter_map(|&action| definitions.action(action));
    list(out, matched, |out, action| write_string(out, &action.slug));
    out.push_str(",\"fired\":");
    list(out, decision.fired.iter(), |out, fired| write_fired(out, fired, ids));
    write_errors(out, decision);
    write_ends(out, definitions, decision);
    if let Some(problem) = decision.client_problem {
        member(out, "client_ip_problem", Some(problem.as_str()));
    }
    if let Some(address) = decision.client_ip {
        _ = write!(out, ",\"client_ip\":\"{address}\"");
    }
    if let Some(proof) = &decision.proof {
        out.push_str(",\"proof\":");
        proof.write(out);
    }
    if let Some(overriding) = &decision.overriding {
        out.push_str(",\"override\":");
        write_id(out, overriding.of.id);
    }
    out.push('}');
}

pub fn entity_ids(definitions: &Definitions, decision: &Decision<'_>) -> SmallVec<[Uuid; 4]> {
    decision.entities.iter().map(|entity| entity_id(definitions, &entity.key)).collect()
}

/// The id of an entity, from its key.
pub fn entity_id(definitions: &Definitions, key: &str) -> Uuid {
    let (definition, parts) = split(key);
    let id = definitions.entity(definition).map_or("", |definition| &*definition.id);
    // As `Uuid::new_v5` does, with the processor's own instructions for SHA-1 where it has them.
    let mut hash = Sha1::new_with_prefix(definitions.tenant);
    [id, "\n", parts].iter().for_each(|text| hash.update(text));
    let [bytes @ .., _, _, _, _] = <[u8; 20]>::from(hash.finalize());
    Builder::from_sha1_bytes(bytes).into_uuid()
}

/// The object up to and with `reason`, not closed.
pub fn write_answer(out: &mut String, decision: &Decision<'_>, return_url: Option<&str>) {
    out.push_str("{\"action\":");
    match decision.response() {
        Response::None => out.push_str("{\"type\":\"allow\"}"),
        Response::Block(action) => out.push_str(action),
        Response::Challenge { until_return_url, default_return_url } => {
            out.push_str(until_return_url);
            let given = return_url.filter(|url| !url.is_empty());
            optional(out, given.or(default_return_url.as_deref()));
            out.push_str("}}");
        }
    }
    member(out, "reason", Some(decision.reason().as_str()));
}

fn write_entities(
    out: &mut String,
    definitions: &Definitions,
    decision: &Decision<'_>,
    ids: &[Uuid],
) {
    out.push_str(",\"entities\":");
    list(out, decision.entities.iter().zip(ids), |out, (entity, id)| {
        let definition = definitions.entity(entity.definition);
        out.push_str("{\"definition\":");
        optional(out, definition.map(|definition| &*definition.slug));
        let (_, parts) = split(&entity.key);
        out.push_str(",\"entity_id\":");
        write_id(out, *id);
        out.push_str(",\"key\":");
        out.push_str(parts);
        out.push('}');
    });
}

fn write_fired(out: &mut String, fired: &FiredClause<'_>, ids: &[Uuid]) {
    out.push_str("{\"policy\":");
    write_string(out, &fired.policy.slug);
    member(out, "clause", Some(&*fired.clause.name));
    member(out, "mitigation", mitigation_slug(fired));
    member(out, "mode", Some(fired.mode().as_str()));
    out.push_str(",\"entity_id\":");
    match fired.entity.and_then(|position| ids.get(position)) {
        Some(id) => write_id(out, *id),
        None => out.push_str("null"),
    }
    out.push_str(",\"window\":");
    match (fired.window, &fired.clause.window) {
        (Some(value), Some(window)) => {
            let threshold = window.rule.threshold;
            _ = write!(out, "{{\"value\":{value},\"threshold\":{threshold}}}");
        }
        _ => out.push_str("null"),
    }
    out.push_str(if fired.is_active { ",\"active\":true}" } else { ",\"active\":false}" });
}

fn write_errors(out: &mut String, decision: &Decision<'_>) {
    out.push_str(",\"errors\":{");
    for (index, (place, code)) in decision.errors.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(out, &place.to_string());
        _ = write!(out, ":\"{}\"", code.as_str());
    }
    out.push('}');
}

/// Appends where the budget ended, if it did.
fn write_ends(out: &mut String, definitions: &Definitions, decision: &Decision<'_>) {
    if decision.ends.are_any() {
        out.push_str(",\"budget_ended_at\":");
        let places = decision.ends.places(definitions);
        list(out, places.iter(), |out, place| write_string(out, &place.to_string()));
    }
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Action { slug } => write!(out, "actions.{slug}.expression"),
            Self::Match { entity } => write!(out, "entities.{entity}.match_expression"),
            Self::KeyField { entity, index } => {
                write!(out, "entities.{entity}.key_fields[{index}]")
            }
            Self::Scope { policy } => write!(out, "policies.{}.expression", policy.slug),
            Self::Condition { policy, clause } => {
                write!(out, "policies.{}.clauses[{clause}].expression", policy.slug)
            }
            Self::WindowField { policy, clause } => {
                write!(out, "policies.{}.clauses[{clause}].window.field", policy.slug)
            }
            Self::Header { mitigation, name } => {
                write!(out, "mitigations.{}.block.computed_headers.{name}", mitigation.slug)
            }
        }
    }
}

fn mitigation_slug<'a>(fired: &FiredClause<'a>) -> Option<&'a str> {
    fired.mitigation.map(|mitigation| &*mitigation.slug)
}
