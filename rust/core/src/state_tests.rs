//! Eviction order, against a list of keys.

use super::*;

/// The definition: keys in the order of their last touch.
#[derive(Default)]
struct List {
    keys: Vec<(String, i64)>,
    evictions: Evictions,
}

impl List {
    fn touch(&mut self, key: &str, time: i64, expires_at: i64, max_keys: usize) {
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

fn keys(state: &State) -> Vec<&str> {
    state.iter().map(Entity::key).collect()
}

#[test]
fn keys_leave_in_the_order_of_their_last_touch_the_mitigated_last() {
    let mut seed = 7_u64;
    let mut below = |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    for max_keys in [1_u32, 2, 5, 40] {
        let mut state = State::new(max_keys, RandomState::default());
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
            let known = state.find(&key);
            state.update(&key, known, time, (expires_at > 0).then_some(mitigate).into_iter());
            list.touch(&key, time, expires_at, max_keys as usize);
            let expected: Vec<&str> = list.keys.iter().map(|(key, _)| key.as_str()).collect();
            assert_eq!(keys(&state), expected);
            assert_eq!(state.evictions(), list.evictions);
        }
    }
}

#[test]
fn a_block_counts_events_and_keeps_the_first_and_newest_time() {
    let mut state = State::new(10, RandomState::default());
    for time in [50, 80, 60] {
        state.update("0[1]", None, time, std::iter::empty());
    }
    let entity = state.get(state.find("0[1]").unwrap()).unwrap();
    assert_eq!((entity.event_count(), entity.first_seen(), entity.last_seen()), (3, 50, 80));
}

#[test]
fn keys_are_found_together_as_one_by_one() {
    let mut state = State::new(5_000, RandomState::default());
    for number in 0..5_000 {
        state.update(&format!("0[{number}]"), None, 1, std::iter::empty());
    }
    let keys: Vec<String> = (0..10_000).map(|number| format!("0[{number}]")).collect();
    for keys in keys.chunks(20) {
        let together = state.find_all(keys.iter().map(String::as_str));
        assert!(together.into_iter().eq(keys.iter().map(|key| state.find(key))));
    }
}

#[test]
fn a_stale_number_finds_its_key_again() {
    let mut state = State::new(1, RandomState::default());
    state.update("0[1]", None, 1, std::iter::empty());
    let known = state.find("0[1]");
    state.update("0[2]", None, 2, std::iter::empty());
    state.update("0[1]", known, 3, std::iter::empty());
    assert_eq!(keys(&state), ["0[1]"]);
    assert_eq!(state.get(state.find("0[1]").unwrap()).unwrap().event_count(), 1);
}

#[test]
fn windows_of_one_entity_stay_apart_and_in_order() {
    let rule = Rule { duration: 100, threshold: 5 };
    let mut state = State::new(10, RandomState::default());
    let changes = [
        Change::Count { clause: 7, rule },
        Change::Count { clause: 2, rule },
        Change::CountValue { clause: 4, rule, value: "a" },
    ];
    state.update("0[1]", None, 10, changes.into_iter());
    state.update("0[1]", None, 11, changes.into_iter().take(1));
    let entity = state.get(state.find("0[1]").unwrap()).unwrap();
    let clauses: Vec<u32> = entity.windows().iter().map(crate::window::Window::clause).collect();
    assert_eq!(clauses, [2, 4, 7]);
    assert_eq!(entity.window(7).unwrap().times().collect::<Vec<_>>(), [10, 11]);
    assert_eq!(entity.window(4).unwrap().values().collect::<Vec<_>>(), [("a", 10)]);
    assert!(entity.window(3).is_none());
}

#[test]
fn events_are_counted_past_what_a_block_holds_itself() {
    let mut state = State::new(10, RandomState::default());
    for number in 0..70_000 {
        state.update("0[1]", None, number, std::iter::empty());
        state.update("0[2]", None, number, std::iter::empty());
    }
    let entity = state.get(state.find("0[1]").unwrap()).unwrap();
    assert_eq!((entity.event_count(), entity.touch()), (70_000, 139_998));
    assert!(entity.windows().is_empty() && entity.mitigations().is_empty());
    let restored = Entity::restored("0[1]", 70_000, (0, 1), vec![], vec![]);
    assert_eq!(restored.event_count(), 70_000);
}

#[test]
fn an_expired_mitigation_is_forgotten_at_the_next_touch() {
    let mut state = State::new(10, RandomState::default());
    let mitigate = Change::Mitigate { clause: 3, expires_at: 20 };
    state.update("0[1]", None, 10, std::iter::once(mitigate));
    let entity = |state: &State| {
        let entity = state.get(state.find("0[1]").unwrap()).unwrap();
        (entity.is_mitigated_by(3, 19), entity.is_mitigated_by(3, 20), state.mitigated_len())
    };
    assert_eq!(entity(&state), (true, false, 1));
    state.update("0[1]", None, 20, std::iter::empty());
    assert_eq!(entity(&state), (false, false, 0));
}

#[test]
fn an_entity_with_one_short_window_takes_120_bytes() {
    let rule = Rule { duration: Rule::LONGEST, threshold: 8 };
    let mut state = State::new(100_000, RandomState::default());
    for number in 0..100_000_i64 {
        let key = format!("0[\"192.168.{}.{}\"]", number >> 8, number & 255);
        for time in 0..8 {
            let change = Change::Count { clause: 0, rule };
            state.update(&key, None, number + time, std::iter::once(change));
        }
    }
    assert_eq!(FreezableSlab::<Entity>::SLOT_BYTES, 112);
    assert!(state.memory_bytes() / 100_000 <= 120);
}
