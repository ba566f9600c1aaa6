//! Bounds that Python states as well: a test of the package compares the two.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate_core::value::limits::{CLOCK_TOLERANCE, Limits, MAX_THRESHOLD, REGEX_SUBJECT_BYTES};

/// The bounds by the names of `tidegate.limits`.
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
