//! Where a client address is: the data of address databases (MaxMind DB files).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use maxminddb::{LookupResult, MaxMindDbError, PathElement, Reader, WithinOptions};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use crate::event::client::place::{Place, is_country};
use crate::value::address::Address;

/// Entries that are read to find out what a database gives.
const PROBED_ENTRIES: usize = 1_000;
/// The longest name of an organization that is used.
const MAX_ORGANIZATION_BYTES: usize = 256;
const IPV4_ONLY: u16 = 4;
const COUNTRY: [PathElement<'_>; 2] = [PathElement::Key("country"), PathElement::Key("iso_code")];
const ASN: [PathElement<'_>; 1] = [PathElement::Key("autonomous_system_number")];
const ORGANIZATION: [PathElement<'_>; 1] = [PathElement::Key("autonomous_system_organization")];

/// The bytes are not a MaxMind DB.
#[derive(Debug)]
pub struct BadDatabase(String);

impl fmt::Display for BadDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not an address database: {}", self.0)
    }
}

impl std::error::Error for BadDatabase {}

impl From<MaxMindDbError> for BadDatabase {
    fn from(error: MaxMindDbError) -> Self {
        Self(error.to_string())
    }
}

/// The fields that a database gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gives {
    pub country: bool,
    pub asn: bool,
    pub organization: bool,
}

/// One database.
#[derive(Debug)]
pub struct AddressDatabase {
    reader: Reader<Vec<u8>>,
    broken: AtomicU64,
}

impl AddressDatabase {
    /// Opens a database, given as the content of its file.
    ///
    /// # Errors
    /// [`BadDatabase`] for content that isn't a database.
    pub fn new(content: Vec<u8>) -> Result<Self, BadDatabase> {
        Ok(Self { reader: Reader::from_source(content)?, broken: AtomicU64::new(0) })
    }

    /// Checks the whole database, which takes a second for each 100 MB or so.
    ///
    /// # Errors
    /// [`BadDatabase`] for the first damage, or if it gives no field.
    pub fn check(&self) -> Result<Gives, BadDatabase> {
        self.reader.verify()?;
        let mut gives = Gives::default();
        for entry in self.reader.networks(WithinOptions::default())?.take(PROBED_ENTRIES) {
            let found = self.read(&entry?);
            gives.country |= !found.country.is_empty();
            gives.asn |= found.asn != 0;
            gives.organization |= !found.organization.is_empty();
        }
        if gives == Gives::default() {
            let kind = self.kind();
            return Err(BadDatabase(format!(
                "it has neither countries nor autonomous systems, its type is `{kind}`"
            )));
        }
        Ok(gives)
    }

    /// The type, as its maker names it.
    pub fn kind(&self) -> &str {
        &self.reader.metadata().database_type
    }

    /// The time at which it was made, in seconds since 1970.
    pub fn built_at(&self) -> u64 {
        self.reader.metadata().build_epoch
    }

    /// Lookups that found an entry that can't be used.
    pub fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }

    fn find(&self, address: IpAddr) -> Place<'_> {
        if address.is_ipv6() && self.reader.metadata().ip_version == IPV4_ONLY {
            return Place::default();
        }
        match self.reader.lookup(address) {
            Ok(entry) if entry.has_data() => self.read(&entry),
            Ok(_) => Place::default(),
            Err(_) => self.part::<Place<'_>>(Err(())).unwrap_or_default(),
        }
    }

    fn read<'d>(&self, entry: &LookupResult<'d, Vec<u8>>) -> Place<'d> {
        let asn: Option<Number> = self.part(at(entry, &ASN));
        let country: Option<&str> = self.part(at(entry, &COUNTRY));
        let organization: Option<&str> = self.part(at(entry, &ORGANIZATION));
        Place {
            country: country.filter(|code| is_country(code)).unwrap_or_default(),
            asn: asn.map_or(0, |Number(asn)| asn),
            organization: organization
                .filter(|name| name.len() <= MAX_ORGANIZATION_BYTES)
                .unwrap_or_default(),
        }
    }

    /// A broken entry counts as no answer; it never rejects an event.
    fn part<T>(&self, found: Result<Option<T>, ()>) -> Option<T> {
        found.unwrap_or_else(|()| {
            self.broken.fetch_add(1, Ordering::Relaxed);
            None
        })
    }
}

/// A whole number, of whichever type its maker chose.
struct Number(u32);

impl<'d> Deserialize<'d> for Number {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor).map(Self)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = u32;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number of 32 bits")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        u32::try_from(number).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        u32::try_from(number).map_err(E::custom)
    }
}

fn at<'d, T: Deserialize<'d>>(
    entry: &LookupResult<'d, Vec<u8>>,
    path: &[PathElement<'_>],
) -> Result<Option<T>, ()> {
    entry.decode_path(path).map_err(|_| ())
}

/// Databases that are asked in order; the first that knows an answer gives it.
#[derive(Clone, Debug, Default)]
pub struct AddressDatabases {
    databases: Vec<Arc<AddressDatabase>>,
}

impl AddressDatabases {
    /// Opens databases, each given as the content of its file.
    ///
    /// # Errors
    /// [`BadDatabase`] for content that isn't a database.
    pub fn new(contents: impl IntoIterator<Item = Vec<u8>>) -> Result<Self, BadDatabase> {
        let opened = contents.into_iter().map(|each| AddressDatabase::new(each).map(Arc::new));
        Ok(Self { databases: opened.collect::<Result<_, _>>()? })
    }

    /// Everything that the databases know of an address.
    pub fn find(&self, address: Address) -> Place<'_> {
        let address = match address {
            Address::V4(bits) => IpAddr::V4(Ipv4Addr::from_bits(bits)),
            Address::V6(bits) => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        let found = self.databases.iter().map(|each| each.find(address));
        found.reduce(Place::or).unwrap_or_default()
    }
}

impl FromIterator<Arc<AddressDatabase>> for AddressDatabases {
    fn from_iter<I: IntoIterator<Item = Arc<AddressDatabase>>>(databases: I) -> Self {
        Self { databases: databases.into_iter().collect() }
    }
}
