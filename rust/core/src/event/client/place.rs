//! Where a client is, as an event states it or as address databases know it: docs/fields.md,
//! "Country and network". `evaluation/geography.py` has the definition.

use crate::event::Entries;
use crate::json::pointer_step;
use crate::value::error::EventError;

/// The members of `geo`.
pub(crate) const MEMBERS: [&str; 3] = ["country", "asn", "as_org"];
const COUNTRY_BYTES: usize = 2;

/// Where a client is; empty or 0 where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'p> {
    /// The ISO code of the country.
    pub country: &'p str,
    /// The number of the autonomous system.
    pub asn: u32,
    /// The organization that runs it.
    pub organization: &'p str,
}

impl<'p> Place<'p> {
    /// The place that a checked finding states.
    pub(crate) fn stated(finding: Entries<'p>) -> Self {
        let own = |name| member(finding, name).unwrap_or_default();
        Self {
            country: own("country"),
            asn: own("asn").parse().unwrap_or_default(),
            organization: own("as_org"),
        }
    }

    /// Fills the gaps of this place from another.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            country: if self.country.is_empty() { other.country } else { self.country },
            asn: if self.asn == 0 { other.asn } else { self.asn },
            organization: if self.organization.is_empty() {
                other.organization
            } else {
                self.organization
            },
        }
    }
}

/// Whether a text has the form of an ISO code of a country; some databases have others, as `T1`.
pub(crate) fn is_country(text: &str) -> bool {
    text.len() == COUNTRY_BYTES
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Rejects a finding that can't be used.
pub(crate) fn check_finding(finding: Entries<'_>) -> Result<(), EventError> {
    if let Some((name, _)) = finding.iter().find(|(name, _)| !MEMBERS.contains(name)) {
        let known = MEMBERS.join("`, `");
        return refused(format!("`geo` has no such member; its members are `{known}`"), name);
    }
    let country = member(finding, "country").unwrap_or_default();
    if !country.is_empty() && !is_country(country) {
        return refused("must be a country code of two capitals, as `NL`".to_owned(), "country");
    }
    let asn = member(finding, "asn").unwrap_or_default();
    let is_number = asn.bytes().all(|byte| byte.is_ascii_digit());
    if !asn.is_empty() && (!is_number || asn.parse::<u32>().is_err()) {
        return refused("must be a whole number from 0 to 4294967295".to_owned(), "asn");
    }
    Ok(())
}

fn member<'a>(finding: Entries<'a>, name: &str) -> Option<&'a str> {
    finding.iter().find(|(each, _)| *each == name).map(|(_, text)| *text)
}

#[cold]
fn refused(message: String, member: &str) -> Result<(), EventError> {
    let pointer = format!("/geo{}", pointer_step(member));
    Err(EventError { message, pointer, offset: None, is_unreadable: false })
}

#[cfg(test)]
mod tests;
