//! Parts for a service: calls read together, answered and recorded in blocks, and data derived of
//! them.

pub mod block;
pub mod call;
pub mod catalog;
pub mod counts;
pub mod plain_request;
pub mod served;
