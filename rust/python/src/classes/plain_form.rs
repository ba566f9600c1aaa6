//! The plain form of a request, with Python's object for each of its targets.

use pyo3::prelude::*;
use tidegate_service::plain_request::{PlainForm, PlainRequest};

/// The target of a request, the API key, the request's own id, its `traceparent`, and the body.
type Read<'d> = (Py<PyAny>, &'d [u8], Option<&'d [u8]>, Option<&'d [u8]>, &'d [u8]);

/// Recognises plain requests. See `_native.pyi`.
#[pyclass(frozen, name = "PlainForm", module = "tidegate._native")]
pub(crate) struct PyPlainForm {
    form: PlainForm,
    meanings: Vec<Py<PyAny>>,
}

#[pymethods]
impl PyPlainForm {
    #[new]
    fn new(targets: Vec<(String, Py<PyAny>)>, max_head: usize, max_body: usize) -> Self {
        let paths: Vec<&str> = targets.iter().map(|(path, _)| &**path).collect();
        let form = PlainForm::new(&paths, max_head, max_body);
        Self { form, meanings: targets.into_iter().map(|(_, meaning)| meaning).collect() }
    }

    fn read<'d>(&self, py: Python<'_>, data: &'d [u8]) -> Option<Read<'d>> {
        let PlainRequest { target, key, id, traceparent, body } = self.form.read(data)?;
        Some((self.meanings.get(target)?.clone_ref(py), key, id, traceparent, body))
    }
}
