//! What a program is evaluated on: an event in a dict, in JSON, or prepared.

use bumpalo::Bump;
use pyo3::prelude::*;
use tidegate_core::RuleSet;
use tidegate_core::event::record::Record;
use tidegate_core::event::user_agent::UserAgents;

use crate::convert::error::event_error;
use crate::convert::event::read_event;

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
    rules.encode(&event, user_agents, arena).map_err(|error| event_error(context.py(), error))
}
