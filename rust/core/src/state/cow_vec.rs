//! A growing sequence that can be frozen. A frozen copy takes the time to count the chunks; a later
//! change first copies the chunk that it changes.

use std::sync::Arc;

/// Elements of a chunk. A change after a freeze copies this many, and a freeze looks
/// at one in as many.
const LEN: usize = 64;

#[derive(Debug)]
enum Chunk<T> {
    Own(Vec<T>),
    /// Shared with a frozen copy, which may be dropped already.
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
            // Without a copy if this is the last reference.
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

/// The elements, in chunks of which only the last is not full. It grows without moving elements.
#[derive(Debug)]
pub struct CowVec<T>(Vec<Chunk<T>>);

impl<T> Default for CowVec<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> CowVec<T> {
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

impl<T: Clone> CowVec<T> {
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
mod tests;
