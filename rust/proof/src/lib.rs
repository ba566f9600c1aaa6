//! Proofs of challenges: reads tokens, binds them to clients, and seals the context of challenges.
//! See the README.

mod network;
mod token;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

pub use network::Network;
pub use token::{Claims, Finding};

/// First byte of each token and of each sealed context.
const VERSION: u8 = 1;
const PROOF: &[u8] = b"tidegate challenge proof v1\0";
const AGENT: &[u8] = b"tidegate challenge agent v1\0";
const SEAL: &[u8] = b"tidegate challenge seal v1\0";
/// Bytes of the hash of a user agent.
const AGENT_BYTES: usize = 16;
/// Bytes of a user agent that are read: the rest does not count.
const READ_AGENT_BYTES: usize = 1024;

type HmacSha256 = Hmac<Sha256>;

/// The client that solved a challenge, as far as the proof is bound to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub network: Network,
    /// The keyed hash of the user agent.
    pub agent: [u8; AGENT_BYTES],
}

/// Keys that read the proofs of one tenant. Each key is kept as it is after its first block.
#[derive(Clone)]
pub struct Keys {
    tenant: Uuid,
    proof: HmacSha256,
    agent: HmacSha256,
    seal: HmacSha256,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Keys").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl Keys {
    /// The keys of a tenant, derived from the service's.
    pub fn new(tenant: Uuid, proof_key: &[u8; 32], sealing_key: &[u8; 32]) -> Self {
        let derived = |key: &[u8; 32], label: &[u8]| {
            let key = mac(&keyed(key), &[label, tenant.as_bytes()]);
            keyed(&key)
        };
        Self {
            tenant,
            proof: derived(proof_key, PROOF),
            agent: derived(proof_key, AGENT),
            seal: derived(sealing_key, SEAL),
        }
    }

    /// The client that sends a request, by the address as text; other text counts as no address. No
    /// user agent is the same as an empty one.
    pub fn client(&self, client_ip: Option<&str>, user_agent: Option<&str>) -> Client {
        let text = user_agent.unwrap_or_default().as_bytes();
        let text = text.get(..READ_AGENT_BYTES).unwrap_or(text);
        let mut agent = [0; AGENT_BYTES];
        agent.iter_mut().zip(mac(&self.agent, &[text])).for_each(|(to, byte)| *to = byte);
        Client { network: Network::of(client_ip.unwrap_or_default()), agent }
    }

    /// The status of a token at a time, in nanoseconds since 1970, for the client that shows it.
    pub fn read(&self, token: &str, at: i64) -> Finding {
        token::read(self.tenant, &self.proof, token, at)
    }

    /// A return URL and a client that can only be opened with the key, and only for this decision;
    /// empty if the URL is longer than any event's.
    pub fn seal(&self, decision_id: Uuid, return_url: Option<&str>, client: &Client) -> Vec<u8> {
        let url = return_url.map(|url| [&[VERSION], url.as_bytes()].concat());
        let network = client.network.to_string();
        let fields = [url.as_deref().unwrap_or_default(), network.as_bytes(), &client.agent];
        let mut plain = Vec::with_capacity(fields.iter().map(|field| field.len()).sum());
        for field in fields {
            let Ok(length) = u16::try_from(field.len()) else { return Vec::new() };
            plain.extend_from_slice(&length.to_be_bytes());
            plain.extend_from_slice(field);
        }
        // The key seals one message, so no nonce is used twice.
        let cipher = ChaCha20Poly1305::new(&mac(&self.seal, &[decision_id.as_bytes()]).into());
        let message = Payload { msg: &plain, aad: &[VERSION] };
        let sealed = cipher.encrypt(&Nonce::default(), message).unwrap_or_default();
        [&[VERSION][..], &sealed].concat()
    }
}

/// HMAC fills a short key up with zeros.
fn keyed(key: &[u8; 32]) -> HmacSha256 {
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(to, byte)| *to = *byte);
    HmacSha256::new(&block.into())
}

fn mac(key: &HmacSha256, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = key.clone();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::string_slice, reason = "a test may panic")]
mod tests;
