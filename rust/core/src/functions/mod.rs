//! The library of functions, in the families of `tidegate.functions`.
//!
//! A function is a name and its overloads, tried in order. The parameters
//! of an overload determine the kinds of values it takes; once they fit, the arguments are charged
//! and the body runs. Operators are in [`crate::functions::operators`].

pub(crate) mod conversions;
mod decoding;
mod encoders;
mod formatting;
mod hashing;
pub(crate) mod lists;
pub mod named_lists;
mod network;
mod numbers;
pub mod operators;
mod optionals;
mod phrases;
pub(crate) mod prepared;
pub(crate) mod regex;
mod text;
pub(crate) mod time;

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::functions::named_lists::{ListIndex, Lists};
use crate::functions::operators::Applied;
use crate::functions::prepared::Prepared;
use crate::value::address::{Address, Network};
use crate::value::error::ErrorCode;
use crate::value::map::Map;
use crate::value::meter::{Meter, units};
use crate::value::{Bytes, Duration, List, Text, Timestamp, TotalMap, Value};

/// The cost of a function, in addition to its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pricing {
    /// Text and elements of arguments and result.
    Data,
    /// The text of a string argument.
    Size,
    /// The text at one end of another, which is all that is read.
    Affix,
    Free,
}

/// The meaning of a call for code that analyses an expression without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No meaning that an analysis needs.
    Other,
    /// A text has another at a place, or one of several.
    Has(Place),
    HasAny(Place),
    /// A text, or it in lower case, is of a pattern with stars.
    Like,
    LikeLower,
    /// A text matches a regular expression, or one of several.
    Matches,
    /// A text or an address is in a named list.
    InList,
    /// An address is in networks that are given as text.
    InNetworks,
    /// A network has an address.
    HasAddress,
    /// The address or the network that a text is.
    Address,
    Network,
    /// A text in another case.
    Lower,
    Upper,
    Size,
    Int,
    Double,
    /// A part of a time, perhaps in a zone.
    TimePart,
}

/// The place of one text in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Anywhere,
    Start,
    End,
}

impl Shape {
    /// Whether a call costs at most one read of its argument texts and its result, which is a
    /// scalar or one of them.
    pub(crate) const fn reads_its_texts_once(self) -> bool {
        !matches!(self, Self::Other | Self::TimePart)
    }
}

