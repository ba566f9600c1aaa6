//! Events from Python: a dict, of which only the members that some program reads are converted, or
//! JSON in bytes.

use std::fmt::Write as _;
use std::sync::OnceLock;

use bumpalo::Bump;
use bumpalo::collections::{String as ArenaString, Vec as ArenaVec};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PySequence, PyString, PyTuple,
};
use tidegate_core::event::field::{Member, Section};
use tidegate_core::event::layout::Layout;
use tidegate_core::event::user_agent::UserAgents;
use tidegate_core::event::variable::VariableType;
use tidegate_core::event::{self, NO_MOMENT, RawBody, RawEvent, RawVariable, UnknownMember};
use tidegate_core::json::pointer_step;
use tidegate_core::value::error::EventError;
use tidegate_core::value::limits::Limits;
use tidegate_core::value::map::Map;
use tidegate_core::value::time::parse_moment;
use tidegate_core::value::{List, Text, Timestamp, Value};

use crate::convert::error::{Error, ImportedClass, Result, value_error};
use crate::convert::value::from_python;

static DATETIME: ImportedClass = ImportedClass::new("datetime", "datetime");
/// The error for a naive `datetime` in `observed_at`.
const NAIVE_MOMENT: &str =
    "is a datetime without a time zone; give it one, as `datetime.now(UTC)` does";

/// Reads the members of an event that the layout needs; text of a dict is copied to the arena.
pub(crate) fn read_event<'a>(
    event: &'a Bound<'_, PyAny>,
    layout: &Layout,
    arena: &'a Bump,
    limits: &Limits,
) -> Result<RawEvent<'a>> {
    match event.cast::<PyBytes>() {
        Ok(bytes) => Ok(event::read(bytes.as_bytes(), layout, arena, limits)?),
        Err(_) => DictReader { layout, arena, limits }.read(event),
    }
}

/// As [`read_event`], with facts that only a decision needs: whether the event has content, and its
/// first unknown member.
pub(crate) fn read_whole_event<'a>(
    event: &'a Bound<'_, PyAny>,
    layout: &Layout,
    arena: &'a Bump,
    limits: &Limits,
) -> Result<RawEvent<'a>> {
    let mut raw = read_event(event, layout, arena, limits)?;
    if let Some(members) = as_dict(event)? {
        DictReader { layout, arena, limits }.read_top(&members, &mut raw)?;
    }
    Ok(raw)
}

/// ua-parser's data, compiled once for the process, when some program needs it.
pub(crate) fn user_agents(
    py: Python<'_>,
    layout: &Layout,
) -> PyResult<Option<&'static UserAgents>> {
    static DATA: OnceLock<UserAgents> = OnceLock::new();
    if !layout.reads_user_agent_data() {
        return Ok(None);
    }
    if let Some(data) = DATA.get() {
        return Ok(Some(data));
    }
    let patterns = py.import("tidegate.evaluation.agents.user_agents")?.call_method0("patterns")?;
    let patterns = patterns.cast::<PyBytes>()?.as_bytes();
    let compiled = py.detach(|| UserAgents::new(patterns)).map_err(value_error)?;
    Ok(Some(DATA.get_or_init(|| compiled)))
}

fn refused(message: impl Into<String>) -> Error {
    let message = message.into();
    EventError { message, pointer: String::new(), offset: None, is_unreadable: false }.into()
}

impl Error {
    /// The same error, with its place relative to the enclosing object or array.
    fn under(mut self, part: impl ToString) -> Self {
        if let Self::Event(error) = &mut self {
            error.pointer.insert_str(0, &pointer_step(&part.to_string()));
        }
        self
    }
}

struct DictReader<'l, 'a> {
    layout: &'l Layout,
    arena: &'a Bump,
    limits: &'l Limits,
}

