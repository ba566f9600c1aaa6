//! The compiled rule set and the prepared event.

use std::sync::Arc;

use bumpalo::Bump;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use tidegate_core::constant::write_value;
use tidegate_core::prepared::PreparedRecord;
use tidegate_core::record::Record;
use tidegate_core::user_agent::UserAgents;
use tidegate_core::{ErrorCode, Failure, RuleSet};

use crate::context::{read_bytes, read_record};
use crate::convert::to_python;
use crate::error::{
    evaluation_error, event_error, foreign_context, no_such_rule, program_error, too_many_parts,
};
use crate::event::user_agents;

/// Fewer rules than this are done sooner than the interpreter is let go.
const RULES_WORTH_A_DETACH: usize = 32;

/// VALUE as JSON, or a code and span; and the cost.
type WireOutcome<'py> =
    (Option<Bound<'py, PyBytes>>, Option<&'static str>, Option<(u32, u32)>, u64);

/// Programs compiled from a bundle. See `_native.pyi`.
#[pyclass(frozen, name = "RuleSet", module = "tidegate._native")]
pub(crate) struct PyRuleSet {
    rules: Arc<RuleSet>,
    ids: Vec<Py<PyString>>,
    user_agents: Option<&'static UserAgents>,
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
    fn new(py: Python<'_>, bundle: &[u8]) -> PyResult<Self> {
        let rules = py.detach(|| RuleSet::from_json(bundle));
        let rules = rules.map_err(|error| program_error(py, error))?;
        let ids = rules.ids().iter().map(|id| PyString::new(py, id).unbind()).collect();
        let user_agents = user_agents(py, rules.layout())?;
        Ok(Self { rules: Arc::new(rules), ids, user_agents })
    }

    fn __len__(&self) -> usize {
        self.ids.len()
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
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
        let py = context.py();
        let matches = match context.cast::<PyBytes>() {
            Ok(bytes) if self.ids.len() >= RULES_WORTH_A_DETACH => {
                let bytes = bytes.as_bytes();
                py.detach(|| {
                    let arena = Bump::new();
                    let record = read_bytes(bytes, &self.rules, self.user_agents, &arena)?;
                    Ok(Matches::of(&self.rules, &record, errors))
                })
                .map_err(|error| event_error(py, error))?
            }
            _ => {
                self.with_record(context, |record| Ok(Matches::of(&self.rules, record, errors)))?
            }
        };
        let id = |index: &usize| self.ids.get(*index).map(|id| id.bind(py));
        let matched = PyList::new(py, matches.matched.iter().filter_map(id).collect::<Vec<_>>())?;
        let failed = PyDict::new(py);
        for (index, code) in &matches.failed {
            failed.set_item(id(index), code.as_str())?;
        }
        Ok((matched, failed))
    }

    fn prepare(&self, context: &Bound<'_, PyAny>) -> PyResult<PyPrepared> {
        self.with_record(context, |record| {
            let record = PreparedRecord::new(record, self.rules.layout());
            Ok(PyPrepared { rules: Arc::clone(&self.rules), record })
        })
    }
}

impl PyRuleSet {
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
        let arena = Bump::new();
        let record = read_record(context, &self.rules, self.user_agents, &arena)?;
        run(&record)
    }
}

/// The rules that hold and, when asked for, those that are errors.
struct Matches {
    matched: Vec<usize>,
    failed: Vec<(usize, ErrorCode)>,
}

impl Matches {
    fn of<'a>(rules: &'a RuleSet, record: &Record<'a>, errors: bool) -> Self {
        let mut matches = Self { matched: Vec::new(), failed: Vec::new() };
        rules.test_all(record, |index, outcome| match outcome {
            Ok(true) => matches.matched.push(index),
            Ok(false) => {}
            Err(failure) if errors => matches.failed.push((index, failure.code)),
            Err(_) => {}
        });
        matches
    }
}
