//! What is known of an event before it is decided on.

use pyo3::prelude::*;
use tidegate_core::envelope::Envelope;
use tidegate_core::limits::Limits;

use crate::error::event_error;

/// Members that are about the event. See `_native.pyi`.
#[pyclass(frozen, name = "Envelope", module = "tidegate._native")]
pub(crate) struct PyEnvelope(Envelope);

#[pymethods]
impl PyEnvelope {
    #[getter]
    fn idempotency_key(&self) -> Option<&str> {
        self.0.idempotency_key.as_deref()
    }

    #[getter]
    fn tenant_id(&self) -> Option<&str> {
        self.0.tenant_id.as_deref()
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    #[getter]
    fn empty(&self) -> bool {
        self.0.is_empty
    }
}

/// The envelope of an event in JSON. See `_native.pyi`.
#[pyfunction]
pub(crate) fn envelope(py: Python<'_>, body: &[u8]) -> PyResult<PyEnvelope> {
    let envelope = Envelope::read(body, &Limits::default());
    envelope.map(PyEnvelope).map_err(|error| event_error(py, error))
}
