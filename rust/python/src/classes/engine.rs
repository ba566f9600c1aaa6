//! The engine class: definitions, state, decisions as JSON.

use std::sync::Arc;

use bumpalo::Bump;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyInt, PySequence};
use tidegate_core::EventError;
use tidegate_core::decision::budget::{Budget, Ends, Spent};
use tidegate_core::definitions::Definitions;
use tidegate_core::engine::{Engine, EventSource, Given, ReferenceData};
use tidegate_core::event::client::geo::AddressDatabases;
use tidegate_core::event::layout::Layout;
use tidegate_core::event::strictness::Strictness;
use tidegate_core::event::user_agent::UserAgents;
use tidegate_core::event::{self, RawEvent};
use tidegate_core::state::frozen::FrozenState;
use tidegate_core::value::limits::Limits;
use tidegate_service::served::Served;
use uuid::Uuid;

use crate::background_drop::drop_aside;
use crate::classes::address_databases::PyAddressDatabases;
use crate::classes::calls::PyCalls;
use crate::classes::proof_keys::PyProofKeys;
use crate::classes::redactor::PyRedactor;
use crate::classes::served::{self, Columns};
use crate::convert::error::{Error, Result, event_error_object, value_error};
use crate::convert::event::{read_whole_event, user_agents};

/// A state with fewer keys is dropped immediately.
const KEYS_WORTH_A_THREAD: usize = 10_000;

