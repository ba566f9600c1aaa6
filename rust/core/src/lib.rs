//! The Tidegate engine.

pub mod address;
pub mod decide;
pub mod definitions;
pub mod encode;
pub mod error;
pub mod evaluate;
pub mod event;
pub mod field;
pub mod functions;
pub mod geo;
pub mod json;
pub mod limits;
pub mod map;
pub mod ops;
pub mod path;
pub mod program;
pub mod record;
pub mod state;
pub mod user_agent;
pub mod value;
pub mod variable;
pub mod window;
pub mod wire;
