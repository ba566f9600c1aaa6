//! A hot call before its decision: its event, whether the event may be decided on, and its
//! idempotency.

use blake2b_simd::Params;
use bumpalo::Bump;

use tidegate_core::engine::Engine;
use tidegate_core::event::client::geo::AddressDatabases;
use tidegate_core::event::strictness::return_url_refusal;
use tidegate_core::event::{self, RawEvent};
use tidegate_core::json::Reader;
use tidegate_core::json::meaning::event_hash;
use tidegate_core::value::error::EventError;

/// Characters of an idempotency key.
pub const MAX_KEY_LENGTH: usize = 255;

/// The endpoint of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Beacon,
    Runtime,
}

impl Endpoint {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Beacon => "beacon",
            Self::Runtime => "runtime",
        }
    }

    /// Whether an event with nothing in `request` and `fields` is rejected.
    const fn needs_content(self) -> bool {
        matches!(self, Self::Runtime)
    }
}

/// The reason why a call is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Event(EventError),
    /// The event names another tenant.
    OtherTenant,
    Empty,
    /// The idempotency key is too long or empty.
    KeyLength,
}

/// The hashes of an idempotency key and of the meaning of the body sent with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// A keyed hash of the tenant, the endpoint and the key, which reveals nothing about them.
    pub identity: [u8; 16],
    /// Not a cryptographic hash: a caller with two colliding bodies deceives only itself.
    pub fingerprint: [u8; 16],
}

/// Makes the hashes of idempotency keys.
#[derive(Clone, Debug)]
pub struct KeyHasher(Params);

impl KeyHasher {
    /// A hasher by a secret of at most 64 bytes; `None` when it is longer.
    pub fn new(secret: &[u8]) -> Option<Self> {
        if secret.len() > blake2b_simd::KEYBYTES {
            return None;
        }
        let mut params = Params::new();
        params.hash_length(16).key(secret);
        Some(Self(params))
    }

    fn hash(&self, tenant: &[u8; 16], endpoint: Endpoint, key: &str) -> [u8; 16] {
        let mut state = self.0.to_state();
        state.update(tenant).update(endpoint.as_str().as_bytes()).update(b"\0");
        state.update(key.as_bytes());
        let mut identity = [0; 16];
        for (place, byte) in identity.iter_mut().zip(state.finalize().as_bytes()) {
            *place = *byte;
        }
        identity
    }
}

/// A call that may be decided on.
#[derive(Debug)]
pub struct Call<'a> {
    pub endpoint: Endpoint,
    pub body: &'a [u8],
    pub event: RawEvent<'a>,
    pub idempotency: Option<Idempotency>,
}

impl<'a> Call<'a> {
    /// Reads the event of a call of the engine's tenant.
    ///
    /// # Arguments
    /// * `databases` - say where the client is; the event that is recorded states it.
    ///
    /// # Errors
    /// The call is rejected.
    pub fn read(
        engine: &Engine,
        endpoint: Endpoint,
        body: &'a [u8],
        hasher: &KeyHasher,
        databases: Option<&AddressDatabases>,
        arena: &'a Bump,
    ) -> Result<Self, Refusal> {
        let definitions = engine.definitions();
        let mut event = event::read(body, &definitions.layout, arena, &definitions.limits)
            .map_err(Refusal::Event)?;
        let tenant = definitions.tenant.as_bytes();
        if event.tenant_id.is_some_and(|text| !names(tenant, text)) {
            return Err(Refusal::OtherTenant);
        }
        if endpoint.needs_content() && !event.has_content {
            return Err(Refusal::Empty);
        }
        if event.idempotency_key.is_some_and(|key| !has_key_length(key)) {
            return Err(Refusal::KeyLength);
        }
        if let Some(error) = return_url_refusal(&event) {
            return Err(Refusal::Event(error));
        }
        let idempotency = match event.idempotency_key {
            Some(key) => {
                let hash = Reader::new(body, arena, &definitions.limits)
                    .and_then(|mut reader| event_hash(&mut reader));
                Some(Idempotency {
                    identity: hasher.hash(tenant, endpoint, key),
                    fingerprint: hash.map_err(|it| Refusal::Event(it.into()))?.to_be_bytes(),
                })
            }
            None => None,
        };
        let located = engine.locate(body, &mut event, databases, arena);
        Ok(Self { endpoint, body: located.unwrap_or(body), event, idempotency })
    }
}

fn has_key_length(key: &str) -> bool {
    // A character has at least one byte, so most keys need no counting.
    !key.is_empty() && (key.len() <= MAX_KEY_LENGTH || key.chars().count() <= MAX_KEY_LENGTH)
}

/// Whether a text is the UUID, in its usual form.
fn names(id: &[u8; 16], text: &str) -> bool {
    let mut buffer = uuid::Uuid::encode_buffer();
    let id = uuid::Uuid::from_bytes_ref(id).hyphenated();
    text.eq_ignore_ascii_case(id.encode_lower(&mut buffer))
}

#[cfg(test)]
mod tests;
