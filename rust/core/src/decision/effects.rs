//! The changes that a decision makes to the state, as JSON that repeats them without the event
//! (docs/decision.md, "Effects").

use std::collections::HashSet;
use std::fmt::Write;

use bumpalo::Bump;
use smallvec::SmallVec;
use tidegate_proof::Network;
use uuid::Uuid;

use crate::decision::Decision;
use crate::definitions::clause_group::WindowFamily;
use crate::definitions::entity_key::{KeyWriter, Part, split};
use crate::definitions::{Clause, Definitions};
use crate::json::write::{list, push_int, write_string};
use crate::json::{Fault, FaultKind, Kind, Reader, Result, integer_value};
use crate::proofs::{network, pass_id, write_network};
use crate::state::Change;
use crate::state::entity::ActiveMitigation;
use crate::state::late::Late;
use crate::state::lock::StateGuard;
use crate::state::passes::{PassChange, PassDoes};
use crate::state::snapshot::write_clause;
use crate::value::Value;
use crate::value::error::EventError;
use crate::value::limits::Limits;

const EVENT: &str = "event";
const LIFT: &str = "lift";
pub(super) const LATE: &str = "late";
const MITIGATE: &str = "mitigate";
const REVOKE: &str = "revoke";
const MOVE: &str = "move";
/// Windows that count one event without memory on the heap.
const FEW_COUNTS: usize = 16;

/// Rejected effects, with the position of the rejected entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectsError {
    pub message: String,
    pub position: usize,
}

impl EffectsError {
    pub(crate) fn new(fault: Box<Fault>, position: usize) -> Self {
        let EventError { message, pointer, .. } = fault.into();
        let place = if pointer.is_empty() { pointer } else { format!(" at `{pointer}`") };
        Self { message: format!("{message}{place}"), position }
    }
}

/// The effects of a decision.
pub fn written(definitions: &Definitions, decision: &Decision<'_>) -> String {
    let mut out = String::with_capacity(192);
    write(&mut out, definitions, decision);
    out
}

/// Appends the effects of a decision: of its entities, then of the pass it was shown.
pub fn write(out: &mut String, definitions: &Definitions, decision: &Decision<'_>) {
    let entities = 0..decision.entities.len();
    let passes = decision.pass_changes.iter().map(Err);
    list(out, entities.map(Ok).chain(passes), |out, entry| match entry {
        Ok(position) => write_entity(out, definitions, decision, position),
        Err(change) => write_pass(out, change),
    });
}

fn write_entity(
    out: &mut String,
    definitions: &Definitions,
    decision: &Decision<'_>,
    position: usize,
) {
    let Some(entity) = decision.entities.get(position) else { return };
    let slug = definitions.entity(entity.definition).map_or("", |definition| &definition.slug);
    let (_, parts) = split(&entity.key);
    let changes = || decision.changes_of(position);
    out.push('[');
    write_string(out, EVENT);
    out.push(',');
    write_string(out, slug);
    out.push(',');
    out.push_str(parts);
    out.push_str(",\"");
    push_int(out, decision.time);
    out.push_str("\",");
    let mut counts: SmallVec<[(u32, Option<&str>); FEW_COUNTS]> = SmallVec::new();
    for change in changes() {
        counts.extend(counted(definitions, change));
    }
    counts.sort_unstable_by_key(|(clause, _)| *clause);
    list(out, counts.iter(), |out, (clause, value)| {
        out.push('[');
        write_clause(out, definitions, *clause);
        match value {
            Some(value) => {
                out.push(',');
                write_string(out, value);
                out.push(']');
            }
            None => out.push_str(",null]"),
        }
    });
    out.push(',');
    let mitigations = changes().filter_map(|change| match change {
        Change::Mitigate { clause, expires_at } => Some((clause, expires_at)),
        _ => None,
    });
    list(out, mitigations, |out, (clause, expires_at)| {
        out.push('[');
        write_clause(out, definitions, clause);
        out.push_str(",\"");
        push_int(out, expires_at);
        out.push_str("\"]");
    });
    out.push(']');
}

