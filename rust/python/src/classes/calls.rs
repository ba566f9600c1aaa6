//! Hot calls of one tenant: read together, then decided on together.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bumpalo::Bump;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyTuple};
use self_cell::self_cell;
use tidegate_core::EventError;
use tidegate_core::event::client::Problem;
use tidegate_core::event::client::geo::AddressDatabases;
use tidegate_service::block::{Action, Answered, Block, BlockContext, Caller, Workspace};
use tidegate_service::call::{Call, Endpoint, KeyHasher, Refusal};
use uuid::Uuid;

use crate::classes::engine::PyEngine;
use crate::classes::redactor::PyRedactor;
use crate::convert::error::{event_error_object, value_error};

type Read<'a> = Vec<Result<Call<'a>, Refusal>>;

/// Bodies, and memory for reading them.
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
    #[pyo3(get)]
    refusals: Vec<(usize, Py<PyAny>)>,
    /// Numbers of calls, their keys, and the fingerprints of their bodies.
    #[pyo3(get)]
    keyed: (Vec<usize>, Vec<[u8; 16]>, Vec<[u8; 16]>),
}

impl PyCalls {
    pub(crate) fn new(
        engine: &Bound<'_, PyEngine>,
        texts: Vec<PyBackedBytes>,
        is_runtime: Vec<bool>,
        secret: &[u8],
        databases: Option<&AddressDatabases>,
    ) -> PyResult<Self> {
        let py = engine.py();
        let hasher = KeyHasher::new(secret)
            .ok_or_else(|| value_error("the key of a hash has at most 64 bytes"))?;
        if texts.len() != is_runtime.len() {
            return Err(value_error("as many endpoints as bodies are needed"));
        }
        let endpoint = |is_runtime| if is_runtime { Endpoint::Runtime } else { Endpoint::Beacon };
        let endpoints = is_runtime.into_iter().map(endpoint).collect();
        let owner = Bodies { texts, endpoints, arena: Bump::new() };
        let active = &engine.get().engine;
        let read = py.detach(|| {
            ReadCalls::new(owner, |Bodies { texts, endpoints, arena }| {
                let calls = texts.iter().zip(endpoints);
                calls
                    .map(|(text, endpoint)| {
                        Call::read(active, *endpoint, text, &hasher, databases, arena)
                    })
                    .collect()
            })
        });
        let (mut refusals, mut keyed) = (Vec::new(), <(Vec<_>, Vec<_>, Vec<_>)>::default());
        for (number, call) in read.borrow_dependent().iter().enumerate() {
            match call {
                Err(refusal) => refusals.push((number, shown(py, refusal)?)),
                Ok(Call { idempotency: None, .. }) => {}
                Ok(Call { idempotency: Some(known), .. }) => {
                    keyed.0.push(number);
                    keyed.1.push(known.identity);
                    keyed.2.push(known.fingerprint);
                }
            }
        }
        Ok(Self { engine: engine.clone().unbind(), read: Mutex::new(read), refusals, keyed })
    }
}

#[pymethods]
impl PyCalls {
    #[pyo3(signature = (ids, api_key_ids, received_at, base_url, redactor, aside = Vec::new(), trace_ids = None))]
    #[expect(clippy::too_many_arguments, reason = "they are named on the other side")]
    fn decide<'py>(
        &self,
        py: Python<'py>,
        ids: &[u8],
        api_key_ids: Vec<PyBackedStr>,
        received_at: i64,
        base_url: &str,
        redactor: &Bound<'py, PyRedactor>,
        aside: Vec<usize>,
        trace_ids: Option<Vec<Option<PyBackedStr>>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (ids, rest) = ids.as_chunks::<16>();
        let context = BlockContext { received_at, base_url, redactor: &redactor.get().0 };
        let engine = &self.engine.get().engine;
        let decided = py.detach(|| {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            let calls = read.borrow_dependent();
            if !rest.is_empty() || ids.len() != calls.len() || api_key_ids.len() != calls.len() {
                return Err(value_error("each call needs an id and an API key"));
            }
            let trace_ids = trace_ids.unwrap_or_default();
            let (mut block, mut made) = (Block::with_capacity(calls.len()), Vec::new());
            let mut workspace = Workspace::default();
            let callers = ids.iter().zip(&api_key_ids);
            for (number, (call, (id, api_key_id))) in calls.iter().zip(callers).enumerate() {
                let Ok(call) = call else { continue };
                if aside.contains(&number) {
                    continue;
                }
                let started = Instant::now();
                let took = || u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                let trace_id = trace_ids.get(number).and_then(Option::as_deref);
                let caller = Caller { decision_id: Uuid::from_bytes(*id), api_key_id, trace_id };
                let outcome = block.decide(engine, call, caller, &context, &mut workspace, took);
                made.push((number, call.endpoint, *id, outcome));
            }
            Ok((block, made))
        });
        let (block, made) = decided?;
        columns(py, ids.len(), block, made)
    }
}

