//! `tidegate._native.LearnedNames`: the names in a store's log.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use tidegate_service::catalog::{LearnedNames, distinct};

/// The names of one tenant in a part of the log. See `_native.pyi`.
#[pyclass(name = "LearnedNames", module = "tidegate._native")]
pub(crate) struct PyLearnedNames {
    names: LearnedNames,
}

#[pymethods]
impl PyLearnedNames {
    #[new]
    fn new(known: Vec<String>, most: usize) -> Self {
        Self { names: LearnedNames::new(&known, most) }
    }

    fn learn(&mut self, py: Python<'_>, lines: PyBackedBytes) -> PyResult<usize> {
        py.detach(|| {
            let lines = str::from_utf8(&lines).map_err(|error| error.to_string())?;
            self.names.learn(lines);
            Ok(self.names.bytes())
        })
        .map_err(PyValueError::new_err::<String>)
    }

    fn names(&self) -> Vec<String> {
        self.names.names()
    }

    fn rows(&self, py: Python<'_>, stored: Vec<(PyBackedStr, PyBackedBytes)>) -> PyResult<String> {
        let stored = stored.iter().map(|(name, sketch)| (&**name, &**sketch));
        py.detach(|| self.names.rows(stored))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[staticmethod]
    fn distinct(sketch: PyBackedBytes) -> Option<u64> {
        distinct(&sketch)
    }
}
