//! One event's values of the fields that programs read, as a [`Layout`] numbers them.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::event::client::Client;
use crate::event::layout::{KeySlot, Layout, LoweredSlot, Slot, TextSlot};
use crate::text::ascii_case::has_upper;
use crate::value::Value;
use crate::value::address::Address;

/// One event's values by slot. A value that the event lacks is `None`.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    values: Vec<Option<Value<'a>>>,
    keys: Texts<'a>,
    lowered: Lowered,
    client: Option<Client>,
}

/// Texts by number: of an event in its arena, of a record that is kept in a box.
#[derive(Clone, Debug)]
enum Texts<'a> {
    Borrowed(&'a [Option<&'a str>]),
    Owned(Box<[Option<&'a str>]>),
}

impl<'a> Deref for Texts<'a> {
    type Target = [Option<&'a str>];

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Borrowed(texts) => texts,
            Self::Owned(texts) => texts,
        }
    }
}

/// A text in ASCII lower case, made when it is first asked for; None where it has no capital.
type LowerText = OnceLock<Option<Box<str>>>;

/// Such texts by their slots. Few rules that read one are evaluated, so the first takes the memory.
#[derive(Clone, Debug)]
struct Lowered {
    count: usize,
    texts: OnceLock<Box<[LowerText]>>,
}

impl Lowered {
    fn new(count: usize) -> Self {
        Self { count, texts: OnceLock::new() }
    }

    #[inline]
    fn get(&self, slot: LoweredSlot) -> Option<&LowerText> {
        let texts = || std::iter::repeat_with(OnceLock::new).take(self.count).collect();
        self.texts.get_or_init(texts).get(slot.index())
    }
}

impl<'a> Record<'a> {
    /// The record of an empty event.
    pub fn empty(layout: &Layout) -> Self {
        let values = std::iter::repeat_with(|| None).take(layout.slot_count());
        Self::new(layout, values.collect(), &[], None)
    }

    /// A record of the values of fields and those under literal keys, in the order of their
    /// slots, with the client whose address `request.client_ip` writes.
    pub(crate) fn new(
        layout: &Layout,
        values: Vec<Option<Value<'a>>>,
        keys: &'a [Option<&'a str>],
        client: Option<Client>,
    ) -> Self {
        let lowered = Lowered::new(layout.lowered_count());
        Self { values, keys: Texts::Borrowed(keys), lowered, client }
    }

    /// The same record with values under literal keys, in the order of their slots, which it keeps.
    pub(crate) fn with_keys(self, texts: impl Iterator<Item = Option<&'a str>>) -> Self {
        Self { keys: Texts::Owned(texts.collect()), ..self }
    }

    #[inline]
    pub fn get(&self, slot: Slot) -> Option<&Value<'a>> {
        self.values.get(slot.number() as usize)?.as_ref()
    }

    /// The value under a literal key, `None` when the map lacks it (it reads as `""`).
    #[inline]
    pub fn key(&self, slot: KeySlot) -> Option<&'a str> {
        self.keys.get(slot.number() as usize).copied().flatten()
    }

    /// The text of a field that is a string, or under a literal key.
    #[inline]
    pub fn text(&self, slot: TextSlot) -> Option<&str> {
        match slot {
            TextSlot::Field(slot) => self.get(slot)?.as_str(),
            TextSlot::Key(key) => Some(self.key(key).unwrap_or_default()),
        }
    }

    /// The text of a slot in ASCII lower case; `None` if the event lacks it.
    #[inline]
    pub fn lowered(&self, text: TextSlot, slot: LoweredSlot) -> Option<&str> {
        let text = self.text(text)?;
        let lower = || has_upper(text.as_bytes()).then(|| text.to_ascii_lowercase().into());
        Some(self.lowered.get(slot)?.get_or_init(lower).as_deref().unwrap_or(text))
    }

    /// The literal keys that the event has, with their values.
    pub fn keys(&self) -> impl Iterator<Item = (KeySlot, &'a str)> {
        (0u32..)
            .zip(self.keys.iter())
            .filter_map(|(number, value)| value.map(|value| (KeySlot::from_number(number), value)))
    }

    /// The values under literal keys, in the order of their slots.
    pub(crate) fn key_texts(&self) -> impl Iterator<Item = Option<&'a str>> {
        self.keys.iter().copied()
    }

    /// The values of the fields that the event has.
    pub fn values(&self) -> impl Iterator<Item = &Value<'a>> {
        self.values.iter().flatten()
    }

    /// Sets or, with `None`, takes away the value of a slot.
    pub fn set(&mut self, slot: Slot, value: Option<Value<'a>>) {
        if let Some(place) = self.values.get_mut(slot.number() as usize) {
            *place = value;
        }
        self.lowered = Lowered::new(self.lowered.count);
    }

    /// The address that `request.client_ip` writes, parsed once; `None` when it is
    /// `""` or no program reads it.
    #[inline]
    pub fn client_address(&self) -> Option<Address> {
        self.client.and_then(Client::address)
    }

    /// The client; `None` when no program reads its address.
    pub fn client(&self) -> Option<Client> {
        self.client
    }

    pub fn set_client(&mut self, client: Option<Client>) {
        self.client = client;
    }
}

#[cfg(test)]
mod tests;
