//! Sizes, of strings and bytes too.

use super::{Function, Pricing, function, member, overload, priced};
use crate::functions::Overload;
use crate::map::Map;
use crate::ops::Applied;
use crate::value::{Bytes, List, TotalMap, Value};

pub(super) const FUNCTIONS: &[Function] =
    &[priced(Pricing::Size, function("size", SIZE)), priced(Pricing::Size, member("size", SIZE))];

const SIZE: &[Overload] = &[
    overload!(|_, text: &str| length(text.chars().count())),
    overload!(|_, bytes: &Bytes<'_>| length(bytes.len())),
    overload!(|_, values: &List<'_>| length(values.len())),
    overload!(|_, map: &Map<'_>| length(map.len())),
    overload!(|_, map: &TotalMap<'_>| length(map.len())),
];

fn length<'a>(count: usize) -> Applied<'a> {
    // No value has so many parts that the conversion could fail.
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}
