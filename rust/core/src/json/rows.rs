//! Rows of columns as JSON objects.

use crate::json::check;
use crate::json::write::write_string;
use crate::value::limits::Limits;

/// A column, whose values stand at the same place of each object.
pub struct Column<'a> {
    /// The text of the object since the value before.
    pub before: &'a str,
    /// Whether the values are JSON, instead of texts.
    pub is_json: bool,
    /// The value of each row; None is null.
    pub cells: Vec<Option<&'a str>>,
}

/// Appends the object of a row.
///
/// # Errors
/// The number of the first column whose value isn't JSON.
pub fn write_row(
    out: &mut String,
    columns: &[Column<'_>],
    after: &str,
    row: usize,
    limits: &Limits,
) -> Result<(), usize> {
    for (number, column) in columns.iter().enumerate() {
        out.push_str(column.before);
        match column.cells.get(row).copied().flatten() {
            None => out.push_str("null"),
            Some(text) if column.is_json => {
                check(text.as_bytes(), limits).map_err(|_| number)?;
                out.push_str(text);
            }
            Some(text) => write_string(out, text),
        }
    }
    out.push_str(after);
    Ok(())
}
