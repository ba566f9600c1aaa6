//! The compiled rule set and the prepared event.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PySequence, PyString};
use tidegate_core::event::prepared::PreparedRecord;
use tidegate_core::event::record::Record;
use tidegate_core::event::user_agent::UserAgents;
use tidegate_core::program::constant::write_value;
use tidegate_core::{ErrorCode, EventError, Failure, RuleSet};

use crate::arena::with_arena;
use crate::background_drop::drop_aside;
use crate::classes::context::read_record;
use crate::classes::matches::matches;
use crate::convert::error::{
    change_error, evaluation_error, event_error, foreign_context, is_event_error, no_such_rule,
    program_error, too_many_parts,
};
use crate::convert::event::user_agents;
use crate::convert::value::to_python;

/// Fewer rules than this take less time than releasing the interpreter lock.
const RULES_WORTH_A_DETACH: usize = 32;
/// A set of fewer rules is dropped at once.
const RULES_WORTH_A_THREAD: usize = 1_000;
/// A set of at most this number of rules keeps all ids as objects. Of a larger one they would
/// be seen in the time of the first answer, and in memory.
const FEW: usize = 2048;
/// An answer is long that names more rules than this, and this part of all rules.
const LONG: usize = 64;
const LONG_PART: usize = 16;

/// VALUE as JSON, or a code and span; and the cost.
type WireOutcome<'py> =
    (Option<Bound<'py, PyBytes>>, Option<&'static str>, Option<(u32, u32)>, u64);

/// Programs compiled from a bundle. See `_native.pyi`.
#[pyclass(frozen, name = "RuleSet", module = "tidegate._native")]
pub(crate) struct PyRuleSet {
    pub(crate) rules: Arc<RuleSet>,
    pub(crate) user_agents: Option<&'static UserAgents>,
    /// All ids, kept since the first answer, or the first long one where rules are many.
    ids: PyOnceLock<Box<[Py<PyString>]>>,
}

/// An event encoded for one rule set.
#[pyclass(frozen, name = "Prepared", module = "tidegate._native")]
pub(crate) struct PyPrepared {
    rules: Arc<RuleSet>,
    record: PreparedRecord,
}

#[pymethods]
impl PyRuleSet {
    #[new]
    #[pyo3(signature = (bundle, sample = Vec::new()))]
    fn new(py: Python<'_>, bundle: &[u8], sample: Vec<PyBackedBytes>) -> PyResult<Self> {
        let rules = py.detach(|| RuleSet::from_json(bundle));
        let mut rules = rules.map_err(|error| program_error(py, error))?;
        let user_agents = user_agents(py, rules.layout())?;
        if !sample.is_empty() {
            let events: Vec<&[u8]> = sample.iter().map(|event| &**event).collect();
            rules = py.detach(|| rules.trained(&events, user_agents));
        }
        Ok(Self { rules: Arc::new(rules), user_agents, ids: PyOnceLock::new() })
    }

    /// The set with the programs of a bundle in the place of those with their ids.
    fn with_changes(
        &self,
        py: Python<'_>,
        bundle: &[u8],
        removed: Vec<PyBackedStr>,
    ) -> PyResult<Self> {
        let removed: Vec<&str> = removed.iter().map(|id| &**id).collect();
        let rules = py.detach(|| self.rules.with_changes(bundle, &removed));
        let rules = rules.map_err(|error| change_error(py, error))?;
        let user_agents = user_agents(py, rules.layout())?;
        Ok(Self { rules: Arc::new(rules), user_agents, ids: PyOnceLock::new() })
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, (0..self.rules.len()).map(|index| self.rules.id(index)))
    }

    fn __len__(&self) -> usize {
        self.rules.len()
    }

    fn evaluate<'py>(
        &self,
        index: usize,
        context: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = context.py();
        self.with_record(context, |record| {
            let outcome = self.rules.outcome(index, record).ok_or_else(|| no_such_rule(index))?;
            match outcome.result {
                Ok(value) => to_python(py, &value),
                Err(failure) => Err(evaluation_error(py, failure)),
            }
        })
    }

    fn outcome<'py>(
        &self,
        index: usize,
        context: &Bound<'py, PyAny>,
    ) -> PyResult<WireOutcome<'py>> {
        let py = context.py();
        self.with_record(context, |record| {
            let outcome = self.rules.outcome(index, record).ok_or_else(|| no_such_rule(index))?;
            Ok(match outcome.result {
                Ok(value) => {
                    let wire = write_value(&value).ok_or_else(too_many_parts)?;
                    (Some(PyBytes::new(py, wire.as_bytes())), None, None, outcome.cost)
                }
                Err(Failure { code, span }) => {
                    (None, Some(code.as_str()), Some((span.start, span.end)), outcome.cost)
                }
            })
        })
    }

    #[pyo3(signature = (context, errors = false))]
    fn r#match<'py>(
        &self,
        context: &Bound<'py, PyAny>,
        errors: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = context.py();
        let found = match context.cast::<PyBytes>() {
            Ok(bytes) if self.rules.len() >= RULES_WORTH_A_DETACH => {
                let bytes = bytes.as_bytes();
                py.detach(|| {
                    with_arena(|arena| {
                        let record = self.rules.read(bytes, self.user_agents, arena)?;
                        Ok(Found::of(&self.rules, &record, errors))
                    })
                })
                .map_err(|error| event_error(py, error))?
            }
            _ => self.with_record(context, |record| Ok(Found::of(&self.rules, record, errors)))?,
        };
        self.shown(py, &found)
    }

    #[pyo3(signature = (contexts, errors = false))]
    fn match_batch<'py>(
        &self,
        contexts: &Bound<'py, PySequence>,
        errors: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = contexts.py();
        // Others may change a list while the interpreter is released, but no tuple.
        let contexts = contexts.to_tuple()?;
        let texts = contexts.iter_borrowed().map(|context| context.extract());
        let Ok(texts) = texts.collect::<Result<Vec<&[u8]>, _>>() else {
            let each = contexts.iter().map(|context| self.r#match(&context, errors));
            let each = each.map(|answer| answer.or_else(|error| refused(py, error)));
            return PyList::new(py, each.collect::<PyResult<Vec<_>>>()?);
        };
        let read = |text: &&[u8]| {
            with_arena(|arena| {
                let record = self.rules.read(text, self.user_agents, arena)?;
                Ok(Found::of(&self.rules, &record, errors))
            })
        };
        let found: Vec<Result<Found, EventError>> = py.detach(|| texts.iter().map(read).collect());
        let answers = found.into_iter().map(|found| match found {
            Ok(found) => self.shown(py, &found),
            Err(error) => Ok(event_error(py, error).into_value(py).into_bound(py).into_any()),
        });
        PyList::new(py, answers.collect::<PyResult<Vec<_>>>()?)
    }

    /// What the index is made of.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.rules.report();
        let always = PyDict::new(py);
        for unindexed in &report.unindexed {
            always.set_item(self.id(unindexed.rule), unindexed.reason.as_str())?;
        }
        let stats = PyDict::new(py);
        stats.set_item("rules", report.rules)?;
        stats.set_item("conditions", report.conditions)?;
        stats.set_item("shared", report.shared)?;
        stats.set_item("searched", report.searched)?;
        stats.set_item("indexed", report.rules.saturating_sub(report.unindexed.len()))?;
        stats.set_item("always", always)?;
        Ok(stats)
    }

    fn prepare(&self, context: &Bound<'_, PyAny>) -> PyResult<PyPrepared> {
        self.with_record(context, |record| {
            let record = PreparedRecord::new(record, self.rules.layout());
            Ok(PyPrepared { rules: Arc::clone(&self.rules), record })
        })
    }
}

