//! The redactor of events.

use std::sync::Arc;

use pyo3::prelude::*;
use tidegate_core::redact::Redactor;

use crate::convert::error::{Result, value_error};

/// Replaces secrets by keyed hashes. See `_native.pyi`.
#[pyclass(frozen, name = "Redactor", module = "tidegate._native")]
pub(crate) struct PyRedactor(pub(crate) Arc<Redactor>);

#[pymethods]
impl PyRedactor {
    #[new]
    fn new(py: Python<'_>, patterns: Vec<String>, key: &[u8]) -> PyResult<Self> {
        let redactor = py.detach(|| Redactor::new(&patterns, key));
        Ok(Self(Arc::new(redactor.map_err(value_error)?)))
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

    fn redact(&self, body: &[u8]) -> Result<Vec<u8>> {
        Ok(self.0.redact(body)?.into_bytes())
    }
}
