//! The extension module `tidegate._native`: a skin over `tidegate-core`.

mod context;
mod convert;
mod encode;
mod engine;
mod error;
mod event;
mod program;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<engine::PyEngine>()?;
    module.add_class::<program::PyRuleSet>()?;
    module.add_class::<program::PyPrepared>()?;
    module.add_function(wrap_pyfunction!(encode::encode_event, module)?)
}