fn write_pass(out: &mut String, change: &PassChange) {
    let PassChange { pass_id, at, expires_at, does } = change;
    let kind = if *does == PassDoes::Revoke { REVOKE } else { MOVE };
    _ = write!(out, "[\"{kind}\",\"{pass_id}\",\"{at}\",\"{expires_at}\"");
    if let PassDoes::Move(network) = does {
        out.push(',');
        write_network(out, *network);
    }
    out.push(']');
}

/// The effects of a change of a pass alone.
pub(crate) fn written_pass(change: &PassChange) -> String {
    let mut out = String::from("[");
    write_pass(&mut out, change);
    out.push(']');
    out
}

/// The effects of ending an entity's mitigations by some clauses.
pub(crate) fn write_lift(
    definitions: &Definitions,
    key: &str,
    time: i64,
    clauses: &[u32],
) -> String {
    let (definition, parts) = split(key);
    let mut out = format!("[[\"{LIFT}\",");
    write_string(
        &mut out,
        definitions.entity(definition).map_or("", |definition| &definition.slug),
    );
    _ = write!(out, ",{parts},\"{time}\",");
    list(&mut out, clauses.iter(), |out, &clause| {
        out.push('[');
        write_clause(out, definitions, clause);
        out.push(']');
    });
    out.push_str("]]");
    out
}

/// The clauses whose windows count a change, and the counted values.
fn counted<'c>(
    definitions: &Definitions,
    change: Change<'c>,
) -> impl Iterator<Item = (u32, Option<&'c str>)> {
    let (family, only, value) = match change {
        Change::Count { family, value } => (Some(family), None, value),
        Change::CountOne { family, position, value } => (Some(family), Some(position), value),
        Change::Mitigate { .. } => (None, None, None),
    };
    let family = family.and_then(|family| definitions.groups.family_of(family.first));
    let steps = family.map_or(&[][..], |family| &family.steps).iter().enumerate();
    let steps = steps.filter(move |(position, _)| only.is_none_or(|only| only == *position));
    steps.filter_map(move |(_, step)| Some((definitions.at(*step)?.1.number, value)))
}

/// One entry of effects, as far as the definitions have a place for it.
#[derive(Debug)]
pub(crate) struct Effect<'a> {
    pub(super) key: String,
    pub(super) time: i64,
    pub(super) does: Does<'a>,
}

#[derive(Debug)]
pub(super) enum Does<'a> {
    /// An event was counted.
    Count(Vec<Change<'a>>),
    /// The mitigations of some clauses were ended.
    Lift(Vec<u32>),
    /// An event was counted at its own time, or mitigations came from elsewhere.
    Late(Late<'a>),
    /// A pass changed.
    Pass(PassChange),
}

impl Effect<'_> {
    pub(crate) fn apply(&self, definitions: &Definitions, state: &mut StateGuard<'_>) {
        match &self.does {
            Does::Count(changes) => {
                state.update(&self.key, None, self.time, changes.iter().copied());
            }
            Does::Lift(clauses) => state.lift(&self.key, self.time, clauses),
            Does::Late(late) => {
                let hasher = state.hasher();
                state.rewrite(&self.key, self.time, |entity| {
                    late.applied(definitions, entity, self.time, hasher)
                });
            }
            Does::Pass(change) => state.passes().apply(change),
        }
    }
}

/// The key of an entity from the JSON array of its parts, if a definition with this number of parts
/// exists.
pub(crate) fn read_key(definitions: &Definitions, slug: &str, parts: &[u8]) -> Option<String> {
    let arena = Bump::new();
    let mut reader = Reader::new(parts, &arena, &limits()).ok()?;
    let key = key(&mut reader, definitions, definitions.entity_of(slug)).ok()?;
    reader.finish().ok()?;
    key
}

