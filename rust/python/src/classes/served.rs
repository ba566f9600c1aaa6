//! One decision in the parts that a service needs.

use pyo3::prelude::*;
use tidegate_core::definitions::Definitions;
use tidegate_service::block::Action;
use tidegate_service::served::Served;

/// A decision that was counted. See `_native.pyi`.
#[pyclass(frozen, get_all, name = "Served", module = "tidegate._native")]
pub(crate) struct PyServed {
    answer: Vec<u8>,
    record: Vec<u8>,
    effects: Vec<u8>,
    action: &'static str,
    reason: &'static str,
    policy: Option<String>,
    mode: Option<&'static str>,
    entity_id: Option<String>,
    entity_ids: Vec<String>,
    observed_at: i64,
    path: Option<String>,
    fired: Vec<(String, &'static str)>,
}

impl PyServed {
    /// A decision, with the names of the definitions that decided.
    pub(crate) fn new(served: Served, definitions: &Definitions) -> Self {
        let answered = served.answered(definitions);
        let mode = answered.map(|(_, mode)| mode);
        let fired = served.fired(definitions);
        let entity_ids: Vec<String> = served.entity_ids.iter().map(ToString::to_string).collect();
        Self {
            action: Action::of(mode).as_str(),
            reason: served.reason.as_str(),
            policy: answered.map(|(policy, _)| policy.slug.to_string()),
            mode: mode.map(|mode| mode.as_str()),
            entity_id: entity_ids.first().cloned(),
            entity_ids,
            observed_at: served.time,
            fired: fired.map(|(policy, mode)| (policy.slug.to_string(), mode.as_str())).collect(),
            path: served.path.map(String::from),
            answer: served.answer.into_bytes(),
            record: served.record.into_bytes(),
            effects: served.effects.into_bytes(),
        }
    }
}
