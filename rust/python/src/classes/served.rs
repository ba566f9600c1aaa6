//! One decision in the parts that a service needs.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tidegate_core::definitions::document::Mode;
use tidegate_core::service::served::Served;

use crate::classes::engine::PyEngine;

/// A decision that was counted. See `_native.pyi`.
#[pyclass(frozen, name = "Served", module = "tidegate._native")]
pub(crate) struct PyServed {
    served: Served,
    /// Whose definitions the numbers are of.
    engine: Py<PyEngine>,
}

impl PyServed {
    pub(crate) fn new(served: Served, engine: Py<PyEngine>) -> Self {
        Self { served, engine }
    }

    fn answered(&self) -> Option<(&str, Mode)> {
        let (policy, mode) = self.served.answered(self.engine.get().definitions())?;
        Some((&policy.slug, mode))
    }
}

#[pymethods]
impl PyServed {
    #[getter]
    fn answer<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.served.answer.as_bytes())
    }

    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.served.record.as_bytes())
    }

    #[getter]
    fn effects<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.served.effects.as_bytes())
    }

    #[getter]
    fn action<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        let action = match self.answered() {
            Some((_, Mode::Challenge)) => "challenge",
            Some((_, Mode::Block)) => "block",
            Some((_, Mode::Monitor)) | None => "allow",
        };
        PyString::intern(py, action)
    }

    #[getter]
    fn reason<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, self.served.reason.as_str())
    }

    #[getter]
    fn policy(&self) -> Option<&str> {
        self.answered().map(|(policy, _)| policy)
    }

    #[getter]
    fn mode(&self) -> Option<&str> {
        self.answered().map(|(_, mode)| mode.as_str())
    }

    #[getter]
    fn entity_id(&self) -> Option<String> {
        self.served.entity_ids.first().map(ToString::to_string)
    }

    #[getter]
    fn entity_ids(&self) -> Vec<String> {
        self.served.entity_ids.iter().map(ToString::to_string).collect()
    }

    #[getter]
    fn observed_at(&self) -> i64 {
        self.served.time
    }

    #[getter]
    fn path(&self) -> Option<&str> {
        self.served.path.as_deref()
    }

    #[getter]
    fn fired(&self) -> Vec<(&str, &str)> {
        let fired = self.served.fired(self.engine.get().definitions());
        fired.map(|(policy, mode)| (&*policy.slug, mode.as_str())).collect()
    }
}
