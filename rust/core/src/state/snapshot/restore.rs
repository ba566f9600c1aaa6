//! Restores a state from a snapshot. The text is untrusted: it is read row by row, and each row is
//! checked before it becomes a block.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use foldhash::fast::RandomState;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use uuid::Uuid;

use super::{SnapshotError, VERSION};
use crate::definitions::entity_key::{KeyWriter, Part};
use crate::definitions::{ClauseWindow, Definitions};
use crate::proofs::{NetworkForm, PassId};
use crate::state::entity::{ActiveMitigation, Entity};
use crate::state::passes::{Pass, Passes};
use crate::state::snapshot::per_clause::folded;
use crate::state::window::Window;
use crate::state::{Evictions, State};

/// Reads a snapshot into a new state, skipping parts of unknown definitions.
///
/// # Errors
/// The text isn't a snapshot of this version and tenant.
pub fn restore(
    definitions: &Definitions,
    bytes: &[u8],
    hasher: RandomState,
) -> Result<State, SnapshotError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let restorer = Restorer::new(definitions, hasher);
    let state = restorer.deserialize(&mut reader).and_then(|state| reader.end().map(|()| state));
    let mut state = state.map_err(|error| SnapshotError(error.to_string()))?;
    state.limit();
    Ok(state)
}

/// The definitions that get the state, and the state so far.
struct Restorer<'d> {
    definitions: &'d Definitions,
    state: State,
}

impl<'d> Restorer<'d> {
    fn new(definitions: &'d Definitions, hasher: RandomState) -> Self {
        Self { definitions, state: State::new(definitions.max_keys, hasher) }
    }

    /// Makes a block from a row; skips rows of definitions that no longer exist.
    fn adopt(&mut self, row: Row<'_>) -> Result<(), String> {
        let Row(slug, parts, event_count, Time(first_seen), Time(last_seen), windows, mitigations) =
            row;
        if first_seen > last_seen {
            return Err(format!("an entity of `{slug}` was first seen after it was last seen"));
        }
        let parts = parts.iter().map(PartForm::part).collect::<Result<Vec<_>, _>>()?;
        let windows = windows.into_iter().map(WindowRow::checked).collect::<Result<Vec<_>, _>>()?;
        let Some((definition, len)) = self.definitions.entity_of(&slug) else { return Ok(()) };
        if len != parts.len() {
            return Ok(());
        }
        let fields = self.definitions.entity(definition).map_or(&[][..], |it| &it.key_fields);
        let mut key = KeyWriter::new(definition);
        for (part, field) in parts.into_iter().zip(fields) {
            key.push(&self.definitions.kept_part(*field, part));
        }
        let windows = windows.into_iter().filter_map(|row| self.window(definition, row)).collect();
        let windows = folded(self.definitions, in_order(windows, Window::number)?);
        let mitigations = mitigations
            .into_iter()
            .filter_map(|row| self.mitigation(definition, &row))
            .collect::<Vec<_>>();
        let mitigations = in_order(mitigations, |each| each.clause)?;
        let times = (first_seen, last_seen);
        let key = key.finish();
        let entity = Entity::restored(&key, event_count, times, windows, mitigations);
        if self.state.adopt(entity) {
            Ok(())
        } else {
            Err(format!("an entity of `{slug}` is there twice"))
        }
    }

    fn window(&self, definition: u32, row: WindowRow<'_>) -> Option<Window> {
        let WindowRow(policy, name, _, counted) = row;
        let clause = self.definitions.clause_of(definition, &policy, &name)?;
        let &ClauseWindow { rule, distinct, number } = clause.window.as_ref()?;
        let is_distinct = distinct.is_some();
        match counted {
            Counted::Times(times) if !is_distinct => {
                let mut window = Window::count(number);
                times.into_iter().for_each(|Time(time)| window.add(rule, time));
                Some(window)
            }
            Counted::Values(values) => {
                let field = distinct?;
                let mut window = Window::distinct(number);
                for (value, Time(time)) in values {
                    let value = self.definitions.kept_text(field, (&*value).into());
                    window.add_value(rule, time, &value, self.state.hasher());
                }
                Some(window)
            }
            Counted::Times(_) => None,
        }
    }

