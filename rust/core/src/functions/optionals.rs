//! Optional values.

use super::{Function, Pricing, function, member, overload, priced};
use crate::functions::operators::Applied;
use crate::functions::{Overload, Parameter};
use crate::value::error::ErrorCode;
use crate::value::{Duration, List, Timestamp, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    priced(
        Pricing::Free,
        function(
            "optional.of",
            &[overload!(|_, value: &Value<'_>| Ok(Value::some(value.clone())))],
        ),
    ),
    priced(Pricing::Free, function("optional.none", &[overload!(|_| Ok(Value::Optional(None)))])),
    priced(
        Pricing::Free,
        function(
            "optional.ofNonZeroValue",
            &[overload!(|_, value: &Value<'_>| Ok(if is_zero(value) {
                Value::Optional(None)
            } else {
                Value::some(value.clone())
            }))],
        ),
    ),
    priced(
        Pricing::Free,
        member(
            "hasValue",
            &[overload!(|_, optional: Content<'_, '_>| Ok(Value::Bool(optional.0.is_some())))],
        ),
    ),
    priced(
        Pricing::Free,
        member(
            "value",
            &[overload!(|_, optional: Content<'_, '_>| {
                optional.0.cloned().ok_or(ErrorCode::InvalidArgument)
            })],
        ),
    ),
    priced(
        Pricing::Free,
        member(
            "or",
            &[overload!(|_, optional: Content<'_, '_>, other: Content<'_, '_>| {
                Ok(optional
                    .0
                    .or(other.0)
                    .map_or(Value::Optional(None), |value| Value::some(value.clone())))
            })],
        ),
    ),
    priced(
        Pricing::Free,
        member(
            "orValue",
            &[overload!(|_, optional: Content<'_, '_>, other: &Value<'_>| {
                Ok(optional.0.unwrap_or(other).clone())
            })],
        ),
    ),
    priced(Pricing::Free, function("optional.unwrap", UNWRAP)),
    priced(Pricing::Free, member("unwrapOpt", UNWRAP)),
];

const UNWRAP: &[Overload] = &[overload!(|_, optionals: &List<'_>| unwrap(optionals))];

/// The value in an optional, if any.
struct Content<'v, 'a>(Option<&'v Value<'a>>);

impl<'v, 'a> Parameter<'v, 'a> for Content<'v, 'a> {
    fn of(value: &'v Value<'a>) -> Option<Self> {
        match value {
            Value::Optional(content) => Some(Self(content.as_deref())),
            _ => None,
        }
    }
}

fn unwrap<'a>(optionals: &[Value<'a>]) -> Applied<'a> {
    let mut contents = Vec::with_capacity(optionals.len());
    for optional in optionals {
        match optional {
            Value::Optional(Some(value)) => contents.push(Value::clone(value)),
            Value::Optional(None) => {}
            _ => return Err(ErrorCode::NoSuchOverload),
        }
    }
    Ok(Value::List(contents.into()))
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(value) => *value == 0,
        Value::Uint(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(values) => values.is_empty(),
        Value::Map(_) | Value::TotalMap(_) => value.map_len() == Some(0),
        Value::Duration(Duration(nanoseconds)) => *nanoseconds == 0,
        Value::Timestamp(moment) => *moment == Timestamp::MIN,
        Value::Type(_) | Value::Optional(_) | Value::Ip(_) | Value::Cidr(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tests::{fails, gives};

    #[test]
    fn an_empty_optional_gives_way() {
        let none = Value::Optional(None);
        let two = Value::some(Value::Int(2));
        gives("or", true, &[none.clone(), two.clone()], two.clone());
        gives("orValue", true, &[none.clone(), Value::Int(3)], Value::Int(3));
        gives("value", true, &[two], Value::Int(2));
        fails("value", true, &[none], ErrorCode::InvalidArgument);
        gives("optional.ofNonZeroValue", false, &[Value::text("")], Value::Optional(None));
    }

    #[test]
    fn only_optionals_are_unwrapped() {
        let optionals = vec![Value::some(Value::Int(1)), Value::Optional(None)];
        let list = Value::List(optionals.into());
        gives("unwrapOpt", true, &[list], Value::List(vec![Value::Int(1)].into()));
        let list = Value::List(vec![Value::Int(1)].into());
        fails("optional.unwrap", false, &[list], ErrorCode::NoSuchOverload);
    }
}
