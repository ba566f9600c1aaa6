//! Values to Python objects and back, as `to_python` and `from_python` of
//! `tidegate.values` do it.

use bumpalo::Bump;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use tidegate_core::program::constant::MAX_PARTS;
use tidegate_core::value::address::{Address, Network};
use tidegate_core::value::map::{KeyError, Map};
use tidegate_core::value::{Bytes, Duration, List, Text, Timestamp, TotalMap, Value};

use crate::convert::error::{ImportedClass, too_many_parts, value_error};

/// Deepest value that is converted; the same as in `tidegate.values`.
const MAX_DEPTH: usize = 200;

static UINT: ImportedClass = ImportedClass::new("tidegate.values", "UInt");
static TIMESTAMP: ImportedClass = ImportedClass::new("tidegate.values", "Timestamp");
static DURATION: ImportedClass = ImportedClass::new("tidegate.values", "Duration");
static TYPE_NAME: ImportedClass = ImportedClass::new("tidegate.values", "TypeName");
static OPTIONAL: ImportedClass = ImportedClass::new("tidegate.values", "OptionalValue");
static MAP: ImportedClass = ImportedClass::new("tidegate.values", "Map");
static IPV4_ADDRESS: ImportedClass = ImportedClass::new("ipaddress", "IPv4Address");
static IPV6_ADDRESS: ImportedClass = ImportedClass::new("ipaddress", "IPv6Address");
static IPV4_INTERFACE: ImportedClass = ImportedClass::new("ipaddress", "IPv4Interface");
static IPV6_INTERFACE: ImportedClass = ImportedClass::new("ipaddress", "IPv6Interface");
static FROM_PYTHON: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The everyday Python object for a value.
///
/// # Errors
/// `ValueError` when the value, written out, has too many parts.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    Outward { py, left: MAX_PARTS }.convert(value, 0)
}

/// Counts the parts of one value on its way out.
struct Outward<'py> {
    py: Python<'py>,
    left: usize,
}

impl<'py> Outward<'py> {
    fn convert(&mut self, value: &Value<'_>, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        self.left = self.left.checked_sub(1).ok_or_else(too_many_parts)?;
        if depth > MAX_DEPTH {
            return Err(nests_too_deep());
        }
        let inside = depth.saturating_add(1);
        Ok(match value {
            Value::Null => py.None().into_bound(py),
            Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            Value::Int(value) => value.into_pyobject(py)?.into_any(),
            Value::Uint(value) => UINT.get(py)?.call1((*value,))?,
            Value::Double(value) => PyFloat::new(py, *value).into_any(),
            Value::String(text) => PyString::new(py, text).into_any(),
            Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Value::List(values) => {
                let parts: PyResult<Vec<_>> =
                    values.iter().map(|value| self.convert(value, inside)).collect();
                PyList::new(py, parts?)?.into_any()
            }
            Value::Map(_) | Value::TotalMap(_) => self.map(value, inside)?,
            Value::Timestamp(Timestamp(nanoseconds)) => {
                TIMESTAMP.get(py)?.call1((*nanoseconds,))?
            }
            Value::Duration(Duration(nanoseconds)) => DURATION.get(py)?.call1((*nanoseconds,))?,
            Value::Type(name) => TYPE_NAME.get(py)?.call1((&**name,))?,
            Value::Optional(None) => OPTIONAL.get(py)?.call0()?,
            Value::Optional(Some(value)) => {
                OPTIONAL.get(py)?.call1((self.convert(value, inside)?,))?
            }
            Value::Ip(Address::V4(bits)) => IPV4_ADDRESS.get(py)?.call1((*bits,))?,
            Value::Ip(Address::V6(bits)) => IPV6_ADDRESS.get(py)?.call1((*bits,))?,
            Value::Cidr(network) => {
                let class = match network.address {
                    Address::V4(_) => &IPV4_INTERFACE,
                    Address::V6(_) => &IPV6_INTERFACE,
                };
                class.get(py)?.call1((network.to_string(),))?
            }
        })
    }

    /// A dict, or a Map if a dict would treat two keys as equal.
    fn map(&mut self, map: &Value<'_>, inside: usize) -> PyResult<Bound<'py, PyAny>> {
        let length = map.map_len().unwrap_or_default();
        let plain = PyDict::new(self.py);
        let mut entries = Vec::with_capacity(length);
        for (key, value) in (0..length).filter_map(|position| map.map_entry(position)) {
            let entry = (self.convert(&key, inside)?, self.convert(&value, inside)?);
            plain.set_item(&entry.0, &entry.1)?;
            entries.push(entry);
        }
        if plain.len() == length {
            return Ok(plain.into_any());
        }
        MAP.get(self.py)?.call1((entries,))
    }
}

/// Converts a Python object to a value; text is copied into the arena.
///
/// # Errors
/// `TypeError` for an object that has no value, `ValueError` for one that is out of range, too
/// deep or too large.
pub(crate) fn from_python<'a>(object: &Bound<'_, PyAny>, arena: &'a Bump) -> PyResult<Value<'a>> {
    Inward { arena, left: MAX_PARTS }.convert(object, 0)
}

/// Counts the parts of one object on its way in.
struct Inward<'a> {
    arena: &'a Bump,
    left: usize,
}

