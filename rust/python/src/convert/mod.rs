//! Conversions between Python and the engine.

pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod value;
