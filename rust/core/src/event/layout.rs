//! The fields, literal keys and lowered texts that a set of programs reads.
//!
//! A [`Layout`] numbers them while programs are compiled; a [`Record`](crate::event::record::Record)
//! holds one value of an event for each number, so that reading a field is one load.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;

use foldhash::fast::RandomState;

use crate::event::Entries;
use crate::event::field::{Field, Member, Section};
use crate::event::variable::VariableType;
use crate::text::ascii_case::has_upper;

type Table<T> = HashMap<String, T, RandomState>;

/// The number of a field in a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);

/// The number of a literal key of one of the event's maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeySlot(u32);

impl Slot {
    pub(crate) const fn number(self) -> u32 {
        self.0
    }
}

impl LoweredSlot {
    pub(crate) const fn index(self) -> usize {
        (self.0.get() as usize).wrapping_sub(1)
    }
}

impl KeySlot {
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A text of the event that programs read: a field's, or that under a literal key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextSlot {
    Field(Slot),
    Key(KeySlot),
}

/// The number of a text that programs read in ASCII lower case, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoweredSlot(NonZeroU32);

/// The source of a slot's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Computed by the encoder from the request.
    Field(Field),
    /// Taken from the member of the event with this name.
    Variable(VariableType),
    /// Set by the decision; no event has it.
    Decision,
}

/// A declared field whose type text is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownType {
    pub field: String,
    pub type_text: String,
}

impl fmt::Display for UnknownType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the field `{}` has the unknown type `{}`", self.field, self.type_text)
    }
}

impl std::error::Error for UnknownType {}

/// The fields and keys that programs read, numbered in the order of first use.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    declared: Table<Source>,
    numbers: Table<Slot>,
    slots: Vec<(String, Source)>,
    keys: [Table<KeySlot>; Section::COUNT],
    key_count: u32,
    /// The slot of the keys that no event has.
    never: Option<KeySlot>,
    lowered: Vec<TextSlot>,
    sections: [bool; Section::COUNT],
    members: [bool; Member::COUNT],
    has_declared_variables: bool,
    reads_user_agent_data: bool,
    reads_agent: bool,
    reads_place: bool,
    reads_body: bool,
    reads_parameters: bool,
    reads_variables: bool,
}

impl Layout {
    /// A layout without slots over the declared fields, given as name and type text.
    ///
    /// # Errors
    /// [`UnknownType`] for a variable whose type does not parse.
    pub fn new<'t>(
        declared: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, UnknownType> {
        let mut layout = Self::default();
        for (name, type_text) in declared {
            let source = source_of(name, type_text)?;
            layout.has_declared_variables |= matches!(source, Source::Variable(_));
            layout.declared.insert(name.to_owned(), source);
        }
        Ok(layout)
    }

    /// The slot of a field, numbered when it is new; `None` for an undeclared name.
    pub fn slot(&mut self, name: &str) -> Option<Slot> {
        if let Some(slot) = self.find(name) {
            return Some(slot);
        }
        let source = self.declared.get(name)?.clone();
        let slot = Slot(u32::try_from(self.slots.len()).ok()?);
        self.note(&source);
        self.slots.push((name.to_owned(), source));
        self.numbers.insert(name.to_owned(), slot);
        Some(slot)
    }

    /// Whether some program reads or has read a declared variable.
    pub(crate) fn has_variable_slots(&self) -> bool {
        self.slots.iter().any(|(name, _)| self.declares_variable(name))
    }

    /// Keeps the variables that are read, and ignores others in an event. Their slots stay, since
    /// they may be kept again.
    pub(crate) fn keep_variables(&mut self, is_read: impl Fn(Slot) -> bool) {
        self.reads_variables = false;
        for (number, (name, source)) in (0_u32..).zip(&mut self.slots) {
            let Some(Source::Variable(variable)) = self.declared.get(name) else { continue };
            let is_kept = is_read(Slot(number));
            *source = if is_kept { Source::Variable(variable.clone()) } else { Source::Decision };
            self.reads_variables |= is_kept;
        }
    }

