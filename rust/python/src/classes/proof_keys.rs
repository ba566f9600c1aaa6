//! What reads the proofs of a tenant's challenges.

use std::sync::Arc;

use pyo3::prelude::*;
use tidegate_proof::{Client, Finding, Keys, Network};
use uuid::Uuid;

use crate::convert::error::value_error;

/// Status, then pass, challenge, issue, end, network and user agent.
type Read = (&'static str, Option<([u8; 16], [u8; 16], i64, i64, String, [u8; 16])>);

/// The keys of one tenant. See `_native.pyi`.
#[pyclass(frozen, name = "ProofKeys", module = "tidegate._native")]
pub(crate) struct PyProofKeys(pub(crate) Arc<Keys>);

#[pymethods]
impl PyProofKeys {
    #[new]
    fn new(tenant: [u8; 16], proof_key: [u8; 32], sealing_key: [u8; 32]) -> Self {
        Self(Arc::new(Keys::new(Uuid::from_bytes(tenant), &proof_key, &sealing_key)))
    }

    fn client(&self, client_ip: Option<&str>, user_agent: Option<&str>) -> (String, [u8; 16]) {
        let Client { network, agent } = self.0.client(client_ip, user_agent);
        (network.to_string(), agent)
    }

    fn read(&self, token: &str, at: i64) -> Read {
        let (status, claims) = match self.0.read(token, at) {
            Finding::Valid(claims) => ("valid", claims),
            Finding::Expired(claims) => ("expired", claims),
            Finding::Invalid => return ("invalid", None),
            Finding::Foreign => return ("foreign", None),
        };
        let Client { network, agent } = claims.client;
        let (pass_id, challenge_id) = (claims.pass_id, claims.challenge_id);
        let (issued_at, expires_at) = (claims.issued_at, claims.expires_at);
        let ids = (*pass_id.as_bytes(), *challenge_id.as_bytes());
        (status, Some((ids.0, ids.1, issued_at, expires_at, network.to_string(), agent)))
    }

    fn seal(
        &self,
        decision_id: [u8; 16],
        return_url: Option<&str>,
        network: &str,
        agent: [u8; 16],
    ) -> PyResult<Vec<u8>> {
        let network = Network::parse(network).ok_or_else(|| value_error("no network"))?;
        Ok(self.0.seal(Uuid::from_bytes(decision_id), return_url, &Client { network, agent }))
    }
}
