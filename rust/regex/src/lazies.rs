//! What threads found out by running a pattern, for each of some threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::lazy::Lazy;

/// Threads whose findings are kept apart; more of them share places.
const PLACES: usize = 4;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Where this thread looks first.
    static FIRST: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// Made when the pattern is first run.
#[derive(Debug, Default)]
pub(super) struct Lazies(OnceLock<Box<[Place; PLACES]>>);

/// Each is an allocation of its own, so that threads write no cache line of one another.
type Place = OnceLock<Box<Mutex<Lazy>>>;

impl Lazies {
    /// Runs something on what this thread found out before, as far as no other has it at
    /// that moment.
    pub(super) fn with<T>(&self, run: impl FnOnce(&mut Lazy) -> T) -> T {
        let places = self.0.get_or_init(Box::default);
        let first = FIRST.with(|first| *first);
        for step in 0..PLACES {
            let place = places.get(first.wrapping_add(step) % PLACES);
            // What a panic left behind may be half done.
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
