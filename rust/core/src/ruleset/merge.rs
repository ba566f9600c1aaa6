//! Many segments made one in the background.

use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use super::segment::Segment;
use super::{Common, Rule};
use crate::layout::Layout;
use crate::sample::Sample;

/// A segment on its way or ready, for the sets that come of the one it was begun for.
#[derive(Debug)]
pub(super) struct Merge {
    merged: OnceLock<Merged>,
    /// The next key when it was begun.
    pub(super) end: u32,
}

/// The segment, and the key that each of its rules had when it was begun, in order.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) segment: Arc<Segment>,
    pub(super) keys: Vec<u32>,
}

/// What an index is made with.
pub(super) struct Setting {
    pub(super) layout: Arc<Layout>,
    pub(super) common: Arc<Common>,
    pub(super) sample: Arc<Sample>,
}

impl Merge {
    /// Begins in a thread of its own; None where there is no thread to be had. The rules come
    /// with their keys, all of which are less than `end`.
    pub(super) fn begin(
        end: u32,
        rules: impl FnOnce() -> Vec<(u32, Rule)> + Send + 'static,
        setting: Setting,
    ) -> Option<Arc<Self>> {
        let merge = Arc::new(Self { merged: OnceLock::new(), end });
        let result = Arc::clone(&merge);
        let work = move || {
            let Setting { layout, common, sample } = setting;
            let (keys, rules): (Vec<u32>, Vec<_>) = rules().into_iter().unzip();
            let segment = Segment::new(rules);
            segment.index(&layout, &common, &sample);
            // The numbers by id.
            segment.find("");
            _ = result.merged.set(Merged { segment: Arc::new(segment), keys });
        };
        Builder::new().name("tidegate-merge".to_owned()).spawn(work).ok().map(|_| merge)
    }

    /// The segment, once it is ready.
    pub(super) fn merged(&self) -> Option<&Merged> {
        self.merged.get()
    }
}
