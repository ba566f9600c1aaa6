//! The literal keys that programs read of one of the event's maps. They are few, so that a name
//! of an event is mostly found or missed without a hash.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::event::layout::KeySlot;
use crate::json::member_names::Name;

/// Most keys of one sketch that are walked; more are looked up by hash.
const WALKED_KEYS: usize = 4;

/// The keys of one section, by a sketch of the key.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiteralKeys {
    slots: HashMap<String, KeySlot, RandomState>,
    /// By sketch; empty while there are no keys.
    first: Vec<Place>,
    keys: Vec<Key>,
}

/// Where keys of one sketch go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    /// At a position of the keys.
    At(u16),
    /// They are more than are walked.
    Crowded,
}

#[derive(Clone, Debug)]
struct Key {
    text: Box<str>,
    slot: KeySlot,
    next: Place,
}

impl LiteralKeys {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    #[inline]
    pub(crate) fn get(&self, key: Name<'_>) -> Option<KeySlot> {
        let mut place = *self.first.get(usize::from(key.sketch()))?;
        while let Place::At(position) = place {
            let each = self.keys.get(usize::from(position))?;
            if *each.text == *key.text {
                return Some(each.slot);
            }
            place = each.next;
        }
        if place == Place::Crowded { self.get_by_hash(key.text) } else { None }
    }

    #[cold]
    fn get_by_hash(&self, key: &str) -> Option<KeySlot> {
        self.slots.get(key).copied()
    }

    pub(crate) fn insert(&mut self, text: &str, slot: KeySlot) {
        self.slots.insert(text.to_owned(), slot);
        self.first.resize(256, Place::Nowhere);
        let sketch = usize::from(Name::new(text).sketch());
        let Some(first) = self.first.get_mut(sketch) else { return };
        let after = |place: &Place| match place {
            Place::At(position) => self.keys.get(usize::from(*position)).map(|key| key.next),
            Place::Nowhere | Place::Crowded => None,
        };
        let alike = std::iter::successors(Some(*first), after).skip(1).count();
        let is_crowded = *first == Place::Crowded || alike >= WALKED_KEYS;
        match u16::try_from(self.keys.len()) {
            Ok(position) if !is_crowded => {
                self.keys.push(Key { text: text.into(), slot, next: *first });
                *first = Place::At(position);
            }
            _ => *first = Place::Crowded,
        }
    }
}
