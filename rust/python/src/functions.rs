//! The functions and constants of the extension.

use std::collections::HashMap;

use bumpalo::Bump;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use tidegate_core::RuleSet;
use tidegate_core::event::encode::{Settings, encode};
use tidegate_core::event::geo::AddressDatabases;
use tidegate_core::program::constant::write_value;
use tidegate_core::service::counts::{Bucket, count_log as count};
use tidegate_core::value::limits::{CLOCK_TOLERANCE, Limits, MAX_THRESHOLD, REGEX_SUBJECT_BYTES};

use crate::convert::error::{Result, too_many_parts, value_error};
use crate::convert::event::{read_event, user_agents};

/// Bounds that Python states as well, by the names of `tidegate.limits`.
pub(crate) fn facts(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let limits = Limits::default();
    let facts = PyDict::new(py);
    facts.set_item("cost", limits.cost)?;
    facts.set_item("decision_work", limits.decision_work)?;
    facts.set_item("string_bytes", limits.string_bytes)?;
    facts.set_item("event_bytes", limits.event_bytes)?;
    facts.set_item("event_depth", limits.event_depth)?;
    facts.set_item("event_members", limits.event_members)?;
    facts.set_item("event_string_bytes", limits.event_string_bytes)?;
    facts.set_item("REGEX_SUBJECT_BYTES", REGEX_SUBJECT_BYTES)?;
    facts.set_item("CLOCK_TOLERANCE", CLOCK_TOLERANCE)?;
    facts.set_item("MAX_THRESHOLD", MAX_THRESHOLD)?;
    Ok(facts)
}

/// Number, keys and sequence numbers, these as JSON.
type Packed = (i64, Vec<u8>, String);

/// Counts a part of the log. See `_native.pyi`.
#[pyfunction]
pub(crate) fn count_log(
    py: Python<'_>,
    index: PyBackedBytes,
    first: u64,
) -> PyResult<(Vec<Packed>, String)> {
    let count_log = py.detach(|| match str::from_utf8(&index) {
        Ok(text) => count(text, first).map_err(value_error),
        Err(error) => Err(value_error(error)),
    })?;
    let bucket = |Bucket { number, keys, seqs }| (number, keys, format!("{seqs:?}"));
    Ok((count_log.buckets.into_iter().map(bucket).collect(), count_log.counts))
}

/// Every declared field of an event as VALUE JSON. See `_native.pyi`.
#[pyfunction(name = "encode", signature = (bundle, event, databases = Vec::new()))]
pub(crate) fn encode_event(
    bundle: &[u8],
    event: &Bound<'_, PyAny>,
    databases: Vec<Vec<u8>>,
) -> Result<HashMap<String, Vec<u8>>> {
    let rules = RuleSet::from_json(bundle)?;
    let databases = AddressDatabases::new(databases).map_err(value_error)?;
    let mut layout = rules.layout().clone();
    layout.number_all();
    let arena = Bump::new();
    let raw = read_event(event, &layout, &arena, rules.limits())?;
    let settings = Settings {
        trusted_proxies: rules.trusted_proxies(),
        databases: Some(&databases),
        user_agents: user_agents(event.py(), &layout)?,
        limits: rules.limits(),
    };
    let record = encode(&raw, &layout, &arena, settings)?;
    let mut fields = HashMap::new();
    for (slot, name, _) in layout.fields() {
        if let Some(value) = record.get(slot) {
            let wire = write_value(value).ok_or_else(too_many_parts)?;
            fields.insert(name.to_owned(), wire.into_bytes());
        }
    }
    Ok(fields)
}
