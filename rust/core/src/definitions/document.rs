//! The JSON form of a tenant's definitions, as the compiler writes it: enabled
//! objects only, in decision order, expressions as checked trees. Objects refer to
//! each other by position.
//!
//! This module defines the members; [`crate::definitions`] validates them. Expressions keep their
//! JSON text: equal expressions have equal text.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::functions::named_lists::ListDefinition;
use crate::value::limits::Limits;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bundle<'t> {
    pub(crate) version: u32,
    pub(crate) tenant: String,
    pub(crate) revision: u64,
    #[serde(default)]
    pub(crate) limits: Limits,
    /// Names and type texts.
    #[serde(default)]
    pub(crate) fields: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) lists: BTreeMap<String, ListDefinition>,
    #[serde(default)]
    pub(crate) trusted_proxies: Vec<String>,
    #[serde(borrow, default)]
    pub(crate) actions: Vec<ActionForm<'t>>,
    #[serde(borrow, default)]
    pub(crate) entities: Vec<EntityForm<'t>>,
    #[serde(borrow, default)]
    pub(crate) mitigations: Vec<MitigationForm<'t>>,
    #[serde(borrow, default)]
    pub(crate) policies: Vec<PolicyForm<'t>>,
    #[serde(default)]
    pub(crate) overrides: Vec<OverrideForm>,
    pub(crate) max_keys: u32,
    #[serde(default)]
    pub(crate) on_budget_exceeded: OnBudgetExceeded,
}

/// Definitions whose policies and overrides differ from compiled ones; everything else is the
/// same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change<'t> {
    /// The revision of the definitions that it changes.
    pub(crate) base_revision: u64,
    pub(crate) revision: u64,
    /// All policies, in order.
    #[serde(borrow)]
    pub(crate) policies: Vec<Piece<'t>>,
    #[serde(default)]
    pub(crate) overrides: Vec<OverrideForm>,
}

/// A run of unchanged policies, and the new or changed ones after it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Piece<'t> {
    /// The position of the first before the change, and how many.
    pub(crate) kept: (usize, usize),
    #[serde(borrow)]
    pub(crate) new: Vec<PolicyForm<'t>>,
}

/// The answer if the budget of a decision ended and no clause gives one.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OnBudgetExceeded {
    Allow,
    Challenge,
    #[default]
    Block,
}

/// An answer given by hand, for a network or an entity. Times are nanoseconds since 1970.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OverrideForm {
    pub(crate) id: String,
    pub(crate) kind: OverrideKind,
    pub(crate) network: Option<String>,
    pub(crate) entity_id: Option<String>,
    pub(crate) starts_at: i64,
    pub(crate) ends_at: i64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OverrideKind {
    Ban,
    Allow,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionForm<'t> {
    pub(crate) slug: String,
    #[serde(borrow)]
    pub(crate) expression: &'t RawValue,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntityForm<'t> {
    pub(crate) slug: String,
    pub(crate) id: String,
    /// A number for people; the order is the array's.
    #[serde(default)]
    #[expect(dead_code, reason = "a member of the form")]
    pub(crate) priority: i64,
    pub(crate) on_missing_key: MissingKey,
    #[serde(borrow)]
    pub(crate) match_expression: Option<&'t RawValue>,
    #[serde(borrow)]
    pub(crate) key_fields: Vec<&'t RawValue>,
    /// The reading of each key field.
    #[serde(default)]
    pub(crate) key_readings: Vec<Reading>,
}

/// The name by which a redactor knows the value of an expression, and whether it is a secret.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    pub(crate) name: String,
    #[serde(rename = "secret")]
    pub(crate) is_secret: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum MissingKey {
    Skip,
    Blank,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MitigationForm<'t> {
    pub(crate) slug: String,
    pub(crate) mode: Mode,
    pub(crate) ttl_seconds: u64,
    pub(crate) challenge: Option<ChallengeForm>,
    #[serde(borrow)]
    pub(crate) block: Option<BlockForm<'t>>,
}

/// The actions of mitigations, the weakest first.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Monitor,
    Challenge,
    Block,
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Monitor => "Monitor",
            Self::Challenge => "Challenge",
            Self::Block => "Block",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChallengeForm {
    pub(crate) provider: String,
    pub(crate) difficulty: u32,
    #[serde(default)]
    pub(crate) default_return_url_template: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockForm<'t> {
    pub(crate) status_code: u16,
    pub(crate) body: String,
    /// Names to text; the order is kept.
    pub(crate) headers: serde_json::Map<String, Json>,
    #[serde(borrow, default)]
    pub(crate) computed_headers: Vec<HeaderForm<'t>>,
}

/// A header of a block with the value of an expression.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeaderForm<'t> {
    pub(crate) name: String,
    #[serde(borrow)]
    pub(crate) expression: &'t RawValue,
    pub(crate) reading: Reading,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyForm<'t> {
    pub(crate) slug: String,
    #[serde(default)]
    pub(crate) id: String,
    #[serde(borrow)]
    pub(crate) expression: Option<&'t RawValue>,
    #[serde(borrow)]
    pub(crate) clauses: Vec<ClauseForm<'t>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClauseForm<'t> {
    pub(crate) name: String,
    #[serde(borrow)]
    pub(crate) expression: Option<&'t RawValue>,
    pub(crate) actions: Vec<u32>,
    pub(crate) entity: Option<u32>,
    pub(crate) mitigation: Option<u32>,
    #[serde(borrow)]
    pub(crate) window: Option<WindowForm<'t>>,
    #[serde(rename = "final")]
    pub(crate) is_final: bool,
    /// False when the clause names a disabled action or entity: it keeps its
    /// place and never fires.
    #[serde(default = "enabled")]
    pub(crate) enabled: bool,
}

fn enabled() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowForm<'t> {
    pub(crate) duration_seconds: f64,
    pub(crate) threshold: u16,
    pub(crate) measure: Measure,
    #[serde(borrow)]
    pub(crate) field: Option<&'t RawValue>,
    #[serde(default)]
    pub(crate) field_reading: Option<Reading>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Measure {
    Count,
    Distinct,
}
