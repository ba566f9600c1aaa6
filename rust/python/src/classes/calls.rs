//! Hot calls of one tenant: read together, then decided on together.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bumpalo::Bump;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use self_cell::self_cell;
use tidegate_core::EventError;
use tidegate_core::service::block::{Action, Answered, Block, Circumstances, Sender, Workspace};
use tidegate_core::service::call::{Call, Endpoint, KeyHasher, Refusal};
use uuid::Uuid;

use crate::classes::engine::PyEngine;
use crate::classes::redactor::PyRedactor;
use crate::convert::error::event_error;

type Read<'a> = Vec<Result<Call<'a>, Refusal>>;
/// Calls with an idempotency key: their numbers, the keys, and the fingerprints of the bodies.
type Keyed<'py> = (Vec<usize>, Vec<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>);

/// Bodies, and memory for what is read of them.
struct Bodies {
    texts: Vec<PyBackedBytes>,
    endpoints: Vec<Endpoint>,
    arena: Bump,
}

self_cell!(
    struct ReadCalls {
        owner: Bodies,
        #[covariant]
        dependent: Read,
    }
);

/// Calls that are read. See `_native.pyi`.
#[pyclass(frozen, name = "Calls", module = "tidegate._native")]
pub(crate) struct PyCalls {
    engine: Py<PyEngine>,
    /// An arena is for one thread at a time.
    read: Mutex<ReadCalls>,
}

impl PyCalls {
    pub(crate) fn new(
        engine: &Bound<'_, PyEngine>,
        texts: Vec<PyBackedBytes>,
        is_runtime: Vec<bool>,
        secret: &[u8],
    ) -> PyResult<Self> {
        let hasher = KeyHasher::new(secret)
            .ok_or_else(|| PyValueError::new_err("the key of a hash has at most 64 bytes"))?;
        if texts.len() != is_runtime.len() {
            return Err(PyValueError::new_err("as many endpoints as bodies are needed"));
        }
        let endpoint = |is_runtime| if is_runtime { Endpoint::Runtime } else { Endpoint::Beacon };
        let endpoints = is_runtime.into_iter().map(endpoint).collect();
        let owner = Bodies { texts, endpoints, arena: Bump::new() };
        let at_work = &engine.get().engine;
        let read = engine.py().detach(|| {
            ReadCalls::new(owner, |Bodies { texts, endpoints, arena }| {
                let calls = texts.iter().zip(endpoints);
                calls
                    .map(|(text, &endpoint)| at_work.read_call(endpoint, text, &hasher, arena))
                    .collect()
            })
        });
        Ok(Self { engine: engine.clone().unbind(), read: Mutex::new(read) })
    }
}

#[pymethods]
impl PyCalls {
    #[getter]
    fn refusals<'py>(&self, py: Python<'py>) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = read.borrow_dependent().iter().enumerate();
        let refused = refused.filter_map(|(at, call)| Some((at, call.as_ref().err()?)));
        refused.map(|(at, refusal)| Ok((at, shown(py, refusal)?))).collect()
    }

    #[getter]
    fn keyed<'py>(&self, py: Python<'py>) -> Keyed<'py> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keyed = Keyed::default();
        for (at, call) in read.borrow_dependent().iter().enumerate() {
            let Some(known) = call.as_ref().ok().and_then(|call| call.idempotency) else {
                continue;
            };
            keyed.0.push(at);
            keyed.1.push(PyBytes::new(py, &known.identity));
            keyed.2.push(PyBytes::new(py, &known.fingerprint));
        }
        keyed
    }

    #[pyo3(signature = (ids, api_key_ids, received_at, base_url, redactor, aside = Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "they are named on the other side")]
    fn decide(
        &self,
        py: Python<'_>,
        ids: &[u8],
        api_key_ids: Vec<PyBackedStr>,
        received_at: i64,
        base_url: &str,
        redactor: &Bound<'_, PyRedactor>,
        aside: Vec<usize>,
    ) -> PyResult<PyBlock> {
        let (ids, rest) = ids.as_chunks::<16>();
        let redactor = redactor.get().redactor();
        let circumstances = Circumstances { received_at, base_url, redactor };
        let engine = &self.engine.get().engine;
        py.detach(|| {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            let calls = read.borrow_dependent();
            if !rest.is_empty() || ids.len() != calls.len() || api_key_ids.len() != calls.len() {
                return Err(PyValueError::new_err("each call needs an id and an API key"));
            }
            let mut made = PyBlock::new(calls.len());
            let mut workspace = Workspace::default();
            let senders = ids.iter().zip(&api_key_ids);
            for (at, (call, (id, api_key_id))) in calls.iter().zip(senders).enumerate() {
                let Ok(call) = call else { continue };
                if aside.contains(&at) {
                    continue;
                }
                let started = Instant::now();
                let duration = || u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                let sender = Sender { decision_id: Uuid::from_bytes(*id), api_key_id };
                let outcome = made.block.decide(
                    engine,
                    call,
                    sender,
                    &circumstances,
                    &mut workspace,
                    duration,
                );
                made.calls.push(Decided { at, endpoint: call.endpoint, id: *id, outcome });
            }
            Ok(made)
        })
    }
}

