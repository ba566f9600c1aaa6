//! Ordinary maps.

use crate::value::Value;

/// Entries in order; keys are bool, int, uint or string.
#[derive(Clone, Debug, Default)]
pub struct Map<'a> {
    pub entries: Vec<(Value<'a>, Value<'a>)>,
}