/// Active definitions. See `_native.pyi`.
#[pyclass(frozen, name = "Engine", module = "tidegate._native")]
pub(crate) struct PyEngine {
    pub(crate) engine: Engine,
}

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (
        bundle, databases = Vec::new(), sample = Vec::new(), redactor = None, events = "any",
        proof_keys = None
    ))]
    fn new(
        py: Python<'_>,
        bundle: &[u8],
        databases: Vec<Vec<u8>>,
        sample: Vec<PyBackedBytes>,
        redactor: Option<&Bound<'_, PyRedactor>>,
        events: &str,
        proof_keys: Option<&Bound<'_, PyProofKeys>>,
    ) -> Result<Self> {
        let strictness = Strictness::named(events)
            .ok_or_else(|| value_error(format!("there is no strictness `{events}`")))?;
        let (definitions, user_agents) = read_definitions(py, bundle, &sample, redactor)?;
        let databases = (!databases.is_empty()).then(|| AddressDatabases::new(databases));
        let databases = databases.transpose().map_err(value_error)?;
        let reference_data = ReferenceData { user_agents, databases: databases.map(Arc::new) };
        let proof_keys = proof_keys.map(|keys| Arc::clone(&keys.get().0));
        let engine = Engine::new(definitions, reference_data)
            .with_strictness(strictness)
            .with_proof_keys(proof_keys);
        Ok(Self { engine })
    }

    #[pyo3(signature = (event, received_at, ended_at = None, proofs = None))]
    fn decide_record(
        &self,
        event: &Bound<'_, PyAny>,
        received_at: Received,
        ended_at: Option<Vec<PyBackedStr>>,
        proofs: Option<&[u8]>,
    ) -> Result<Vec<u8>> {
        self.run(event, received_at, self.given(ended_at, proofs)?, Engine::record, Engine::record)
    }

    fn decide_json(&self, py: Python<'_>, body: &[u8], received_at: Received) -> Result<Vec<u8>> {
        Ok(py.detach(|| self.engine.answer(body, received_at.0))?.into_bytes())
    }

    #[pyo3(signature = (body, received_at, decision_id, proofs = None))]
    fn serve(
        &self,
        py: Python<'_>,
        body: &[u8],
        received_at: Received,
        decision_id: &str,
        proofs: Option<&[u8]>,
    ) -> Result<Columns> {
        let given = self.given(None, proofs)?;
        let served =
            py.detach(|| Served::decide(&self.engine, body, received_at.0, decision_id, given))?;
        Ok(served::columns(served, self.engine.definitions()))
    }

    #[pyo3(signature = (bodies, is_runtime, secret, databases = None))]
    fn read_calls(
        slf: &Bound<'_, Self>,
        bodies: Vec<PyBackedBytes>,
        is_runtime: Vec<bool>,
        secret: &[u8],
        databases: Option<&Bound<'_, PyAddressDatabases>>,
    ) -> PyResult<PyCalls> {
        let databases = databases.map(|databases| &databases.get().0);
        PyCalls::new(slf, bodies, is_runtime, secret, databases)
    }

    fn located(
        &self,
        py: Python<'_>,
        body: &[u8],
        databases: &Bound<'_, PyAddressDatabases>,
    ) -> Result<Vec<u8>> {
        let (definitions, databases) = (self.engine.definitions(), &databases.get().0);
        py.detach(|| {
            let arena = Bump::new();
            let mut event = event::read(body, &definitions.layout, &arena, &definitions.limits)?;
            let located = self.engine.locate(body, &mut event, Some(databases), &arena);
            Ok(located.unwrap_or(body).to_vec())
        })
    }

    fn apply_effects(&self, py: Python<'_>, effects: &Bound<'_, PyAny>) -> Result<()> {
        let entries = effects.try_iter()?.map(|entry| Ok(entry?.extract::<PyBackedBytes>()?));
        let entries = entries.collect::<PyResult<Vec<_>>>()?;
        py.detach(|| self.engine.apply_effects(entries.iter().map(|entry| &**entry)))?;
        Ok(())
    }

    fn count_late(&self, py: Python<'_>, effects: &[u8], now: Received) -> Result<Vec<u8>> {
        Ok(py.detach(|| self.engine.count_late(effects, now.0))?.into_bytes())
    }

    fn decide_batch(
        &self,
        bodies: &Bound<'_, PySequence>,
        received_at: Received,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let py = bodies.py();
        // Other threads may change a list, but not a tuple, while the interpreter lock is released.
        let bodies = bodies.to_tuple()?;
        let texts = bodies.iter_borrowed().map(|body| body.extract());
        let texts: Vec<&[u8]> = texts.collect::<Result<_, _>>()?;
        let answers = py.detach(|| self.engine.answer_batch(&texts, received_at.0));
        let answers = answers.into_iter().map(|answer| match answer {
            Ok(answer) => Ok(PyBytes::new(py, answer.as_bytes()).into_any().unbind()),
            Err(error) => event_error_object(py, error.into()),
        });
        answers.collect()
    }

    #[pyo3(signature = (event, received_at, ended_at = None, proofs = None))]
    fn peek(
        &self,
        event: &Bound<'_, PyAny>,
        received_at: Received,
        ended_at: Option<Vec<PyBackedStr>>,
        proofs: Option<&[u8]>,
    ) -> Result<Vec<u8>> {
        self.run(event, received_at, self.given(ended_at, proofs)?, Engine::peek, Engine::peek)
    }

    fn work_of(
        &self,
        py: Python<'_>,
        body: &[u8],
        received_at: Received,
    ) -> Result<(u64, u64, u64)> {
        let Spent { search, entities, walk } =
            py.detach(|| self.engine.work_of(body, received_at.0))?;
        Ok((search, entities, walk))
    }

    #[pyo3(signature = (event, received_at, ended_at = None, proofs = None))]
    fn entity_states(
        &self,
        event: &Bound<'_, PyAny>,
        received_at: Received,
        ended_at: Option<Vec<PyBackedStr>>,
        proofs: Option<&[u8]>,
    ) -> Result<Vec<u8>> {
        self.run(
            event,
            received_at,
            self.given(ended_at, proofs)?,
            Engine::entity_states,
            Engine::entity_states,
        )
    }

    fn snapshot(&self, py: Python<'_>) -> Vec<u8> {
        py.detach(|| self.engine.snapshot()).into_bytes()
    }

    fn restore(&self, py: Python<'_>, snapshot: &[u8]) -> Result<()> {
        Ok(py.detach(|| self.engine.restore(snapshot))?)
    }

    #[pyo3(signature = (bundle, sample = Vec::new(), redactor = None))]
    fn with_definitions(
        &self,
        py: Python<'_>,
        bundle: &[u8],
        sample: Vec<PyBackedBytes>,
        redactor: Option<&Bound<'_, PyRedactor>>,
    ) -> Result<Self> {
        let (definitions, user_agents) = read_definitions(py, bundle, &sample, redactor)?;
        let engine = py.detach(|| self.engine.succeeded_by(definitions, user_agents))?;
        Ok(Self { engine: engine.with_strictness(self.engine.strictness()) })
    }

    fn with_change(&self, py: Python<'_>, change: &[u8]) -> Result<Option<Self>> {
        let changed = py.detach(|| self.engine.definitions().changed(change))?;
        let Some(definitions) = changed else { return Ok(None) };
        let user_agents = user_agents(py, &definitions.layout)?;
        let engine = py.detach(|| self.engine.succeeded_by(definitions, user_agents))?;
        Ok(Some(Self { engine }))
    }

    fn layered(&self) -> usize {
        self.engine.definitions().index().layered()
    }

    fn rebuild(&self, py: Python<'_>) {
        py.detach(|| self.engine.definitions().rebuild());
    }

    fn freeze(slf: &Bound<'_, Self>) -> PyFrozen {
        let engine = &slf.get().engine;
        PyFrozen { state: slf.py().detach(|| engine.freeze()), engine: slf.clone().unbind() }
    }

    fn active_mitigations(
        &self,
        py: Python<'_>,
        at: Received,
        limit: usize,
        after: Option<(String, String, String, String)>,
    ) -> Vec<u8> {
        let after = after.as_ref().map(|(definition, key, policy, clause)| {
            (definition.as_str(), key.as_str(), policy.as_str(), clause.as_str())
        });
        py.detach(|| self.engine.active_mitigations(at.0, limit, after)).into_bytes()
    }

    fn lift(
        &self,
        py: Python<'_>,
        definition: &str,
        key: &[u8],
        policy: &str,
        clause: Option<&str>,
        at: Received,
    ) -> Option<Vec<u8>> {
        let lift = || self.engine.lift(definition, key, policy, clause, at.0);
        py.detach(lift).map(String::into_bytes)
    }

    fn revoke_pass(
        &self,
        py: Python<'_>,
        pass_id: [u8; 16],
        expires_at: Received,
        at: Received,
    ) -> Option<Vec<u8>> {
        let revoke = || self.engine.revoke_pass(Uuid::from_bytes(pass_id), expires_at.0, at.0);
        py.detach(revoke).map(String::into_bytes)
    }

    fn is_revoked(&self, py: Python<'_>, pass_id: [u8; 16]) -> bool {
        py.detach(|| self.engine.is_revoked(Uuid::from_bytes(pass_id)))
    }

    fn entity_state(
        &self,
        py: Python<'_>,
        definition: &str,
        key: &[u8],
        at: Received,
    ) -> Option<Vec<u8>> {
        py.detach(|| self.engine.entity_state(definition, key, at.0)).map(String::into_bytes)
    }

    fn find_entity(&self, py: Python<'_>, entity_id: &str) -> Option<Vec<u8>> {
        py.detach(|| self.engine.find_entity(entity_id)).map(String::into_bytes)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = py.detach(|| self.engine.stats());
        let numbers = PyDict::new(py);
        numbers.set_item("keys", stats.keys)?;
        numbers.set_item("max_keys", stats.max_keys)?;
        numbers.set_item("evictions_total", stats.evictions.total)?;
        numbers.set_item("evictions_mitigated", stats.evictions.mitigated)?;
        Ok(numbers)
    }
}

