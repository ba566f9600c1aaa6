//! A record that owns its text, to be evaluated many times.

use self_cell::self_cell;

use crate::event::layout::{Layout, Slot};
use crate::event::record::Record;
use crate::value::Value;

/// The values of a record, without a borrow.
struct Stored {
    values: Vec<(Slot, Value<'static>)>,
    keys: Vec<Option<Box<str>>>,
}

self_cell!(
    struct Cell {
        owner: Stored,

        #[covariant]
        dependent: Record,
    }
);

/// An encoded event that owns its data.
pub struct PreparedRecord(Cell);

impl PreparedRecord {
    /// Copies a record of a layout.
    pub fn new(original: &Record<'_>, layout: &Layout) -> Self {
        let value = |slot| original.get(slot).map(|value| (slot, value.clone().into_owned()));
        let stored = Stored {
            values: layout.fields().filter_map(|(slot, _, _)| value(slot)).collect(),
            keys: original.key_texts().map(|text| text.map(Box::from)).collect(),
        };
        Self(Cell::new(stored, |stored| {
            let keys = stored.keys.iter().map(Option::as_deref);
            let mut record = Record::empty(layout).with_keys(keys);
            for (slot, value) in &stored.values {
                record.set(*slot, Some(value.borrow()));
            }
            record.set_client(original.client());
            record
        }))
    }

    /// The record, as long as this lives.
    pub fn record(&self) -> &Record<'_> {
        self.0.borrow_dependent()
    }
}
