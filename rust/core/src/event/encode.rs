//! Computes the fields that programs read from an event (docs/fields.md).
//!
//! It computes only fields with a slot in the layout, each part once.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::sync::Arc;

use bumpalo::Bump;
use bumpalo::collections::{String as ArenaString, Vec as ArenaVec};

use crate::event::agent::{self, Agent};
use crate::event::client::geo::AddressDatabases;
use crate::event::client::place::{self, Place};
use crate::event::client::{Client, Problem};
use crate::event::field::{AgentPart, Field, Member, Section};
use crate::event::headers::header;
use crate::event::layout::{Layout, Source};
use crate::event::path::target::{self, Target};
use crate::event::record::Record;
use crate::event::user_agent::{Families, ROBOT_DEVICE, UNKNOWN_FAMILY, UserAgents};
use crate::event::variable::VariableType;
use crate::event::{Entries, RawBody, RawEvent, headers, path};
use crate::json::Reader;
use crate::text::ascii_case::{lower, upper};
use crate::value::address::{Address, NetworkSet};
use crate::value::decimal::double_text;
use crate::value::error::EventError;
use crate::value::limits::Limits;
use crate::value::map::Map;
use crate::value::{List, Text, TotalMap, Value};

/// Bits of the network that represents an address, by family.
const SUBNET_BITS_V4: u8 = 24;
const SUBNET_BITS_V6: u8 = 48;
/// Bits of the network that one client commonly has to itself, by family.
const CLIENT_BITS_V4: u8 = 32;
const CLIENT_BITS_V6: u8 = 64;

/// The content type of a form as browsers send it.
const FORM: &str = "application/x-www-form-urlencoded";
/// Other content types of bodies with arguments.
const WITH_ARGUMENTS: [&str; 2] = ["application/json", "multipart/form-data"];

/// Data of the encoder other than the event.
#[derive(Clone, Copy)]
pub struct Settings<'s> {
    pub trusted_proxies: &'s NetworkSet,
    pub databases: Option<&'s AddressDatabases>,
    pub user_agents: Option<&'s UserAgents>,
    pub limits: &'s Limits,
}

/// Computes the fields of an event.
///
/// # Errors
/// A declared variable has a value that its type doesn't hold, or a query has too many pairs.
pub fn encode<'a>(
    event: &RawEvent<'a>,
    layout: &Layout,
    arena: &'a Bump,
    settings: Settings<'_>,
) -> Result<Record<'a>, EventError> {
    let encoder = Encoder::new(event, arena, settings);
    encoder.check_query(layout)?;
    if layout.reads_agent() {
        agent::check_finding(event.section(Section::Agent))?;
    }
    if layout.reads_place() {
        place::check_finding(event.section(Section::Geo))?;
    }
    let mut values = Vec::with_capacity(layout.slot_count());
    for (_, name, source) in layout.fields() {
        values.push(match source {
            Source::Field(field) => encoder.field(*field),
            Source::Variable(variable) => encoder.variable(name, variable)?,
            Source::Decision => None,
        });
    }
    let keys = event.keys().unwrap_or_else(|| {
        let keys = arena.alloc_slice_fill_copy(layout.key_count(), None);
        for section in Section::ALL {
            layout.place_keys(section, || encoder.section(section), keys);
        }
        keys
    });
    Ok(Record::new(layout, values, keys, encoder.known_client()))
}

/// The client of an event.
pub(crate) fn client<'a>(event: &RawEvent<'a>, arena: &'a Bump, settings: Settings<'_>) -> Client {
    Encoder::new(event, arena, settings).client()
}

/// The parameters of a query.
struct Parameters<'a> {
    joined: Entries<'a>,
    repeated: Vec<&'a str>,
}

/// The first arguments, as many as an object may have members.
struct Arguments<'a> {
    read: List<'a>,
    /// Whether the request may have others.
    is_incomplete: bool,
}

