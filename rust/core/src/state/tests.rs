//! Eviction order, against a list of keys.

use super::*;
use crate::definitions::window_rule::Rule;
use crate::state::window::test_oracle::TestRng;

/// The definition: keys in the order of their last stamp.
#[derive(Default)]
struct List {
    keys: Vec<(String, i64)>,
    evictions: Evictions,
}

impl List {
    fn stamp(&mut self, key: &str, time: i64, expires_at: i64, max_keys: usize) {
        let mut expires_at = expires_at;
        match self.keys.iter().position(|(other, _)| other == key) {
            Some(place) => expires_at = expires_at.max(self.keys.remove(place).1),
            None if self.keys.len() >= max_keys => self.evict(time),
            None => {}
        }
        self.keys.push((key.to_owned(), if expires_at > time { expires_at } else { 0 }));
    }

    fn evict(&mut self, time: i64) {
        let first_plain = self.keys.iter().position(|&(_, expires_at)| expires_at == 0);
        let first_mitigated = self.keys.iter().position(|&(_, expires_at)| expires_at > 0);
        let expired = first_mitigated.filter(|&place| self.keys[place].1 <= time);
        let victim = expired.or(first_plain).or(first_mitigated).unwrap();
        let (_, expires_at) = self.keys.remove(victim);
        self.evictions.total += 1;
        self.evictions.mitigated += u64::from(expires_at > time);
    }
}

fn keys(state: &State) -> Vec<String> {
    state.all().iter().map(|entity| entity.key().to_owned()).collect()
}

fn look_up<'s>(state: &'s State, keys: &[impl AsRef<str>]) -> (StateGuard<'s>, AllKnown) {
    state.look_up(keys.iter().map(AsRef::as_ref), &mut StampBlock::default())
}

fn update<'c>(
    state: &State,
    key: &str,
    time: i64,
    changes: impl Iterator<Item = Change<'c>> + Clone,
) {
    let (mut locked, known) = look_up(state, &[key]);
    locked.update(key, known.first().copied(), time, changes);
}

fn entity(state: &State, key: &str) -> Entity {
    let all = state.all();
    all.get(all.find(key)).unwrap().clone()
}

#[test]
fn keys_leave_in_the_order_of_their_last_touch_the_mitigated_last() {
    let mut dice = TestRng(7);
    let mut below = |bound| dice.below(bound);
    for max_keys in [1_u32, 2, 5, 40] {
        let state = State::new(max_keys, RandomState::default());
        let mut list = List::default();
        let mut time = 0;
        for _ in 0..3_000 {
            time += i64::try_from(below(4)).unwrap() - 1;
            let key = format!("0[{}]", below(u64::from(max_keys) * 2 + 1));
            let expires_at = match below(4) {
                0 => time + i64::try_from(below(60)).unwrap(),
                _ => 0,
            };
            let mitigate = Change::Mitigate { clause: 1, expires_at };
            update(&state, &key, time, (expires_at > 0).then_some(mitigate).into_iter());
            list.stamp(&key, time, expires_at, max_keys as usize);
            let expected: Vec<String> = list.keys.iter().map(|(key, _)| key.clone()).collect();
            assert_eq!(keys(&state), expected);
            assert_eq!(state.evictions(), list.evictions);
        }
    }
}

#[test]
fn a_block_counts_events_and_keeps_the_first_and_newest_time() {
    let state = State::new(10, RandomState::default());
    for time in [50, 80, 60] {
        update(&state, "0[1]", time, std::iter::empty());
    }
    let entity = entity(&state, "0[1]");
    assert_eq!((entity.event_count(), entity.first_seen(), entity.last_seen()), (3, 50, 80));
}

#[test]
fn keys_are_found_together_as_one_by_one() {
    let state = State::new(5_000, RandomState::default());
    for number in 0..5_000 {
        update(&state, &format!("0[{number}]"), 1, std::iter::empty());
    }
    let keys: Vec<String> = (0..10_000).map(|number| format!("0[{number}]")).collect();
    for keys in keys.chunks(20) {
        let (locked, together) = look_up(&state, keys);
        let index = |known: Known| known.index;
        assert!(together.into_iter().map(index).eq(keys.iter().map(|key| index(locked.find(key)))));
    }
}

#[test]
fn a_stale_number_finds_its_key_again() {
    let state = State::new(1, RandomState::default());
    update(&state, "0[1]", 1, std::iter::empty());
    let mut all = state.all();
    let known = all.find("0[1]");
    all.update("0[2]", None, 2, std::iter::empty());
    all.update("0[1]", Some(known), 3, std::iter::empty());
    drop(all);
    assert_eq!(keys(&state), ["0[1]"]);
    assert_eq!(entity(&state, "0[1]").event_count(), 1);
}

