//! For a service: calls read together, answered and recorded in blocks.

pub mod block;
pub mod call;
pub mod counts;
pub mod plain_request;
pub mod served;
