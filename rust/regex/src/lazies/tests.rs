use super::*;
use crate::Regex;
use crate::Unlimited;

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
                    assert_eq!(pattern.is_match(&text, &mut Unlimited), number > 9, "{text}");
                }
            });
        }
    });
}
