//! `tidegate._native.tally`: what a store derives from the index of its log.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tidegate_core::service::counts::{Bucket, tally as count};

/// Number, keys and sequence numbers, these as JSON.
type Packed<'py> = (i64, Bound<'py, PyBytes>, String);

/// Counts a part of the log. See `_native.pyi`.
#[pyfunction]
pub(crate) fn tally(
    py: Python<'_>,
    index: PyBackedBytes,
    first: u64,
) -> PyResult<(Vec<Packed<'_>>, String)> {
    let tally = py
        .detach(|| {
            let text = str::from_utf8(&index).map_err(|error| error.to_string())?;
            count(text, first).map_err(|error| error.to_string())
        })
        .map_err(PyValueError::new_err)?;
    let bucket = |bucket: Bucket| {
        (bucket.number, PyBytes::new(py, &bucket.keys), format!("{:?}", bucket.seqs))
    };
    Ok((tally.buckets.into_iter().map(bucket).collect(), tally.counts))
}
