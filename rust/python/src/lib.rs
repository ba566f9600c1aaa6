//! The extension module `tidegate._native`: a skin over `tidegate-core`.

mod context;
mod convert;
mod error;
mod program;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<program::PyRuleSet>()?;
    module.add_class::<program::PyPrepared>()
}
