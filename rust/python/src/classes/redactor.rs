//! What may be kept of an event.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidegate_core::redact::Redactor;

use crate::convert::error::event_error;

/// Replaces secrets by keyed hashes. See `_native.pyi`.
#[pyclass(frozen, name = "Redactor", module = "tidegate._native")]
pub(crate) struct PyRedactor(Arc<Redactor>);

impl PyRedactor {
    pub(crate) fn redactor(&self) -> &Arc<Redactor> {
        &self.0
    }
}

#[pymethods]
impl PyRedactor {
    #[new]
    fn new(py: Python<'_>, patterns: Vec<String>, key: &[u8]) -> PyResult<Self> {
        let redactor = py.detach(|| Redactor::new(&patterns, key));
        redactor.map(Arc::new).map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn link(&self, text: &str) -> String {
        self.0.link(text).into_owned()
    }

    fn text(&self, name: &str, text: &str) -> String {
        self.0.text(name, text).into_owned()
    }

    fn secret(&self, name: &str, text: &str) -> String {
        self.0.secret(name, text)
    }

    fn redact<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let redacted = self.0.redact(body).map_err(|error| event_error(py, error))?;
        Ok(PyBytes::new(py, redacted.as_bytes()))
    }
}
