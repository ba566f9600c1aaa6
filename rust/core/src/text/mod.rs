//! Plain texts: tables of them, case, search.

pub(crate) mod ascii_case;
pub(crate) mod text_table;
pub(crate) mod texts;
