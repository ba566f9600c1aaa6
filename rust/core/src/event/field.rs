//! The field model: what the encoder computes from a request (docs/fields.md).

/// The maps of an event; absent keys read as `""`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    Headers,
    QueryParams,
    Cookies,
    RouteParams,
    Fields,
    /// The finding about the agent; its names are known, and no field has it as a map.
    Agent,
    /// The finding about where the client is, likewise.
    Geo,
}

impl Section {
    pub const COUNT: usize = 7;

    pub const ALL: [Self; Self::COUNT] = [
        Self::Headers,
        Self::QueryParams,
        Self::Cookies,
        Self::RouteParams,
        Self::Fields,
        Self::Agent,
        Self::Geo,
    ];

    /// The sections that are members of `request`; the others are members of the event.
    pub const OF_REQUEST: [Self; 4] =
        [Self::Headers, Self::QueryParams, Self::Cookies, Self::RouteParams];

    pub const fn index(self) -> usize {
        self as usize
    }

    /// The section as a list of its own.
    pub const fn alone(self) -> &'static [Self] {
        match self {
            Self::Headers => &[Self::Headers],
            Self::QueryParams => &[Self::QueryParams],
            Self::Cookies => &[Self::Cookies],
            Self::RouteParams => &[Self::RouteParams],
            Self::Fields => &[Self::Fields],
            Self::Agent => &[Self::Agent],
            Self::Geo => &[Self::Geo],
        }
    }

    /// The name of its member in the event or request.
    pub const fn member(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::QueryParams => "query_params",
            Self::Cookies => "cookies",
            Self::RouteParams => "route_params",
            Self::Fields => "fields",
            Self::Agent => "agent",
            Self::Geo => "geo",
        }
    }
}

/// A member of the event or request that is text as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Member {
    Method,
    Protocol,
    Scheme,
    Host,
    Path,
    Query,
    ClientIp,
    UserAgent,
    Referer,
    ContentType,
    Source,
}

impl Member {
    pub const COUNT: usize = 11;

