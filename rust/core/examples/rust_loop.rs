//! What Rust alone takes for the work that a caller in Python is timed over, round by round.
//!
//! ```text
//! cargo run --release -p tidegate-core --example rust_loop -- match RULES EVENTS
//! cargo run --release -p tidegate-core --example rust_loop -- decide DEFINITIONS EVENTS
//! ```
//!
//! RULES and DEFINITIONS are in canonical form, EVENTS are lines of JSON; the index is trained
//! on all of them. For each line of the standard input, which is a number, all events are
//! matched, or decided in batches of so many, and the answer is the nanoseconds an event that
//! the thread was running. So whoever asks takes turns with this loop, and what the machine does
//! meanwhile is in both.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::hint::black_box;
use std::io::BufRead as _;

use bumpalo::Bump;
use cpu_time::ThreadTime;
use tidegate_core::RuleSet;
use tidegate_core::definitions::Definitions;
use tidegate_core::engine::{Engine, ReferenceData};
use tidegate_core::event::ARENA_BYTES;

/// When events without a time of their own have arrived: 1 January 2027.
const RECEIVED_AT: i64 = 1_798_761_600_000_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let canonical = std::fs::read(&arguments[1]).unwrap();
    let text = std::fs::read(&arguments[2]).unwrap();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    // Each in memory of its own, as the objects of the caller are.
    let apart: Vec<Box<[u8]>> = lines.map(Box::from).collect();
    let events: Vec<&[u8]> = apart.iter().map(|event| &**event).collect();
    if arguments[0] == "match" {
        let rules = RuleSet::from_json(&canonical).unwrap().trained(&events, None);
        let mut arena = Bump::with_capacity(ARENA_BYTES);
        each_round(&events, |events| {
            for event in events {
                let record = rules.read(event, None, &arena).unwrap();
                black_box(rules.matches(&record));
                drop(record);
                arena.reset();
            }
        });
    } else {
        let definitions = Definitions::from_json(&canonical).unwrap();
        let engine = Engine::new(definitions, ReferenceData::default());
        each_round(&events, |events| match events {
            [event] => drop(black_box(engine.answer(*event, RECEIVED_AT))),
            events => drop(black_box(engine.answer_batch(events, RECEIVED_AT))),
        });
    }
}

/// Does the work once for each line that comes, and prints what an event took.
fn each_round(events: &[&[u8]], mut work: impl FnMut(&[&[u8]])) {
    for line in std::io::stdin().lock().lines() {
        let batch: usize = line.unwrap().trim().parse().unwrap();
        let started = ThreadTime::now();
        events.chunks(batch).for_each(&mut work);
        println!("{}", started.elapsed().as_nanos() as f64 / events.len() as f64);
    }
}
