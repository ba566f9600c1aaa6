//! Families of browser, system and device, by ua-parser's data.

use std::fmt;

use serde::Deserialize;
use ua_parser::{Extractor, Regexes};

/// The family of whatever nothing in the data fits.
pub const UNKNOWN_FAMILY: &str = "Other";

/// The device family of crawlers and other robots.
pub const ROBOT_DEVICE: &str = "Spider";

/// The compiled data.
pub struct UserAgents {
    extractor: Extractor<'static>,
}

/// What a user agent says of its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Families {
    pub browser: String,
    pub system: String,
    pub device: String,
}

/// Data that is not ua-parser's.
#[derive(Debug)]
pub struct BadUserAgentData(String);

impl fmt::Display for BadUserAgentData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not ua-parser's data: {}", self.0)
    }
}

impl std::error::Error for BadUserAgentData {}

impl UserAgents {
    /// Compiles the data, given as JSON with the names of ua-parser's `regexes.yaml`.
    ///
    /// # Errors
    /// [`BadUserAgentData`] for JSON of another shape, or a pattern that does not compile.
    pub fn new(json: &[u8]) -> Result<Self, BadUserAgentData> {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let regexes = Regexes::deserialize(&mut deserializer)
            .map_err(|error| BadUserAgentData(error.to_string()))?;
        let extractor =
            Extractor::try_from(regexes).map_err(|error| BadUserAgentData(error.to_string()))?;
        Ok(Self { extractor })
    }

    /// The families of a user agent.
    pub fn families(&self, user_agent: &str) -> Families {
        let (browser, system, device) = self.extractor.extract(user_agent);
        let known = |family: Option<&str>| family.unwrap_or(UNKNOWN_FAMILY).to_owned();
        Families {
            browser: known(browser.as_ref().map(|found| &*found.family)),
            system: known(system.as_ref().map(|found| &*found.os)),
            device: known(device.as_ref().map(|found| &*found.device)),
        }
    }
}
