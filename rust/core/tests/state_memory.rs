//! The memory that a state allocates, in a process of its own since all tests share the allocator.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

mod allocated;

use allocated::allocated;
use foldhash::fast::RandomState;
use tidegate_core::definitions::window_rule::{Family, Rule};
use tidegate_core::state::{Change, State};

const KEYS: u16 = u16::MAX;

#[test]
fn an_entity_with_one_short_window_takes_at_most_130_bytes() {
    let rules = [Rule { duration: Rule::LONGEST, threshold: 8 }];
    let family = Family { first: 0, rules: &rules };
    let before = allocated();
    let state = State::new(u32::from(KEYS), RandomState::default());
    let mut all = state.all();
    for number in 0..KEYS {
        let [high, low] = number.to_be_bytes();
        let key = format!("0[\"10.0.{high}.{low}\"]");
        let changes = [Change::Count { family, value: None }; 8];
        all.update(&key, None, i64::from(number), changes.into_iter());
    }
    let taken = (allocated() - before) / isize::try_from(KEYS).unwrap();
    assert!((112..=130).contains(&taken), "{taken}");
}