/// A function or member, by name.
pub struct Function {
    // Only for the table; other code uses the shape.
    name: &'static str,
    is_member: bool,
    pub(crate) pricing: Pricing,
    pub(crate) shape: Shape,
    pub(crate) overloads: &'static [Overload],
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// None when the arguments do not fit the overload.
pub(crate) type Overload =
    for<'a, 'm, 'v> fn(&mut Call<'a, 'm>, &'v [Value<'a>]) -> Option<Applied<'a>>;

/// Data that an overload may use in addition to its arguments.
pub(crate) struct Call<'a, 'm> {
    pub(crate) meter: &'m mut Meter,
    /// The compiled constants of this call.
    pub(crate) prepared: &'a Prepared,
    pub(crate) lists: &'a Lists,
    pub(crate) pricing: Pricing,
    /// True for each argument that is a literal node.
    pub(crate) literals: &'a [bool],
}

impl Call<'_, '_> {
    /// The named list that the call asks.
    fn list(&self, name: &str) -> Result<ListIndex, ErrorCode> {
        match self.prepared {
            Prepared::List(list) => Ok(*list),
            _ => self.lists.find(name).ok_or(ErrorCode::InvalidArgument),
        }
    }

    fn charge_arguments(&mut self, arguments: &[Value<'_>]) -> Result<(), ErrorCode> {
        match self.pricing {
            Pricing::Free => Ok(()),
            Pricing::Size => self
                .meter
                .charge(units(arguments.first().and_then(Value::as_str).map_or(0, str::len))),
            Pricing::Affix => self
                .meter
                .charge(units(arguments.get(1).and_then(Value::as_str).map_or(0, str::len))),
            Pricing::Data => self.charge_data(arguments),
        }
    }

    fn charge_data(&mut self, arguments: &[Value<'_>]) -> Result<(), ErrorCode> {
        let mut bytes = 0_usize;
        let mut elements = 0_usize;
        for (argument, is_literal) in arguments.iter().zip(self.literals) {
            match argument {
                Value::String(text) => bytes = bytes.saturating_add(text.len()),
                Value::Bytes(data) => bytes = bytes.saturating_add(data.len()),
                other if !is_literal => {
                    elements = elements.saturating_add(element_count(other).unwrap_or_default());
                }
                _ => {}
            }
        }
        self.meter.charge(units(bytes).saturating_add(elements as u64))
    }

    fn charge_result(&mut self, result: &Value<'_>) -> Result<(), ErrorCode> {
        if self.pricing != Pricing::Data {
            return Ok(());
        }
        self.meter.charge(match result {
            Value::String(text) => units(text.len()),
            Value::Bytes(data) => units(data.len()),
            other => element_count(other).unwrap_or_default() as u64,
        })
    }
}

fn element_count(value: &Value<'_>) -> Option<usize> {
    match value {
        Value::List(values) => Some(values.len()),
        other => other.map_len(),
    }
}

/// Applies a function: the first overload that takes the arguments.
pub(crate) fn apply<'a>(
    function: &Function,
    mut call: Call<'a, '_>,
    arguments: &[Value<'a>],
) -> Applied<'a> {
    let applied = function.overloads.iter().find_map(|overload| overload(&mut call, arguments));
    let result = applied.unwrap_or(Err(ErrorCode::NoSuchOverload))?;
    match &result {
        Value::String(text) => call.meter.allow_bytes(text.len())?,
        Value::Bytes(bytes) => call.meter.allow_bytes(bytes.len())?,
        _ => {}
    }
    call.charge_result(&result)?;
    Ok(result)
}

/// A function by name, as `contains` or `math.greatest`.
pub(crate) fn find(name: &str, is_member: bool) -> Option<&'static Function> {
    FUNCTIONS.get(&(name, is_member)).copied()
}

/// The function with the shortest name of a shape.
pub(crate) fn of_shape(shape: Shape) -> &'static Function {
    let mut functions = FAMILIES.iter().copied().flatten();
    functions.find(|function| function.shape == shape).unwrap_or(&UNKNOWN)
}

/// The function of an unknown name: no arguments fit it.
pub(crate) static UNKNOWN: Function = function("", &[]);

static FAMILIES: [&[Function]; 12] = [
    conversions::FUNCTIONS,
    decoding::FUNCTIONS,
    encoders::FUNCTIONS,
    formatting::FUNCTIONS,
    hashing::FUNCTIONS,
    lists::FUNCTIONS,
    network::FUNCTIONS,
    numbers::FUNCTIONS,
    optionals::FUNCTIONS,
    regex::FUNCTIONS,
    text::FUNCTIONS,
    time::FUNCTIONS,
];

static FUNCTIONS: LazyLock<HashMap<(&str, bool), &Function, RandomState>> = LazyLock::new(|| {
    let functions = FAMILIES.iter().copied().flatten();
    functions.map(|function| ((function.name, function.is_member), function)).collect()
});

/// A parameter of an overload: the Rust type of one kind of value.
trait Parameter<'v, 'a>: Sized {
    /// The value as this type, None for a value of another kind.
    fn of(value: &'v Value<'a>) -> Option<Self>;
}

macro_rules! parameter {
    ($kind:ty, $pattern:pat => $result:expr) => {
        impl<'v, 'a> Parameter<'v, 'a> for $kind {
            #[inline]
            fn of(value: &'v Value<'a>) -> Option<Self> {
                match value {
                    $pattern => Some($result),
                    _ => None,
                }
            }
        }
    };
}

parameter!(bool, Value::Bool(value) => *value);
parameter!(i64, Value::Int(value) => *value);
parameter!(u64, Value::Uint(value) => *value);
parameter!(f64, Value::Double(value) => *value);
parameter!(&'v str, Value::String(text) => text);
parameter!(&'v Text<'a>, Value::String(text) => text);
parameter!(&'v Bytes<'a>, Value::Bytes(bytes) => bytes);
parameter!(&'v List<'a>, Value::List(values) => values);
parameter!(&'v Map<'a>, Value::Map(map) => map);
parameter!(&'v TotalMap<'a>, Value::TotalMap(map) => map);
parameter!(Timestamp, Value::Timestamp(moment) => *moment);
parameter!(Duration, Value::Duration(length) => *length);
parameter!(Address, Value::Ip(address) => *address);
parameter!(Network, Value::Cidr(network) => *network);

impl<'v, 'a> Parameter<'v, 'a> for &'v Value<'a> {
    #[inline]
    fn of(value: &'v Value<'a>) -> Option<Self> {
        Some(value)
    }
}

/// An overload: `overload!(|call, subject: &str, count: i64| body)`, where the
/// body is an [`Applied`].
macro_rules! overload {
    (|$call:tt $(, $name:ident: $kind:ty)*| $body:expr) => {{
        fn overload<'a>(
            call: &mut $crate::functions::Call<'a, '_>,
            arguments: &[$crate::value::Value<'a>],
        ) -> Option<$crate::functions::operators::Applied<'a>> {
            let [$($name),*] = arguments else { return None };
            $(let $name: $kind = $crate::functions::Parameter::of($name)?;)*
            if let Err(code) = call.charge_arguments(arguments) {
                return Some(Err(code));
            }
            let $call = call;
            Some($crate::functions::run(|| $body))
        }
        overload as $crate::functions::Overload
    }};
}

use overload;

/// Runs the body of an overload, in which `?` leaves the body alone.
#[inline]
fn run<'a>(body: impl FnOnce() -> Applied<'a>) -> Applied<'a> {
    body()
}