impl<'a> Inward<'a> {
    fn convert(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value<'a>> {
        self.left = self.left.checked_sub(1).ok_or_else(too_many_parts)?;
        if depth > MAX_DEPTH {
            return Err(nests_too_deep());
        }
        let inside = depth.saturating_add(1);
        if object.is_none() {
            Ok(Value::Null)
        } else if let Ok(text) = object.cast::<PyString>() {
            Ok(Value::String(Text::Borrowed(self.arena.alloc_str(text.to_str()?))))
        } else if let Ok(value) = object.cast::<PyBool>() {
            Ok(Value::Bool(value.is_true()))
        } else if let Ok(number) = object.cast::<PyInt>() {
            integer(number)
        } else if let Ok(number) = object.cast::<PyFloat>() {
            Ok(Value::Double(number.value()))
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            Ok(self.bytes(bytes))
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            let parts: PyResult<Vec<_>> =
                object.try_iter()?.map(|part| self.convert(&part?, inside)).collect();
            Ok(Value::List(List::from(parts?)))
        } else if let Ok(mapping) = object.cast::<PyMapping>() {
            self.map(mapping, inside)
        } else {
            self.special(object, inside)
        }
    }

    fn bytes(&self, bytes: &Bound<'_, PyBytes>) -> Value<'a> {
        Value::Bytes(Bytes::Borrowed(self.arena.alloc_slice_copy(bytes.as_bytes())))
    }

    fn map(&mut self, mapping: &Bound<'_, PyMapping>, inside: usize) -> PyResult<Value<'a>> {
        let py = mapping.py();
        let mut map = Map::default();
        for entry in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            let key = self.convert(&key, inside)?;
            map.insert(key, self.convert(&value, inside)?).map_err(|error| match error {
                KeyError::Kind => PyTypeError::new_err("a key must be a bool, int, uint or string"),
                KeyError::Repeated => value_error("the map has a repeated key"),
            })?;
        }
        let is_total =
            mapping.is_instance(MAP.get(py)?)? && mapping.getattr("total")?.is_truthy()?;
        match is_total.then(|| total(&map)).flatten() {
            Some(total) => Ok(Value::TotalMap(total)),
            None => Ok(Value::Map(map.into())),
        }
    }

    /// The values that have classes of their own; anything else is first made
    /// one of them by `from_python`.
    fn special(&mut self, object: &Bound<'_, PyAny>, inside: usize) -> PyResult<Value<'a>> {
        let py = object.py();
        if object.is_instance(OPTIONAL.get(py)?)? {
            if !object.getattr("is_present")?.is_truthy()? {
                return Ok(Value::Optional(None));
            }
            return self.convert(&object.getattr("content")?, inside).map(Value::some);
        }
        if let Some(value) = self.scalar(object)? {
            return Ok(value);
        }
        let from_python = FROM_PYTHON.import(py, "tidegate.values", "from_python")?;
        let made = from_python.call1((object,))?;
        if let Ok(bytes) = made.cast::<PyBytes>() {
            return Ok(self.bytes(bytes));
        }
        let refused = || PyTypeError::new_err("the object stands for no value of the language");
        self.scalar(&made)?.ok_or_else(refused)
    }

    fn scalar(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<Value<'a>>> {
        let py = object.py();
        let nanoseconds = || object.getattr("nanoseconds")?.extract::<i128>().map_err(out_of_range);
        if object.is_instance(TIMESTAMP.get(py)?)? {
            let moment = Timestamp::checked(nanoseconds()?).map(Value::Timestamp);
            return moment.map(Some).ok_or_else(|| value_error("the timestamp is out of range"));
        }
        if object.is_instance(DURATION.get(py)?)? {
            let length = Duration::checked(nanoseconds()?).map(Value::Duration);
            return length.map(Some).ok_or_else(|| value_error("the duration is out of range"));
        }
        if object.is_instance(TYPE_NAME.get(py)?)? {
            let name: String = object.getattr("name")?.extract()?;
            return Ok(Some(Value::Type(name.into())));
        }
        // An interface is also an address to Python, so it is asked first.
        if is_any(object, [&IPV4_INTERFACE, &IPV6_INTERFACE])? {
            return Ok(Network::parse_received(object.str()?.to_str()?).map(Value::Cidr));
        }
        if is_any(object, [&IPV4_ADDRESS, &IPV6_ADDRESS])? {
            return Ok(Address::parse_received(object.str()?.to_str()?).map(Value::Ip));
        }
        Ok(None)
    }
}

fn is_any(object: &Bound<'_, PyAny>, classes: [&ImportedClass; 2]) -> PyResult<bool> {
    let py = object.py();
    Ok(object.is_instance(classes[0].get(py)?)? || object.is_instance(classes[1].get(py)?)?)
}

fn integer<'a>(number: &Bound<'_, PyInt>) -> PyResult<Value<'a>> {
    if number.is_instance(UINT.get(number.py())?)? {
        return number.extract().map(Value::Uint).map_err(out_of_range);
    }
    number.extract().map(Value::Int).map_err(out_of_range)
}

fn out_of_range(error: PyErr) -> PyErr {
    let is_overflow = Python::attach(|py| error.is_instance_of::<PyOverflowError>(py));
    if is_overflow { value_error("the integer is out of range") } else { error }
}

/// The map as a total one, which holds strings only.
fn total<'a>(map: &Map<'a>) -> Option<TotalMap<'a>> {
    let entry = |(key, value): &(Value<'a>, Value<'a>)| {
        Some((Box::from(key.as_str()?), Box::from(value.as_str()?)))
    };
    map.iter().map(entry).collect::<Option<_>>().map(TotalMap::Shared)
}

fn nests_too_deep() -> PyErr {
    value_error(format!("the value nests deeper than {MAX_DEPTH}"))
}
