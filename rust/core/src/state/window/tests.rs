//! Windows against a log of all events.

use super::*;
use crate::state::window::test_oracle::TestRng;

/// The definition: every event is kept, late ones at the newest time.
#[derive(Default)]
struct Log(Vec<(i64, u64)>);

impl Log {
    fn count(&mut self, rule: Rule, time: i64, value: u64, distinct: bool) -> u16 {
        let newest = self.0.iter().map(|&(time, _)| time).max();
        let time = newest.map_or(time, |newest| newest.max(time));
        self.0.push((time, value));
        let mut inside: Vec<u64> = self
            .0
            .iter()
            .filter(|&&(seen, _)| seen > time - rule.duration)
            .map(|&(_, value)| value)
            .collect();
        if distinct {
            inside.sort_unstable();
            inside.dedup();
        }
        u16::try_from(inside.len()).unwrap().min(rule.threshold)
    }
}

/// A walk through time: bursts, equal times, pauses of the window's length, late events.
fn step(dice: &mut TestRng, time: i64, duration: i64) -> i64 {
    let duration = u64::try_from(duration).unwrap();
    let forward = |by: u64| time + i64::try_from(by).unwrap();
    match dice.below(12) {
        0 => forward(duration),
        1 => forward(duration - 1),
        2 => (time - i64::try_from(dice.below(duration * 2)).unwrap()).max(0),
        3 | 4 => time,
        5 => forward(dice.below(duration * 2)),
        _ => forward(dice.below(duration / 4 + 1)),
    }
}

fn agrees_with_the_log(mut window: Window, rule: Rule, seed: u64, values: u64) {
    let hasher = RandomState::default();
    let mut dice = TestRng(seed);
    let (mut log, mut time) = (Log::default(), 1_000_000_000_000_000_000);
    let distinct = window.is_distinct();
    for event in 0..400 {
        time = step(&mut dice, time, rule.duration);
        let value = dice.below(values);
        let text = value.to_string();
        let expected = log.count(rule, time, value, distinct);
        assert_eq!(
            window.peek(rule.duration, time, Some(&text), &hasher).min(rule.threshold),
            expected,
            "seed {seed}, event {event}, {rule:?}"
        );
        window.add(rule, time);
        window.add_value(rule, time, &text, &hasher);
        let held = window.times().count() + window.values().count();
        assert_eq!(held, usize::from(expected), "seed {seed}, event {event}");
        assert!(window.times().is_sorted() && window.values().is_sorted_by_key(|value| value.1));
    }
}

#[test]
fn count_windows_agree_with_a_log_of_all_events() {
    let mut dice = TestRng(1);
    for seed in 0..300 {
        let threshold =
            u16::try_from([1, 2, 4, 8, 9, 10, 50, 1_000][dice.below(8) as usize]).unwrap();
        let duration = [1, 10, 1_000_000, Rule::LONGEST][dice.below(4) as usize];
        agrees_with_the_log(Window::count(3), Rule { duration, threshold }, seed, 1);
    }
}

#[test]
fn distinct_windows_agree_with_a_log_of_all_events() {
    let mut dice = TestRng(2);
    for seed in 0..300 {
        let threshold = u16::try_from([1, 2, 7, 8, 9, 40, 200][dice.below(7) as usize]).unwrap();
        let duration = [1, 10, 1_000_000, Rule::LONGEST][dice.below(4) as usize];
        let values = [1, 5, 12, 60, 100_000][dice.below(5) as usize];
        agrees_with_the_log(Window::distinct(3), Rule { duration, threshold }, seed, values);
    }
}

#[test]
fn the_edge_of_a_window_is_open_at_its_old_end() {
    let rule = Rule { duration: 10, threshold: 2 };
    let mut window = Window::count(0);
    window.add(rule, 100);
    let peek = |time| window.peek(rule.duration, time, None, &RandomState::default());
    assert_eq!((peek(109), peek(110)), (2, 1));
}

#[test]
fn a_late_event_counts_at_the_newest_time() {
    let rule = Rule { duration: 10, threshold: 9 };
    let mut window = Window::count(0);
    window.add(rule, 100);
    window.add(rule, 5);
    assert_eq!(window.times().collect::<Vec<_>>(), [100, 100]);
}

#[test]
fn a_window_of_eight_times_needs_no_memory_beside_itself() {
    let rule = Rule { duration: Rule::LONGEST, threshold: 8 };
    let mut window = Window::count(0);
    for time in 0..50 {
        window.add(rule, time * 1_234_567);
    }
    assert!(matches!(window, Window::Few { .. }));
    assert_eq!(size_of::<Window>(), 56);
}

#[test]
fn memory_of_a_burst_is_given_back() {
    let rule = Rule { duration: 1_000, threshold: 5_000 };
    let mut window = Window::count(0);
    (0..900).for_each(|time| window.add(rule, time));
    assert!(matches!(&window, Window::Many { times, .. } if times.capacity() >= 900));
    (10_000..100_000).step_by(400).for_each(|time| window.add(rule, time));
    assert!(matches!(window, Window::Few { .. }));
}
