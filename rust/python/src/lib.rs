//! The extension module `tidegate._native`: a skin over `tidegate-core`.

mod arena;
mod aside;
mod calls;
mod context;
mod convert;
mod encode;
mod engine;
mod error;
mod event;
mod facts;
mod matches;
mod plain;
mod program;
mod redact;
mod serve;
mod tally;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FACTS", facts::facts(module.py())?)?;
    module.add_class::<engine::PyEngine>()?;
    module.add_class::<engine::PyFrozen>()?;
    module.add_class::<serve::PyServed>()?;
    module.add_class::<calls::PyCalls>()?;
    module.add_class::<calls::PyBlock>()?;
    module.add_class::<plain::PyPlainForm>()?;
    module.add_class::<redact::PyRedactor>()?;
    module.add_class::<program::PyRuleSet>()?;
    module.add_class::<program::PyPrepared>()?;
    module.add_function(wrap_pyfunction!(tally::tally, module)?)?;
    module.add_function(wrap_pyfunction!(encode::encode_event, module)?)
}
