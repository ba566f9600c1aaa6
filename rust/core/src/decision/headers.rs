//! The headers of a block whose values expressions compute.

use super::{Decision, Place};
use crate::decision::outcomes::Conditions;
use crate::definitions::{ComputedHeader, Definitions, Response, answers};
use crate::value::error::ErrorCode;
use crate::value::work::Work;
use crate::value::{Text, Value};

/// Characters of a header's value.
const LONGEST: usize = 4 * 1024;

impl<'a> Decision<'a> {
    /// Computes the headers of the answer. A decision whose budget ended has none; the work of
    /// others is that of a few expressions, each within its own limit.
    pub(crate) fn compute_headers(
        &mut self,
        definitions: &'a Definitions,
        conditions: &Conditions<'a, '_>,
    ) {
        let mitigation = self.answer().and_then(|fired| fired.mitigation);
        let Some(mitigation) = mitigation else { return };
        let Response::Block(action) = &mitigation.response else { return };
        if mitigation.computed_headers.is_empty() || self.ends.are_any() {
            return;
        }
        conditions.exchange_work(Work::unlimited());
        let mut headers = Vec::with_capacity(mitigation.computed_headers.len());
        for header in &mitigation.computed_headers {
            match value_of(header, definitions, conditions) {
                Ok(value) if value.is_empty() => {}
                Ok(value) => headers.push((&*header.name, value)),
                Err(code) => {
                    self.errors.push((Place::Header { mitigation, name: &header.name }, code));
                }
            }
        }
        self.computed = Some(Response::Block(answers::with_headers(action, &headers).into()));
    }
}

/// The value of a header as it is stored.
fn value_of<'a>(
    header: &ComputedHeader,
    definitions: &Definitions,
    conditions: &Conditions<'a, '_>,
) -> Result<Text<'a>, ErrorCode> {
    let Value::String(text) = conditions.value(header.expression)? else {
        return Err(ErrorCode::NoSuchOverload);
    };
    let text = definitions.kept_text(header.expression, text);
    if is_header_value(&text) { Ok(text) } else { Err(ErrorCode::InvalidArgument) }
}

/// Whether a text is visible ASCII without blanks at its ends, or empty (RFC 9110, section 5.5).
fn is_header_value(text: &str) -> bool {
    text.len() <= LONGEST
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}