#[test]
fn a_batch_touches_in_the_order_of_its_events() {
    let (alone, together) =
        (State::new(20, RandomState::default()), State::new(20, RandomState::default()));
    let mut stamps = StampBlock::of_a_batch();
    for number in 0..1_000 {
        let key = format!("0[{}]", number * number % 53);
        update(&alone, &key, number, std::iter::empty());
        let (mut locked, known) = together.look_up(std::iter::once(&*key), &mut stamps);
        locked.update(&key, known.first().copied(), number, std::iter::empty());
        drop(locked);
        assert_eq!(keys(&together), keys(&alone));
    }
    assert!(alone.evictions().total > 100);
    assert_eq!(together.evictions(), alone.evictions());
}

#[test]
fn room_is_kept_for_what_may_be_made_and_given_back() {
    let state = State::new(3, RandomState::default());
    update(&state, "0[1]", 1, std::iter::empty());
    let (held, _) = look_up(&state, &["0[2]", "0[3]"]);
    assert_eq!(state.len(), 3);
    drop(held);
    assert_eq!(state.len(), 1);
    for key in ["0[2]", "0[3]", "0[4]"] {
        update(&state, key, 2, std::iter::empty());
    }
    assert_eq!((keys(&state).len(), state.len(), state.evictions().total), (3, 3, 1));
}

#[test]
fn threads_keep_the_bound_and_the_count() {
    let state = State::new(100, RandomState::default());
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let state = &state;
            scope.spawn(move || {
                for number in 0..2_000_u64 {
                    let keys =
                        [thread, number, number * 7].map(|part| format!("0[{}]", part % 150));
                    let (mut locked, known) = look_up(state, &keys);
                    for (key, known) in keys.iter().zip(known) {
                        locked.update(key, Some(known), 1, std::iter::empty());
                    }
                }
            });
        }
    });
    let all = state.all();
    assert_eq!((all.iter().count(), all.len()), (100, 100));
    assert!(all.iter().map(Entity::stamp).is_sorted_by(|one, other| one < other));
    let events: u64 = all.iter().map(Entity::event_count).sum();
    assert!(events <= 4 * 2_000 * 3);
}

#[test]
fn windows_of_one_entity_stay_apart_and_in_order() {
    let rules = [Rule { duration: 100, threshold: 5 }];
    let state = State::new(10, RandomState::default());
    let family = |first| Family { first, rules: &rules };
    let changes = [
        Change::Count { family: family(7), value: None },
        Change::Count { family: family(2), value: None },
        Change::Count { family: family(4), value: Some("a") },
    ];
    update(&state, "0[1]", 10, changes.into_iter());
    update(&state, "0[1]", 11, changes.into_iter().take(1));
    let entity = entity(&state, "0[1]");
    let numbers = entity.window_numbers();
    assert_eq!(numbers, [2, 4, 7]);
    let window = |number| entity.family_after(&mut 0, family(number)).source(number).cloned();
    assert_eq!(window(7).unwrap().times().collect::<Vec<_>>(), [10, 11]);
    assert_eq!(window(4).unwrap().values().collect::<Vec<_>>(), [("a", 10)]);
    assert!(window(3).is_none());
}

#[test]
fn events_are_counted_past_what_a_block_holds_itself() {
    let state = State::new(10, RandomState::default());
    for number in 0..70_000 {
        update(&state, "0[1]", number, std::iter::empty());
        update(&state, "0[2]", number, std::iter::empty());
    }
    let entity = entity(&state, "0[1]");
    assert_eq!((entity.event_count(), entity.stamp()), (70_000, 139_998));
    assert!(entity.window_numbers().is_empty() && entity.mitigations().is_empty());
    let restored = Entity::restored("0[1]", 70_000, (0, 1), vec![], vec![]);
    assert_eq!(restored.event_count(), 70_000);
}

#[test]
fn an_expired_mitigation_is_forgotten_at_the_next_touch() {
    let state = State::new(10, RandomState::default());
    let mitigate = Change::Mitigate { clause: 3, expires_at: 20 };
    update(&state, "0[1]", 10, std::iter::once(mitigate));
    let standing = |state: &State| {
        let entity = entity(state, "0[1]");
        let mitigated = state.all().freeze().mitigated().count();
        (entity.is_mitigated_by(3, 19), entity.is_mitigated_by(3, 20), mitigated)
    };
    assert_eq!(standing(&state), (true, false, 1));
    update(&state, "0[1]", 20, std::iter::empty());
    assert_eq!(standing(&state), (false, false, 0));
}
