//! One event's values of the fields that programs read, as a [`Layout`] numbers them.

use std::ops::Deref;

use bumpalo::Bump;

use crate::address::Address;
use crate::layout::{KeySlot, Layout, LoweredSlot, Slot, TextSlot};
use crate::letters::lower;
use crate::value::{Text, Value};

/// One event's values by slot. What the event lacks is `None`.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    values: Vec<Option<Value<'a>>>,
    keys: Texts<'a>,
    lowered: Texts<'a>,
    client_address: Option<Address>,
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

impl<'a> Record<'a> {
    /// A record of an event that has nothing.
    pub fn empty(layout: &Layout) -> Self {
        Self {
            values: std::iter::repeat_with(|| None).take(layout.slot_count()).collect(),
            keys: Texts::Borrowed(&[]),
            lowered: Texts::Borrowed(&[]),
            client_address: None,
        }
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

    /// A text in ASCII lower case, `None` where [`Record::lower`] found none.
    #[inline]
    pub fn lowered(&self, slot: LoweredSlot) -> Option<&'a str> {
        self.lowered.get(slot.index()).copied().flatten()
    }

    /// Makes the texts in lower case that the layout has slots for.
    pub fn lower(&mut self, layout: &Layout, arena: &'a Bump) {
        let lowered = arena.alloc_slice_fill_copy(layout.lowered().len(), Some(""));
        for (place, slot) in lowered.iter_mut().zip(layout.lowered()) {
            match *slot {
                TextSlot::Key(key) => {
                    if let Some(text) = self.key(key) {
                        *place = Some(lower(text, arena));
                    }
                }
                TextSlot::Field(slot) => {
                    let text = self.get(slot).and_then(|value| match value {
                        Value::String(Text::Borrowed(text)) => Some(*text),
                        value => Some(&*arena.alloc_str(value.as_str()?)),
                    });
                    *place = text.map(|text| lower(text, arena));
                }
            }
        }
        self.lowered = Texts::Borrowed(lowered);
    }

    /// Keeps the texts in lower case, in the order of their slots.
    pub(crate) fn keep_lowered(&mut self, texts: impl Iterator<Item = Option<&'a str>>) {
        self.lowered = Texts::Owned(texts.collect());
    }

    /// The texts in lower case, in the order of their slots.
    pub(crate) fn lowered_texts(&self) -> impl Iterator<Item = Option<&'a str>> {
        self.lowered.iter().copied()
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

    /// Takes over the values under literal keys, in the order of their slots.
    pub fn set_keys(&mut self, texts: &'a [Option<&'a str>]) {
        self.keys = Texts::Borrowed(texts);
    }

    /// Keeps the values under literal keys, in the order of their slots.
    pub(crate) fn keep_keys(&mut self, texts: impl Iterator<Item = Option<&'a str>>) {
        self.keys = Texts::Owned(texts.collect());
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
    }

    /// The address that `request.client_ip` writes, parsed once; `None` when it is
    /// `""` or no program reads it.
    #[inline]
    pub fn client_address(&self) -> Option<Address> {
        self.client_address
    }

    pub fn set_client_address(&mut self, address: Option<Address>) {
        self.client_address = address;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout::new([
            ("request.path", "string"),
            ("request.headers", "map(string, string)"),
            ("actions.login", "bool"),
            ("x", "list(int)"),
        ])
        .unwrap()
    }

    #[test]
    fn texts_are_lowered_once_for_all_who_ask() {
        let mut layout = layout();
        let path = TextSlot::Field(layout.slot("request.path").unwrap());
        let host = TextSlot::Key(layout.key_slot("request.headers", "host").unwrap());
        let (path, host) = (layout.lowered_slot(path), layout.lowered_slot(host));
        let path_slot = layout.slot("request.path").unwrap();
        assert_eq!(layout.lowered_slot(TextSlot::Field(path_slot)), path);
        let arena = Bump::new();
        let mut record = Record::empty(&layout);
        record.lower(&layout, &arena);
        assert_eq!(record.lowered(path.unwrap()), None);
        assert_eq!(record.lowered(host.unwrap()), Some(""));
        record.set(path_slot, Some(Value::String(Text::Borrowed("/ÄB"))));
        record.lower(&layout, &arena);
        assert_eq!(record.lowered(path.unwrap()), Some("/Äb"));
    }

    #[test]
    fn a_record_keeps_what_is_set() {
        let mut layout = layout();
        let path = layout.slot("request.path").unwrap();
        let host = layout.key_slot("request.headers", "host").unwrap();
        let mut record = Record::empty(&layout);
        assert!(record.get(path).is_none() && record.key(host).is_none());
        record.set(path, Some(Value::String(Text::Borrowed("/"))));
        record.set_keys(&[Some("h")]);
        assert!(matches!(record.get(path), Some(Value::String(Text::Borrowed("/")))));
        assert_eq!(record.key(host), Some("h"));
        record.set(path, None);
        assert!(record.get(path).is_none());
    }
}
