//! The compiled rule set and the prepared event.

use std::sync::Arc;

use bumpalo::Bump;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList, PySequence, PyString};
use tidegate_core::event::arena::with_arena;
use tidegate_core::event::prepared::PreparedRecord;
use tidegate_core::event::record::Record;
use tidegate_core::event::strictness::Strictness;
use tidegate_core::event::user_agent::UserAgents;
use tidegate_core::program::constant::write_value;
use tidegate_core::{ErrorCode, Failure, RuleSet};

use crate::background_drop::drop_aside;
use crate::convert::error::{
    Error, ImportedClass, Result, event_error_object, too_many_parts, value_error,
};
use crate::convert::event::{read_event, read_whole_event, user_agents};
use crate::convert::value::to_python;

/// Fewer rules than this take less time than releasing the interpreter lock.
const RULES_WORTH_A_DETACH: usize = 32;
/// A set with fewer rules is dropped immediately.
const RULES_WORTH_A_THREAD: usize = 1_000;
/// A set of at most this number of rules keeps all ids as objects. For larger sets that would cost
/// noticeable memory, and time in the first answer.
const FEW: usize = 2048;
/// An answer is long if it names more rules than this, and more than this part of all rules.
const LONG: usize = 64;
const LONG_PART: usize = 16;

/// The named tuple of ids that match and errors by id.
static MATCHES: ImportedClass = ImportedClass::new("tidegate.evaluation.matches", "Matches");

/// VALUE as JSON, or a code and span; and the cost.
type WireOutcome = (Option<Vec<u8>>, Option<&'static str>, Option<(u32, u32)>, u64);

/// Programs compiled from a bundle. See `_native.pyi`.
#[pyclass(frozen, name = "RuleSet", module = "tidegate._native")]
pub(crate) struct PyRuleSet {
    pub(crate) rules: Arc<RuleSet>,
    pub(crate) user_agents: Option<&'static UserAgents>,
    /// All ids, kept since the first answer, or since the first long one if there are many rules.
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
    fn new(py: Python<'_>, bundle: &[u8], sample: Vec<PyBackedBytes>) -> Result<Self> {
        let mut rules = py.detach(|| RuleSet::from_json(bundle))?;
        if !sample.is_empty() {
            let user_agents = user_agents(py, rules.layout())?;
            let events: Vec<&[u8]> = sample.iter().map(|event| &**event).collect();
            rules = py.detach(|| rules.trained(&events, user_agents));
        }
        Self::of(py, rules)
    }

    fn with_changes(
        &self,
        py: Python<'_>,
        bundle: &[u8],
        removed: Vec<PyBackedStr>,
    ) -> Result<Self> {
        let removed: Vec<&str> = removed.iter().map(|id| &**id).collect();
        Self::of(py, py.detach(|| self.rules.with_changes(bundle, &removed))?)
    }

    fn ids(&self) -> Vec<&str> {
        (0..self.rules.len()).filter_map(|index| self.rules.id(index)).collect()
    }

    fn __len__(&self) -> usize {
        self.rules.len()
    }

    fn evaluate<'py>(
        &self,
        index: usize,
        context: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        self.with_record(context, |record| {
            let outcome = self.rules.outcome(index, record).ok_or_else(|| no_such_rule(index))?;
            Ok(to_python(context.py(), &outcome.result?)?)
        })
    }

    fn outcome(&self, index: usize, context: &Bound<'_, PyAny>) -> Result<WireOutcome> {
        self.with_record(context, |record| {
            let outcome = self.rules.outcome(index, record).ok_or_else(|| no_such_rule(index))?;
            Ok(match outcome.result {
                Ok(value) => {
                    let wire = write_value(&value).ok_or_else(too_many_parts)?;
                    (Some(wire.into_bytes()), None, None, outcome.cost)
                }
                Err(Failure { code, span }) => {
                    (None, Some(code.as_str()), Some((span.start, span.end)), outcome.cost)
                }
            })
        })
    }

    #[pyo3(signature = (context, errors = false))]
    fn r#match<'py>(&self, context: &Bound<'py, PyAny>, errors: bool) -> Result<Bound<'py, PyAny>> {
        Ok(self.as_matches(context.py(), &self.found(context, errors)?)?)
    }

    #[pyo3(signature = (contexts, errors = false))]
    fn match_batch(
        &self,
        contexts: &Bound<'_, PySequence>,
        errors: bool,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let py = contexts.py();
        let answer = |found: Result<Matched>| match found {
            Ok(found) => self.as_matches(py, &found).map(Bound::unbind),
            Err(error) => event_error_object(py, error),
        };
        contexts.try_iter()?.map(|context| answer(self.found(&context?, errors))).collect()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.rules.report();
        let always = report.unindexed.iter().map(|each| (self.id(each.rule), each.reason.as_str()));
        let numbers = [
            ("rules", report.rules),
            ("conditions", report.conditions),
            ("shared", report.shared),
            ("searched", report.searched),
            ("indexed", report.rules.saturating_sub(report.unindexed.len())),
        ];
        let stats = numbers.into_py_dict(py)?;
        stats.set_item("always", always.into_py_dict(py)?)?;
        Ok(stats)
    }

    #[pyo3(signature = (context, events = "any"))]
    fn prepare(&self, context: &Bound<'_, PyAny>, events: &str) -> Result<PyPrepared> {
        let strictness = Strictness::named(events)
            .ok_or_else(|| value_error(format!("there is no strictness `{events}`")))?;
        with_arena(|arena: &Bump| {
            let event = read_whole_event(context, self.rules.layout(), arena, self.rules.limits())?;
            if let Some(error) = strictness.refusal(&event) {
                return Err(error.into());
            }
            let record = self.rules.encode(&event, self.user_agents, arena)?;
            let record = PreparedRecord::new(&record, self.rules.layout());
            Ok(PyPrepared { rules: Arc::clone(&self.rules), record })
        })
    }
}