    fn mitigation(&self, definition: u32, row: &MitigationRow<'_>) -> Option<ActiveMitigation> {
        let MitigationRow(policy, name, Time(expires_at)) = row;
        let clause = self.definitions.clause_of(definition, policy, name)?;
        clause.mitigation?;
        Some(ActiveMitigation { clause: clause.number, expires_at: *expires_at })
    }
}

impl<'i> DeserializeSeed<'i> for Restorer<'_> {
    type Value = State;

    fn deserialize<D: Deserializer<'i>>(self, deserializer: D) -> Result<State, D::Error> {
        deserializer.deserialize_map(self)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Member {
    Version,
    Tenant,
    Revision,
    Evictions,
    Keys,
    Passes,
}

impl<'i> Visitor<'i> for Restorer<'_> {
    type Value = State;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a snapshot")
    }

    fn visit_map<A: MapAccess<'i>>(mut self, mut members: A) -> Result<State, A::Error> {
        let (mut version, mut tenant, mut revision) = (None, None, None);
        let (mut evictions, mut keys, mut passes) = (None, None, None);
        while let Some(member) = members.next_key()? {
            match member {
                Member::Version => once(&mut version, members.next_value::<u32>()?)?,
                Member::Tenant => once(&mut tenant, members.next_value::<Cow<'i, str>>()?)?,
                Member::Revision => once(&mut revision, members.next_value::<u64>()?)?,
                Member::Evictions => once(&mut evictions, members.next_value::<EvictionsForm>()?)?,
                Member::Keys => once(&mut keys, members.next_value_seed(Rows(&mut self))?)?,
                Member::Passes => once(&mut passes, members.next_value::<PassesForm>()?.0)?,
            }
        }
        if version != Some(VERSION) {
            return Err(A::Error::custom("a snapshot of another version"));
        }
        let tenant = tenant.and_then(|tenant| Uuid::parse_str(&tenant).ok());
        if tenant != Some(self.definitions.tenant) {
            return Err(A::Error::custom("a snapshot of another tenant"));
        }
        let (Some(evictions), Some(_), Some(())) = (evictions, revision, keys) else {
            return Err(A::Error::custom("a member of the snapshot is missing"));
        };
        let EvictionsForm { total, mitigated } = evictions;
        self.state.set_evictions(Evictions { total, mitigated });
        self.state.passes().replace(passes.unwrap_or_default().into());
        Ok(self.state)
    }
}

/// The rows of `keys`, each restored as it is read.
struct Rows<'r, 'd>(&'r mut Restorer<'d>);

impl<'i> DeserializeSeed<'i> for Rows<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'i>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'i> Visitor<'i> for Rows<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array of keys")
    }

    fn visit_seq<A: SeqAccess<'i>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element()? {
            self.0.adopt(row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// The passes, each once; earlier versions wrote none.
#[derive(Deserialize)]
#[serde(try_from = "Vec<PassRow>")]
struct PassesForm(Passes);

impl TryFrom<Vec<PassRow>> for PassesForm {
    type Error = &'static str;

    fn try_from(rows: Vec<PassRow>) -> Result<Self, Self::Error> {
        let mut passes = Passes::default();
        for PassRow(id, Time(expires_at), is_revoked, moved_to) in rows {
            let ([] | [_]) = &*moved_to else { return Err("a pass was moved twice") };
            let moved_to = moved_to.first().map(|network| network.0);
            if !passes.put(id.0, Pass { expires_at, is_revoked, moved_to }) {
                return Err("a pass is there twice");
            }
        }
        Ok(Self(passes))
    }
}

/// Id, end, whether it is revoked, and the other network, if there is one.
#[derive(Deserialize)]
#[serde(expecting = "an array of the four parts of a pass")]
struct PassRow(PassId, Time, bool, Vec<NetworkForm>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvictionsForm {
    total: u64,
    mitigated: u64,
}

/// Definition, key parts, events, first and last seen, windows, mitigations.
#[derive(Deserialize)]
#[serde(expecting = "an array of the seven parts of a key")]
struct Row<'i>(
    #[serde(borrow)] Cow<'i, str>,
    Vec<PartForm>,
    u64,
    Time,
    Time,
    Vec<WindowRow<'i>>,
    Vec<MitigationRow<'i>>,
);

/// A part of a key in the wire form of values.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum PartForm {
    String { value: String },
    Int { value: String },
    Uint { value: String },
    Bool { value: bool },
}