/// Why a call is refused: an `EventError`, or a word for it.
fn shown<'py>(py: Python<'py>, refusal: &Refusal) -> PyResult<Bound<'py, PyAny>> {
    let word = match refusal {
        Refusal::Event(error) => {
            return Ok(event_error(py, error.clone()).into_value(py).into_bound(py).into_any());
        }
        Refusal::OtherTenant => "other-tenant",
        Refusal::Empty => "empty",
        Refusal::KeyLength => "key-length",
    };
    Ok(word.into_pyobject(py)?.into_any())
}

/// What came of a call.
struct Decided {
    /// The number of the call.
    at: usize,
    endpoint: Endpoint,
    id: [u8; 16],
    outcome: Result<Answered, EventError>,
}

/// Decisions made together. See `_native.pyi`.
#[pyclass(frozen, name = "Block", module = "tidegate._native")]
pub(crate) struct PyBlock {
    block: Block,
    /// Calls that there were, those not decided on too.
    all: usize,
    /// Of the calls that were decided on, in order.
    calls: Vec<Decided>,
}

impl PyBlock {
    fn new(calls: usize) -> Self {
        Self { block: Block::with_capacity(calls), all: calls, calls: Vec::with_capacity(calls) }
    }

    /// The decisions, by endpoint.
    fn answered(&self) -> impl DoubleEndedIterator<Item = (Endpoint, &Answered)> {
        self.calls.iter().filter_map(|call| Some((call.endpoint, call.outcome.as_ref().ok()?)))
    }

    /// The ids of the decisions.
    fn ids(&self) -> impl DoubleEndedIterator<Item = [u8; 16]> {
        self.calls.iter().filter(|call| call.outcome.is_ok()).map(|call| call.id)
    }
}

#[pymethods]
impl PyBlock {
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Vec<Option<Bound<'py, PyBytes>>> {
        let mut answers = vec![None; self.all];
        for Decided { at, outcome, .. } in &self.calls {
            let text =
                outcome.as_ref().ok().and_then(|made| self.block.lines.get(made.answer.clone()));
            if let (Some(text), Some(answer)) = (text, answers.get_mut(*at)) {
                *answer = Some(PyBytes::new(py, text.as_bytes()));
            }
        }
        answers
    }

    #[getter]
    fn failures<'py>(&self, py: Python<'py>) -> Vec<(usize, Bound<'py, PyAny>)> {
        let failed =
            self.calls.iter().filter_map(|call| Some((call.at, call.outcome.as_ref().err()?)));
        let shown = |error: &EventError| event_error(py, error.clone()).into_value(py);
        failed.map(|(at, error)| (at, shown(error).into_bound(py).into_any())).collect()
    }

    #[getter]
    fn count(&self) -> usize {
        self.ids().count()
    }

    #[getter]
    fn first_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.ids().next().unwrap_or_default())
    }

    #[getter]
    fn last_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.ids().next_back().unwrap_or_default())
    }

    #[getter]
    fn lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.block.lines.as_bytes())
    }

    #[getter]
    fn index<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.block.index.as_bytes())
    }

    #[getter]
    fn rule_errors(&self) -> usize {
        self.answered().filter(|(_, answered)| answered.has_errors).count()
    }

    #[getter]
    fn over_budget(&self) -> usize {
        self.answered().filter(|(_, answered)| answered.is_over_budget).count()
    }

    #[getter]
    fn actions(&self) -> Vec<(&'static str, &'static str, usize)> {
        let mut counts = Vec::new();
        for endpoint in [Endpoint::Beacon, Endpoint::Runtime] {
            for action in [Action::Allow, Action::Challenge, Action::Block] {
                let made =
                    self.answered().filter(|made| (made.0, made.1.action) == (endpoint, action));
                counts.push((endpoint.as_str(), action.as_str(), made.count()));
            }
        }
        counts.retain(|(.., count)| *count > 0);
        counts
    }

    #[getter]
    fn outcomes(&self) -> Vec<(&str, &'static str, &'static str, usize)> {
        let outcomes = self.block.outcomes.iter();
        outcomes.map(|it| (&*it.policy, it.reason.as_str(), it.action.as_str(), it.count)).collect()
    }
}
