//! Lists and maps: sizes, parts, order, and lists as sets.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};
use std::mem::discriminant;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{Function, Pricing, Shape, function, member, overload, priced, shaped};
use crate::functions::Overload;
use crate::functions::operators::{Applied, is_equal};
use crate::value::error::ErrorCode;
use crate::value::map::{Map, integral};
use crate::value::meter::{Meter, units};
use crate::value::{Bytes, List, TotalMap, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    sized(function("size", SIZE)),
    sized(member("size", SIZE)),
    priced(
        Pricing::Free,
        member("first", &[overload!(|_, values: &List<'_>| Ok(optional(values.first())))]),
    ),
    priced(
        Pricing::Free,
        member("last", &[overload!(|_, values: &List<'_>| Ok(optional(values.last())))]),
    ),
    member(
        "slice",
        &[overload!(|_, values: &List<'_>, start: i64, end: i64| slice(values, start, end))],
    ),
    member(
        "flatten",
        &[
            overload!(|call, values: &List<'_>| flattened(values, 1, call.meter)),
            overload!(|call, values: &List<'_>, levels: i64| {
                let levels = u64::try_from(levels).map_err(|_| ErrorCode::InvalidArgument)?;
                flattened(values, levels, call.meter)
            }),
        ],
    ),
    function(
        "lists.range",
        &[overload!(|call, count: i64| {
            call.meter.charge(u64::try_from(count).unwrap_or_default())?;
            Ok(Value::List((0..count).map(Value::Int).collect::<Vec<_>>().into()))
        })],
    ),
    member(
        "sort",
        &[overload!(|call, values: &List<'_>| {
            sorted_by(values, values, call.meter).map(|sorted| Value::List(sorted.into()))
        })],
    ),
    member(
        "distinct",
        &[overload!(|call, values: &List<'_>| {
            let mut members = Members::new(RandomState::default());
            let mut kept = Vec::new();
            for value in values.iter() {
                if members.insert(value, call.meter)? {
                    kept.push(value.clone());
                }
            }
            Ok(Value::List(kept.into()))
        })],
    ),
    function(
        "sets.contains",
        &[overload!(|call, whole: &List<'_>, part: &List<'_>| {
            let whole = Members::of(whole, RandomState::default(), call.meter)?;
            let found = whole.count_found(part, call.meter)?;
            Ok(Value::Bool(found == part.len()))
        })],
    ),
    function(
        "sets.equivalent",
        &[overload!(|call, one: &List<'_>, other: &List<'_>| {
            let one = Members::of(one, RandomState::default(), call.meter)?;
            let other = Members::of(other, one.hasher.clone(), call.meter)?;
            Ok(Value::Bool(one.has_all(&other) && other.has_all(&one)))
        })],
    ),
    function(
        "sets.intersects",
        &[overload!(|call, one: &List<'_>, other: &List<'_>| {
            let one = Members::of(one, RandomState::default(), call.meter)?;
            let found = one.count_found(other, call.meter)?;
            Ok(Value::Bool(found > 0))
        })],
    ),
];

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

fn optional<'a>(value: Option<&Value<'a>>) -> Value<'a> {
    value.cloned().map_or(Value::Optional(None), Value::some)
}

fn slice<'a>(values: &[Value<'a>], start: i64, end: i64) -> Applied<'a> {
    let place = |index: i64| usize::try_from(index).map_err(|_| ErrorCode::IndexOutOfRange);
    let part = values.get(place(start)?..place(end)?).ok_or(ErrorCode::IndexOutOfRange)?;
    Ok(Value::List(part.to_vec().into()))
}

/// The elements, those of lists up to a number of levels deep in place of the lists. Each element
/// visited costs a unit.
fn flattened<'a>(values: &[Value<'a>], levels: u64, meter: &mut Meter) -> Applied<'a> {
    let mut flat = Vec::new();
    flatten(values, levels, meter, &mut flat)?;
    Ok(Value::List(flat.into()))
}

fn flatten<'a>(
    values: &[Value<'a>],
    levels: u64,
    meter: &mut Meter,
    flat: &mut Vec<Value<'a>>,
) -> Result<(), ErrorCode> {
    for value in values {
        meter.charge(1)?;
        match (value, levels.checked_sub(1)) {
            (Value::List(inner), Some(levels)) => flatten(inner, levels, meter, flat)?,
            _ => flat.push(value.clone()),
        }
    }
    Ok(())
}

/// The values in the order of their keys, equal keys in the order of the values.
///
/// # Errors
/// `no_such_overload` for keys without an order or of several kinds, `invalid_argument` for NaN.
pub(crate) fn sorted_by<'a>(
    values: &[Value<'a>],
    keys: &[Value<'_>],
    meter: &mut Meter,
) -> Result<Vec<Value<'a>>, ErrorCode> {
    let rounds = usize::BITS.saturating_sub(keys.len().leading_zeros());
    let each = keys.iter().fold(0_u64, |sum, key| sum.saturating_add(value_units(key)));
    meter.charge(each.saturating_mul(u64::from(rounds)))?;
    let kind = keys.first().map(discriminant);
    if !keys.iter().all(|key| has_order(key) && Some(discriminant(key)) == kind) {
        return Err(ErrorCode::NoSuchOverload);
    }
    if keys.iter().any(|key| matches!(key, Value::Double(double) if double.is_nan())) {
        return Err(ErrorCode::InvalidArgument);
    }
    let mut pairs: Vec<_> = keys.iter().zip(values).collect();
    pairs.sort_by(|(one, _), (other, _)| order(one, other));
    Ok(pairs.into_iter().map(|(_, value)| value.clone()).collect())
}

