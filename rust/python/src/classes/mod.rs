//! The classes of the extension.

pub(crate) mod address_databases;
pub(crate) mod calls;
pub(crate) mod engine;
pub(crate) mod learned_names;
pub(crate) mod plain_form;
pub(crate) mod proof_keys;
pub(crate) mod redactor;
pub(crate) mod rule_set;
pub(crate) mod served;
