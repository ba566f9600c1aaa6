//! Parts for a service: calls are read together, answered and recorded in blocks; data is derived
//! from them.

pub mod block;
pub mod call;
pub mod catalog;
pub mod counts;
pub mod plain_request;
pub mod served;
