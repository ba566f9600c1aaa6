//! What a program is evaluated on: an event in a dict, in JSON, or prepared.

use bumpalo::Bump;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidegate_core::RuleSet;
use tidegate_core::encode::{Settings, encode};
use tidegate_core::event::{self, RawEvent};
use tidegate_core::record::Record;

use crate::convert::from_python;
use crate::error::event_error;

/// The record of an event.
///
/// # Errors
/// `EventError` when the event is refused.
pub(crate) fn read_record<'a>(
    context: &'a Bound<'_, PyAny>,
    rules: &RuleSet,
    arena: &'a Bump,
) -> PyResult<Record<'a>> {
    let py = context.py();
    if let Ok(bytes) = context.cast::<PyBytes>() {
        return read_bytes(bytes.as_bytes(), rules, arena).map_err(|error| event_error(py, error));
    }
    let event = from_dict(context, arena)?;
    encode_event(&event, rules, arena).map_err(|error| event_error(py, error))
}

/// The record of an event in JSON; needs no interpreter.
pub(crate) fn read_bytes<'a>(
    bytes: &'a [u8],
    rules: &RuleSet,
    arena: &'a Bump,
) -> Result<Record<'a>, tidegate_core::EventError> {
    let event = event::read(bytes, rules.layout(), arena, rules.limits())?;
    encode_event(&event, rules, arena)
}

fn encode_event<'a>(
    event: &RawEvent<'a>,
    rules: &RuleSet,
    arena: &'a Bump,
) -> Result<Record<'a>, tidegate_core::EventError> {
    let settings = Settings {
        trusted_proxies: rules.trusted_proxies(),
        databases: None,
        user_agents: None,
        limits: rules.limits(),
    };
    encode(event, rules.layout(), arena, settings)
}

fn from_dict<'a>(context: &Bound<'_, PyAny>, arena: &'a Bump) -> PyResult<RawEvent<'a>> {
    let mut event = RawEvent::default();
    for (name, value) in context.cast::<pyo3::types::PyDict>()? {
        let name = arena.alloc_str(&name.extract::<String>()?);
        event.variables.push((name, from_python(&value, arena)?));
    }
    Ok(event)
}
