//! The Tidegate engine: expressions, fields, windows, decisions.
//!
//! No Python, no input or output, no clock. The tour, in the order of an event:
//!
//! - [`event`] and [`json`] read an event, [`encode`] turns it into a
//!   [`record`] of the fields that programs read ([`path`], [`address`],
//!   [`user_agent`] and [`geo`] compute some of them);
//! - [`decode`] compiles checked trees, read as [`tree`]s of JSON, to [`program`]s, once, when rules are
//!   loaded ([`ruleset`]s of them); [`evaluate`] runs them over records, with [`ops`] and
//!   [`functions`] on [`value`]s and [`map`]s, within [`limits`]; regular expressions are
//!   run by the crate `tidegate-regex`;
//! - [`index`] finds the few of many rules that can be true of an event;
//! - [`definitions`] are the tenant's rules, read from a [`bundle`]; [`state`] is
//!   what is remembered of its traffic, by [`entity`] and [`window`] ([`windows`] that count
//!   the same are one; which do is said by the [`trigger`] of their clauses), [`snapshot`] its
//!   form outside;
//! - [`decide`] is the decision, over [`conditions`]; [`wire`] writes it, [`engine`]
//!   puts all this together;
//! - for a service: a [`call`] is an event before its decision, a [`block`] what is answered and
//!   recorded of many, a [`tally`](mod@tally) what they are counted by; [`serve`] gives the parts of
//!   one decision, [`effects`] repeat it, [`redact`] makes what may be kept of an event;
//!   [`standing`] is how entities stand, [`succession`] how definitions are changed under way.
//!
//! Failures caused by text or data are values of [`error`], never panics.

pub mod address;
pub mod admission;
pub mod block;
pub mod budget;
pub mod bundle;
pub mod call;
mod carry;
pub mod chunks;
mod clock;
mod comprehension;
pub mod conditions;
pub mod constant;
pub mod decide;
pub mod decode;
pub mod definitions;
pub mod distinct;
pub mod effects;
pub mod encode;
pub mod engine;
pub mod entity;
pub mod error;
pub mod evaluate;
pub mod event;
pub mod fault;
pub mod field;
mod first_network;
pub mod frozen;
pub mod functions;
pub mod geo;
pub mod headers;
mod held;
pub mod index;
pub mod json;
pub mod key;
pub mod layout;
mod letters;
pub mod limits;
pub mod lists;
mod literal_keys;
pub mod locked;
pub mod map;
mod member_names;
mod meter;
pub mod names;
pub mod ops;
mod packed;
pub mod path;
pub mod plan;
mod predicate;
mod prepare;
pub mod prepared;
pub mod program;
pub mod record;
pub mod redact;
pub mod ruleset;
mod sample;
pub mod serve;
mod shard;
pub mod slab;
pub mod snapshot;
mod specialise;
mod specials;
pub mod standing;
pub mod state;
mod stored_key;
pub mod succession;
pub mod survey;
pub mod tally;
mod text_table;
mod texts;
pub mod time_text;
pub mod tree;
#[cfg(test)]
mod trials;
pub mod trigger;
pub mod user_agent;
pub mod value;
pub mod variable;
mod walk;
pub mod window;
pub mod windows;
pub mod wire;
mod work;

pub use error::{ErrorCode, EventError, Failure, ProgramError, Span};
pub use evaluate::Meter;
pub use limits::Limits;
pub use program::Program;
pub use ruleset::RuleSet;
pub use value::Value;
