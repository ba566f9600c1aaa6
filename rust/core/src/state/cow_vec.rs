//! A growing sequence that can be frozen: a copy of all of it is made in the time it
//! takes to count its chunks, and what is changed afterwards is copied then, chunk by
//! chunk.

use std::sync::Arc;

/// Elements of a chunk. A change after a freeze copies this many, and a freeze looks
/// at one in as many.
const LEN: usize = 64;

#[derive(Debug)]
enum Chunk<T> {
    Own(Vec<T>),
    /// Also in a frozen copy, or it was.
    Shared(Arc<Vec<T>>),
}

impl<T> Chunk<T> {
    fn elements(&self) -> &[T] {
        match self {
            Self::Own(elements) => elements,
            Self::Shared(elements) => elements,
        }
    }
}

impl<T: Clone> Chunk<T> {
    #[inline]
    fn elements_mut(&mut self) -> &mut Vec<T> {
        match self {
            Self::Own(elements) => elements,
            Self::Shared(_) => self.owned(),
        }
    }

    #[cold]
    fn owned(&mut self) -> &mut Vec<T> {
        if let Self::Shared(elements) = self {
            // Without a copy when nobody else has it any more.
            *self = Self::Own(Arc::unwrap_or_clone(std::mem::take(elements)));
        }
        match self {
            Self::Own(elements) => elements,
            Self::Shared(elements) => Arc::make_mut(elements),
        }
    }

    fn share(&mut self) -> Self {
        let elements = match self {
            Self::Own(elements) => Arc::new(std::mem::take(elements)),
            Self::Shared(elements) => Arc::clone(elements),
        };
        *self = Self::Shared(Arc::clone(&elements));
        Self::Shared(elements)
    }
}

/// The elements, in chunks of which only the last is not full. It grows without moving
/// what it has.
#[derive(Debug)]
pub struct Chunks<T>(Vec<Chunk<T>>);

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Chunks<T> {
    pub fn len(&self) -> usize {
        let last = self.0.last().map_or(0, |chunk| chunk.elements().len());
        self.0.len().saturating_sub(1).saturating_mul(LEN).saturating_add(last)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index / LEN)?.elements().get(index % LEN)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flat_map(Chunk::elements)
    }
}

impl<T: Clone> Chunks<T> {
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.0.get_mut(index / LEN)?.elements_mut().get_mut(index % LEN)
    }

    pub fn push(&mut self, element: T) {
        match self.0.last_mut() {
            Some(chunk) if chunk.elements().len() < LEN => chunk.elements_mut().push(element),
            // The first grows as it must, later ones will be full.
            Some(_) => {
                let mut elements = Vec::with_capacity(LEN);
                elements.push(element);
                self.0.push(Chunk::Own(elements));
            }
            None => self.0.push(Chunk::Own(vec![element])),
        }
    }

    /// A copy of all elements as they are now.
    pub fn freeze(&mut self) -> Self {
        Self(self.0.iter_mut().map(Chunk::share).collect())
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests {
    use super::*;

    fn chunks(len: usize) -> Chunks<usize> {
        let mut chunks = Chunks::default();
        (0..len).for_each(|number| chunks.push(number));
        chunks
    }

    #[test]
    fn elements_are_found_at_their_numbers() {
        for len in [0, 1, LEN - 1, LEN, LEN + 1, 5 * LEN] {
            let chunks = chunks(len);
            assert_eq!((chunks.len(), chunks.is_empty()), (len, len == 0));
            assert!(chunks.iter().copied().eq(0..len));
            assert!((0..len).all(|index| chunks.get(index) == Some(&index)));
            assert_eq!(chunks.get(len), None);
        }
    }

    #[test]
    fn a_frozen_copy_stays_as_it_was() {
        let mut chunks = chunks(LEN + 5);
        let frozen = chunks.freeze();
        *chunks.get_mut(3).unwrap() = 100;
        chunks.push(200);
        let again = chunks.freeze();
        *chunks.get_mut(3).unwrap() = 101;
        assert!(frozen.iter().copied().eq(0..LEN + 5));
        assert_eq!((again.get(3), again.get(LEN + 5)), (Some(&100), Some(&200)));
        assert_eq!((chunks.get(3), chunks.len()), (Some(&101), LEN + 6));
    }

    #[test]
    fn only_what_is_changed_while_frozen_is_copied() {
        let place = |chunks: &Chunks<usize>, index| std::ptr::from_ref(chunks.get(index).unwrap());
        let mut chunks = chunks(3 * LEN);
        let before = [0, LEN, 2 * LEN].map(|index| place(&chunks, index));
        let frozen = chunks.freeze();
        *chunks.get_mut(0).unwrap() = 1;
        drop(frozen);
        *chunks.get_mut(LEN).unwrap() = 1;
        let after = [0, LEN, 2 * LEN].map(|index| place(&chunks, index));
        assert_ne!(after[0], before[0]);
        assert_eq!(after[1..], before[1..]);
    }
}
