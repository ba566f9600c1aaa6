//! A state as it was at one moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::state::Evictions;
use crate::state::entity::Entity;
use crate::state::passes::Passes;
use crate::state::slab::{FreezableSlab, Queue};

/// The blocks of one shard and the queues they are in.
type Part = (FreezableSlab<Entity>, [Queue; 2]);

/// A copy of a state.
#[derive(Debug, Default)]
pub struct FrozenState {
    parts: Vec<Part>,
    evictions: Evictions,
    passes: Arc<Passes>,
}

impl FrozenState {
    pub(crate) fn new(parts: Vec<Part>, evictions: Evictions, passes: Arc<Passes>) -> Self {
        Self { parts, evictions, passes }
    }

    pub fn passes(&self) -> &Arc<Passes> {
        &self.passes
    }

    /// All blocks in the order of their last stamp, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Entity> {
        let parts = self.parts.iter();
        by_stamp(parts.flat_map(|(entities, queues)| queues.iter().map(move |it| (entities, it))))
    }

    /// The blocks that have mitigations, in the order of their last stamp.
    pub fn mitigated(&self) -> impl Iterator<Item = &Entity> {
        by_stamp(self.parts.iter().map(|(entities, [_, mitigated])| (entities, mitigated)))
    }

    pub fn evictions(&self) -> Evictions {
        self.evictions
    }

    pub fn len(&self) -> usize {
        self.parts.iter().flat_map(|(_, queues)| queues).map(Queue::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The blocks of several queues in the order of their last stamp, oldest first.
pub(crate) fn by_stamp<'s>(
    queues: impl Iterator<Item = (&'s FreezableSlab<Entity>, &'s Queue)>,
) -> impl Iterator<Item = &'s Entity> {
    let members = |(entities, queue): (&'s FreezableSlab<Entity>, &'s Queue)| {
        entities.iter(queue).map(|(_, entity)| entity)
    };
    let mut queues: Vec<_> = queues.map(members).collect();
    let mut heads: Vec<Option<&Entity>> = queues.iter_mut().map(Iterator::next).collect();
    let stamps = heads.iter().enumerate();
    let mut order: BinaryHeap<Reverse<(u64, usize)>> = stamps
        .filter_map(|(number, head)| head.map(|head| Reverse((head.stamp(), number))))
        .collect();
    std::iter::from_fn(move || {
        let Reverse((_, number)) = order.pop()?;
        let next = queues.get_mut(number)?.next();
        order.extend(next.map(|next| Reverse((next.stamp(), number))));
        std::mem::replace(heads.get_mut(number)?, next)
    })
}
