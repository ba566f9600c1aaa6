//! The extension module `tidegate._native`: a skin over `tidegate-core`.

mod context;
mod convert;
mod encode;
mod engine;
mod envelope;
mod error;
mod event;
mod plain;
mod program;
mod redact;
mod serve;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<engine::PyEngine>()?;
    module.add_class::<engine::PyFrozen>()?;
    module.add_class::<serve::PyServed>()?;
    module.add_class::<envelope::PyEnvelope>()?;
    module.add_class::<plain::PyPlainForm>()?;
    module.add_class::<redact::PyRedactor>()?;
    module.add_class::<program::PyRuleSet>()?;
    module.add_class::<program::PyPrepared>()?;
    module.add_function(wrap_pyfunction!(envelope::envelope, module)?)?;
    module.add_function(wrap_pyfunction!(encode::encode_event, module)?)
}
