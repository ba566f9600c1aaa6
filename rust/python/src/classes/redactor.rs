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
    #[pyo3(signature = (patterns, key, read = None))]
    fn new(
        py: Python<'_>,
        patterns: Vec<String>,
        key: &[u8],
        read: Option<Vec<Vec<String>>>,
    ) -> PyResult<Self> {
        let redactor = py.detach(|| Redactor::new(&patterns, key)).map_err(value_error)?;
        let redactor = match read {
            Some(paths) => redactor.keeping_only(&paths),
            None => redactor,
        };
        Ok(Self(Arc::new(redactor)))
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
