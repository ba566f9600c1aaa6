//! The extension `native_loops`: a rule set or an engine goes through events in Rust and
//! returns the time for which the thread was running.
//!
//! `benchmarks/goals/in_turn.py` builds it, gives it the bytes that the package's own rule set
//! and engine are made of, and times calls from Python next to it. Both run in one process: two
//! processes differ more by chance than a call takes.

#![cfg(feature = "python")]

use std::hint::black_box;

use bumpalo::Bump;
use cpu_time::ThreadTime;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tidegate_core::RuleSet;
use tidegate_core::definitions::Definitions;
use tidegate_core::engine::{Engine, ReferenceData};
use tidegate_core::event::ARENA_BYTES;
use tidegate_core::event::layout::Layout;
use tidegate_core::event::record::Record;
use tidegate_core::event::user_agent::UserAgents;

/// A rule set, trained on a sample.
#[pyclass(frozen)]
struct Rules {
    rules: RuleSet,
    user_agents: Option<&'static UserAgents>,
}

#[pymethods]
impl Rules {
    #[new]
    fn new(bundle: &[u8], sample: Vec<PyBackedBytes>, patterns: &[u8]) -> PyResult<Self> {
        let rules = RuleSet::from_json(bundle).map_err(|error| refused(&error))?;
        let user_agents = user_agents(rules.layout(), patterns)?;
        Ok(Self { rules: rules.trained(&slices(&sample), user_agents), user_agents })
    }

    /// Nanoseconds for all events, each read for what the rules ask of it.
    fn read(&self, py: Python<'_>, events: Vec<PyBackedBytes>) -> u128 {
        self.each_record(py, &events, |record| drop(black_box(record)))
    }

    /// Nanoseconds for all events, each read and matched.
    fn r#match(&self, py: Python<'_>, events: Vec<PyBackedBytes>) -> u128 {
        self.each_record(py, &events, |record| drop(black_box(self.rules.matches(&record))))
    }
}

impl Rules {
    fn each_record(
        &self,
        py: Python<'_>,
        events: &[PyBackedBytes],
        work: impl Fn(Record<'_>) + Send + Sync,
    ) -> u128 {
        timed(py, events, |events| {
            let mut arena = Bump::with_capacity(ARENA_BYTES);
            for event in events {
                if let Ok(record) = self.rules.read(event, self.user_agents, &arena) {
                    work(record);
                }
                arena.reset();
            }
        })
    }
}

/// An engine without a sample.
#[pyclass(frozen)]
struct Decisions {
    engine: Engine,
}

#[pymethods]
impl Decisions {
    #[new]
    fn new(bundle: &[u8], patterns: &[u8]) -> PyResult<Self> {
        let definitions = Definitions::from_json(bundle).map_err(|error| refused(&error))?;
        let user_agents = user_agents(&definitions.layout, patterns)?;
        let reference_data = ReferenceData { user_agents, databases: None };
        Ok(Self { engine: Engine::new(definitions, reference_data) })
    }

    /// Nanoseconds for all events, each decided on alone.
    fn each(&self, py: Python<'_>, events: Vec<PyBackedBytes>, received_at: i64) -> u128 {
        timed(py, &events, |events| {
            for event in events {
                drop(black_box(self.engine.answer(*event, received_at)));
            }
        })
    }

    /// Nanoseconds for all events, decided on in one batch.
    fn together(&self, py: Python<'_>, events: Vec<PyBackedBytes>, received_at: i64) -> u128 {
        timed(py, &events, |events| drop(black_box(self.engine.answer_batch(events, received_at))))
    }
}

/// The patterns for user agents that the expressions need; kept until the process ends.
fn user_agents(layout: &Layout, patterns: &[u8]) -> PyResult<Option<&'static UserAgents>> {
    if !layout.reads_user_agent_data() {
        return Ok(None);
    }
    let compiled = UserAgents::new(patterns).map_err(|error| refused(&error))?;
    Ok(Some(Box::leak(Box::new(compiled))))
}

fn refused(error: &impl std::fmt::Debug) -> PyErr {
    PyValueError::new_err(format!("{error:?}"))
}

fn slices(events: &[PyBackedBytes]) -> Vec<&[u8]> {
    events.iter().map(|event| &**event).collect()
}

fn timed(py: Python<'_>, events: &[PyBackedBytes], work: impl FnOnce(&[&[u8]]) + Send) -> u128 {
    let events = slices(events);
    py.detach(|| {
        let started = ThreadTime::now();
        work(&events);
        started.elapsed().as_nanos()
    })
}

#[pymodule]
fn native_loops(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Rules>()?;
    module.add_class::<Decisions>()
}
