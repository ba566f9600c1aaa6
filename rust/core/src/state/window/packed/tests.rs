//! Packed windows against windows by themselves.

use super::*;
use crate::state::window::test_oracle::TestRng;

const NUMBERS: u32 = 6;

fn times(window: &Window) -> Vec<i64> {
    window.times().collect()
}

/// Gives the number of windows that left the packed ones, and of those that came back.
fn agrees_with_windows_by_themselves(seed: u64) -> (u32, u32) {
    let mut dice = TestRng(seed);
    let mut below = |bound| dice.below(bound);
    let mut rule = |_| Rule {
        duration: [5, 40, 500][below(3) as usize],
        threshold: [1, 3, 7, 8, 9, 30][below(6) as usize],
    };
    let rules: Vec<Rule> = (0..NUMBERS).map(&mut rule).collect();
    let mut alone: Vec<Window> = (0..NUMBERS).map(Window::count).collect();
    let (mut packed, mut apart) = (PackedWindows::default(), Vec::new());
    let (mut left, mut back) = (0, 0);
    let mut time = 1_000;
    for event in 0..1_500 {
        time += [0, 0, 1, 2, 9, 60, -5, -70][below(8) as usize];
        let mut near = 0;
        for ((number, rule), alone) in (0..).zip(&rules).zip(&mut alone) {
            // Now mostly the same events, now mostly different ones.
            if below(8) < [7, 2][event / 300 % 2] {
                alone.add(*rule, time);
                let place = apart.iter().position(|window: &Window| window.number() == number);
                if let Some(place) = place
                    && packed.put(&apart[place])
                {
                    apart.remove(place);
                    back += 1;
                }
                match apart.iter_mut().find(|window| window.number() == number) {
                    Some(window) => window.add(*rule, time),
                    None => {
                        near = packed.made(near, number);
                        if !packed.count(near, *rule, time) {
                            let mut window = packed.take(near).unwrap();
                            window.add(*rule, time);
                            apart.push(window);
                            left += 1;
                        }
                    }
                }
            }
            let on_clock = packed.find(0, number).ok().and_then(|place| packed.window(place));
            let other = apart.iter().find(|window| window.number() == number);
            assert!(on_clock.is_none() || other.is_none());
            let found = on_clock.as_ref().or(other).map_or_else(Vec::new, times);
            assert_eq!(found, times(alone), "seed {seed}, event {event}, window {number}");
        }
        assert!(packed.numbers().is_sorted_by(|one, other| one < other));
        assert!(packed.parts().1.len() <= MOST);
    }
    (left, back)
}

#[test]
fn windows_on_a_clock_hold_what_they_would_by_themselves() {
    let moves = (0..100).map(agrees_with_windows_by_themselves);
    let (left, back) = moves.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert!(left > 100 && back > 100, "{left} left, {back} came back");
}

#[test]
fn nine_windows_of_the_same_events_take_eight_bytes_each_and_for_each_time() {
    let rule = Rule { duration: 1_000, threshold: 8 };
    let mut packed = PackedWindows::new(9);
    for time in 0..4 {
        for number in 0..9 {
            let place = packed.made(number as usize, number);
            assert!(packed.count(place, rule, time));
        }
    }
    assert_eq!(packed.0.capacity(), 1 + 9 + 4);
}

#[test]
fn memory_is_not_taken_for_times_that_are_past() {
    let rule = Rule { duration: 10, threshold: 8 };
    let mut packed = PackedWindows::new(1);
    for time in 0..1_000 {
        let place = packed.made(0, 7);
        assert!(packed.count(place, rule, time * 4));
    }
    assert_eq!(packed.0.capacity(), 1 + 1 + 4);
}

#[test]
fn a_window_leaves_a_clock_that_is_full_of_others() {
    let rule = Rule { duration: 1_000, threshold: 8 };
    let mut packed = PackedWindows::default();
    let mut counted = Vec::new();
    for number in 0..6 {
        let place = packed.made(0, number);
        counted.push(
            (0..8)
                .take_while(|time| packed.count(place, rule, i64::from(number) * 8 + time))
                .count(),
        );
    }
    assert_eq!(counted, [8, 8, 8, 8, 0, 0]);
    assert!(packed.take(4).unwrap().is_empty());
    assert!(!packed.put(&Window::count(9)));
}