impl Drop for PyEngine {
    fn drop(&mut self) {
        let state = self.engine.take_state();
        if state.len() > KEYS_WORTH_A_THREAD {
            drop_aside(state);
        }
    }
}

/// Definitions, trained on events if there are some, and the data they need to read events.
fn read_definitions(
    py: Python<'_>,
    bundle: &[u8],
    sample: &[PyBackedBytes],
    redactor: Option<&Bound<'_, PyRedactor>>,
) -> Result<(Definitions, Option<&'static UserAgents>)> {
    let definitions = py.detach(|| Definitions::from_json(bundle))?;
    let mut definitions =
        definitions.redacted_by(redactor.map(|redactor| Arc::clone(&redactor.get().0)));
    let user_agents = user_agents(py, &definitions.layout)?;
    if !sample.is_empty() {
        let events: Vec<&[u8]> = sample.iter().map(|event| &**event).collect();
        definitions = py.detach(|| definitions.trained(&events, user_agents));
    }
    Ok((definitions, user_agents))
}

impl PyEngine {
    /// The known parts of a decision.
    fn given(&self, ended_at: Option<Vec<PyBackedStr>>, proofs: Option<&[u8]>) -> Result<Given> {
        let budget = match ended_at {
            None => Budget::Own,
            Some(places) => {
                let places: Vec<&str> = places.iter().map(|place| &**place).collect();
                let ends = Ends::at(self.engine.definitions(), places.iter().copied());
                let unknown = || format!("not all are places of the definitions: {places:?}");
                Budget::Known(ends.ok_or_else(|| value_error(unknown()))?)
            }
        };
        let proofs = proofs.map(tidegate_core::proofs::read).transpose().map_err(value_error)?;
        Ok(Given { budget, proofs })
    }

