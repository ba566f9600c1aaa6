//! The engine class: definitions, state, decisions as JSON.

use std::sync::Arc;

use bumpalo::Bump;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PySequence};
use tidegate_core::EventError;
use tidegate_core::decision::budget::{Budget, Ends, Spent};
use tidegate_core::definitions::Definitions;
use tidegate_core::engine::{Engine, EventSource, ReferenceData};
use tidegate_core::event::RawEvent;
use tidegate_core::event::geo::AddressDatabases;
use tidegate_core::event::layout::Layout;
use tidegate_core::event::strictness::Strictness;
use tidegate_core::event::user_agent::UserAgents;
use tidegate_core::state::frozen::FrozenState;
use tidegate_core::value::limits::Limits;

use crate::background_drop::drop_aside;
use crate::classes::calls::PyCalls;
use crate::classes::redactor::PyRedactor;
use crate::classes::served::PyServed;
use crate::convert::error::{effects_error, event_error, program_error, snapshot_error};
use crate::convert::event::{read_event, read_return_url, read_top, user_agents};

/// Of the search of the index, of entities, of actions and policies.
type Units = (u64, u64, u64);

/// A state of fewer keys is dropped at once.
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
        bundle, databases = Vec::new(), sample = Vec::new(), redactor = None, events = "any"
    ))]
    fn new(
        py: Python<'_>,
        bundle: &[u8],
        databases: Vec<Vec<u8>>,
        sample: Vec<PyBackedBytes>,
        redactor: Option<&Bound<'_, PyRedactor>>,
        events: &str,
    ) -> PyResult<Self> {
        let strictness = Strictness::named(events)
            .ok_or_else(|| PyValueError::new_err(format!("there is no strictness `{events}`")))?;
        let (definitions, user_agents) = read_definitions(py, bundle, &sample, redactor)?;
        let databases = (!databases.is_empty()).then(|| AddressDatabases::new(databases));
        let databases =
            databases.transpose().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let reference_data = ReferenceData { user_agents, databases: databases.map(Arc::new) };
        Ok(Self { engine: Engine::new(definitions, reference_data).with_strictness(strictness) })
    }

    #[pyo3(signature = (event, received_at, ended_at = None))]
    fn decide_record<'py>(
        &self,
        event: &Bound<'py, PyAny>,
        received_at: Received,
        ended_at: Option<Vec<PyBackedStr>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let within = (received_at, self.budget(ended_at)?);
        self.run(event, within, Engine::record, Engine::record)
    }

    fn decide_json<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        received_at: Received,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let answer = py.detach(|| self.engine.answer(body, received_at.0));
        let answer = answer.map_err(|error| event_error(py, error))?;
        Ok(PyBytes::new(py, answer.as_bytes()))
    }

    fn serve(
        slf: &Bound<'_, Self>,
        body: &[u8],
        received_at: Received,
        decision_id: &str,
    ) -> PyResult<PyServed> {
        let py = slf.py();
        let engine = &slf.get().engine;
        let served = py.detach(|| engine.serve(body, received_at.0, decision_id));
        let served = served.map_err(|error| event_error(py, error))?;
        Ok(PyServed::new(served, slf.clone().unbind()))
    }

    fn read_calls(
        slf: &Bound<'_, Self>,
        bodies: Vec<PyBackedBytes>,
        is_runtime: Vec<bool>,
        secret: &[u8],
    ) -> PyResult<PyCalls> {
        PyCalls::new(slf, bodies, is_runtime, secret)
    }

    fn apply_effects(&self, py: Python<'_>, effects: &Bound<'_, PyAny>) -> PyResult<()> {
        let entries = effects.try_iter()?.map(|entry| Ok(entry?.extract::<PyBackedBytes>()?));
        let entries = entries.collect::<PyResult<Vec<_>>>()?;
        let applied = py.detach(|| self.engine.apply_effects(entries.iter().map(|entry| &**entry)));
        applied.map_err(|error| effects_error(py, error))
    }

    fn decide_batch<'py>(
        &self,
        bodies: &Bound<'py, PySequence>,
        received_at: Received,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = bodies.py();
        // Others may change a list while the interpreter lock is released, but no tuple.
        let bodies = bodies.to_tuple()?;
        let texts = bodies.iter_borrowed().map(|body| body.extract());
        let texts: Vec<&[u8]> = texts.collect::<Result<_, _>>()?;
        let answers = py.detach(|| self.engine.answer_batch(&texts, received_at.0));
        let (mut last, mut bytes) = (Arc::default(), PyBytes::new(py, b""));
        let objects = answers.into_iter().map(|answer| match answer {
            Ok(answer) => {
                if !Arc::ptr_eq(&answer, &last) {
                    bytes = PyBytes::new(py, answer.as_bytes());
                    last = answer;
                }
                bytes.clone().into_any()
            }
            Err(error) => event_error(py, error).into_value(py).into_bound(py).into_any(),
        });
        PyList::new(py, objects)
    }

    #[pyo3(signature = (event, received_at, ended_at = None))]
    fn peek<'py>(
        &self,
        event: &Bound<'py, PyAny>,
        received_at: Received,
        ended_at: Option<Vec<PyBackedStr>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let within = (received_at, self.budget(ended_at)?);
        self.run(event, within, Engine::peek, Engine::peek)
    }

    fn work_of(&self, py: Python<'_>, body: &[u8], received_at: Received) -> PyResult<Units> {
        let spent = py.detach(|| self.engine.work_of(body, received_at.0));
        let Spent { search, entities, walk } = spent.map_err(|error| event_error(py, error))?;
        Ok((search, entities, walk))
    }

    #[pyo3(signature = (event, received_at, ended_at = None))]
    fn entity_states<'py>(
        &self,
        event: &Bound<'py, PyAny>,
        received_at: Received,
        ended_at: Option<Vec<PyBackedStr>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let within = (received_at, self.budget(ended_at)?);
        self.run(event, within, Engine::entity_states, Engine::entity_states)
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let snapshot = py.detach(|| self.engine.snapshot());
        PyBytes::new(py, snapshot.as_bytes())
    }

    fn restore(&self, py: Python<'_>, snapshot: &[u8]) -> PyResult<()> {
        py.detach(|| self.engine.restore(snapshot)).map_err(|error| snapshot_error(py, &error))
    }

    #[pyo3(signature = (bundle, sample = Vec::new(), redactor = None))]
    fn with_definitions(
        &self,
        py: Python<'_>,
        bundle: &[u8],
        sample: Vec<PyBackedBytes>,
        redactor: Option<&Bound<'_, PyRedactor>>,
    ) -> PyResult<Self> {
        let (definitions, user_agents) = read_definitions(py, bundle, &sample, redactor)?;
        let engine = py.detach(|| self.engine.succeeded_by(definitions, user_agents));
        let admitted = engine.map(|engine| engine.with_strictness(self.engine.strictness()));
        admitted.map(|engine| Self { engine }).map_err(|error| snapshot_error(py, &error))
    }

    fn with_change(&self, py: Python<'_>, change: &[u8]) -> PyResult<Option<Self>> {
        let changed = py.detach(|| self.engine.definitions().changed(change));
        let Some(definitions) = changed.map_err(|error| program_error(py, error))? else {
            return Ok(None);
        };
        let user_agents = user_agents(py, &definitions.layout)?;
        let engine = py.detach(|| self.engine.succeeded_by(definitions, user_agents));
        let engine = engine.map_err(|error| snapshot_error(py, &error))?;
        Ok(Some(Self { engine }))
    }

    /// Rules of the index that are in a layer beside its base, or gone from it.
    fn layered(&self) -> usize {
        self.engine.definitions().plan().layered()
    }

    fn rebuild(&self, py: Python<'_>) {
        py.detach(|| self.engine.definitions().rebuild());
    }

    fn freeze(slf: &Bound<'_, Self>) -> PyFrozen {
        let engine = &slf.get().engine;
        PyFrozen { state: slf.py().detach(|| engine.freeze()), engine: slf.clone().unbind() }
    }

    fn active_mitigations<'py>(
        &self,
        py: Python<'py>,
        at: Received,
        limit: usize,
        after: Option<(String, String, String, String)>,
    ) -> Bound<'py, PyBytes> {
        let after = after.as_ref().map(|(definition, key, policy, clause)| {
            (definition.as_str(), key.as_str(), policy.as_str(), clause.as_str())
        });
        let active = py.detach(|| self.engine.active_mitigations(at.0, limit, after));
        PyBytes::new(py, active.as_bytes())
    }

    fn lift<'py>(
        &self,
        py: Python<'py>,
        definition: &str,
        key: &[u8],
        policy: &str,
        clause: Option<&str>,
        at: Received,
    ) -> Option<Bound<'py, PyBytes>> {
        let effects = py.detach(|| self.engine.lift(definition, key, policy, clause, at.0));
        effects.map(|effects| PyBytes::new(py, effects.as_bytes()))
    }

    fn entity_state<'py>(
        &self,
        py: Python<'py>,
        definition: &str,
        key: &[u8],
        at: Received,
    ) -> Option<Bound<'py, PyBytes>> {
        let state = py.detach(|| self.engine.entity_state(definition, key, at.0));
        state.map(|state| PyBytes::new(py, state.as_bytes()))
    }

    fn find_entity<'py>(&self, py: Python<'py>, entity_id: &str) -> Option<Bound<'py, PyBytes>> {
        let entity = py.detach(|| self.engine.find_entity(entity_id));
        entity.map(|entity| PyBytes::new(py, entity.as_bytes()))
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

