//! The part of a decision that the state takes: nine windows of one entity are counted, for
//! random ones of a million whose keys are given, in batches that are looked up together.
//! No event is read, nothing is matched, no answer is made. First the nine are of clauses
//! that count different events, then of clauses that count the same, which share one.
//!
//! ```text
//! cargo run --release -p tidegate-native-benchmarks --bin count_windows
//! ```

#![allow(clippy::arithmetic_side_effects)]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::time::Instant;

use foldhash::fast::RandomState;
use tidegate_core::definitions::window_rule::{Family, Rule};
use tidegate_core::state::{Change, StampBlock, State};

const KEYS: u64 = 1_000_000;
const BATCH: usize = 64;
const BATCHES: usize = 8_192;
const CLAUSES: usize = 9;
const RULE: Rule = Rule { duration: 60_000_000_000, threshold: 8 };

fn main() {
    let rules = [RULE; CLAUSES];
    let apart: Vec<Change<'_>> = (0..).zip(rules.chunks(1)).map(change).collect();
    let [apart, shared] = [apart, vec![change((0, &rules))]].map(|changes| measure(&changes));
    println!(
        "{{\"windows\": {CLAUSES}, \"keys\": {KEYS}, \"median\": {}, \"mean\": {}, \
         \"shared_median\": {}, \"shared_mean\": {}}}",
        apart.0, apart.1, shared.0, shared.1
    );
}

fn change((first, rules): (u32, &[Rule])) -> Change<'_> {
    Change::Count { family: Family { first, rules }, value: None }
}

/// Nanoseconds an event: median of the batches, and mean.
fn measure(changes: &[Change<'_>]) -> (f64, f64) {
    let state = State::new(1_000_000, RandomState::default());
    let mut all = state.all();
    for number in 0..KEYS {
        all.update(&key(number), None, 0, changes.iter().copied());
    }
    drop(all);
    let mut seed = 7_u64;
    let random = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        key((seed >> 33) % KEYS)
    });
    let keys: Vec<String> = random.take(BATCHES * BATCH).collect();
    let mut times: Vec<u128> = Vec::with_capacity(BATCHES);
    for (time, batch) in (1_i64..).zip(keys.chunks(BATCH)) {
        let started = Instant::now();
        let keys = batch.iter().map(String::as_str);
        let (mut locked, known) = state.look_up(keys, &mut StampBlock::default());
        for (key, known) in batch.iter().zip(known) {
            locked.update(key, Some(known), time, changes.iter().copied());
        }
        drop(locked);
        times.push(started.elapsed().as_nanos());
    }
    let mean = times.iter().sum::<u128>() as f64 / keys.len() as f64;
    times.sort_unstable();
    (times.get(BATCHES / 2).map_or(0.0, |&time| time as f64 / BATCH as f64), mean)
}

fn key(number: u64) -> String {
    format!("0[\"10.{}.{}.{}\"]", number >> 16, (number >> 8) & 255, number & 255)
}