    /// Numbers every declared field, in the order of their names.
    pub fn number_all(&mut self) {
        let mut names: Vec<String> = self.declared.keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            self.slot(&name);
        }
    }

    /// The slot of a literal key of a map field, numbered when it is new; `None`
    /// if the field isn't one of the event's maps.
    pub fn key_slot(&mut self, map: &str, key: &str) -> Option<KeySlot> {
        let Source::Field(Field::Section(section)) = *self.declared.get(map)? else {
            return None;
        };
        // No header has a name with a capital once names are folded.
        let never = section == Section::Headers && has_upper(key.as_bytes());
        let known =
            if never { self.never } else { self.keys.get(section.index())?.get(key).copied() };
        if known.is_some() {
            return known;
        }
        let slot = KeySlot(self.key_count);
        self.key_count = self.key_count.checked_add(1)?;
        if never {
            self.never = Some(slot);
        } else {
            self.keys.get_mut(section.index())?.insert(key.to_owned(), slot);
        }
        self.note(&Source::Field(Field::Section(section)));
        Some(slot)
    }

    /// The slot of a text in lower case, which is then made once per event for
    /// all rules that read it; numbered when it is new.
    pub fn lowered_slot(&mut self, text: TextSlot) -> Option<LoweredSlot> {
        let known = self.lowered.iter().position(|each| *each == text);
        let number = known.unwrap_or(self.lowered.len());
        if known.is_none() {
            self.lowered.push(text);
        }
        u32::try_from(number).ok()?.checked_add(1).and_then(NonZeroU32::new).map(LoweredSlot)
    }

    /// The number of texts that programs read in lower case.
    pub(crate) fn lowered_count(&self) -> usize {
        self.lowered.len()
    }

    /// Notes the data that the encoder needs for a source; it skips the rest.
    fn note(&mut self, source: &Source) {
        self.reads_body |= matches!(
            source,
            Source::Field(Field::Body | Field::Arguments | Field::ArgumentsIncomplete)
        );
        self.reads_parameters |= matches!(
            source,
            Source::Field(
                Field::Section(Section::QueryParams) | Field::Repeated(Section::QueryParams)
            )
        );
        self.reads_variables |= matches!(source, Source::Variable(_));
        let Source::Field(field) = *source else {
            return;
        };
        self.reads_user_agent_data |= field.is_from_user_agent_data();
        self.reads_agent |= matches!(field, Field::Agent(_));
        self.reads_place |= matches!(field, Field::Country | Field::Asn | Field::AsOrganization);
        for section in field.sections() {
            if let Some(is_read) = self.sections.get_mut(section.index()) {
                *is_read = true;
            }
        }
        for member in field.members() {
            if let Some(is_read) = self.members.get_mut(member.index()) {
                *is_read = true;
            }
        }
    }

    /// The slot of a field that some program reads.
    pub fn find(&self, name: &str) -> Option<Slot> {
        self.numbers.get(name).copied()
    }

    /// The fields read, with their slots.
    pub fn fields(&self) -> impl Iterator<Item = (Slot, &str, &Source)> {
        (0u32..)
            .zip(&self.slots)
            .map(|(number, (name, source))| (Slot(number), name.as_str(), source))
    }

    /// The source of a slot's value.
    pub fn source(&self, slot: Slot) -> Option<&Source> {
        self.slots.get(slot.0 as usize).map(|(_, source)| source)
    }

    /// The literal keys that some program reads of a section.
    #[inline]
    pub(crate) fn keys(&self, section: Section) -> Option<&Table<KeySlot>> {
        self.keys.get(section.index())
    }

    /// Puts the values of a section's literal keys into their slots.
    pub(crate) fn place_keys<'a>(
        &self,
        section: Section,
        entries: impl FnOnce() -> Entries<'a>,
        places: &mut [Option<&'a str>],
    ) {
        let Some(keys) = self.keys(section).filter(|keys| !keys.is_empty()) else { return };
        for (key, value) in entries() {
            let slot = keys.get(*key);
            if let Some(place) = slot.and_then(|slot| places.get_mut(slot.0 as usize)) {
                *place = Some(*value);
            }
        }
    }

    /// Whether some program reads the section: whole, by a literal key, or through a field that may
    /// be computed from one of its entries.
    #[inline]
    pub fn reads_section(&self, section: Section) -> bool {
        self.sections.get(section.index()).is_some_and(|read| *read)
    }

    /// Whether some program reads a field that is computed from the member.
    #[inline]
    pub fn reads_member(&self, member: Member) -> bool {
        self.members.get(member.index()).is_some_and(|read| *read)
    }

    /// Whether some program reads a field that needs ua-parser's data.
    pub fn reads_user_agent_data(&self) -> bool {
        self.reads_user_agent_data
    }

    /// Whether some program reads a field about the agent.
    pub fn reads_agent(&self) -> bool {
        self.reads_agent
    }

    /// Whether some program reads a field about where the client is.
    pub fn reads_place(&self) -> bool {
        self.reads_place
    }

    /// Whether some program reads the body.
    #[inline]
    pub fn reads_body(&self) -> bool {
        self.reads_body
    }

    /// Whether some program reads the query by the names of its parameters.
    pub fn reads_parameters(&self) -> bool {
        self.reads_parameters
    }

    /// Whether some program reads a declared variable.
    #[inline]
    pub fn reads_variables(&self) -> bool {
        self.reads_variables
    }

    /// Whether a member of the event is a declared variable, read or not.
    #[inline]
    pub fn declares_variable(&self, member: &str) -> bool {
        self.has_declared_variables
            && matches!(self.declared.get(member), Some(Source::Variable(_)))
    }

    /// Whether a member of `request` is a declared variable or leads to one, read or not.
    #[cold]
    pub fn declares_of_request(&self, member: &str) -> bool {
        let of_request = |name: &String| {
            let rest = name.strip_prefix("request.")?.strip_prefix(member)?;
            Some(rest.is_empty() || rest.starts_with('.'))
        };
        self.declared.iter().any(|(name, source)| {
            matches!(source, Source::Variable(_)) && of_request(name).unwrap_or_default()
        })
    }

    /// The declared variables that some program reads.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &VariableType)> {
        self.slots.iter().filter_map(|(name, source)| match source {
            Source::Variable(variable) => Some((name.as_str(), variable)),
            Source::Field(_) | Source::Decision => None,
        })
    }

    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The number of literal keys that some program reads.
    pub fn key_count(&self) -> usize {
        self.key_count as usize
    }
}

/// A name and type of the field model are that field; all else that is declared is a variable.
fn source_of(name: &str, type_text: &str) -> Result<Source, UnknownType> {
    if name.starts_with("actions.") || name.starts_with("entity.") {
        return Ok(Source::Decision);
    }
    match Field::from_name(name) {
        Some(field) if field.type_text() == type_text => Ok(Source::Field(field)),
        _ => VariableType::parse(type_text)
            .map(Source::Variable)
            .ok_or_else(|| UnknownType { field: name.to_owned(), type_text: type_text.to_owned() }),
    }
}

#[cfg(test)]
mod tests;
