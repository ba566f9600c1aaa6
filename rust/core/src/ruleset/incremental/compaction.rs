//! Many segments made one in the background.

use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use super::layer::{Beside, Layer};
use crate::event::layout::Layout;
use crate::event::sample::Sample;
use crate::ruleset::segment::Segment;
use crate::ruleset::{Common, Rule};

/// What is on its way or ready, for the sets that come of the one it was begun for.
#[derive(Debug)]
pub(in crate::ruleset) struct Merge<T> {
    merged: OnceLock<T>,
    /// The next key when it was begun.
    pub(in crate::ruleset) end: u32,
}

/// A new base, and the key that each of its rules had when it was begun, in order.
#[derive(Debug)]
pub(in crate::ruleset) struct Merged {
    pub(in crate::ruleset) segment: Arc<Segment>,
    pub(in crate::ruleset) keys: Vec<u32>,
}

/// What an index is made with.
pub(in crate::ruleset) struct Setting {
    pub(in crate::ruleset) layout: Arc<Layout>,
    pub(in crate::ruleset) common: Arc<Common>,
    pub(in crate::ruleset) sample: Arc<Sample>,
}

impl<T: Send + Sync + 'static> Merge<T> {
    /// Begins in a thread of its own; None where there is no thread to be had. The keys of all
    /// rules are less than `end`.
    pub(in crate::ruleset) fn begin(
        end: u32,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Option<Arc<Self>> {
        let merge = Arc::new(Self { merged: OnceLock::new(), end });
        let result = Arc::clone(&merge);
        let work = move || _ = result.merged.set(make());
        Builder::new().name("tidegate-merge".to_owned()).spawn(work).ok().map(|_| merge)
    }

    /// What was made, once it is ready.
    pub(in crate::ruleset) fn merged(&self) -> Option<&T> {
        self.merged.get()
    }
}

impl Setting {
    /// A base of rules with their keys.
    pub(in crate::ruleset) fn base(&self, rules: Vec<(u32, Rule)>) -> Merged {
        let (keys, rules): (Vec<u32>, Vec<_>) = rules.into_iter().unzip();
        let segment = Segment::new(rules);
        self.make_ready(&segment);
        Merged { segment: Arc::new(segment), keys }
    }

    /// A layer of rules with their keys, ready.
    pub(in crate::ruleset) fn layer(&self, rules: Vec<(u32, Beside)>) -> Layer {
        let layer = Layer::of(rules);
        self.make_ready(&layer.segment);
        layer
    }

    /// Makes the index and the numbers by id.
    fn make_ready(&self, segment: &Segment) {
        segment.index(&self.layout, &self.common, &self.sample);
        segment.find("");
    }
}
