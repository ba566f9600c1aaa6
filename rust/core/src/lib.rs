//! The Tidegate engine: expressions, fields, windows, decisions.
//!
//! No Python, no I/O, no clock. The modules, from the bottom up:
//!
//! - `text` and [`value`]: texts, values, addresses, times, errors, limits, the meter of work;
//! - [`json`] reads and writes JSON; [`event`] turns an event into a record of the fields that
//!   programs read; [`redact`] removes secrets from an event, [`proofs`] finds the proofs of
//!   challenges in it;
//! - [`program`] is a compiled expression, [`functions`] are the functions it calls, [`evaluate`]
//!   runs it over a record; `predicate` holds the tests that programs of a set share;
//! - [`index`] finds the few of many rules that can be true of an event; [`ruleset`] is a set of
//!   rules;
//! - [`definitions`] are a tenant's rules; [`state`] is the state of its traffic;
//! - [`decision`] is the decision over one event; [`engine`] puts all this together.
//!
//! Regular expressions are in the crate `tidegate-regex`, proofs in `tidegate-proof`, parts that
//! only a service needs in `tidegate-service`. Failures caused by text or data are values of
//! [`value::error`], never panics.

pub mod decision;
pub mod definitions;
pub mod engine;
pub mod evaluate;
pub mod event;
pub mod functions;
pub mod index;
pub mod json;
mod predicate;
pub mod program;
pub mod proofs;
pub mod redact;
pub mod ruleset;
pub mod state;
mod text;
pub mod value;

pub use evaluate::Meter;
pub use program::Program;
pub use ruleset::RuleSet;
pub use value::Value;
pub use value::error::{ErrorCode, EventError, Failure, ProgramError, Span};
pub use value::limits::Limits;