impl PartForm {
    fn part(&self) -> Result<Part<'_>, String> {
        let refused = |value: &str| format!("`{value}` is no integer of a key");
        match self {
            Self::String { value } => Ok(Part::Text((&**value).into())),
            Self::Bool { value } => Ok(Part::Bool(*value)),
            Self::Int { value } => value.parse().map(Part::Int).map_err(|_| refused(value)),
            Self::Uint { value } => {
                let value: u64 = value.parse().map_err(|_| refused(value))?;
                Ok(i64::try_from(value).map_or(Part::Uint(value), Part::Int))
            }
        }
    }
}

/// Policy, clause, measure, and the content of the window, oldest first.
#[derive(Deserialize)]
#[serde(expecting = "an array of the four parts of a window")]
struct WindowRow<'i>(#[serde(borrow)] Cow<'i, str>, Cow<'i, str>, Measure, Counted<'i>);

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Measure {
    Count,
    Distinct,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an array of times, or of values with their times")]
enum Counted<'i> {
    Times(Vec<Time>),
    #[serde(borrow)]
    Values(Vec<(Cow<'i, str>, Time)>),
}

impl WindowRow<'_> {
    fn checked(self) -> Result<Self, String> {
        let Self(_, _, measure, counted) = &self;
        let is_valid = match counted {
            Counted::Times(times) => {
                *measure == Measure::Count
                    && !times.is_empty()
                    && times.is_sorted_by_key(|&Time(time)| time)
            }
            Counted::Values(values) => {
                *measure == Measure::Distinct
                    && !values.is_empty()
                    && values.is_sorted_by_key(|&(_, Time(time))| time)
                    && is_unique(values.iter().map(|(value, _)| &**value))
            }
        };
        if is_valid {
            Ok(self)
        } else {
            let Self(policy, clause, ..) = &self;
            Err(format!("the window of `{clause}` in `{policy}` is not in order"))
        }
    }
}

/// Policy, clause, and when the mitigation ends.
#[derive(Deserialize)]
#[serde(expecting = "an array of the three parts of a mitigation")]
struct MitigationRow<'i>(#[serde(borrow)] Cow<'i, str>, Cow<'i, str>, Time);

/// A time in decimal text, without sign or leading zeros.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Cow<'_, str>")]
struct Time(i64);

impl TryFrom<Cow<'_, str>> for Time {
    type Error = String;

    fn try_from(text: Cow<'_, str>) -> Result<Self, String> {
        let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'));
        let time = is_canonical.then(|| text.parse().ok()).flatten();
        time.map(Self).ok_or_else(|| format!("`{text}` is no time"))
    }
}

fn is_unique<'v>(mut values: impl Iterator<Item = &'v str>) -> bool {
    let mut seen: HashSet<&str, RandomState> = HashSet::default();
    values.all(|value| seen.insert(value))
}

/// Sorts by number; rejects repeated clauses.
fn in_order<T>(mut items: Vec<T>, number: fn(&T) -> u32) -> Result<Vec<T>, String> {
    items.sort_by_key(number);
    let is_unique = items.windows(2).all(|pair| match pair {
        [one, other] => number(one) != number(other),
        _ => true,
    });
    if is_unique { Ok(items) } else { Err("a clause is there twice for one key".into()) }
}

fn once<T, E: Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    match place.replace(value) {
        Some(_) => Err(E::custom("a member of the snapshot is there twice")),
        None => Ok(()),
    }
}
