//! The data of address databases (MaxMind DB files) on a client address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use maxminddb::{PathElement, Reader};

use crate::value::address::Address;

/// Databases that are asked in order; the first that knows an answer gives it.
#[derive(Default)]
pub struct AddressDatabases {
    readers: Vec<Reader<Vec<u8>>>,
}

/// The bytes are not a MaxMind DB.
#[derive(Debug)]
pub struct BadDatabase(String);

impl fmt::Display for BadDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not an address database: {}", self.0)
    }
}

impl std::error::Error for BadDatabase {}

impl AddressDatabases {
    /// Opens databases, each given as the content of its file.
    ///
    /// # Errors
    /// [`BadDatabase`] for content that isn't a database.
    pub fn new(contents: impl IntoIterator<Item = Vec<u8>>) -> Result<Self, BadDatabase> {
        let readers = contents.into_iter().map(Reader::from_source);
        let readers = readers.collect::<Result<_, _>>();
        Ok(Self { readers: readers.map_err(|error| BadDatabase(error.to_string()))? })
    }

    /// The ISO code of the country, if one is known.
    pub fn country(&self, address: Address) -> Option<&str> {
        self.find(address, &["country", "iso_code"])
    }

    /// The number of the autonomous system, if it is known.
    pub fn asn(&self, address: Address) -> Option<u32> {
        self.find(address, &["autonomous_system_number"])
    }

    /// The organisation that runs the autonomous system, if it is known.
    pub fn as_organization(&self, address: Address) -> Option<&str> {
        self.find(address, &["autonomous_system_organization"])
    }

    /// A broken entry counts as no answer; it never rejects an event.
    fn find<'d, T: serde::Deserialize<'d>>(&'d self, address: Address, keys: &[&str]) -> Option<T> {
        let address = match address {
            Address::V4(bits) => IpAddr::V4(Ipv4Addr::from_bits(bits)),
            Address::V6(bits) => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        let path: Vec<PathElement<'_>> = keys.iter().map(|key| PathElement::Key(key)).collect();
        self.readers
            .iter()
            .find_map(|reader| reader.lookup(address).ok()?.decode_path(&path).ok().flatten())
    }
}