impl<'a> DictReader<'_, 'a> {
    fn read(&self, event: &Bound<'_, PyAny>) -> Result<RawEvent<'a>> {
        let py = event.py();
        let members = as_dict(event)?.ok_or_else(|| refused("the event must be an object"))?;
        let mut raw = RawEvent::default();
        raw.set_member(Member::Source, self.text(&members, intern!(py, "source"))?);
        raw.return_url = self.text(&members, intern!(py, "return_url"))?;
        // No field is computed from these, but they must be text.
        for name in [intern!(py, "idempotency_key"), intern!(py, "tenant_id")] {
            self.text(&members, name)?;
        }
        if let Some(moment) = self.member(&members, intern!(py, "observed_at"))? {
            raw.observed_at = Some(observed_at(&moment).map_err(|it| it.under("observed_at"))?);
        }
        if let Some(request) = self.member(&members, intern!(py, "request"))? {
            self.read_request(&request, &mut raw).map_err(|it| it.under("request"))?;
        }
        if self.layout.reads_section(Section::Fields) || self.layout.reads_body() {
            self.read_section(&members, Section::Fields, &mut raw)?;
        }
        if self.layout.reads_section(Section::Agent) {
            self.read_section(&members, Section::Agent, &mut raw)?;
        }
        if self.layout.reads_section(Section::Geo) {
            self.read_section(&members, Section::Geo, &mut raw)?;
        }
        if self.layout.reads_variables() {
            for (name, variable) in self.layout.variables() {
                raw.variables.extend(self.variable(&members, name, variable)?);
            }
        }
        Ok(raw)
    }

    fn read_top(&self, members: &Bound<'_, PyDict>, raw: &mut RawEvent<'a>) -> Result<()> {
        for (name, value) in members {
            // A name that isn't text has no meaning either.
            let name = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
            match name.unwrap_or_default() {
                name if self.layout.declares_variable(name) => {}
                "fields" => raw.has_content |= has_content(&value)?,
                "request" => {
                    raw.has_content |= has_content(&value)?;
                    if let Some(request) = as_dict(&value)? {
                        self.read_names_of_request(&request, raw);
                    }
                }
                "source" | "return_url" | "idempotency_key" | "tenant_id" | "observed_at"
                | "agent" | "geo" => {}
                _ if raw.unknown.is_some() => {}
                name => {
                    let name = self.arena.alloc_str(name);
                    let is_of_request = false;
                    raw.unknown = Some(UnknownMember { is_of_request, name, offset: None });
                }
            }
        }
        Ok(())
    }

    fn read_names_of_request(&self, request: &Bound<'_, PyDict>, raw: &mut RawEvent<'a>) {
        for name in request.keys() {
            let name = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
            let name = name.unwrap_or_default();
            let is_known = Member::OF_REQUEST.iter().any(|(_, known)| *known == name)
                || Section::OF_REQUEST.iter().any(|section| section.member() == name)
                || self.layout.declares_of_request(name);
            if !is_known && raw.unknown.is_none() {
                let name = self.arena.alloc_str(name);
                raw.unknown = Some(UnknownMember { is_of_request: true, name, offset: None });
            }
        }
    }

    fn read_request(&self, request: &Bound<'_, PyAny>, raw: &mut RawEvent<'a>) -> Result<()> {
        let py = request.py();
        let members = as_dict(request)?.ok_or_else(|| refused("must be an object"))?;
        for (member, name) in Member::OF_REQUEST {
            if self.layout.reads_member(member) {
                raw.set_member(member, self.text(&members, &PyString::intern(py, name))?);
            }
        }
        for section in Section::OF_REQUEST {
            if self.layout.reads_section(section) {
                self.read_section(&members, section, raw)?;
            }
        }
        Ok(())
    }

    /// A member of the event that is not absent, null or a variable.
    fn member<'py>(
        &self,
        members: &Bound<'py, PyDict>,
        name: &Bound<'py, PyString>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        if self.layout.reads_variables() && self.layout.declares_variable(name.to_str()?) {
            return Ok(None);
        }
        Ok(members.get_item(name)?.filter(|value| !value.is_none()))
    }

    fn text(
        &self,
        members: &Bound<'_, PyDict>,
        name: &Bound<'_, PyString>,
    ) -> Result<Option<&'a str>> {
        let Some(value) = self.member(members, name)? else { return Ok(None) };
        let text = match value.cast::<PyString>() {
            Ok(text) => self.string(text),
            Err(_) => Err(refused("must be a string")),
        };
        text.map(Some).map_err(|it| it.under(name))
    }

    fn read_section(
        &self,
        members: &Bound<'_, PyDict>,
        section: Section,
        raw: &mut RawEvent<'a>,
    ) -> Result<()> {
        let name = &PyString::intern(members.py(), section.member());
        let Some(value) = self.member(members, name)? else { return Ok(()) };
        let entries = match as_dict(&value)? {
            Some(entries) => self.entries(&entries, section, raw),
            None => Err(refused("must be an object")),
        };
        raw.set_section(section, entries.map_err(|it| it.under(name))?);
        Ok(())
    }

    fn entries(
        &self,
        members: &Bound<'_, PyDict>,
        section: Section,
        raw: &mut RawEvent<'a>,
    ) -> Result<event::Entries<'a>> {
        self.check_members(members.len())?;
        let mut entries = ArenaVec::with_capacity_in(members.len(), self.arena);
        for (name, value) in members {
            let Ok(name) = name.cast::<PyString>() else {
                return Err(refused("must be an object with names that are strings"));
            };
            let name = self.string(name)?;
            let read = if section == Section::Fields && name == "body" {
                self.body(&value, raw)
            } else {
                self.entry(&value, (section, name), raw)
            };
            entries.extend(read.map_err(|it| it.under(name))?.map(|text| (name, text)));
        }
        Ok(entries.into_bump_slice())
    }

    /// Keeps `fields.body`, and gives its text if it is an ordinary value.
    fn body(&self, value: &Bound<'_, PyAny>, raw: &mut RawEvent<'a>) -> Result<Option<&'a str>> {
        if as_sequence(value).is_none() && as_object(value)?.is_none() {
            let text = self.entry(value, (Section::Fields, "body"), raw)?;
            if value.is_instance_of::<PyString>() {
                raw.body = text.map(RawBody::Text);
            }
            return Ok(text);
        }
        // The event and `fields` are around it.
        let mut values = ValueReader { reader: self, is_value: true };
        let body = values.value(value, 2)?;
        let is_read = values.is_value && is_finite(&body);
        raw.body = Some(if is_read { RawBody::Value(body) } else { RawBody::Unread });
        Ok(None)
    }

    fn entry(
        &self,
        value: &Bound<'_, PyAny>,
        place: (Section, &'a str),
        raw: &mut RawEvent<'a>,
    ) -> Result<Option<&'a str>> {
        let Some(values) = as_sequence(value) else { return self.scalar(value) };
        self.check_members(values.len()?)?;
        let mut texts = ArenaVec::with_capacity_in(values.len()?, self.arena);
        for (index, value) in values.try_iter()?.enumerate() {
            texts.extend(self.scalar(&value?).map_err(|it| it.under(index))?);
        }
        Ok(raw.join(place, texts.into_bump_slice(), self.arena))
    }

    fn scalar(&self, value: &Bound<'_, PyAny>) -> Result<Option<&'a str>> {
        if let Ok(text) = value.cast::<PyString>() {
            return self.string(text).map(Some);
        }
        if value.is_none() {
            return Ok(None);
        }
        if let Ok(value) = value.cast::<PyBool>() {
            return Ok(Some(if value.is_true() { "true" } else { "false" }));
        }
        if let Ok(number) = value.cast::<PyInt>() {
            return self.integer(number).map(Some);
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            let number = number.value();
            if number.is_finite() {
                let text = PyFloat::new(value.py(), number).repr()?;
                return Ok(Some(self.arena.alloc_str(text.to_str()?)));
            }
        }
        Err(refused("must be a string, a number, a bool or null"))
    }

    fn string(&self, text: &Bound<'_, PyString>) -> Result<&'a str> {
        let text = text.to_str().map_err(|_| refused("a string has a lone surrogate"))?;
        if text.len() > self.limits.event_string_bytes {
            let longest = self.limits.event_string_bytes;
            return Err(refused(format!("a string is longer than {longest} bytes")));
        }
        Ok(self.arena.alloc_str(text))
    }

    fn integer(&self, number: &Bound<'_, PyInt>) -> Result<&'a str> {
        if let Ok(number) = number.extract::<i64>() {
            let mut text = ArenaString::new_in(self.arena);
            // Writing to memory does not fail.
            let _ = write!(text, "{number}");
            return Ok(text.into_bump_str());
        }
        // By the class itself, since subclasses may print differently. Python refuses to
        // write integers of many thousand digits.
        let class = number.py().get_type::<PyInt>();
        let text = class.call_method1(intern!(number.py(), "__repr__"), (number,));
        let text = text.map_err(|_| refused("an integer is too long"))?;
        Ok(self.arena.alloc_str(text.cast::<PyString>().map_err(PyErr::from)?.to_str()?))
    }

    fn check_members(&self, count: usize) -> Result<()> {
        if count > self.limits.event_members {
            let most = self.limits.event_members;
            return Err(refused(format!("more than {most} members or elements")));
        }
        Ok(())
    }

    fn variable(
        &self,
        members: &Bound<'_, PyDict>,
        name: &str,
        variable: &VariableType,
    ) -> Result<Option<RawVariable<'a>>> {
        let Some((value, path)) = find(members, name)? else {
            return Ok(None);
        };
        if value.is_none() && !variable.has_null() {
            return Ok(None);
        }
        let place =
            |refusal: Error| path.iter().rev().fold(refusal, |refusal, part| refusal.under(part));
        let mut values = ValueReader { reader: self, is_value: true };
        let converted = values.value(&value, path.len()).map_err(place)?;
        if !values.is_value {
            let message = format!("the variable `{name}` has a value of another type");
            return Err(place(refused(message)));
        }
        let pointer = path.iter().map(|part| pointer_step(part)).collect();
        Ok(Some(RawVariable { name: self.arena.alloc_str(name), value: converted, pointer }))
    }
}

/// Builds values of Python objects, held to the limits of an event.
struct ValueReader<'r, 'l, 'a> {
    reader: &'r DictReader<'l, 'a>,
    /// False after a part that is not a value of the language.
    is_value: bool,
}