/// Reads effects whole, before any of them is applied.
///
/// # Errors
/// They are not in the form that [`write`] writes.
pub(crate) fn read<'a>(
    definitions: &'a Definitions,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Vec<Effect<'a>>> {
    read_as(definitions, bytes, arena, false)
}

/// As [`read`], with the entities of one event, which is to be counted late.
///
/// # Errors
/// As [`read`], and when an entity comes twice: an event counts once.
pub(crate) fn read_late<'a>(
    definitions: &'a Definitions,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Vec<Effect<'a>>> {
    let effects = read_as(definitions, bytes, arena, true)?;
    let mut keys = HashSet::with_capacity(effects.len());
    if effects.iter().all(|effect| keys.insert(effect.key.as_str())) {
        return Ok(effects);
    }
    Err(Fault::new(FaultKind::Shape, "an entity comes twice", 0))
}

fn read_as<'a>(
    definitions: &'a Definitions,
    bytes: &'a [u8],
    arena: &'a Bump,
    are_late: bool,
) -> Result<Vec<Effect<'a>>> {
    let mut reader = Reader::new(bytes, arena, &limits())?;
    let mut effects = Vec::new();
    reader.array(|reader, _| {
        let mut row = Row::new(definitions, are_late);
        let place = reader.clone();
        let mut count = 0;
        reader.array(|reader, index| {
            count = index.saturating_add(1);
            row.read(reader, index)
        })?;
        if count != row.len {
            return Err(wrong_length(&place, row.len));
        }
        effects.extend(row.effect());
        Ok(())
    })?;
    reader.finish()?;
    Ok(effects)
}

/// No limits here, since the store of the text has its own.
fn limits() -> Limits {
    Limits {
        event_depth: 4,
        event_members: usize::MAX,
        event_string_bytes: usize::MAX,
        ..Limits::default()
    }
}

/// One entry, read part by part.
struct Row<'a> {
    definitions: &'a Definitions,
    len: usize,
    /// Position and number of key parts, if the definition still exists.
    definition: Option<(u32, usize)>,
    /// Absent if the definitions have no place for the entry.
    key: Option<String>,
    time: i64,
    /// Numbers of the windows that count, and the values they count.
    counts: Vec<(u32, Option<&'a str>)>,
    does: Does<'a>,
    /// Whether events are to be counted late.
    are_late: bool,
}

impl<'a> Row<'a> {
    fn new(definitions: &'a Definitions, are_late: bool) -> Self {
        let does = Does::Count(Vec::new());
        let counts = Vec::new();
        Self { definitions, len: 6, definition: None, key: None, time: 0, counts, does, are_late }
    }

