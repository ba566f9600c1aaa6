//! What the work of a call takes without the call: the same rule set or engine goes through
//! events in Rust, and tells the time that the thread was running.
//!
//! Only with the feature `rust-loop`, which the benchmarks build to time calls from Python
//! beside it. Both sides are then one program with one memory: of two processes, each of which
//! is given other places of it, the difference is more of chance than of the calls.

use std::hint::black_box;

use bumpalo::Bump;
use cpu_time::ThreadTime;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidegate_core::RuleSet;
use tidegate_core::event::ARENA_BYTES;
use tidegate_core::record::Record;

use crate::engine::PyEngine;
use crate::program::PyRuleSet;

/// Nanoseconds for all events, each read for what the rules ask of it.
#[pyfunction]
pub(crate) fn read_events(
    py: Python<'_>,
    rules: &Bound<'_, PyRuleSet>,
    events: Vec<Bound<'_, PyBytes>>,
) -> u128 {
    each_record(py, rules, &events, |_, record| drop(black_box(record)))
}

/// Nanoseconds for all events, each read and matched.
#[pyfunction]
pub(crate) fn match_events(
    py: Python<'_>,
    rules: &Bound<'_, PyRuleSet>,
    events: Vec<Bound<'_, PyBytes>>,
) -> u128 {
    each_record(py, rules, &events, |rules, record| drop(black_box(rules.matches(&record))))
}

/// Nanoseconds for all events, each decided on alone.
#[pyfunction]
pub(crate) fn decide_events(
    py: Python<'_>,
    engine: &Bound<'_, PyEngine>,
    events: Vec<Bound<'_, PyBytes>>,
    received_at: i64,
) -> u128 {
    let engine = &engine.get().engine;
    timed(py, &events, |events| {
        for event in events {
            drop(black_box(engine.answer(*event, received_at)));
        }
    })
}

/// Nanoseconds for all events, decided on in batches of so many.
#[pyfunction]
pub(crate) fn decide_batches(
    py: Python<'_>,
    engine: &Bound<'_, PyEngine>,
    events: Vec<Bound<'_, PyBytes>>,
    received_at: i64,
    batch: usize,
) -> u128 {
    let engine = &engine.get().engine;
    timed(py, &events, |events| {
        for events in events.chunks(batch.max(1)) {
            drop(black_box(engine.answer_batch(events, received_at)));
        }
    })
}

fn each_record(
    py: Python<'_>,
    rules: &Bound<'_, PyRuleSet>,
    events: &[Bound<'_, PyBytes>],
    work: impl Fn(&RuleSet, Record<'_>) + Send,
) -> u128 {
    let PyRuleSet { rules, user_agents, .. } = rules.get();
    timed(py, events, move |events| {
        let mut arena = Bump::with_capacity(ARENA_BYTES);
        for event in events {
            if let Ok(record) = rules.read(event, *user_agents, &arena) {
                work(rules, record);
            }
            arena.reset();
        }
    })
}

fn timed(
    py: Python<'_>,
    events: &[Bound<'_, PyBytes>],
    work: impl FnOnce(&[&[u8]]) + Send,
) -> u128 {
    let events: Vec<&[u8]> = events.iter().map(|event| event.as_bytes()).collect();
    py.detach(|| {
        let started = ThreadTime::now();
        work(&events);
        started.elapsed().as_nanos()
    })
}