impl<'a> ValueReader<'_, '_, 'a> {
    /// The value of an object inside this many objects and arrays.
    fn value(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> Result<Value<'a>> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Value::String(Text::Borrowed(self.reader.string(text)?)));
        }
        if let Ok(number) = object.cast::<PyInt>()
            && !object.is_instance_of::<PyBool>()
        {
            return self.number(number);
        }
        if let Some(values) = as_sequence(object) {
            return self.list(&values, self.inside(depth)?);
        }
        if let Some(members) = as_object(object)? {
            return self.map(&members, self.inside(depth)?);
        }
        self.other(object)
    }

    fn list(&mut self, values: &Bound<'_, PySequence>, depth: usize) -> Result<Value<'a>> {
        self.reader.check_members(values.len()?)?;
        let mut elements = Vec::with_capacity(values.len()?);
        for (index, value) in values.try_iter()?.enumerate() {
            elements.push(self.value(&value?, depth).map_err(|it| it.under(index))?);
        }
        Ok(Value::List(List::from(elements)))
    }

    fn map(&mut self, members: &Bound<'_, PyDict>, depth: usize) -> Result<Value<'a>> {
        self.reader.check_members(members.len())?;
        let mut entries = Vec::with_capacity(members.len());
        for (name, value) in members {
            let name = self.reader.string(name.cast().map_err(PyErr::from)?)?;
            let value = self.value(&value, depth).map_err(|it| it.under(name))?;
            entries.push((Value::String(Text::Borrowed(name)), value));
        }
        Ok(Value::Map(Map::from_unique(entries).into()))
    }

    /// An int, else a uint, where the number fits; else the nearest double.
    fn number(&mut self, number: &Bound<'_, PyInt>) -> Result<Value<'a>> {
        if let Ok(value) = from_python(number, self.reader.arena) {
            return Ok(value);
        }
        if let Ok(number) = number.extract::<u64>() {
            return Ok(Value::Uint(number));
        }
        let text = self.reader.integer(number)?;
        Ok(Value::Double(text.parse().unwrap_or(f64::INFINITY)))
    }

    /// A value that JSON can't represent.
    fn other(&mut self, object: &Bound<'_, PyAny>) -> Result<Value<'a>> {
        let py = object.py();
        from_python(object, self.reader.arena).or_else(|error| {
            let is_refused =
                error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py);
            self.is_value &= !is_refused;
            if is_refused { Ok(Value::Null) } else { Err(error.into()) }
        })
    }

    /// One level deeper, inside an object or array.
    fn inside(&self, depth: usize) -> Result<usize> {
        let deepest = self.reader.limits.event_depth;
        if depth >= deepest {
            return Err(refused(format!("objects and arrays nest deeper than {deepest}")));
        }
        Ok(depth.saturating_add(1))
    }
}

/// The object in the place of a variable, and the members that lead to it: its full name, or else
/// its dotted parts.
fn find<'py, 'n>(
    members: &Bound<'py, PyDict>,
    name: &'n str,
) -> Result<Option<(Bound<'py, PyAny>, Vec<&'n str>)>> {
    if let Some(value) = members.get_item(name)? {
        return Ok(Some((value, vec![name])));
    }
    let path: Vec<&str> = name.split('.').collect();
    let mut value = members.clone().into_any();
    for part in &path {
        let Some(inner) = as_dict(&value)? else { return Ok(None) };
        let Some(found) = inner.get_item(part)? else { return Ok(None) };
        value = found;
    }
    Ok(Some((value, path)))
}

fn observed_at(moment: &Bound<'_, PyAny>) -> Result<Timestamp> {
    if moment.is_instance(DATETIME.get(moment.py())?)?
        && moment.call_method0("utcoffset")?.is_none()
    {
        return Err(refused(NAIVE_MOMENT));
    }
    let arena = Bump::new();
    let read = match moment.cast::<PyString>() {
        Ok(text) => text.to_str().ok().and_then(|text| parse_moment(text).ok()),
        Err(_) => match from_python(moment, &arena) {
            Ok(Value::Timestamp(moment)) => Some(moment),
            _ => None,
        },
    };
    read.ok_or_else(|| refused(NO_MOMENT))
}

/// Whether a mapping has a member that is not null.
fn has_content(members: &Bound<'_, PyAny>) -> Result<bool> {
    let members = as_dict(members)?;
    Ok(members.is_some_and(|members| members.iter().any(|(_, value)| !value.is_none())))
}

/// Whether every number of a value is finite.
fn is_finite(value: &Value<'_>) -> bool {
    match value {
        Value::Double(number) => number.is_finite(),
        Value::List(values) => values.iter().all(is_finite),
        Value::Map(map) => map.iter().all(|(_, value)| is_finite(value)),
        _ => true,
    }
}

/// The dict itself, or a copy of another mapping as one.
fn as_dict<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDict>>> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(Some(dict.clone()));
    }
    match value.cast::<PyMapping>() {
        Ok(mapping) => Ok(Some(PyDict::from_sequence(mapping.items()?.as_any())?)),
        Err(_) => Ok(None),
    }
}

/// The dict of a mapping whose names are all strings, as in a JSON object.
fn as_object<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDict>>> {
    let is_object =
        |dict: &Bound<'py, PyDict>| dict.iter().all(|(name, _)| name.is_instance_of::<PyString>());
    Ok(as_dict(value)?.filter(is_object))
}

fn as_sequence<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PySequence>> {
    let is_sequence = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    is_sequence.then(|| value.cast::<PySequence>().ok().cloned()).flatten()
}