    fn effect(self) -> Option<Effect<'a>> {
        let Self { definitions, key, time, counts, mut does, .. } = self;
        match &mut does {
            Does::Count(changes) => add_counts(definitions, counts, changes),
            Does::Late(late) => late.counts = once_each(counts),
            Does::Lift(_) | Does::Pass(_) => {}
        }
        let is_pass = matches!(does, Does::Pass(_));
        key.or(is_pass.then(String::new)).map(|key| Effect { key, time, does })
    }

    fn read(&mut self, reader: &mut Reader<'a>, index: usize) -> Result<()> {
        if let Does::Pass(change) = &mut self.does {
            return read_pass(change, reader, index, self.len);
        }
        match index {
            0 => self.kind(reader)?,
            1 => self.definition = self.definitions.entity_of(reader.string()?),
            2 => self.key = key(reader, self.definitions, self.definition)?,
            3 => self.time = time(reader)?,
            _ if index >= self.len => return Err(wrong_length(reader, self.len)),
            4 if self.counts_or_lifts() => {
                return reader.array(|reader, _| self.count_or_lift(reader));
            }
            _ => return reader.array(|reader, _| self.mitigate(reader)),
        }
        Ok(())
    }

    fn kind(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let place = reader.clone();
        match reader.string()? {
            EVENT if !self.are_late => {}
            EVENT => self.does = Does::Late(Late { events: 1, ..Late::default() }),
            _ if self.are_late => return Err(place.shape_fault("must be the effect of an event")),
            LATE => self.does = Does::Late(Late { events: 1, ..Late::default() }),
            MITIGATE => (self.len, self.does) = (5, Does::Late(Late::default())),
            LIFT => (self.len, self.does) = (5, Does::Lift(Vec::new())),
            REVOKE => (self.len, self.does) = (4, no_pass(PassDoes::Revoke)),
            MOVE => (self.len, self.does) = (5, no_pass(PassDoes::Move(Network::None))),
            _ => return Err(place.shape_fault("an effect of an unknown kind")),
        }
        Ok(())
    }

    /// Whether the part after the time isn't a list of mitigations.
    fn counts_or_lifts(&self) -> bool {
        !matches!(&self.does, Does::Late(late) if late.events == 0)
    }

    fn count_or_lift(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let is_count = !matches!(self.does, Does::Lift(_));
        let (mut policy, mut clause, mut value) = ("", "", None);
        tuple(reader, if is_count { 3 } else { 2 }, |reader, index| {
            match index {
                0 => policy = reader.string()?,
                1 => clause = reader.string()?,
                _ if reader.kind()? == Kind::Null => reader.null()?,
                _ => value = Some(reader.string()?),
            }
            Ok(())
        })?;
        let Some(clause) = self.clause(policy, clause) else { return Ok(()) };
        let number = clause.number;
        match &mut self.does {
            Does::Lift(clauses) => clauses.push(number),
            Does::Pass(_) => {}
            Does::Count(_) | Does::Late(_) => {
                let Some(window) = &clause.window else { return Ok(()) };
                match (value, window.distinct) {
                    (None, None) => self.counts.push((window.number, None)),
                    (Some(value), Some(field)) => {
                        let kept = self.definitions.kept_text(field, value.into());
                        let kept = reader.arena().alloc_str(&kept);
                        self.counts.push((window.number, Some(kept)));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn mitigate(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let (mut policy, mut clause, mut expires_at) = ("", "", 0);
        tuple(reader, 3, |reader, index| {
            match index {
                0 => policy = reader.string()?,
                1 => clause = reader.string()?,
                _ => expires_at = time(reader)?,
            }
            Ok(())
        })?;
        let clause = self.clause(policy, clause).filter(|clause| clause.mitigation.is_some());
        let Some(&Clause { number: clause, .. }) = clause else { return Ok(()) };
        match &mut self.does {
            Does::Count(changes) => changes.push(Change::Mitigate { clause, expires_at }),
            Does::Late(late) => late.mitigations.push(ActiveMitigation { clause, expires_at }),
            Does::Lift(_) | Does::Pass(_) => {}
        }
        Ok(())
    }

    fn clause(&self, policy: &str, clause: &str) -> Option<&'a Clause> {
        let (definition, _) = self.definition?;
        self.definitions.clause_of(definition, policy, clause)
    }
}

/// A change of a pass that is still to be read.
fn no_pass<'a>(does: PassDoes) -> Does<'a> {
    Does::Pass(PassChange { pass_id: Uuid::nil(), at: 0, expires_at: 0, does })
}

/// Reads a part of an entry about a pass.
fn read_pass(
    change: &mut PassChange,
    reader: &mut Reader<'_>,
    index: usize,
    len: usize,
) -> Result<()> {
    let place = reader.clone();
    match index {
        1 => {
            let id = pass_id(reader.string()?);
            change.pass_id = id.ok_or_else(|| place.shape_fault("must be the id of a pass"))?;
        }
        2 => change.at = time(reader)?,
        3 => change.expires_at = time(reader)?,
        _ if index >= len => return Err(wrong_length(reader, len)),
        _ if reader.kind()? == Kind::Null => reader.null()?,
        _ => {
            let network = network(reader.string()?);
            let network = network.ok_or_else(|| place.shape_fault("must be a network or null"))?;
            change.does = PassDoes::Move(network);
        }
    }
    Ok(())
}

/// The counts of windows, each window once: its first count.
fn once_each(mut counts: Vec<(u32, Option<&str>)>) -> Vec<(u32, Option<&str>)> {
    let mut seen = HashSet::with_capacity(counts.len());
    counts.retain(|(number, _)| seen.insert(*number));
    counts
}

/// Adds changes for windows that count, each once: one for a family of which all count the same.
fn add_counts<'a>(
    definitions: &'a Definitions,
    mut counts: Vec<(u32, Option<&'a str>)>,
    changes: &mut Vec<Change<'a>>,
) {
    counts.sort_by_key(|(number, _)| *number);
    counts.dedup_by_key(|(number, _)| *number);
    let mut rest = &*counts;
    while let Some(&(number, value)) = rest.first() {
        let Some(family) = definitions.groups.family_of(number).map(WindowFamily::family) else {
            break;
        };
        let len = family.rules.len();
        let is_all = rest.get(..len).is_some_and(|part| {
            part.iter().zip(family.first..).all(|(each, number)| *each == (number, value))
        });
        if is_all {
            changes.push(Change::Count { family, value });
        } else if let Some(position) = family.position(number) {
            changes.push(Change::CountOne { family, position, value });
        }
        rest = rest.get(if is_all { len } else { 1 }..).unwrap_or_default();
    }
}

/// Reads an array of a given number of parts.
fn tuple<'a>(
    reader: &mut Reader<'a>,
    len: usize,
    mut read: impl FnMut(&mut Reader<'a>, usize) -> Result<()>,
) -> Result<()> {
    let place = reader.clone();
    let mut count = 0;
    reader.array(|reader, index| {
        count = index.saturating_add(1);
        if count > len { Err(wrong_length(reader, len)) } else { read(reader, index) }
    })?;
    if count == len { Ok(()) } else { Err(wrong_length(&place, len)) }
}

#[cold]
fn wrong_length(place: &Reader<'_>, len: usize) -> Box<Fault> {
    place.shape_fault(format!("must be an array of {len} parts"))
}

/// The key of an entity of a definition, if one with this number of parts exists. Parts that were
/// written in clear and are secrets now become hashes.
fn key(
    reader: &mut Reader<'_>,
    definitions: &Definitions,
    definition: Option<(u32, usize)>,
) -> Result<Option<String>> {
    let (number, len) = definition.unwrap_or_default();
    let fields = definition.and_then(|(number, _)| definitions.entity(number));
    let fields = fields.map_or(&[][..], |definition| &definition.key_fields);
    let mut key = KeyWriter::new(number);
    let mut count = 0;
    reader.array(|reader, index| {
        let part = part(reader)?;
        match fields.get(index) {
            Some(field) => key.push(&definitions.kept_part(*field, part)),
            None => key.push(&part),
        }
        count = index.saturating_add(1);
        Ok(())
    })?;
    Ok((definition.is_some() && count == len).then(|| key.finish()))
}

/// A part of a key.
fn part<'a>(reader: &mut Reader<'a>) -> Result<Part<'a>> {
    let fault = |reader: &Reader<'_>| reader.shape_fault("must be a string, an integer or a bool");
    Ok(match reader.kind()? {
        Kind::String => Part::Text(reader.string()?.into()),
        Kind::Bool => Part::Bool(reader.boolean()?),
        Kind::Number => match integer_value(reader.number()?) {
            Some(Value::Int(value)) => Part::Int(value),
            Some(Value::Uint(value)) => Part::Uint(value),
            _ => return Err(fault(reader)),
        },
        _ => return Err(fault(reader)),
    })
}

/// A time in decimal text, without sign or leading zeros.
fn time(reader: &mut Reader<'_>) -> Result<i64> {
    let place = reader.clone();
    let text = reader.string()?;
    let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'));
    let time = is_canonical.then(|| text.parse().ok()).flatten();
    time.ok_or_else(|| place.shape_fault("must be a time in decimal text"))
}
