//! `tidegate.Matches`, the answer to each match.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::ImportedClass;

static MATCHES: ImportedClass = ImportedClass::new("tidegate.evaluation.matches", "Matches");

/// The named tuple of ids that match and errors by id.
#[allow(
    unsafe_code,
    reason = "to call the class takes a tenth of what a match of 1,000 rules does"
)]
pub(crate) fn matches<'py>(
    matched: Bound<'py, PyList>,
    errors: Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = matched.py();
    let class = MATCHES.get(py)?;
    // SAFETY: the class is a subclass of tuple with no members of its own, so that two items are
    // allocated with it, as `tuple.__new__` does; the interpreter is held. The object is new
    // and known here alone, which `PyTuple_SetItem` needs, and each item is set once, with a
    // reference of its own.
    unsafe {
        let tuple = ffi::PyType_GenericAlloc(class.as_type_ptr(), 2);
        let tuple = Bound::from_owned_ptr_or_err(py, tuple)?;
        for (place, item) in [(0, matched.into_any()), (1, errors.into_any())] {
            if ffi::PyTuple_SetItem(tuple.as_ptr(), place, item.into_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(tuple)
    }
}
