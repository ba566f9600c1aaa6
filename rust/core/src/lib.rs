//! The Tidegate engine: expressions, fields, windows, decisions.
//!
//! No Python, no input or output, no clock. The tour, in the order of an event:
//!
//! - [`event`] and [`json`] read an event, [`encode`] turns it into a
//!   [`record`] of the fields that programs read ([`path`], [`address`],
//!   [`user_agent`] and [`geo`] compute some of them);
//! - [`program`] decodes and compiles checked trees, once, when rules are
//!   loaded; [`evaluate`] runs them over records, with [`ops`] and
//!   [`functions`] on [`value`]s and [`map`]s, within [`limits`];
//! - [`definitions`] are the tenant's rules, [`state`] and [`window`] what is
//!   remembered of its traffic, [`decide`] the decision, [`wire`] its form
//!   outside.
//!
//! Failures caused by text or data are values of [`error`], never panics.

pub mod address;
pub mod decide;
pub mod definitions;
pub mod distinct;
pub mod encode;
pub mod entity;
pub mod error;
pub mod evaluate;
pub mod event;
pub mod field;
pub mod functions;
pub mod geo;
pub mod headers;
pub mod json;
pub mod limits;
pub mod map;
pub mod ops;
pub mod path;
pub mod program;
pub mod record;
pub mod slab;
pub mod snapshot;
mod specials;
pub mod state;
pub mod time_text;
pub mod user_agent;
pub mod value;
pub mod variable;
pub mod window;
pub mod wire;

pub use error::{ErrorCode, EventError, Failure, ProgramError, Span};
pub use limits::Limits;
pub use value::Value;
