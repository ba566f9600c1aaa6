//! What a decision does to the state, as JSON that repeats it without the event
//! (docs/decision.md, "Effects").

use std::fmt::Write;

use bumpalo::Bump;

use crate::decide::Decision;
use crate::definitions::Definitions;
use crate::error::EventError;
use crate::json::{Fault, Kind, Reader, Result, integer_value};
use crate::key::{KeyWriter, Part, split, write_string};
use crate::limits::Limits;
use crate::snapshot::write_clause;
use crate::state::{Change, State};
use crate::value::Value;
use crate::wire::list;

const EVENT: &str = "event";

/// Effects that are refused: one of several, which stands at a position.
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
pub fn write(definitions: &Definitions, decision: &Decision<'_>) -> String {
    let mut out = String::with_capacity(192);
    list(&mut out, decision.entities.iter().enumerate(), |out, (position, entity)| {
        let slug = definitions.entity(entity.definition).map_or("", |definition| &definition.slug);
        let (_, parts) = split(&entity.key);
        let changes = || decision.changes_of(position);
        _ = write!(out, "[\"{EVENT}\",");
        write_string(out, slug);
        _ = write!(out, ",{parts},\"{}\",", decision.time);
        let counts = changes().filter(|change| !matches!(change, Change::Mitigate { .. }));
        list(out, counts, |out, change| write_change(out, definitions, change));
        out.push(',');
        let mitigations = changes().filter(|change| matches!(change, Change::Mitigate { .. }));
        list(out, mitigations, |out, change| write_change(out, definitions, change));
        out.push(']');
    });
    out
}

fn write_change(out: &mut String, definitions: &Definitions, change: Change<'_>) {
    out.push('[');
    match change {
        Change::Count { clause, .. } => {
            write_clause(out, definitions, clause);
            out.push_str(",null]");
        }
        Change::CountValue { clause, value, .. } => {
            write_clause(out, definitions, clause);
            out.push(',');
            write_string(out, value);
            out.push(']');
        }
        Change::Mitigate { clause, expires_at } => {
            write_clause(out, definitions, clause);
            _ = write!(out, ",\"{expires_at}\"]");
        }
    }
}

/// What one entry of effects changes, as far as the definitions have a place for it.
#[derive(Debug)]
pub(crate) struct Effect<'a> {
    key: String,
    time: i64,
    changes: Vec<Change<'a>>,
}

impl Effect<'_> {
    pub(crate) fn apply(&self, state: &mut State) {
        state.update(&self.key, None, self.time, self.changes.iter().copied());
    }
}

/// Reads effects whole, before any of them is applied.
///
/// # Errors
/// They are not in the form that [`write`] writes.
pub(crate) fn read<'a>(
    definitions: &Definitions,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Vec<Effect<'a>>> {
    let limits = Limits {
        event_depth: 4,
        event_members: usize::MAX,
        event_string_bytes: usize::MAX,
        ..Limits::default()
    };
    let mut reader = Reader::new(bytes, arena, &limits)?;
    let mut effects = Vec::new();
    reader.array(|reader, _| {
        let mut row =
            Row { definitions, definition: None, key: None, time: 0, changes: Vec::new() };
        tuple(reader, 6, |reader, index| row.read(reader, index))?;
        let Row { key, time, changes, .. } = row;
        effects.extend(key.map(|key| Effect { key, time, changes }));
        Ok(())
    })?;
    reader.finish()?;
    Ok(effects)
}

/// One entry, read part by part.
struct Row<'a, 'd> {
    definitions: &'d Definitions,
    /// Position and number of key parts, when there still is such a definition.
    definition: Option<(u32, usize)>,
    /// Absent when the definitions have no place for the entry.
    key: Option<String>,
    time: i64,
    changes: Vec<Change<'a>>,
}

impl<'a> Row<'a, '_> {
    fn read(&mut self, reader: &mut Reader<'a>, index: usize) -> Result<()> {
        match index {
            0 => {
                let place = reader.clone();
                if reader.string()? != EVENT {
                    return Err(place.shape_fault("an effect of an unknown kind"));
                }
            }
            1 => self.definition = self.definitions.entity_of(reader.string()?),
            2 => self.key = self.key(reader)?,
            3 => self.time = time(reader)?,
            4 => return reader.array(|reader, _| self.count(reader)),
            _ => return reader.array(|reader, _| self.mitigate(reader)),
        }
        Ok(())
    }

    fn key(&self, reader: &mut Reader<'a>) -> Result<Option<String>> {
        let (definition, len) = self.definition.unwrap_or_default();
        let mut key = KeyWriter::new(definition);
        let mut count = 0;
        reader.array(|reader, index| {
            key.push(&part(reader)?);
            count = index.saturating_add(1);
            Ok(())
        })?;
        Ok((self.definition.is_some() && count == len).then(|| key.finish()))
    }

    fn count(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let (mut policy, mut clause, mut value) = ("", "", None);
        tuple(reader, 3, |reader, index| {
            match index {
                0 => policy = reader.string()?,
                1 => clause = reader.string()?,
                _ if reader.kind()? == Kind::Null => reader.null()?,
                _ => value = Some(reader.string()?),
            }
            Ok(())
        })?;
        let Some((definition, _)) = self.definition else { return Ok(()) };
        let clause = self.definitions.clause_of(definition, policy, clause);
        let Some((number, window)) =
            clause.and_then(|clause| Some((clause.number, clause.window.as_ref()?)))
        else {
            return Ok(());
        };
        let rule = window.rule;
        match (value, window.distinct) {
            (None, None) => self.changes.push(Change::Count { clause: number, rule }),
            (Some(value), Some(_)) => {
                self.changes.push(Change::CountValue { clause: number, rule, value });
            }
            _ => {}
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
        let Some((definition, _)) = self.definition else { return Ok(()) };
        let clause = self.definitions.clause_of(definition, policy, clause);
        if let Some(clause) = clause.filter(|clause| clause.mitigation.is_some()) {
            self.changes.push(Change::Mitigate { clause: clause.number, expires_at });
        }
        Ok(())
    }
}

/// Reads an array of so many parts.
fn tuple<'a>(
    reader: &mut Reader<'a>,
    len: usize,
    mut read: impl FnMut(&mut Reader<'a>, usize) -> Result<()>,
) -> Result<()> {
    let place = reader.clone();
    let wrong = || place.shape_fault(format!("must be an array of {len} parts"));
    let mut count = 0;
    reader.array(|reader, index| {
        count = index.saturating_add(1);
        if count > len { Err(wrong()) } else { read(reader, index) }
    })?;
    if count == len { Ok(()) } else { Err(wrong()) }
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