    /// The members of `request` with their names; `source` is a member of the event itself.
    pub const OF_REQUEST: [(Self, &'static str); 10] = [
        (Self::Method, "method"),
        (Self::Protocol, "protocol"),
        (Self::Scheme, "scheme"),
        (Self::Host, "host"),
        (Self::Path, "path"),
        (Self::Query, "query"),
        (Self::ClientIp, "client_ip"),
        (Self::UserAgent, "user_agent"),
        (Self::Referer, "referer"),
        (Self::ContentType, "content_type"),
    ];

    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A part of what is known of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgentPart {
    Operator,
    Product,
    Purpose,
    Proof,
    Claims,
    IsProvable,
    SignatureProblem,
}

/// A field that the encoder computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    Method,
    Protocol,
    Scheme,
    Host,
    RawPath,
    Path,
    Query,
    /// The names and values of the query, and of a form or JSON body, in order.
    Arguments,
    /// Whether the request may have other arguments.
    ArgumentsIncomplete,
    Section(Section),
    UserAgent,
    Referer,
    ContentType,
    ClientIp,
    Body,
    Source,
    ObservedAt,
    IpVersion,
    IpSubnet,
    ClientNetwork,
    ClientIpProblem,
    PathSegments,
    PathExtension,
    LenientPath,
    /// The names of a map that the request gives several values.
    Repeated(Section),
    UaFamily,
    UaOs,
    UaDevice,
    IsBot,
    Country,
    Asn,
    AsOrganization,
    Agent(AgentPart),
}

impl Field {
    /// The field with a full name, `None` if the model has none.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "request.method" => Self::Method,
            "request.protocol" => Self::Protocol,
            "request.scheme" => Self::Scheme,
            "request.host" => Self::Host,
            "request.raw_path" => Self::RawPath,
            "request.path" => Self::Path,
            "request.query" => Self::Query,
            "request.arguments" => Self::Arguments,
            "request.headers" => Self::Section(Section::Headers),
            "request.query_params" => Self::Section(Section::QueryParams),
            "request.cookies" => Self::Section(Section::Cookies),
            "request.route_params" => Self::Section(Section::RouteParams),
            "fields" => Self::Section(Section::Fields),
            "request.user_agent" => Self::UserAgent,
            "request.referer" => Self::Referer,
            "request.content_type" => Self::ContentType,
            "request.client_ip" => Self::ClientIp,
            "request.body" => Self::Body,
            "source" => Self::Source,
            "observed_at" => Self::ObservedAt,
            "derived.ip_version" => Self::IpVersion,
            "derived.ip_subnet" => Self::IpSubnet,
            "derived.client_network" => Self::ClientNetwork,
            "derived.client_ip_problem" => Self::ClientIpProblem,
            "derived.path_segments" => Self::PathSegments,
            "derived.path_extension" => Self::PathExtension,
            "derived.lenient_path" => Self::LenientPath,
            "derived.repeated_params" => Self::Repeated(Section::QueryParams),
            "derived.arguments_incomplete" => Self::ArgumentsIncomplete,
            "derived.repeated_cookies" => Self::Repeated(Section::Cookies),
            "derived.ua_family" => Self::UaFamily,
            "derived.ua_os" => Self::UaOs,
            "derived.ua_device" => Self::UaDevice,
            "derived.is_bot" => Self::IsBot,
            "derived.country" => Self::Country,
            "derived.asn" => Self::Asn,
            "derived.as_org" => Self::AsOrganization,
            "agent.operator" => Self::Agent(AgentPart::Operator),
            "agent.product" => Self::Agent(AgentPart::Product),
            "agent.purpose" => Self::Agent(AgentPart::Purpose),
            "agent.proof" => Self::Agent(AgentPart::Proof),
            "agent.claims" => Self::Agent(AgentPart::Claims),
            "agent.is_provable" => Self::Agent(AgentPart::IsProvable),
            "agent.signature_problem" => Self::Agent(AgentPart::SignatureProblem),
            _ => return None,
        })
    }

    /// The members that the field is computed from.
    pub const fn members(self) -> &'static [Member] {
        match self {
            Self::Method => &[Member::Method],
            Self::Protocol => &[Member::Protocol],
            // An absolute address in the place of the path has all of them.
            Self::Scheme => &[Member::Scheme, Member::Path],
            Self::Host => &[Member::Host, Member::Path],
            Self::Arguments | Self::ArgumentsIncomplete => {
                &[Member::Query, Member::Path, Member::ContentType]
            }
            Self::Query
            | Self::Section(Section::QueryParams)
            | Self::Repeated(Section::QueryParams) => &[Member::Query, Member::Path],
            Self::RawPath
            | Self::Path
            | Self::PathSegments
            | Self::PathExtension
            | Self::LenientPath => &[Member::Path],
            Self::UserAgent | Self::UaFamily | Self::UaOs | Self::UaDevice | Self::IsBot => {
                &[Member::UserAgent]
            }
            Self::Referer => &[Member::Referer],
            Self::ContentType => &[Member::ContentType],
            Self::ClientIp
            | Self::IpVersion
            | Self::IpSubnet
            | Self::ClientNetwork
            | Self::ClientIpProblem
            | Self::Country
            | Self::Asn
            | Self::AsOrganization => &[Member::ClientIp],
            Self::Agent(_) => &[Member::UserAgent, Member::ClientIp],
            Self::Source => &[Member::Source],
            Self::Section(_) | Self::Repeated(_) | Self::Body | Self::ObservedAt => &[],
        }
    }

    /// Whether the field needs ua-parser's data or the registry of agents.
    pub const fn is_from_user_agent_data(self) -> bool {
        matches!(self, Self::UaFamily | Self::UaOs | Self::UaDevice | Self::IsBot | Self::Agent(_))
    }

    /// The maps that the field is, or that it may be computed from.
    pub const fn sections(self) -> &'static [Section] {
        match self {
            Self::Section(section) | Self::Repeated(section) => section.alone(),
            Self::Arguments | Self::ArgumentsIncomplete => {
                &[Section::QueryParams, Section::Headers]
            }
            Self::Agent(_) => &[Section::Agent, Section::Headers],
            Self::Host
            | Self::UserAgent
            | Self::Referer
            | Self::ContentType
            | Self::ClientIp
            | Self::IpVersion
            | Self::IpSubnet
            | Self::ClientNetwork
            | Self::ClientIpProblem
            | Self::UaFamily
            | Self::UaOs
            | Self::UaDevice
            | Self::IsBot => &[Section::Headers],
            Self::Country | Self::Asn | Self::AsOrganization => &[Section::Geo, Section::Headers],
            _ => &[],
        }
    }

    /// The type of the field, in the text form of docs/canonical-tree.md.
    pub const fn type_text(self) -> &'static str {
        match self {
            Self::Section(_) => "map(string, string)",
            Self::Body => "dyn",
            Self::ObservedAt => "timestamp",
            Self::IpVersion | Self::Asn => "int",
            Self::PathSegments | Self::Repeated(_) => "list(string)",
            Self::Arguments => "list(map(string, string))",
            Self::IsBot | Self::ArgumentsIncomplete | Self::Agent(AgentPart::IsProvable) => "bool",
            _ => "string",
        }
    }
}