const fn has_order(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Timestamp(_)
            | Value::Duration(_)
    )
}

/// The order of two values of one kind, which has an order.
fn order(one: &Value<'_>, other: &Value<'_>) -> Ordering {
    match (one, other) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Uint(a), Value::Uint(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::String(a), Value::String(b)) => (**a).cmp(&**b),
        (Value::Bytes(a), Value::Bytes(b)) => (**a).cmp(&**b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// The units of looking at a value, without its parts.
fn value_units(value: &Value<'_>) -> u64 {
    let bytes = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    units(bytes).saturating_add(1)
}

/// The values of a list, found without a walk.
struct Members<'v, 'a> {
    hasher: RandomState,
    table: HashTable<(u64, &'v Value<'a>)>,
    /// Whether a value is or has NaN, which equals nothing.
    has_nan: bool,
}

impl<'v, 'a> Members<'v, 'a> {
    const fn new(hasher: RandomState) -> Self {
        Self { hasher, table: HashTable::new(), has_nan: false }
    }

    fn of(
        values: &'v [Value<'a>],
        hasher: RandomState,
        meter: &mut Meter,
    ) -> Result<Self, ErrorCode> {
        let mut members = Self::new(hasher);
        for value in values {
            members.insert(value, meter)?;
        }
        Ok(members)
    }

    /// Adds a value; false when an equal one is there.
    fn insert(&mut self, value: &'v Value<'a>, meter: &mut Meter) -> Result<bool, ErrorCode> {
        let Some(hash) = self.hash(value, meter)? else {
            self.has_nan = true;
            return Ok(true);
        };
        if self.has(hash, value) {
            return Ok(false);
        }
        self.table.insert_unique(hash, (hash, value), |(hash, _)| *hash);
        Ok(true)
    }

    fn has(&self, hash: u64, value: &Value<'_>) -> bool {
        self.table.find(hash, |(_, member)| is_equal(member, value)).is_some()
    }

    /// How many of some values are members.
    fn count_found(&self, values: &[Value<'_>], meter: &mut Meter) -> Result<usize, ErrorCode> {
        let mut found = 0_usize;
        for value in values {
            let hash = self.hash(value, meter)?;
            let is_found = hash.is_some_and(|hash| self.has(hash, value));
            found = found.saturating_add(usize::from(is_found));
        }
        Ok(found)
    }

    /// Whether all members of another set with this hasher are members of this one.
    fn has_all(&self, other: &Members<'_, '_>) -> bool {
        !other.has_nan && other.table.iter().all(|(hash, value)| self.has(*hash, value))
    }

    /// A hash that equal values share; None for one that is or has NaN. The value and each of its
    /// parts are charged.
    fn hash(&self, value: &Value<'_>, meter: &mut Meter) -> Result<Option<u64>, ErrorCode> {
        meter.charge(value_units(value))?;
        let mut hasher = self.hasher.build_hasher();
        match value {
            Value::Null => 0_u8.hash(&mut hasher),
            Value::Bool(value) => (1_u8, value).hash(&mut hasher),
            Value::Int(value) => (2_u8, i128::from(*value)).hash(&mut hasher),
            Value::Uint(value) => (2_u8, i128::from(*value)).hash(&mut hasher),
            Value::Double(value) if value.is_nan() => return Ok(None),
            Value::Double(value) => match integral(*value) {
                Some(integer) => (2_u8, integer).hash(&mut hasher),
                None => (3_u8, value.to_bits()).hash(&mut hasher),
            },
            Value::String(text) => (4_u8, &**text).hash(&mut hasher),
            Value::Bytes(bytes) => (5_u8, &**bytes).hash(&mut hasher),
            Value::Timestamp(moment) => (6_u8, moment).hash(&mut hasher),
            Value::Duration(length) => (7_u8, length).hash(&mut hasher),
            Value::Type(name) => (8_u8, &**name).hash(&mut hasher),
            Value::Ip(address) => (9_u8, address).hash(&mut hasher),
            Value::Cidr(network) => (10_u8, network).hash(&mut hasher),
            Value::List(values) => {
                11_u8.hash(&mut hasher);
                let mut is_whole = true;
                for value in values.iter() {
                    let hash = self.hash(value, meter)?;
                    is_whole &= hash.is_some();
                    hash.hash(&mut hasher);
                }
                if !is_whole {
                    return Ok(None);
                }
            }
            Value::Map(_) | Value::TotalMap(_) => {
                let Some(entries) = self.hash_entries(value, meter)? else { return Ok(None) };
                (12_u8, entries).hash(&mut hasher);
            }
            Value::Optional(None) => 13_u8.hash(&mut hasher),
            Value::Optional(Some(content)) => {
                let Some(hash) = self.hash(content, meter)? else { return Ok(None) };
                (14_u8, hash).hash(&mut hasher);
            }
        }
        Ok(Some(hasher.finish()))
    }

    /// A hash of the entries of a map in any order.
    fn hash_entries(&self, map: &Value<'_>, meter: &mut Meter) -> Result<Option<u64>, ErrorCode> {
        let mut sum = Some(0_u64);
        for position in 0..map.map_len().unwrap_or_default() {
            let Some((key, value)) = map.map_entry(position) else { continue };
            let hashes = (self.hash(&key, meter)?, self.hash(&value, meter)?);
            sum = match (sum, hashes) {
                (Some(sum), (Some(_), Some(_))) => {
                    Some(sum.wrapping_add(self.hasher.hash_one(hashes)))
                }
                _ => None,
            };
        }
        Ok(sum)
    }
}
