//! Sizes, of strings and bytes too.

use super::{Function, Pricing, Shape, function, member, overload, priced, shaped};
use crate::functions::Overload;
use crate::functions::operators::Applied;
use crate::value::map::Map;
use crate::value::{Bytes, List, TotalMap, Value};

pub(super) const FUNCTIONS: &[Function] =
    &[sized(function("size", SIZE)), sized(member("size", SIZE))];

const fn sized(function: Function) -> Function {
    shaped(Shape::Size, priced(Pricing::Size, function))
}

const SIZE: &[Overload] = &[
    overload!(|_, text: &str| length(text.chars().count())),
    overload!(|_, bytes: &Bytes<'_>| length(bytes.len())),
    overload!(|_, values: &List<'_>| length(values.len())),
    overload!(|_, map: &Map<'_>| length(map.len())),
    overload!(|_, map: &TotalMap<'_>| length(map.len())),
];

fn length<'a>(count: usize) -> Applied<'a> {
    // The conversion cannot fail: the limits bound the parts of a value.
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}
