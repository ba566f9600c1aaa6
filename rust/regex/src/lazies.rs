//! The steps that threads found by running a pattern, for each of some threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::lazy::Lazy;

/// Number of threads with findings of their own; more threads share places.
const PLACES: usize = 4;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The first place for this thread.
    static FIRST: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// Allocated when the pattern is first run.
#[derive(Debug, Default)]
pub(super) struct Lazies(OnceLock<Box<[Place; PLACES]>>);

/// An allocation for each, so that threads never write the same cache line.
type Place = OnceLock<Box<Mutex<Lazy>>>;

impl Lazies {
    /// Runs something on the findings of this thread, or on new ones if another thread has them.
    pub(super) fn with<T>(&self, run: impl FnOnce(&mut Lazy) -> T) -> T {
        let places = self.0.get_or_init(Box::default);
        let first = FIRST.with(|first| *first);
        for step in 0..PLACES {
            let place = places.get(first.wrapping_add(step) % PLACES);
            // A panic may have left it half updated.
            if let Some(Ok(mut lazy)) =
                place.map(|place| place.get_or_init(Box::default).try_lock())
            {
                return run(&mut lazy);
            }
        }
        run(&mut Lazy::default())
    }
}

#[cfg(test)]
mod tests;
