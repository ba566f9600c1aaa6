//! Events from columns.

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use tidegate_core::Limits;
use tidegate_core::json::rows::{Column, write_row};

use crate::convert::error::value_error;

/// Bytes of an offset.
const WIDTH: usize = size_of::<i64>();

/// The text before each value, whether the values are JSON, all values in a row, where each begins
/// and the last ends, counted from a place of their own, and a byte for each that isn't zero where
/// it is null.
type Columns = Vec<(PyBackedStr, bool, PyBackedBytes, PyBackedBytes, Option<PyBackedBytes>)>;

/// Writes rows as JSON objects. See `_native.pyi`.
#[pyfunction]
pub(crate) fn write_rows<'py>(
    py: Python<'py>,
    columns: Columns,
    after: &str,
    count: usize,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let read = columns.iter().map(|(before, is_json, data, offsets, nulls)| {
        let cells = cells(data, offsets, nulls.as_deref()).filter(|cells| cells.len() == count);
        let cells = cells.ok_or_else(|| value_error(format!("no column of {count} texts")))?;
        Ok(Column { before, is_json: *is_json, cells })
    });
    let columns = read.collect::<PyResult<Vec<_>>>()?;
    let (limits, mut out) = (Limits::default(), String::new());
    let rows = (0..count).map(|row| {
        out.clear();
        match write_row(&mut out, &columns, after, row, &limits) {
            Ok(()) => Ok(PyBytes::new(py, out.as_bytes()).into_any()),
            Err(column) => Ok(column.into_pyobject(py)?.into_any()),
        }
    });
    rows.collect()
}

/// The texts of a column; None where the offsets aren't those of texts.
fn cells<'a>(data: &'a [u8], offsets: &[u8], nulls: Option<&[u8]>) -> Option<Vec<Option<&'a str>>> {
    let data = str::from_utf8(data).ok()?;
    let (offsets, _) = offsets.as_chunks::<WIDTH>();
    let mut ends = offsets.iter().map(|bytes| usize::try_from(i64::from_ne_bytes(*bytes)).ok());
    let first = ends.next()??;
    let mut start = 0;
    let cells = ends.enumerate().map(|(row, end)| {
        let end = end?.checked_sub(first)?;
        let text = data.get(start..end)?;
        start = end;
        let is_null = nulls.is_some_and(|nulls| nulls.get(row) != Some(&0));
        Some((!is_null).then_some(text))
    });
    cells.collect()
}
