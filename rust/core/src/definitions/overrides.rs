//! Overrides: bans and exemptions that operators gave by hand, found by the client's address and
//! by the entities of an event.

use std::cmp::Reverse;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use uuid::Uuid;

use super::compile::refused;
use crate::definitions::document::{OverrideForm, OverrideKind};
use crate::index::search::networks::Networks;
use crate::value::address::{Address, Network};
use crate::value::error::ProgramError;

const SECOND: i64 = 1_000_000_000;

/// One override; times are nanoseconds since 1970.
#[derive(Debug)]
pub struct Override {
    pub id: Uuid,
    pub kind: OverrideKind,
    pub starts_at: i64,
    pub ends_at: i64,
}

impl Override {
    fn is_in_force(&self, at: i64) -> bool {
        (self.starts_at..self.ends_at).contains(&at)
    }

    /// Whole seconds to its end, rounded up.
    pub fn seconds_left(&self, at: i64) -> i64 {
        let left = self.ends_at.saturating_sub(at);
        let begun = i64::from(left.checked_rem(SECOND).is_some_and(|rest| rest > 0));
        left.checked_div(SECOND).unwrap_or_default().saturating_add(begun)
    }
}

/// All overrides of a tenant, in the order of the document.
#[derive(Debug)]
pub struct Overrides {
    all: Box<[Override]>,
    by_network: Networks,
    by_entity: HashMap<Uuid, Vec<u32>, RandomState>,
}

impl Overrides {
    /// The overrides of a bundle; `None` if it has none.
    pub(super) fn new(forms: Vec<OverrideForm>) -> Result<Option<Self>, ProgramError> {
        let mut all = Vec::with_capacity(forms.len());
        let mut networks = Vec::new();
        let mut by_entity = HashMap::<Uuid, Vec<u32>, RandomState>::default();
        for (number, form) in (0..).zip(forms) {
            let at = format!("/overrides/{number}");
            let uuid = |text: &str| {
                Uuid::parse_str(text).map_err(|_| refused(format!("`{text}` isn't a UUID"), &at))
            };
            match (&form.network, &form.entity_id) {
                (Some(text), None) => {
                    let network = Network::parse_entry(text);
                    let message = || format!("`{text}` isn't an address or network");
                    networks.push((network.ok_or_else(|| refused(message(), &at))?, number));
                }
                (None, Some(text)) => by_entity.entry(uuid(text)?).or_default().push(number),
                _ => return Err(refused("an override has one target".into(), &at)),
            }
            let OverrideForm { kind, starts_at, ends_at, .. } = form;
            all.push(Override { id: uuid(&form.id)?, kind, starts_at, ends_at });
        }
        let by_network = Networks::new(networks);
        Ok((!all.is_empty()).then(|| Self { all: all.into(), by_network, by_entity }))
    }

    /// The override that answers an event: one that allows, else the one that ends last. Of two
    /// that end together the first counts.
    ///
    /// # Arguments
    /// * `entity_ids` - the ids of the event's entities, made only if an override is for one.
    /// * `at` - the time at which the event was received.
    pub fn find(
        &self,
        address: Option<Address>,
        entity_ids: impl Iterator<Item = Uuid>,
        at: i64,
    ) -> Option<&Override> {
        let mut numbers = Vec::new();
        if let Some(address) = address {
            self.by_network.report(address, |number| numbers.push(number));
        }
        if !self.by_entity.is_empty() {
            numbers.extend(entity_ids.filter_map(|id| self.by_entity.get(&id)).flatten().copied());
        }
        let found = numbers.into_iter().filter_map(|number| {
            let of = self.all.get(usize::try_from(number).ok()?)?;
            of.is_in_force(at).then_some((number, of))
        });
        let best = found.max_by_key(|(number, of)| {
            (of.kind == OverrideKind::Allow, of.ends_at, Reverse(*number))
        });
        best.map(|(_, of)| of)
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
