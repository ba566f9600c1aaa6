//! The encoder alone, so that tests can compare it with the reference.

use bumpalo::Bump;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tidegate_core::RuleSet;
use tidegate_core::event::encode::{Settings, encode};
use tidegate_core::event::geo::AddressDatabases;
use tidegate_core::program::constant::write_value;

use crate::convert::error::{event_error, program_error, too_many_parts};
use crate::convert::event::{read_event, user_agents};

/// Every declared field of an event as VALUE JSON. See `_native.pyi`.
#[pyfunction(name = "encode", signature = (bundle, event, databases = Vec::new()))]
pub(crate) fn encode_event<'py>(
    py: Python<'py>,
    bundle: &[u8],
    event: &Bound<'py, PyAny>,
    databases: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyDict>> {
    let rules = RuleSet::from_json(bundle).map_err(|error| program_error(py, error))?;
    let databases = AddressDatabases::new(databases);
    let databases = databases.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut layout = rules.layout().clone();
    layout.number_all();
    let arena = Bump::new();
    let event = read_event(event, &layout, &arena, rules.limits())?;
    let settings = Settings {
        trusted_proxies: rules.trusted_proxies(),
        databases: Some(&databases),
        user_agents: user_agents(py, &layout)?,
        limits: rules.limits(),
    };
    let record =
        encode(&event, &layout, &arena, settings).map_err(|error| event_error(py, error))?;
    let fields = PyDict::new(py);
    for (slot, name, _) in layout.fields() {
        if let Some(value) = record.get(slot) {
            let wire = write_value(value).ok_or_else(too_many_parts)?;
            fields.set_item(name, PyBytes::new(py, wire.as_bytes()))?;
        }
    }
    Ok(fields)
}