/// One event that is being encoded, with the parts that several fields need.
struct Encoder<'e, 'a> {
    event: &'e RawEvent<'a>,
    arena: &'a Bump,
    settings: Settings<'e>,
    headers: OnceCell<Entries<'a>>,
    client: OnceCell<Client>,
    target: OnceCell<Target<'a>>,
    path: OnceCell<&'a str>,
    parameters: OnceCell<Parameters<'a>>,
    arguments: OnceCell<Arguments<'a>>,
    families: OnceCell<Arc<Families>>,
}

impl<'e, 'a> Encoder<'e, 'a> {
    fn new(event: &'e RawEvent<'a>, arena: &'a Bump, settings: Settings<'e>) -> Self {
        Self {
            event,
            arena,
            settings,
            headers: OnceCell::new(),
            client: OnceCell::new(),
            target: OnceCell::new(),
            path: OnceCell::new(),
            parameters: OnceCell::new(),
            arguments: OnceCell::new(),
            families: OnceCell::new(),
        }
    }

    fn field(&self, field: Field) -> Option<Value<'a>> {
        let text = match field {
            Field::Method => upper(self.member(Member::Method), self.arena),
            Field::Protocol => match upper(self.member(Member::Protocol), self.arena) {
                // The names in RFC 9113 and 9114, for those that some servers write.
                "HTTP/2.0" => "HTTP/2",
                "HTTP/3.0" => "HTTP/3",
                text => text,
            },
            Field::Scheme => lower(self.scheme(), self.arena),
            Field::Host => self.host(),
            Field::RawPath => self.member(Member::Path),
            Field::Path => self.path(),
            Field::Query => self.query(),
            Field::LenientPath => path::lenient_path(self.target().path, self.arena),
            Field::UserAgent => self.user_agent(),
            Field::Referer => self.member_or_header(Member::Referer, "referer"),
            Field::ContentType => self.member_or_header(Member::ContentType, "content-type"),
            Field::ClientIp => self.client_ip(),
            Field::Source => self.member(Member::Source),
            Field::IpSubnet => self.network(SUBNET_BITS_V4, SUBNET_BITS_V6),
            Field::ClientNetwork => self.network(CLIENT_BITS_V4, CLIENT_BITS_V6),
            Field::ClientIpProblem => self.client().problem().map_or("", Problem::as_str),
            Field::PathExtension => lower(path::extension(self.path()), self.arena),
            Field::UaFamily => self.family(|families| &families.browser),
            Field::UaOs => self.family(|families| &families.system),
            Field::UaDevice => self.family(|families| &families.device),
            Field::Country => self.arena.alloc_str(self.place().country),
            Field::AsOrganization => self.arena.alloc_str(self.place().organization),
            Field::Section(section) => {
                return Some(Value::TotalMap(TotalMap::Borrowed(self.section(section))));
            }
            Field::ObservedAt => return self.event.observed_at.map(Value::Timestamp),
            Field::Body => return self.body(),
            Field::PathSegments => return Some(self.path_segments()),
            Field::Arguments => return Some(Value::List(self.arguments().read.clone())),
            Field::ArgumentsIncomplete => return Some(Value::Bool(self.arguments().is_incomplete)),
            Field::Repeated(section) => return Some(self.repeated(section)),
            Field::IpVersion => {
                let version = self.client_address().map_or(0, Address::family);
                return Some(Value::Int(i64::from(version)));
            }
            Field::IsBot => {
                let device = self.family(|families| &families.device);
                return Some(Value::Bool(device == ROBOT_DEVICE));
            }
            Field::Asn => return Some(Value::Int(i64::from(self.place().asn))),
            Field::Agent(AgentPart::IsProvable) => {
                return Some(Value::Bool(self.agent().is_provable));
            }
            Field::Agent(part) => self.arena.alloc_str(self.agent().text(part)),
        };
        Some(Value::String(Text::Borrowed(text)))
    }

    fn variable(
        &self,
        name: &str,
        variable: &VariableType,
    ) -> Result<Option<Value<'a>>, EventError> {
        let Some(found) = self.event.variables.iter().find(|found| found.name == name) else {
            return Ok(None);
        };
        variable.convert(found.value.clone()).map(Some).ok_or_else(|| EventError {
            message: format!("the variable `{name}` has a value of another type"),
            pointer: found.pointer.clone(),
            offset: None,
            is_unreadable: false,
        })
    }

    fn member(&self, member: Member) -> &'a str {
        self.event.member(member).unwrap_or_default()
    }

    fn member_or_header(&self, member: Member, name: &str) -> &'a str {
        self.event.member(member).or_else(|| header(self.headers(), name)).unwrap_or_default()
    }

    fn section(&self, section: Section) -> Entries<'a> {
        match section {
            Section::Headers => self.headers(),
            Section::QueryParams => self.parameters(),
            _ => self.event.section(section),
        }
    }

    fn target(&self) -> Target<'a> {
        *self.target.get_or_init(|| Target::read(self.member(Member::Path)))
    }

    fn scheme(&self) -> &'a str {
        self.event.member(Member::Scheme).or_else(|| self.target().scheme).unwrap_or_default()
    }

    /// The query as received, of its own or behind the path.
    fn query(&self) -> &'a str {
        self.event.member(Member::Query).or_else(|| self.target().query).unwrap_or_default()
    }

    /// Rejects a query with more pairs than an object may have members.
    fn check_query(&self, layout: &Layout) -> Result<(), EventError> {
        let most = self.settings.limits.event_members;
        if !layout.reads_parameters() {
            return Ok(());
        }
        if target::count(self.query()) <= most {
            return Ok(());
        }
        let member = if self.event.member(Member::Query).is_some() { "query" } else { "path" };
        Err(EventError {
            message: format!("the query has more than {most} parameters"),
            pointer: format!("/request/{member}"),
            offset: None,
            is_unreadable: false,
        })
    }

    /// The parameters: those of the event, else those of the query.
    fn parameters(&self) -> Entries<'a> {
        let received = self.event.section(Section::QueryParams);
        if received.is_empty() { self.parameters_of_query().joined } else { received }
    }

    fn parameters_of_query(&self) -> &Parameters<'a> {
        self.parameters.get_or_init(|| {
            let groups = headers::grouped(target::pairs(self.query(), self.arena));
            let is_repeated = |(_, values): &&(&str, Vec<&str>)| values.len() > 1;
            let repeated = groups.iter().filter(is_repeated).map(|(name, _)| *name).collect();
            Parameters { joined: headers::joined(groups, self.arena), repeated }
        })
    }

    /// The pairs of the query in order; without one, those of `query_params`. Then those of a form
    /// in the body, or the scalars of a JSON body.
    fn arguments(&self) -> &Arguments<'a> {
        self.arguments.get_or_init(|| {
            let mut is_unread = false;
            let mut found = self.arguments_of_query();
            match &self.event.body {
                Some(RawBody::Text(text)) if self.media_type().eq_ignore_ascii_case(FORM) => {
                    let pairs = target::pairs(text, self.arena);
                    let pairs = pairs.map(|(name, value)| argument("form", name, value));
                    found.extend(pairs.take(self.enough_arguments()));
                }
                Some(body) => match self.body() {
                    Some(value) => self.push_leaves("", &value, &mut found),
                    None => is_unread = self.has_arguments(body),
                },
                None => {}
            }
            let most = self.settings.limits.event_members;
            let is_incomplete = is_unread || found.len() > most;
            found.truncate(most);
            Arguments { read: found.into(), is_incomplete }
        })
    }

    /// One more argument than is read.
    fn enough_arguments(&self) -> usize {
        self.settings.limits.event_members.saturating_add(1)
    }

    /// Whether a body has arguments by its form.
    fn has_arguments(&self, body: &RawBody<'_>) -> bool {
        let RawBody::Text(text) = body else { return true };
        let kind = lower(self.media_type(), self.arena);
        !text.is_empty() && (WITH_ARGUMENTS.contains(&kind) || kind.ends_with("+json"))
    }

    fn arguments_of_query(&self) -> Vec<Value<'a>> {
        let of_query = |(name, value)| argument("query", name, value);
        let query = target::pairs(self.query(), self.arena).map(of_query);
        let query: Vec<_> = query.take(self.enough_arguments()).collect();
        if !query.is_empty() {
            return query;
        }
        let mut several = self.event.several(Section::QueryParams).peekable();
        let mut pairs = Vec::new();
        for (name, text) in self.event.section(Section::QueryParams) {
            let values = several.next_if(|(each, _)| each == name).map(|(_, values)| values);
            let values = values.unwrap_or(std::slice::from_ref(text));
            pairs.extend(values.iter().map(|value| of_query((name, value))));
        }
        pairs
    }

    /// The content type without its parameters.
    fn media_type(&self) -> &'a str {
        let content_type = self.member_or_header(Member::ContentType, "content-type");
        content_type.split(';').next().unwrap_or_default().trim_matches([' ', '\t'])
    }

    /// Adds the scalars in a value of JSON, each with the names that lead to it, joined by dots.
    fn push_leaves(&self, name: &str, value: &Value<'a>, found: &mut Vec<Value<'a>>) {
        // More aren't read.
        if found.len() > self.settings.limits.event_members {
            return;
        }
        let joined = |part: &dyn std::fmt::Display| {
            if name.is_empty() { part.to_string() } else { format!("{name}.{part}") }
        };
        match value {
            Value::List(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.push_leaves(&joined(&place), value, found);
                }
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let key = key.as_str().unwrap_or_default();
                    self.push_leaves(&joined(&key), value, found);
                }
            }
            scalar => {
                found.push(argument("json", self.arena.alloc_str(name), self.scalar_text(scalar)));
            }
        }
    }

    fn scalar_text(&self, scalar: &Value<'a>) -> &'a str {
        match scalar {
            Value::String(Text::Borrowed(text)) => text,
            Value::String(Text::Shared(text)) => self.arena.alloc_str(text),
            Value::Bool(value) => {
                if *value {
                    "true"
                } else {
                    "false"
                }
            }
            Value::Int(value) => self.display(value),
            Value::Uint(value) => self.display(value),
            Value::Double(value) => self.arena.alloc_str(&double_text(*value)),
            _ => "",
        }
    }

    /// The names of a map that have several values.
    fn repeated(&self, section: Section) -> Value<'a> {
        let text = |name| Value::String(Text::Borrowed(name));
        let is_of_query = section == Section::QueryParams && self.event.section(section).is_empty();
        let names: Vec<_> = if is_of_query {
            self.parameters_of_query().repeated.iter().copied().map(text).collect()
        } else {
            self.event.several(section).map(|(name, _)| text(name)).collect()
        };
        Value::List(names.into())
    }

    fn headers(&self) -> Entries<'a> {
        let received = self.event.section(Section::Headers);
        if self.event.keys().is_some() {
            return received;
        }
        self.headers.get_or_init(|| headers::fold(received, self.arena))
    }

    fn host(&self) -> &'a str {
        let own = self.event.member(Member::Host).or_else(|| self.target().host);
        let host = own.or_else(|| header(self.headers(), "host")).unwrap_or_default();
        lower(headers::host_name(host), self.arena)
    }

    fn path(&self) -> &'a str {
        self.path.get_or_init(|| path::canonical_path(self.target().path, self.arena))
    }

    fn path_segments(&self) -> Value<'a> {
        let segments = path::segments(self.path()).map(|text| Value::String(Text::Borrowed(text)));
        let segments = ArenaVec::from_iter_in(segments, self.arena);
        Value::List(List::Borrowed(segments.into_bump_slice()))
    }

    fn client(&self) -> Client {
        *self.client.get_or_init(|| {
            let member = self.event.member(Member::ClientIp);
            let chain = match member {
                Some(_) => None,
                None => header(self.headers(), "x-forwarded-for"),
            };
            Client::of(member, chain, self.settings.trusted_proxies)
        })
    }

    fn client_address(&self) -> Option<Address> {
        self.client().address()
    }

    /// The client if some field needed its address.
    fn known_client(&self) -> Option<Client> {
        self.client.get().copied()
    }

    fn client_ip(&self) -> &'a str {
        match (self.client_address(), self.event.member(Member::ClientIp)) {
            // IPv4 text without leading zeros has one form only.
            (Some(Address::V4(_)), Some(text)) if is_plain_v4(text) => text,
            (Some(address), _) => self.display(address),
            (None, _) => "",
        }
    }

    /// The network of the client address of so many bits, by family.
    fn network(&self, v4_bits: u8, v6_bits: u8) -> &'a str {
        let network = self.client_address().and_then(|address| {
            address.network(if address.family() == 4 { v4_bits } else { v6_bits })
        });
        network.map_or("", |network| self.display(network))
    }

    fn display(&self, shown: impl std::fmt::Display) -> &'a str {
        let mut text = ArenaString::new_in(self.arena);
        // Writing to memory does not fail.
        let _ = write!(text, "{shown}");
        text.into_bump_str()
    }

    fn user_agent(&self) -> &'a str {
        self.member_or_header(Member::UserAgent, "user-agent")
    }

    fn family(&self, part: impl Fn(&Families) -> &str) -> &'a str {
        let user_agent = self.user_agent();
        if user_agent.is_empty() {
            return "";
        }
        let Some(user_agents) = self.settings.user_agents else {
            return UNKNOWN_FAMILY;
        };
        let families = self.families.get_or_init(|| user_agents.families(user_agent));
        self.arena.alloc_str(part(families))
    }

    fn agent(&self) -> Agent<'_> {
        let user_agent = self.user_agent();
        let claimed = self.settings.user_agents.and_then(|data| {
            let families = self.families.get_or_init(|| data.families(user_agent));
            data.claimed(families)
        });
        Agent::of(self.event.section(Section::Agent), claimed, self.client_address())
    }

    /// The place that the event states, or else that databases know.
    fn place(&self) -> Place<'_> {
        let finding = self.event.section(Section::Geo);
        if !finding.is_empty() {
            return Place::stated(finding);
        }
        let known = self.settings.databases.zip(self.client_address());
        known.map(|(databases, address)| databases.find(address)).unwrap_or_default()
    }

    fn body(&self) -> Option<Value<'a>> {
        match self.event.body.as_ref()? {
            RawBody::Value(value) => Some(value.clone()),
            RawBody::Text(text) => read_body(text, self.arena, self.settings.limits),
            RawBody::Unread => None,
        }
    }
}

pub(crate) fn is_plain_v4(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// One of `request.arguments`.
fn argument<'a>(origin: &'static str, name: &'a str, value: &'a str) -> Value<'a> {
    let text = |text| Value::String(Text::Borrowed(text));
    let entries = [("name", name), ("value", value), ("where", origin)];
    let entries = entries.map(|(key, each)| (text(key), text(each)));
    Value::Map(Map::from_unique(entries.into()).into())
}

/// The value of a body that is JSON text; None for other text.
fn read_body<'a>(text: &'a str, arena: &'a Bump, limits: &Limits) -> Option<Value<'a>> {
    let mut reader = Reader::over(text, arena, limits);
    let value = reader.value().ok()?;
    reader.finish().ok()?;
    (!reader.is_out_of_range()).then_some(value)
}

#[cfg(test)]
mod tests;
