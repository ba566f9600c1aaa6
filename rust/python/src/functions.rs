//! The functions and constants of the extension.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use tidegate_core::value::limits::{CLOCK_TOLERANCE, Limits, MAX_THRESHOLD, REGEX_SUBJECT_BYTES};
use tidegate_service::counts::{Bucket, count_log as count};

use crate::convert::error::value_error;

/// Limits that Python defines too, by their names in `tidegate.limits`.
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
