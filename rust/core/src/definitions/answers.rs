//! The parts of an answer that follow from the definitions alone.

use crate::definitions::document::{BlockForm, ChallengeForm};
use crate::json::write::write_string;
use crate::value::Text;
use serde_json::Value as Json;
use std::fmt::Write;

/// The `action` object of a block.
pub(crate) fn block_action(block: &BlockForm<'_>) -> String {
    let mut out = String::from("{\"type\":\"block\",\"block\":{\"status_code\":");
    _ = write!(out, "{},\"body\":", block.status_code);
    write_string(&mut out, &block.body);
    out.push_str(",\"headers\":{");
    for (index, (name, value)) in block.headers.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(&mut out, name);
        out.push(':');
        write_string(&mut out, value.as_str().unwrap_or_default());
    }
    out.push_str("}}}");
    out
}

/// The `action` object of a block with more headers.
pub(crate) fn with_headers(action: &str, headers: &[(&str, Text<'_>)]) -> String {
    let mut out = String::from(action.strip_suffix("}}}").unwrap_or(action));
    for (name, value) in headers {
        if !out.ends_with('{') {
            out.push(',');
        }
        write_string(&mut out, name);
        out.push(':');
        write_string(&mut out, value);
    }
    out.push_str("}}}");
    out
}

/// The `action` object of a ban that ends in some seconds.
pub(crate) fn ban_action(seconds: i64) -> String {
    let headers = [("retry-after".to_owned(), Json::from(seconds.to_string()))];
    let headers = headers.into_iter().collect();
    block_action(&BlockForm {
        status_code: 403,
        body: String::new(),
        headers,
        computed_headers: Vec::new(),
    })
}

/// The `action` object of a challenge, up to its return URL.
pub(crate) fn challenge_start(challenge: &ChallengeForm) -> String {
    let mut out = String::from("{\"type\":\"challenge\",\"challenge\":{\"provider\":");
    write_string(&mut out, &challenge.provider);
    _ = write!(out, ",\"difficulty\":{},\"return_url\":", challenge.difficulty);
    out
}
