//! Families against windows that are kept one by one.

use super::*;
use crate::state::window::test_oracle::{TestRng, contents};

const NUMBERS: u32 = 5;
const FIRST: u32 = 10;

/// Rules of a family, the widest first.
fn rules(below: &mut impl FnMut(u64) -> u64, is_distinct: bool) -> Vec<Rule> {
    let widest = Rule { duration: 100, threshold: 12 };
    let rule = |_| Rule {
        duration: if is_distinct { 100 } else { [100, 100, 30, 7][below(4) as usize] },
        threshold: [12, 9, 8, 3, 1][below(5) as usize],
    };
    std::iter::once(widest).chain((1..NUMBERS).map(rule)).collect()
}

/// The content of a window, read from its family.
fn held(windows: &[Window], family: Family<'_>, number: u32) -> Vec<(String, i64)> {
    let rule = family.rule(family.position(number).unwrap()).unwrap();
    let of_family = of_family(windows, &mut 0, family);
    of_family.source(number).map_or_else(Vec::new, |source| contents(source, rule))
}

fn agrees_with_windows_one_by_one(seed: u64) {
    let mut dice = TestRng(seed);
    let mut below = |bound| dice.below(bound);
    let hasher = RandomState::default();
    let is_distinct = seed % 2 == 1;
    let rules = rules(&mut below, is_distinct);
    let family = Family { first: FIRST, rules: &rules };
    // Neighbours that stay as they are.
    let mut windows = vec![Window::count(FIRST - 1), Window::count(FIRST + NUMBERS)];
    let mut alone: Vec<Window> = (FIRST..FIRST + NUMBERS)
        .map(|number| if is_distinct { Window::distinct(number) } else { Window::count(number) })
        .collect();
    let mut time = 1_000;
    for event in 0..600 {
        time += [0, 1, 1, 2, 9, 31, -5][below(7) as usize];
        let value = below(20).to_string();
        let value = is_distinct.then_some(value.as_str());
        let counted = Counted { time, value, hasher: &hasher };
        // Times of peace, in which the windows become one again, and times of war.
        let is_whole = event % 200 < 100 || below(3) > 0;
        let counts: Vec<bool> = rules.iter().map(|_| is_whole || below(2) == 0).collect();
        for (window, rule) in alone.iter().zip(&rules) {
            let expected = window.peek(rule.duration, time, value, &hasher).min(rule.threshold);
            let source = of_family(&windows, &mut 0, family).source(window.number()).cloned();
            let found = source.map_or(1, |it| it.peek(rule.duration, time, value, &hasher));
            assert_eq!(found.min(rule.threshold), expected, "seed {seed}, event {event}");
        }
        if counts.iter().all(|counts| *counts) {
            count(&mut windows, 0, family, counted);
        } else {
            for position in (0..rules.len()).filter(|position| counts[*position]) {
                count_one(&mut windows, family, position, counted);
            }
        }
        for ((window, rule), _) in
            alone.iter_mut().zip(&rules).zip(&counts).filter(|(_, counts)| **counts)
        {
            window.add_event(*rule, time, value, &hasher);
        }
        for (window, rule) in alone.iter().zip(&rules) {
            let found = held(&windows, family, window.number());
            assert_eq!(found, contents(window, *rule), "seed {seed}, event {event}");
        }
        assert!(windows.is_sorted_by(|one, other| one.number() < other.number()));
        if event % 200 == 99 && event > 100 {
            assert_eq!(windows.len(), 3, "seed {seed}: still apart at {event}");
        }
    }
}

#[test]
fn a_family_holds_what_its_windows_would_one_by_one() {
    (0..60).for_each(agrees_with_windows_one_by_one);
}

#[test]
fn windows_that_count_the_same_are_one() {
    let rules = [Rule { duration: 100, threshold: 20 }, Rule { duration: 60, threshold: 4 }];
    let family = Family { first: 3, rules: &rules };
    let hasher = RandomState::default();
    let mut windows = Vec::new();
    for time in 0..50 {
        count(&mut windows, 0, family, Counted { time, value: None, hasher: &hasher });
    }
    let numbers: Vec<u32> = windows.iter().map(Window::number).collect();
    assert_eq!((numbers, held(&windows, family, 4).len()), (vec![3], 4));
}

#[test]
fn a_window_that_has_missed_an_event_is_kept_apart_until_that_is_forgotten() {
    let rules = [Rule { duration: 100, threshold: 20 }, Rule { duration: 10, threshold: 4 }];
    let family = Family { first: 3, rules: &rules };
    let hasher = RandomState::default();
    let counted = |time| Counted { time, value: None, hasher: &hasher };
    let mut windows = Vec::new();
    count(&mut windows, 0, family, counted(1));
    count_one(&mut windows, family, 0, counted(2));
    count(&mut windows, 0, family, counted(3));
    let times = |windows: &[Window]| {
        held(windows, family, 4).into_iter().map(|(_, time)| time).collect::<Vec<_>>()
    };
    assert_eq!((windows.len(), times(&windows)), (2, vec![1, 3]));
    count(&mut windows, 0, family, counted(12));
    assert_eq!((windows.len(), times(&windows)), (1, vec![3, 12]));
}
