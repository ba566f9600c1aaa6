//! Places of values in an event.

use super::texts::Kind as TextKind;

/// The place of a value, which determines the meaning of its members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Event,
    Request,
    Headers,
    Cookies,
    QueryParams,
    /// Inside `request.query_params`.
    Query,
    Fields,
    /// The finding about the agent.
    Agent,
    /// The finding about where the client is.
    Geo,
    /// `fields.body`.
    Body,
    /// A text with a query.
    Link,
    /// `request.query`.
    Search,
    /// Members with names of their own.
    Inner,
    /// Inside a value that is hashed whole.
    Hashed,
}

impl Place {
    /// The place of a member that docs/fields.md names, whose name says nothing about
    /// its value; `None` for any other.
    pub(super) fn of_known(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Event, "request") => Some(Self::Request),
            (Self::Event, "fields") => Some(Self::Fields),
            (Self::Event, "agent") => Some(Self::Agent),
            (Self::Event, "geo") => Some(Self::Geo),
            (Self::Event, "return_url") | (Self::Request, "path" | "referer") => Some(Self::Link),
            (Self::Request, "query") => Some(Self::Search),
            (Self::Request, "headers") => Some(Self::Headers),
            (Self::Request, "cookies") => Some(Self::Cookies),
            (Self::Request, "query_params") => Some(Self::QueryParams),
            (Self::Event, "source" | "observed_at" | "idempotency_key" | "tenant_id")
            | (
                Self::Request,
                "method" | "protocol" | "scheme" | "host" | "client_ip" | "user_agent"
                | "content_type" | "route_params",
            )
            | (
                Self::Agent,
                "proof" | "operator" | "product" | "purpose" | "claims" | "signature_problem",
            )
            | (Self::Geo, "country" | "asn" | "as_org") => Some(Self::Inner),
            (Self::Hashed, _) => Some(Self::Hashed),
            _ => None,
        }
    }

    /// Whether the members of a known member have names of their own.
    pub(super) fn has_names(self, name: &str) -> bool {
        matches!(
            (self, name),
            (Self::Event, "request" | "fields")
                | (Self::Request, "headers" | "query_params" | "cookies" | "route_params")
        )
    }

    /// The place of a member whose name is its own and no secret.
    pub(super) fn of_other(self, name: &str) -> Self {
        match self {
            Self::Headers if name.eq_ignore_ascii_case("referer") => Self::Link,
            Self::Fields if name == "body" => Self::Body,
            Self::QueryParams => Self::Query,
            _ => Self::Inner,
        }
    }

    /// The kind of search in a text here; `None` without a search.
    pub(super) fn kind(self) -> Option<TextKind> {
        match self {
            Self::Hashed => None,
            Self::Link => Some(TextKind::Link),
            Self::Search => Some(TextKind::Search),
            Self::Body => Some(TextKind::Body),
            Self::Query => Some(TextKind::Query),
            _ => Some(TextKind::Text),
        }
    }
}
