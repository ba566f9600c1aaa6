//! The necessary conditions of a rule, taken from its program.

pub(crate) mod access_path;
pub(crate) mod compiled_pattern;
pub(crate) mod condition;
pub(crate) mod conditions_of;
pub(crate) mod error_free;
pub(crate) mod formula;
pub(crate) mod worst_cost;
