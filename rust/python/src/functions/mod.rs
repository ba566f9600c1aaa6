//! The functions of the extension.

pub(crate) mod encode;
pub(crate) mod facts;
pub(crate) mod tally;
