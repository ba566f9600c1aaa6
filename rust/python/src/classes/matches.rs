//! `tidegate.Matches`, the answer to each match.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::convert::error::ImportedClass;

static MATCHES: ImportedClass = ImportedClass::new("tidegate.evaluation.matches", "Matches");

/// The named tuple of ids that match and errors by id.
pub(crate) fn matches<'py>(
    matched: Bound<'py, PyList>,
    errors: Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    MATCHES.get(matched.py())?.call1((matched, errors))
}