/// Definitions, trained on events if there are some, and what they need to read events.
fn read_definitions(
    py: Python<'_>,
    bundle: &[u8],
    sample: &[PyBackedBytes],
    redactor: Option<&Bound<'_, PyRedactor>>,
) -> PyResult<(Definitions, Option<&'static UserAgents>)> {
    let definitions = py.detach(|| Definitions::from_json(bundle));
    let redactor = redactor.map(|redactor| Arc::clone(redactor.get().redactor()));
    let definitions = definitions.map_err(|error| program_error(py, error))?;
    let mut definitions = definitions.redacted_by(redactor);
    let user_agents = user_agents(py, &definitions.layout)?;
    if !sample.is_empty() {
        let events: Vec<&[u8]> = sample.iter().map(|event| &**event).collect();
        definitions = py.detach(|| definitions.trained(&events, user_agents));
    }
    Ok((definitions, user_agents))
}

impl PyEngine {
    pub(crate) fn definitions(&self) -> &Definitions {
        self.engine.definitions()
    }

    /// The budget of a decision: its own, or where it is known to have ended.
    fn budget(&self, ended_at: Option<Vec<PyBackedStr>>) -> PyResult<Budget> {
        let Some(places) = ended_at else { return Ok(Budget::Own) };
        let ends = Ends::at(self.definitions(), places.iter().map(|place| &**place));
        ends.map(Budget::Known).ok_or_else(|| {
            let places: Vec<&str> = places.iter().map(|place| &**place).collect();
            PyValueError::new_err(format!("not all are places of the definitions: {places:?}"))
        })
    }