impl Drop for PyRuleSet {
    fn drop(&mut self) {
        if self.rules.len() > RULES_WORTH_A_THREAD {
            drop_aside(Arc::clone(&self.rules));
        }
    }
}

impl PyRuleSet {
    fn id(&self, index: u32) -> Option<&str> {
        self.rules.id(index as usize)
    }

    fn shown<'py>(&self, py: Python<'py>, found: &Found) -> PyResult<Bound<'py, PyAny>> {
        let failed = PyDict::new(py);
        for (index, code) in &found.failed {
            failed.set_item(self.id(*index), code.as_str())?;
        }
        matches(self.names(py, &found.matched)?, failed)
    }

    /// The ids of some rules; those of few rules and of a long answer are made once for all
    /// answers.
    fn names<'py>(&self, py: Python<'py>, rules: &[u32]) -> PyResult<Bound<'py, PyList>> {
        if self.rules.len() > FEW && rules.len() < LONG.max(self.rules.len() / LONG_PART) {
            let names = rules.iter().filter_map(|index| self.id(*index));
            return PyList::new(py, names.collect::<Vec<_>>());
        }
        let ids = self.ids.get_or_init(py, || self.all_names(py));
        PyList::new(py, rules.iter().map(|rule| Some(ids.get(*rule as usize)?.bind(py))))
    }

    /// The ids of all rules, by the number of the rule.
    fn all_names(&self, py: Python<'_>) -> Box<[Py<PyString>]> {
        let ids = (0..self.rules.len()).filter_map(|index| self.rules.id(index));
        ids.map(|id| PyString::new(py, id).unbind()).collect()
    }

    /// Hands over the record of a context.
    fn with_record<T>(
        &self,
        context: &Bound<'_, PyAny>,
        run: impl FnOnce(&Record<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        if let Ok(prepared) = context.cast_exact::<PyPrepared>() {
            let prepared = prepared.get();
            if !Arc::ptr_eq(&prepared.rules, &self.rules) {
                return Err(foreign_context());
            }
            return run(prepared.record.record());
        }
        with_arena(|arena| run(&read_record(context, &self.rules, self.user_agents, arena)?))
    }
}

/// The refusal of an event as an object; any other error stays one.
fn refused<'py>(py: Python<'py>, error: PyErr) -> PyResult<Bound<'py, PyAny>> {
    if is_event_error(py, &error)? {
        return Ok(error.into_value(py).into_bound(py).into_any());
    }
    Err(error)
}

/// The rules that hold and, when asked for, those that are errors.
struct Found {
    matched: Vec<u32>,
    failed: Vec<(u32, ErrorCode)>,
}

impl Found {
    /// Every program is evaluated only where errors are asked for.
    fn of<'a>(rules: &'a RuleSet, record: &Record<'a>, errors: bool) -> Self {
        if !errors {
            return Self { matched: rules.matches(record), failed: Vec::new() };
        }
        let mut found = Self { matched: Vec::new(), failed: Vec::new() };
        rules.test_all(record, |index, outcome| match outcome {
            Ok(true) => found.matched.push(index),
            Ok(false) => {}
            Err(failure) => found.failed.push((index, failure.code)),
        });
        found
    }
}
