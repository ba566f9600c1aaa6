//! Entities compared with windows that are kept one by one.

use super::*;
use crate::definitions::window_rule::Rule;
use crate::state::window::test_oracle::{TestRng, contents};

const fn rule(duration: i64, threshold: u16) -> Rule {
    Rule { duration, threshold }
}

/// Families by the numbers of their first windows; the last counts values.
const FAMILIES: [(u32, &[Rule]); 5] = [
    (0, &[rule(100, 6), rule(40, 6), rule(100, 2)]),
    (3, &[rule(30, 8)]),
    (4, &[rule(400, 20), rule(400, 3)]),
    (6, &[rule(9, 1)]),
    (7, &[rule(50, 5), rule(50, 2)]),
];
const DISTINCT: u32 = 7;

fn agrees_with_windows_one_by_one(seed: u64) {
    let mut dice = TestRng(seed);
    let mut below = |bound| dice.below(bound);
    let hasher = RandomState::default();
    let families = || FAMILIES.into_iter().map(|(first, rules)| Family { first, rules });
    let rules: Vec<Rule> = families().flat_map(|family| family.rules).copied().collect();
    let empty = |number| {
        if number < DISTINCT { Window::count(number) } else { Window::distinct(number) }
    };
    let mut alone: Vec<Window> = (0..).zip(&rules).map(|(number, _)| empty(number)).collect();
    let mut entity = Entity::new("0[1]", 1_000);
    let mut time = 1_000;
    for event in 0..800 {
        time += [0, 1, 1, 2, 9, 31, 150, -5][below(8) as usize];
        let value = below(9).to_string();
        let mut changes = Vec::new();
        for family in families() {
            if below(4) == 0 {
                continue;
            }
            let value = (family.first == DISTINCT).then_some(value.as_str());
            let is_whole = event % 200 < 150 || below(2) == 0;
            let counting: Vec<usize> =
                (0..family.rules.len()).filter(|_| is_whole || below(2) == 0).collect();
            if counting.len() == family.rules.len() {
                changes.push(Change::Count { family, value });
            } else {
                changes.extend(counting.iter().map(|&position| Change::CountOne {
                    family,
                    position,
                    value,
                }));
            }
            for position in counting {
                let number = family.first as usize + position;
                alone[number].add_event(rules[number], time, value, &hasher);
            }
        }
        if below(20) == 0 {
            changes.push(Change::Mitigate { clause: 1, expires_at: time + 20 });
        }
        entity.see(changes.into_iter(), time, 0, &hasher);
        let mut near = 0;
        for family in families() {
            let found = entity.family_after(&mut near, family);
            for (number, rule) in (family.first..).zip(family.rules) {
                let expected = contents(&alone[number as usize], *rule);
                let found = found.source(number).map_or_else(Vec::new, |it| contents(it, *rule));
                assert_eq!(found, expected, "seed {seed}, event {event}, window {number}");
            }
        }
        assert!(entity.window_numbers().is_sorted_by(|one, other| one < other));
    }
}

#[test]
fn an_entity_holds_what_its_windows_would_one_by_one() {
    (0..60).for_each(agrees_with_windows_one_by_one);
}

#[test]
fn a_window_comes_back_to_the_clock_when_a_burst_has_passed() {
    let hasher = RandomState::default();
    let rules = [rule(100, 30)];
    let changes = [0, 1, 2].map(|first| Family { first, rules: &rules });
    let changes = changes.map(|family| Change::Count { family, value: None });
    let mut entity = Entity::new("0[1]", 0);
    let mut count = |time| {
        entity.see(changes.into_iter(), time, 0, &hasher);
        entity.windows().len()
    };
    assert_eq!((0..8).map(&mut count).max(), Some(0));
    assert_eq!((8..20).map(&mut count).min(), Some(3));
    assert_eq!((count(500), count(501)), (3, 0));
}