#[pymethods]
impl PyPrepared {
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a prepared event can't be pickled or copied: keep the event, and call `prepare` again",
        ))
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
    fn of(py: Python<'_>, rules: RuleSet) -> Result<Self> {
        let user_agents = user_agents(py, rules.layout())?;
        Ok(Self { rules: Arc::new(rules), user_agents, ids: PyOnceLock::new() })
    }

    fn id(&self, index: u32) -> Option<&str> {
        self.rules.id(index as usize)
    }

    fn found(&self, context: &Bound<'_, PyAny>, errors: bool) -> Result<Matched> {
        match context.cast::<PyBytes>() {
            Ok(text) if self.rules.len() >= RULES_WORTH_A_DETACH => {
                let text = text.as_bytes();
                context.py().detach(|| {
                    with_arena(|arena| {
                        let record = self.rules.read(text, self.user_agents, arena)?;
                        Ok(matched(&self.rules, &record, errors))
                    })
                })
            }
            _ => self.with_record(context, |record| Ok(matched(&self.rules, record, errors))),
        }
    }

    fn as_matches<'py>(
        &self,
        py: Python<'py>,
        (matched, failed): &Matched,
    ) -> PyResult<Bound<'py, PyAny>> {
        let failed = failed.iter().map(|(index, code)| (self.id(*index), code.as_str()));
        let failed = failed.into_py_dict(py)?;
        MATCHES.get(py)?.call1((self.names(py, matched)?, failed))
    }

    /// The ids of some rules; objects for few rules and for a long answer are made once for all
    /// answers.
    fn names<'py>(&self, py: Python<'py>, rules: &[u32]) -> PyResult<Bound<'py, PyList>> {
        if self.rules.len() > FEW && rules.len() < LONG.max(self.rules.len() / LONG_PART) {
            let names = rules.iter().filter_map(|index| self.id(*index));
            return PyList::new(py, names.collect::<Vec<_>>());
        }
        let ids = self.ids.get_or_init(py, || {
            self.ids().into_iter().map(|id| PyString::new(py, id).unbind()).collect()
        });
        PyList::new(py, rules.iter().map(|rule| Some(ids.get(*rule as usize)?.bind(py))))
    }

    /// Calls a function with the record of a context.
    fn with_record<T>(
        &self,
        context: &Bound<'_, PyAny>,
        run: impl FnOnce(&Record<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Ok(prepared) = context.cast_exact::<PyPrepared>() {
            let prepared = prepared.get();
            if !Arc::ptr_eq(&prepared.rules, &self.rules) {
                let foreign = "the context was prepared for another rule set";
                return Err(value_error(foreign).into());
            }
            return run(prepared.record.record());
        }
        with_arena(|arena: &Bump| {
            let event = read_event(context, self.rules.layout(), arena, self.rules.limits())?;
            run(&self.rules.encode(&event, self.user_agents, arena)?)
        })
    }
}

/// The error for a rule number that the set doesn't have.
fn no_such_rule(index: usize) -> Error {
    PyIndexError::new_err(format!("there is no rule {index}")).into()
}

/// The rules that hold and, when asked for, those that are errors.
type Matched = (Vec<u32>, Vec<(u32, ErrorCode)>);

/// Every program is evaluated only where errors are asked for.
fn matched<'a>(rules: &'a RuleSet, record: &Record<'a>, errors: bool) -> Matched {
    if errors { rules.test_all(record) } else { (rules.matches(record), Vec::new()) }
}
