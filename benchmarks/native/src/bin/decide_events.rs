//! How long whole decisions take, without Python around them.
//!
//! ```text
//! python -m benchmarks.decisions --export DIRECTORY
//! cargo run --release -p tidegate-native-benchmarks --bin decide_events -- DIRECTORY/definitions.json DIRECTORY/decided.jsonl DIRECTORY/snapshot.json
//! ```
//!
//! One engine decides on each event once, in order. It starts with the state of the snapshot, and
//! the first quarter of the events trains its index and only warms it up. Then two engines do the
//! same, one on one thread and one shared by two, for the ratio of the two.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tidegate_core::definitions::Definitions;
use tidegate_core::engine::{Engine, ReferenceData};

/// When events without a time of their own have arrived: 1 January 2027.
const RECEIVED_AT: i64 = 1_798_761_600_000_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let bundle = std::fs::read(&arguments[0]).unwrap();
    let text = std::fs::read(&arguments[1]).unwrap();
    let snapshot = arguments.get(2).map(|path| std::fs::read(path).unwrap());
    let events: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let engine = || {
        let definitions = Definitions::from_json(&bundle).unwrap();
        let definitions = definitions.trained(&events[..events.len() / 4], None);
        let engine = Engine::new(definitions, ReferenceData::default());
        if let Some(snapshot) = &snapshot {
            engine.restore(snapshot).unwrap();
        }
        engine
    };
    one_by_one(&engine(), &events);
    let alone = run(&engine(), &events, 1);
    let together = run(&engine(), &events, 2);
    println!("{alone:.0} events/s on one thread, {together:.0} on two: {:.2}", together / alone);
}

fn one_by_one(engine: &Engine, events: &[&[u8]]) {
    let mut times = Vec::with_capacity(events.len());
    for event in events {
        let started = Instant::now();
        let _ = black_box(engine.answer(*event, RECEIVED_AT));
        times.push(started.elapsed().as_nanos() as u64);
    }
    // The first events find nothing in the caches.
    let warm = &mut times[events.len() / 4..];
    warm.sort_unstable();
    let at = |part: f64| warm[((warm.len() - 1) as f64 * part) as usize];
    println!(
        "{} events, {} keys: p50 {}, p90 {}, p99 {}, p99.9 {}, max {} ns",
        events.len(),
        engine.stats().keys,
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

/// Events a second.
fn run(engine: &Engine, events: &[&[u8]], threads: usize) -> f64 {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let start = next.fetch_add(64, Ordering::Relaxed);
                    let Some(batch) = events.get(start..events.len().min(start + 64)) else {
                        break;
                    };
                    if batch.is_empty() {
                        break;
                    }
                    for event in batch {
                        let _ = black_box(engine.answer(*event, RECEIVED_AT));
                    }
                }
            });
        }
    });
    events.len() as f64 / started.elapsed().as_secs_f64()
}