/// The reason why a call is rejected: an `EventError`, or a word.
fn shown(py: Python<'_>, refusal: &Refusal) -> PyResult<Py<PyAny>> {
    let word = match refusal {
        Refusal::Event(error) => return event_error_object(py, error.clone().into()),
        Refusal::OtherTenant => "other-tenant",
        Refusal::Empty => "empty",
        Refusal::KeyLength => "key-length",
    };
    Ok(word.into_pyobject(py)?.into_any().unbind())
}

/// The number of a call, its endpoint, the id of its decision, and its outcome.
type Decided = (usize, Endpoint, [u8; 16], Result<Answered, EventError>);

/// Decisions made together, in the order of `tidegate.evaluation.native.Block`.
fn columns<'py>(
    py: Python<'py>,
    calls: usize,
    block: Block,
    decided: Vec<Decided>,
) -> PyResult<Bound<'py, PyTuple>> {
    let mut answers: Vec<Option<Py<PyBytes>>> = (0..calls).map(|_| None).collect();
    let (mut failures, mut ids, mut made) = (Vec::new(), Vec::new(), Vec::new());
    for (number, endpoint, id, outcome) in decided {
        match outcome {
            Err(error) => failures.push((number, event_error_object(py, error.into())?)),
            Ok(answered) => {
                let text = block.lines.get(answered.answer.clone()).unwrap_or_default();
                if let Some(answer) = answers.get_mut(number) {
                    *answer = Some(PyBytes::new(py, text.as_bytes()).unbind());
                }
                ids.push(id);
                made.push((endpoint, answered));
            }
        }
    }
    let count = |is_counted: &dyn Fn(Endpoint, &Answered) -> bool| {
        made.iter().filter(|(endpoint, answered)| is_counted(*endpoint, answered)).count()
    };
    let mut actions = Vec::new();
    for endpoint in [Endpoint::Beacon, Endpoint::Runtime] {
        for action in [Action::Allow, Action::Challenge, Action::Block] {
            let number = count(&|at, answered| (at, answered.action) == (endpoint, action));
            actions.push((endpoint.as_str(), action.as_str(), number));
        }
    }
    actions.retain(|(.., number)| *number > 0);
    let problems =
        [Problem::Empty, Problem::NotAnAddress, Problem::SeveralAddresses, Problem::OnlyProxies];
    let found = problems.map(|problem| {
        (problem.as_str(), count(&|_, answered| answered.client_problem == Some(problem)))
    });
    let outcomes = block.outcomes.iter();
    let outcomes = outcomes
        .map(|it| (it.policy.to_string(), it.reason.as_str(), it.action.as_str(), it.count));
    let client_problems = found.into_iter().filter(|(_, number)| *number > 0);
    let most_work = made.iter().map(|(_, answered)| answered.work).max();
    PyTuple::new(
        py,
        [
            answers.into_bound_py_any(py)?,
            failures.into_bound_py_any(py)?,
            made.len().into_bound_py_any(py)?,
            ids.iter().min().copied().unwrap_or_default().into_bound_py_any(py)?,
            ids.iter().max().copied().unwrap_or_default().into_bound_py_any(py)?,
            block.lines.into_bytes().into_bound_py_any(py)?,
            block.index.into_bytes().into_bound_py_any(py)?,
            actions.into_bound_py_any(py)?,
            outcomes.collect::<Vec<_>>().into_bound_py_any(py)?,
            count(&|_, answered| answered.has_errors).into_bound_py_any(py)?,
            count(&|_, answered| answered.is_over_budget).into_bound_py_any(py)?,
            client_problems.collect::<Vec<_>>().into_bound_py_any(py)?,
            most_work.unwrap_or_default().into_bound_py_any(py)?,
        ],
    )
}
