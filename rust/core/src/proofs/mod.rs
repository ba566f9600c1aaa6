//! Proofs of challenges that an event shows (docs/decision.md, "Proofs of challenges").

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use smallvec::SmallVec;
use tidegate_proof::{Claims, Client, Finding, Keys, Network};
use uuid::Uuid;

use crate::event::layout::{KeySlot, Layout, Slot};
use crate::event::record::Record;
use crate::json::write::{list, push_int, write_id, write_string};
use crate::value::Value;

/// The cookie that carries the proof of a challenge.
const PROOF_COOKIE: &str = "service_challenge";
/// The places of proofs, in the order in which they are read.
const PLACES: [(&str, &str); 2] =
    [("request.query_params", "service_challenge_proof"), ("request.cookies", PROOF_COOKIE)];
/// Maximum proofs read from one text, so that a visitor can't make us verify many.
const MAX_OF_A_PLACE: usize = 2;

/// The state of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Valid,
    Expired,
    Invalid,
    Foreign,
    OtherClient,
    Revoked,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Expired => "expired",
            Self::Invalid => "invalid",
            Self::Foreign => "foreign",
            Self::OtherClient => "other-client",
            Self::Revoked => "revoked",
        }
    }
}

/// The claim of a verified proof, and its present client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub pass_id: Uuid,
    pub expires_at: i64,
    /// The network of the present client.
    pub network: Network,
    /// Whether the challenge was solved from another network.
    pub is_moved: bool,
    /// Whether the challenge was solved by another user agent.
    pub is_other_agent: bool,
}

/// A proof that an event shows. The claim is there if the token is verified and was valid at the
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub status: Status,
    pub claim: Option<Claim>,
}

pub type AllShown = SmallVec<[Shown; MAX_OF_A_PLACE]>;

impl Shown {
    fn new(finding: &Finding, client: impl FnOnce() -> Client) -> Self {
        let status = match finding {
            Finding::Valid(claims) => return Self::by(claims, client()),
            Finding::Expired(_) => Status::Expired,
            Finding::Invalid => Status::Invalid,
            Finding::Foreign => Status::Foreign,
        };
        Self { status, claim: None }
    }

    fn by(claims: &Claims, client: Client) -> Self {
        let is_other_agent = claims.client.agent != client.agent;
        let claim = Claim {
            pass_id: claims.pass_id,
            expires_at: claims.expires_at,
            network: client.network,
            is_moved: claims.client.network != client.network,
            is_other_agent,
        };
        let status = if is_other_agent { Status::OtherClient } else { Status::Valid };
        Self { status, claim: Some(claim) }
    }

    /// Appends it as the record has it.
    pub(crate) fn write(&self, out: &mut String) {
        out.push_str("{\"status\":\"");
        out.push_str(self.status.as_str());
        out.push('"');
        if let Some(claim) = &self.claim {
            out.push_str(",\"pass_id\":");
            write_id(out, claim.pass_id);
            out.push_str(",\"expires_at\":\"");
            push_int(out, claim.expires_at);
            out.push_str("\",\"network\":");
            write_network(out, claim.network);
            out.push_str(",\"differs\":");
            let parts = [("network", claim.is_moved), ("agent", claim.is_other_agent)];
            let differing = parts.iter().filter(|(_, differs)| *differs);
            list(out, differing, |out, (part, _)| write_string(out, part));
        }
        out.push('}');
    }
}

/// Appends a network as JSON.
pub(crate) fn write_network(out: &mut String, network: Network) {
    match network {
        Network::None => out.push_str("null"),
        _ => write_string(out, &network.to_string()),
    }
}

/// The slots of the fields that hold a proof and bind it.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    tokens: [KeySlot; PLACES.len()],
    client_ip: Slot,
    user_agent: Slot,
}

impl Slots {
    /// Marks the fields as read; `None` if they are not declared.
    pub fn new(layout: &mut Layout) -> Option<Self> {
        let [query, cookie] = PLACES.map(|(map, key)| layout.key_slot(map, key));
        Some(Self {
            tokens: [query?, cookie?],
            client_ip: layout.slot("request.client_ip")?,
            user_agent: layout.slot("request.user_agent")?,
        })
    }

    /// The client that sends an event.
    pub fn client(&self, keys: &Keys, record: &Record<'_>) -> Client {
        let text = |slot| record.get(slot).and_then(Value::as_str);
        keys.client(text(self.client_ip), text(self.user_agent))
    }

    /// The proofs that an event shows, read at a time. An empty text has none;
    /// [`several`](crate::event::several) joins several into one text.
    #[inline]
    pub fn shown(&self, keys: &Keys, record: &Record<'_>, at: i64) -> AllShown {
        let tokens = self.tokens.map(|slot| record.key(slot).filter(|token| !token.is_empty()));
        if tokens == [None, None] {
            return AllShown::new();
        }
        let tokens = tokens.into_iter().flatten();
        let tokens = tokens.flat_map(|text| text.split(", ").take(MAX_OF_A_PLACE));
        let tokens = tokens.filter(|token| !token.is_empty());
        let findings = tokens.map(|token| keys.read(token, at));
        findings.map(|finding| Shown::new(&finding, || self.client(keys, record))).collect()
    }
}

/// Proofs as records have them.
///
/// # Errors
/// The text isn't such a list.
pub fn read(text: &[u8]) -> Result<AllShown, serde_json::Error> {
    let forms: Vec<Form> = serde_json::from_slice(text)?;
    Ok(forms.iter().map(Form::shown).collect())
}

/// A proof in a record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    status: Status,
    #[serde(default)]
    pass_id: Option<PassId>,
    #[serde(default, deserialize_with = "time")]
    expires_at: i64,
    #[serde(default)]
    network: NetworkForm,
    #[serde(default)]
    differs: Vec<Part>,
}

impl Form {
    fn shown(&self) -> Shown {
        let claim = self.pass_id.as_ref().map(|pass_id| Claim {
            pass_id: pass_id.0,
            expires_at: self.expires_at,
            network: self.network.0,
            is_moved: self.differs.contains(&Part::Network),
            is_other_agent: self.differs.contains(&Part::Agent),
        });
        Shown { status: self.status, claim }
    }
}

/// A time in decimal text.
fn time<'i, D: Deserializer<'i>>(deserializer: D) -> Result<i64, D::Error> {
    Cow::<'i, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

#[derive(PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Network,
    Agent,
}

/// The id of a pass, as text.
pub(crate) struct PassId(pub(crate) Uuid);

impl<'i> Deserialize<'i> for PassId {
    fn deserialize<D: Deserializer<'i>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'i, str>::deserialize(deserializer)?;
        pass_id(&text).map(Self).ok_or_else(|| de::Error::custom("no id of a pass"))
    }
}

/// The id of a pass, from its one valid text.
pub(crate) fn pass_id(text: &str) -> Option<Uuid> {
    let id = Uuid::parse_str(text).ok()?;
    (id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text).then_some(id)
}

/// A network as text, or null.
#[derive(Default)]
pub(crate) struct NetworkForm(pub(crate) Network);

impl<'i> Deserialize<'i> for NetworkForm {
    fn deserialize<D: Deserializer<'i>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<Cow<'i, str>>::deserialize(deserializer)?;
        let Some(text) = text else { return Ok(Self::default()) };
        let network = network(&text).ok_or_else(|| de::Error::custom("no network"))?;
        Ok(Self(network))
    }
}

/// A network, from its one valid text.
pub(crate) fn network(text: &str) -> Option<Network> {
    Network::parse(text).filter(|network| *network != Network::None)
}
