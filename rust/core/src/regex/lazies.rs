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
mod tests {
    use super::*;
    use crate::regex::Regex;
    use crate::work::Work;

    #[test]
    fn a_pattern_that_is_run_within_its_own_run_has_other_places() {
        let lazies = Lazies::default();
        let mut seen = Vec::new();
        fn nest(lazies: &Lazies, left: usize, seen: &mut Vec<*const Lazy>) {
            lazies.with(|lazy| {
                seen.push(std::ptr::from_mut(lazy).cast_const());
                if left > 0 {
                    nest(lazies, left - 1, seen);
                }
            });
        }
        nest(&lazies, PLACES, &mut seen);
        let again: Vec<_> = seen.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), PLACES + 1);
        lazies.with(|lazy| assert_eq!(std::ptr::from_mut(lazy).cast_const(), again[0]));
    }

    #[test]
    fn more_threads_than_places_find_the_same() {
        let pattern = Regex::new("a+b[0-9]{2}").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 * PLACES {
                scope.spawn(|| {
                    for number in 0..200 {
                        let text = format!("xaab{number}");
                        assert_eq!(pattern.is_match(&text, &mut Work::unlimited()), number > 9, "{text}");
                    }
                });
            }
        });
    }
}
