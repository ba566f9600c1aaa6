//! Windows on a clock against windows by themselves.

use super::*;
use crate::state::window::test_oracle::Dice;

const NUMBERS: u32 = 6;

fn times(window: &Window) -> Vec<i64> {
    window.times().collect()
}

/// Gives how often a window left the clock, and how often one came back.
fn agrees_with_windows_by_themselves(seed: u64) -> (u32, u32) {
    let mut dice = Dice(seed);
    let mut below = |bound| dice.below(bound);
    let mut rule = |_| Rule {
        duration: [5, 40, 500][below(3) as usize],
        threshold: [1, 3, 7, 8, 9, 30][below(6) as usize],
    };
    let rules: Vec<Rule> = (0..NUMBERS).map(&mut rule).collect();
    let mut alone: Vec<Window> = (0..NUMBERS).map(Window::count).collect();
    let (mut clock, mut apart) = (Clock::default(), Vec::new());
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
                    && clock.put(&apart[place])
                {
                    apart.remove(place);
                    back += 1;
                }
                match apart.iter_mut().find(|window| window.number() == number) {
                    Some(window) => window.add(*rule, time),
                    None => {
                        near = clock.made(near, number);
                        if !clock.count(near, *rule, time) {
                            let mut window = clock.take(near).unwrap();
                            window.add(*rule, time);
                            apart.push(window);
                            left += 1;
                        }
                    }
                }
            }
            let on_clock = clock.find(0, number).ok().and_then(|place| clock.window(place));
            let other = apart.iter().find(|window| window.number() == number);
            assert!(on_clock.is_none() || other.is_none());
            let found = on_clock.as_ref().or(other).map_or_else(Vec::new, times);
            assert_eq!(found, times(alone), "seed {seed}, event {event}, window {number}");
        }
        assert!(clock.numbers().is_sorted_by(|one, other| one < other));
        assert!(clock.parts().1.len() <= MOST);
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
    let mut clock = Clock::new(9);
    for time in 0..4 {
        for number in 0..9 {
            let place = clock.made(number as usize, number);
            assert!(clock.count(place, rule, time));
        }
    }
    assert_eq!(clock.0.capacity(), 1 + 9 + 4);
}

#[test]
fn memory_is_not_taken_for_times_that_are_past() {
    let rule = Rule { duration: 10, threshold: 8 };
    let mut clock = Clock::new(1);
    for time in 0..1_000 {
        let place = clock.made(0, 7);
        assert!(clock.count(place, rule, time * 4));
    }
    assert_eq!(clock.0.capacity(), 1 + 1 + 4);
}

#[test]
fn a_window_leaves_a_clock_that_is_full_of_others() {
    let rule = Rule { duration: 1_000, threshold: 8 };
    let mut clock = Clock::default();
    let mut counted = Vec::new();
    for number in 0..6 {
        let place = clock.made(0, number);
        counted.push(
            (0..8)
                .take_while(|time| clock.count(place, rule, i64::from(number) * 8 + time))
                .count(),
        );
    }
    assert_eq!(counted, [8, 8, 8, 8, 0, 0]);
    assert!(clock.take(4).unwrap().is_empty());
    assert!(!clock.put(&Window::count(9)));
}