/// A function that is called by name.
const fn function(name: &'static str, overloads: &'static [Overload]) -> Function {
    Function { name, is_member: false, pricing: Pricing::Data, shape: Shape::Other, overloads }
}

/// A function that is called on its first argument.
const fn member(name: &'static str, overloads: &'static [Overload]) -> Function {
    Function { name, is_member: true, pricing: Pricing::Data, shape: Shape::Other, overloads }
}

/// The same function with another cost.
const fn priced(pricing: Pricing, function: Function) -> Function {
    Function { pricing, ..function }
}

/// The same function with a shape.
const fn shaped(shape: Shape, function: Function) -> Function {
    Function { shape, ..function }
}

/// The ASCII digits that a text starts with, and the rest.
fn split_digits(text: &str) -> (&str, &str) {
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    text.split_at_checked(text.len().saturating_sub(rest.len())).unwrap_or((text, ""))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::functions::operators::is_equal;
    use crate::value::limits::Limits;

    static NO_LISTS: LazyLock<Lists> = LazyLock::new(Lists::default);

    /// A function applied to values, none of them a literal.
    pub(crate) fn call(
        name: &str,
        is_member: bool,
        arguments: &[Value<'static>],
    ) -> Applied<'static> {
        let function = find(name, is_member).unwrap();
        let mut meter = Meter::new(&Limits::default());
        let call = Call {
            meter: &mut meter,
            prepared: &Prepared::Nothing,
            lists: &NO_LISTS,
            pricing: function.pricing,
            literals: &[false; 16],
        };
        apply(function, call, arguments)
    }

    /// Asserts that a function gives this value, of this kind.
    pub(crate) fn gives(
        name: &str,
        is_member: bool,
        arguments: &[Value<'static>],
        expected: Value<'static>,
    ) {
        let value = call(name, is_member, arguments).unwrap();
        assert_eq!(value.type_name(), expected.type_name());
        assert!(is_equal(&value, &expected), "{name}{arguments:?} is {value:?}");
    }

    /// Asserts that a function fails with this code.
    pub(crate) fn fails(
        name: &str,
        is_member: bool,
        arguments: &[Value<'static>],
        expected: ErrorCode,
    ) {
        let code = call(name, is_member, arguments).unwrap_err();
        assert_eq!(code, expected, "{name}{arguments:?}");
    }
}
