//! Plain texts: ASCII case.

pub(crate) mod ascii_case;
