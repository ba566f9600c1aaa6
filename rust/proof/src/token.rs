//! Reads tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac;
use uuid::Uuid;

use crate::{AGENT_BYTES, Client, HmacSha256, Network, VERSION};

/// Characters; longer texts are rejected without parsing.
const MAX_TOKEN_LENGTH: usize = 256;
/// Bytes that a token of that length holds.
const MAX_TOKEN_BYTES: usize = 192;
const TAG_BYTES: usize = 32;
/// Nanoseconds that clocks may differ by.
const CLOCK_TOLERANCE: i64 = 300 * 1_000_000_000;

/// The content of a verified token; times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    pub pass_id: Uuid,
    pub challenge_id: Uuid,
    pub issued_at: i64,
    pub expires_at: i64,
    pub client: Client,
}

/// The status of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    Valid(Claims),
    Expired(Claims),
    /// No token of this version, or not as it was made.
    Invalid,
    /// The token names another tenant.
    Foreign,
}

pub(crate) fn read(tenant: Uuid, key: &HmacSha256, token: &str, at: i64) -> Finding {
    if token.len() > MAX_TOKEN_LENGTH {
        return Finding::Invalid;
    }
    let mut bytes = [0; MAX_TOKEN_BYTES];
    let decoded = URL_SAFE_NO_PAD.decode_slice(token, &mut bytes).ok();
    let whole = decoded.and_then(|length| bytes.get(..length)).unwrap_or_default();
    let Some((body, tag)) = whole.split_last_chunk::<TAG_BYTES>() else { return Finding::Invalid };
    let Some((named, claims)) = claims(body) else { return Finding::Invalid };
    if named != tenant {
        return Finding::Foreign;
    }
    let mut mac = key.clone();
    mac.update(body);
    if mac.verify(tag.into()).is_err() {
        return Finding::Invalid;
    }
    let begins_at = claims.issued_at.saturating_sub(CLOCK_TOLERANCE);
    if begins_at <= at && at < claims.expires_at {
        Finding::Valid(claims)
    } else {
        Finding::Expired(claims)
    }
}

/// The content of a token in the one form that tokens have, and the tenant it names.
fn claims(body: &[u8]) -> Option<(Uuid, Claims)> {
    let (&version, mut rest) = body.split_first()?;
    let mut field = || {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let (field, after) = after.split_at_checked(u16::from_be_bytes(*length).into())?;
        rest = after;
        Some(field)
    };
    let tenant = id(field()?)?;
    let (pass_id, challenge_id) = (id(field()?)?, id(field()?)?);
    let (issued_at, expires_at) = (time(field()?)?, time(field()?)?);
    let network = Network::parse(str::from_utf8(field()?).ok()?)?;
    let agent: [u8; AGENT_BYTES] = field()?.try_into().ok()?;
    let client = Client { network, agent };
    let claims = Claims { pass_id, challenge_id, issued_at, expires_at, client };
    (version == VERSION && rest.is_empty()).then_some((tenant, claims))
}

fn id(field: &[u8]) -> Option<Uuid> {
    Uuid::from_slice(field).ok()
}

fn time(field: &[u8]) -> Option<i64> {
    field.try_into().map(i64::from_be_bytes).ok()
}
