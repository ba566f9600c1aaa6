//! The passes of solved challenges: which are revoked, and which were shown from another network
//! (docs/decision.md, "Proofs of challenges").

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use tidegate_proof::Network;
use uuid::Uuid;

/// The maximum number of remembered passes, independent of the number of keys.
pub const MAX_PASSES: usize = 100_000;

/// The state of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    pub expires_at: i64,
    pub is_revoked: bool,
    /// The one other network from which it is valid too.
    pub moved_to: Option<Network>,
}

/// A change of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassChange {
    pub pass_id: Uuid,
    pub at: i64,
    pub expires_at: i64,
    pub does: PassDoes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassDoes {
    Revoke,
    /// It was shown from another network.
    Move(Network),
}

/// The order of eviction: passes that are not revoked come first, each kind by its end.
type Place = (bool, i64, Uuid);

/// The passes of a tenant that have a state.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    by_id: HashMap<Uuid, Pass, RandomState>,
    order: BTreeSet<Place>,
}

impl Passes {
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn get(&self, pass_id: Uuid) -> Option<&Pass> {
        self.by_id.get(&pass_id)
    }

    /// A copy with this pass alone, if it is there.
    pub fn only(&self, pass_id: Uuid) -> Self {
        let mut only = Self::default();
        if let Some(&pass) = self.get(pass_id) {
            only.put(pass_id, pass);
        }
        only
    }

    /// All of them, in the order in which they are evicted.
    pub fn iter(&self) -> impl Iterator<Item = (Uuid, &Pass)> {
        self.order.iter().filter_map(|&(.., id)| Some((id, self.by_id.get(&id)?)))
    }

    /// Changes a pass after expired ones are removed. Keeps at most `max`.
    pub fn apply(&mut self, change: &PassChange, max: usize) {
        self.forget_expired(change.at);
        if change.expires_at <= change.at {
            return;
        }
        let known = self.remove(change.pass_id);
        if known.is_none() {
            self.limit(max.saturating_sub(1));
        }
        let mut pass = known.unwrap_or(Pass { expires_at: 0, is_revoked: false, moved_to: None });
        pass.expires_at = pass.expires_at.max(change.expires_at);
        match change.does {
            PassDoes::Revoke => pass.is_revoked = true,
            PassDoes::Move(network) => _ = pass.moved_to.get_or_insert(network),
        }
        self.put(change.pass_id, pass);
    }

    /// Puts a pass in place. Returns whether it is new.
    pub fn put(&mut self, pass_id: Uuid, pass: Pass) -> bool {
        let before = self.remove(pass_id);
        self.order.insert((pass.is_revoked, pass.expires_at, pass_id));
        self.by_id.insert(pass_id, pass);
        before.is_none()
    }

    /// Removes passes past a bound, in order.
    pub fn limit(&mut self, max: usize) {
        while self.order.len() > max {
            let Some(&(.., id)) = self.order.first() else { break };
            self.remove(id);
        }
    }

    fn forget_expired(&mut self, at: i64) {
        for kind in [false, true] {
            let first = |order: &BTreeSet<Place>| {
                order.range((kind, i64::MIN, Uuid::nil())..).next().copied()
            };
            while let Some((is_revoked, expires_at, id)) = first(&self.order) {
                if is_revoked != kind || expires_at > at {
                    break;
                }
                self.remove(id);
            }
        }
    }

    fn remove(&mut self, pass_id: Uuid) -> Option<Pass> {
        let pass = self.by_id.remove(&pass_id)?;
        self.order.remove(&(pass.is_revoked, pass.expires_at, pass_id));
        Some(pass)
    }
}
