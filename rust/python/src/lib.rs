//! The extension module `tidegate._native`: a thin layer over `tidegate-core`.

mod background_drop;
mod classes;
mod convert;
mod functions;
mod rows;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FACTS", functions::facts(module.py())?)?;
    module.add_class::<classes::address_databases::PyAddressDatabase>()?;
    module.add_class::<classes::address_databases::PyAddressDatabases>()?;
    module.add_class::<classes::engine::PyEngine>()?;
    module.add_class::<classes::engine::PyFrozen>()?;
    module.add_class::<classes::calls::PyCalls>()?;
    module.add_class::<classes::plain_form::PyPlainForm>()?;
    module.add_class::<classes::learned_names::PyLearnedNames>()?;
    module.add_class::<classes::proof_keys::PyProofKeys>()?;
    module.add_class::<classes::redactor::PyRedactor>()?;
    module.add_class::<classes::rule_set::PyRuleSet>()?;
    module.add_class::<classes::rule_set::PyPrepared>()?;
    module.add_function(wrap_pyfunction!(rows::write_rows, module)?)?;
    module.add_function(wrap_pyfunction!(functions::count_log, module)?)
}