    /// Runs an operation on JSON text without the interpreter, on any other event with it.
    fn run<'py>(
        &self,
        event: &Bound<'py, PyAny>,
        Received(at): Received,
        given: Given,
        on_text: impl FnOnce(&Engine, &[u8], i64, Given) -> Result<String, EventError> + Send,
        on_object: impl FnOnce(&Engine, &Object<'py>, i64, Given) -> Result<String>,
    ) -> Result<Vec<u8>> {
        let json = match event.cast::<PyBytes>() {
            Ok(text) => {
                let text = text.as_bytes();
                event.py().detach(|| on_text(&self.engine, text, at, given))?
            }
            Err(_) => on_object(&self.engine, &Object(event.clone()), at, given)?,
        };
        Ok(json.into_bytes())
    }
}

/// A copy of a state. See `_native.pyi`.
#[pyclass(frozen, name = "Frozen", module = "tidegate._native")]
pub(crate) struct PyFrozen {
    state: FrozenState,
    engine: Py<PyEngine>,
}

#[pymethods]
impl PyFrozen {
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a frozen state can't be pickled or copied: keep its `snapshot()`",
        ))
    }

    fn snapshot(&self, py: Python<'_>) -> Vec<u8> {
        let engine = &self.engine.get().engine;
        py.detach(|| engine.save(&self.state)).into_bytes()
    }

    fn write(&self, py: Python<'_>, take: Py<PyAny>) -> PyResult<()> {
        let engine = &self.engine.get().engine;
        py.detach(|| {
            engine.write(&self.state, |piece| {
                Python::attach(|py| take.call1(py, (PyBytes::new(py, piece.as_bytes()),)).map(drop))
            })
        })
    }
}

impl Drop for PyFrozen {
    fn drop(&mut self) {
        if self.state.len() > KEYS_WORTH_A_THREAD {
            drop_aside(std::mem::take(&mut self.state));
        }
    }
}

/// An event in Python objects.
struct Object<'py>(Bound<'py, PyAny>);

impl EventSource for Object<'_> {
    type Error = Error;

    fn read<'a>(
        &'a self,
        layout: &Layout,
        arena: &'a Bump,
        limits: &Limits,
    ) -> Result<RawEvent<'a>> {
        read_whole_event(&self.0, layout, arena, limits)
    }

    fn refused(&self, error: EventError) -> Error {
        error.into()
    }
}

/// Nanoseconds since 1970; a time out of range counts as the nearer end.
#[derive(Clone, Copy)]
struct Received(i64);

impl<'py> FromPyObject<'_, 'py> for Received {
    type Error = PyErr;

    fn extract(time: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let time = time.cast::<PyInt>()?;
        let nearer_end = || Ok(if time.lt(0)? { 0 } else { i64::MAX });
        time.extract().or_else(|_| nearer_end()).map(Self)
    }
}
