//! Slots with stable numbers, each in one queue: an ordered, bounded collection finds, reorders and
//! evicts its members in constant time without a pointer of its own.

use std::marker::PhantomData;

use crate::state::cow_vec::CowVec;

/// No slot: the end of a queue and of the list of free slots.
const NONE: u32 = u32::MAX;

/// The storage of slots.
pub trait Storage<E>: Default {
    fn count(&self) -> usize;
    fn get(&self, index: usize) -> Option<&E>;
    fn get_mut(&mut self, index: usize) -> Option<&mut E>;
    fn push(&mut self, element: E);
    fn iter<'s>(&'s self) -> impl Iterator<Item = &'s E>
    where
        E: 's;
}

impl<E> Storage<E> for Vec<E> {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Option<&E> {
        <[E]>::get(self, index)
    }

    fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        <[E]>::get_mut(self, index)
    }

    fn push(&mut self, element: E) {
        self.push(element);
    }

    fn iter<'s>(&'s self) -> impl Iterator<Item = &'s E>
    where
        E: 's,
    {
        <[E]>::iter(self)
    }
}

impl<E: Clone> Storage<E> for CowVec<E> {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Option<&E> {
        self.get(index)
    }

    fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        self.get_mut(index)
    }

    fn push(&mut self, element: E) {
        self.push(element);
    }

    fn iter<'s>(&'s self) -> impl Iterator<Item = &'s E>
    where
        E: 's,
    {
        self.iter()
    }
}

/// A place for one value.
#[derive(Clone, Debug)]
pub struct Slot<T> {
    /// `None` for a free slot.
    value: Option<T>,
    older: u32,
    /// For a free slot: the next free one.
    newer: u32,
}

/// An order over some of the slots of a slab, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    oldest: u32,
    newest: u32,
    len: usize,
}

impl Default for Queue {
    fn default() -> Self {
        Self { oldest: NONE, newest: NONE, len: 0 }
    }
}

impl Queue {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot at the old end.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The slot at the new end.
    pub fn newest(&self) -> Option<u32> {
        (self.newest != NONE).then_some(self.newest)
    }
}

/// The slots. A slot in use is in exactly one queue, which the caller names in
/// each call that links or unlinks it.
#[derive(Clone, Debug)]
pub struct Slab<T, S = Vec<Slot<T>>> {
    slots: S,
    free: u32,
    of: PhantomData<T>,
}

/// A slab that can be frozen.
pub type FreezableSlab<T> = Slab<T, CowVec<Slot<T>>>;

impl<T, S: Default> Default for Slab<T, S> {
    fn default() -> Self {
        Self { slots: S::default(), free: NONE, of: PhantomData }
    }
}

impl<T: Clone> FreezableSlab<T> {
    /// A copy of all slots as they are now, without walking through them.
    pub fn freeze(&mut self) -> Self {
        Self { slots: self.slots.freeze(), free: self.free, of: PhantomData }
    }
}

impl<T, S: Storage<Slot<T>>> Slab<T, S> {
    pub fn get(&self, index: u32) -> Option<&T> {
        self.slot(index)?.value.as_ref()
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slot_mut(index)?.value.as_mut()
    }

    /// Slots, free ones included.
    pub fn capacity(&self) -> usize {
        self.slots.count()
    }

    /// Puts a value at the new end of a queue. `None` when all 2^32 - 1 numbers
    /// are taken.
    pub fn insert(&mut self, queue: &mut Queue, value: T) -> Option<u32> {
        let index = if self.free == NONE {
            let index = u32::try_from(self.slots.count()).ok().filter(|&index| index != NONE)?;
            self.slots.push(Slot { value: Some(value), older: NONE, newer: NONE });
            index
        } else {
            let index = self.free;
            let slot = self.slot_mut(index)?;
            slot.value = Some(value);
            self.free = slot.newer;
            index
        };
        self.link(queue, index);
        Some(index)
    }

    /// Takes a value out of the slab and of its queue.
    pub fn remove(&mut self, queue: &mut Queue, index: u32) -> Option<T> {
        self.get(index)?;
        self.unlink(queue, index);
        let free = self.free;
        let slot = self.slot_mut(index)?;
        slot.newer = free;
        let value = slot.value.take();
        self.free = index;
        value
    }

    /// Takes a slot from the queue `from` to the new end of the queue `to`.
    pub fn transfer(&mut self, from: &mut Queue, to: &mut Queue, index: u32) {
        self.unlink(from, index);
        self.link(to, index);
    }

    /// Takes a slot to the new end of its queue.
    pub fn renew(&mut self, queue: &mut Queue, index: u32) {
        let before = queue.newest;
        if before == index {
            return;
        }
        let Some(slot) = self.slot_mut(index) else { return };
        let older = std::mem::replace(&mut slot.older, before);
        let newer = std::mem::replace(&mut slot.newer, NONE);
        match self.slot_mut(older) {
            Some(slot) => slot.newer = newer,
            None => queue.oldest = newer,
        }
        if let Some(slot) = self.slot_mut(newer) {
            slot.older = older;
        }
        if let Some(slot) = self.slot_mut(before) {
            slot.newer = index;
        }
        queue.newest = index;
    }

    /// The members of a queue, oldest first.
    pub fn iter<'s>(&'s self, queue: &Queue) -> impl Iterator<Item = (u32, &'s T)>
    where
        T: 's,
    {
        let first = queue.oldest();
        std::iter::successors(first, |&index| {
            self.slot(index).map(|slot| slot.newer).filter(|&next| next != NONE)
        })
        .filter_map(|index| Some((index, self.get(index)?)))
    }

    /// All members, in the order of their numbers.
    pub fn members(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.slots.iter()).filter_map(|(index, slot)| Some((index, slot.value.as_ref()?)))
    }

    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        self.slots.get(usize::try_from(index).ok()?)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<T>> {
        self.slots.get_mut(usize::try_from(index).ok()?)
    }

    fn link(&mut self, queue: &mut Queue, index: u32) {
        let before = queue.newest;
        if let Some(slot) = self.slot_mut(index) {
            slot.older = before;
            slot.newer = NONE;
        }
        match self.slot_mut(before) {
            Some(slot) => slot.newer = index,
            None => queue.oldest = index,
        }
        queue.newest = index;
        queue.len = queue.len.saturating_add(1);
    }

    fn unlink(&mut self, queue: &mut Queue, index: u32) {
        let Some(&Slot { older, newer, .. }) = self.slot(index) else {
            return;
        };
        match self.slot_mut(older) {
            Some(slot) => slot.newer = newer,
            None => queue.oldest = newer,
        }
        match self.slot_mut(newer) {
            Some(slot) => slot.older = older,
            None => queue.newest = older,
        }
        queue.len = queue.len.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
