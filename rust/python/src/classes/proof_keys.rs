//! Keys that verify the proofs of a tenant's challenges.

use std::sync::Arc;

use pyo3::prelude::*;
use tidegate_proof::Keys;
use uuid::Uuid;

/// The keys of one tenant. See `_native.pyi`.
#[pyclass(frozen, name = "ProofKeys", module = "tidegate._native")]
pub(crate) struct PyProofKeys(pub(crate) Arc<Keys>);

#[pymethods]
impl PyProofKeys {
    #[new]
    fn new(tenant: [u8; 16], proof_key: [u8; 32], sealing_key: [u8; 32]) -> Self {
        Self(Arc::new(Keys::new(Uuid::from_bytes(tenant), &proof_key, &sealing_key)))
    }
}