    /// Runs an operation on JSON text without the interpreter, on any other event
    /// with it.
    fn run<'py>(
        &self,
        event: &Bound<'py, PyAny>,
        (received_at, budget): (Received, Budget),
        on_text: impl FnOnce(&Engine, &[u8], i64, Budget) -> Result<String, EventError> + Send,
        on_object: impl FnOnce(&Engine, &Object<'py>, i64, Budget) -> PyResult<String>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = event.py();
        let json = match event.cast::<PyBytes>() {
            Ok(text) => {
                let text = text.as_bytes();
                let json = py.detach(|| on_text(&self.engine, text, received_at.0, budget));
                json.map_err(|error| event_error(py, error))?
            }
            Err(_) => on_object(&self.engine, &Object(event.clone()), received_at.0, budget)?,
        };
        Ok(PyBytes::new(py, json.as_bytes()))
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
    fn snapshot<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let engine = &self.engine.get().engine;
        let snapshot = py.detach(|| engine.save(&self.state));
        PyBytes::new(py, snapshot.as_bytes())
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
    type Error = PyErr;

    fn read<'a>(
        &'a self,
        layout: &Layout,
        arena: &'a Bump,
        limits: &Limits,
    ) -> PyResult<RawEvent<'a>> {
        let mut event = read_event(&self.0, layout, arena, limits)?;
        event.return_url = read_return_url(&self.0, layout, arena, limits)?;
        read_top(&self.0, layout, arena, limits, &mut event)?;
        Ok(event)
    }

    fn refused(&self, error: EventError) -> PyErr {
        event_error(self.0.py(), error)
    }
}

/// Nanoseconds since 1970; what does not fit counts as the nearer end.
#[derive(Clone, Copy)]
struct Received(i64);

impl<'py> FromPyObject<'_, 'py> for Received {
    type Error = PyErr;

    fn extract(time: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let time = time.cast::<PyInt>()?;
        match time.extract() {
            Ok(nanoseconds) => Ok(Self(nanoseconds)),
            Err(_) => Ok(Self(if time.lt(0)? { 0 } else { i64::MAX })),
        }
    }
}
