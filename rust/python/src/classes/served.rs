//! One decision in the parts that a service needs.

use tidegate_core::definitions::Definitions;
use tidegate_service::block::Action;
use tidegate_service::served::Served;

/// The parts of a decision that was counted, in the order of `tidegate.policy.served.Served`.
pub(crate) type Columns = (
    Vec<u8>,
    Vec<u8>,
    Vec<u8>,
    &'static str,
    &'static str,
    Option<String>,
    Option<&'static str>,
    Option<String>,
    Vec<String>,
    i64,
    Option<String>,
    Vec<(String, &'static str)>,
);

/// A decision, with the names of the definitions that decided.
pub(crate) fn columns(served: Served, definitions: &Definitions) -> Columns {
    let policy = served.answered(definitions).map(|policy| policy.slug.to_string());
    let fired = served.fired(definitions);
    let fired = fired.map(|(policy, mode)| (policy.slug.to_string(), mode.as_str())).collect();
    let entity_ids: Vec<String> = served.entity_ids.iter().map(ToString::to_string).collect();
    (
        served.answer.into_bytes(),
        served.record.into_bytes(),
        served.effects.into_bytes(),
        Action::of(served.mode).as_str(),
        served.reason.as_str(),
        policy,
        served.mode.map(|mode| mode.as_str()),
        entity_ids.first().cloned(),
        entity_ids,
        served.time,
        served.path.map(String::from),
        fired,
    )
}
