//! What a program is evaluated on: an event in a dict, in JSON, or prepared.

use bumpalo::Bump;
use pyo3::prelude::*;
use tidegate_core::RuleSet;
use tidegate_core::encode::{Settings, encode};
use tidegate_core::event::{self, RawEvent};
use tidegate_core::record::Record;
use tidegate_core::user_agent::UserAgents;

use crate::error::event_error;
use crate::event::read_event;

/// The record of an event.
///
/// # Errors
/// `EventError` when the event is refused.
pub(crate) fn read_record<'a>(
    context: &'a Bound<'_, PyAny>,
    rules: &RuleSet,
    user_agents: Option<&UserAgents>,
    arena: &'a Bump,
) -> PyResult<Record<'a>> {
    let event = read_event(context, rules.layout(), arena, rules.limits())?;
    encode_event(&event, rules, user_agents, arena)
        .map_err(|error| event_error(context.py(), error))
}

/// The record of an event in JSON; needs no interpreter.
pub(crate) fn read_bytes<'a>(
    bytes: &'a [u8],
    rules: &RuleSet,
    user_agents: Option<&UserAgents>,
    arena: &'a Bump,
) -> Result<Record<'a>, tidegate_core::EventError> {
    let event = event::read(bytes, rules.layout(), arena, rules.limits())?;
    encode_event(&event, rules, user_agents, arena)
}

fn encode_event<'a>(
    event: &RawEvent<'a>,
    rules: &RuleSet,
    user_agents: Option<&UserAgents>,
    arena: &'a Bump,
) -> Result<Record<'a>, tidegate_core::EventError> {
    let settings = Settings {
        trusted_proxies: rules.trusted_proxies(),
        databases: None,
        user_agents,
        limits: rules.limits(),
    };
    encode(event, rules.layout(), arena, settings)
}
