//! An index of rules that change: a large base, which sets share, and a layer of the rules that the
//! base lacks. Each change rebuilds the layer, and a rebuild makes one index of all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Builder;

use foldhash::fast::RandomState;

use super::{Index, Report};

/// An index and the statements of its rules.
#[derive(Debug)]
pub(crate) struct Segment<S> {
    pub(crate) index: Index,
    /// The statement of each rule, by its number.
    pub(crate) statements: Box<[S]>,
}

/// A segment as one set sees it.
#[derive(Debug)]
pub(crate) struct Part<S, T> {
    pub(crate) segment: Arc<Segment<S>>,
    /// The target of each rule; None if the set no longer states it.
    targets: Box<[Option<T>]>,
}

/// The index of a set: statements, each of which leads to a target.
#[derive(Debug)]
pub(crate) struct LayeredIndex<S, T> {
    base: Part<S, T>,
    layer: Option<Part<S, T>>,
}

impl<S, T: Copy> Part<S, T> {
    fn new(stated: Vec<(S, T)>, build: impl FnOnce(&[S]) -> Index) -> Self {
        let (statements, targets): (Vec<S>, Vec<_>) =
            stated.into_iter().map(|(statement, target)| (statement, Some(target))).unzip();
        let segment = Segment { index: build(&statements), statements: statements.into() };
        Self { segment: Arc::new(segment), targets: targets.into() }
    }

    /// The target of a rule, if the set still states it.
    #[inline]
    pub(crate) fn target(&self, rule: u32) -> Option<T> {
        self.targets.get(rule as usize).copied().flatten()
    }
}

impl<S: Eq + Hash, T: Copy> LayeredIndex<S, T> {
    /// One index of all, made by `build`.
    pub(crate) fn new(stated: Vec<(S, T)>, build: impl FnOnce(&[S]) -> Index) -> Self {
        Self { base: Part::new(stated, build), layer: None }
    }

    /// An index over the base of another set; `build` makes the index of the statements that it
    /// lacks.
    pub(crate) fn over(
        base: Arc<Segment<S>>,
        stated: Vec<(S, T)>,
        build: impl FnOnce(&[S]) -> Index,
    ) -> Self {
        let numbered = stated.into_iter().enumerate();
        let mut rest: HashMap<S, (usize, T), RandomState> =
            numbered.map(|(order, (statement, target))| (statement, (order, target))).collect();
        let mut target = |statement| rest.remove(statement).map(|(_, target)| target);
        let targets = base.statements.iter().map(&mut target).collect();
        let mut rest: Vec<(S, (usize, T))> = rest.into_iter().collect();
        rest.sort_unstable_by_key(|(_, (order, _))| *order);
        let rest: Vec<(S, T)> =
            rest.into_iter().map(|(statement, (_, target))| (statement, target)).collect();
        let layer = (!rest.is_empty()).then(|| Part::new(rest, build));
        Self { base: Part { segment: base, targets }, layer }
    }

    /// The base for the index of a changed set.
    pub(crate) fn base(&self) -> Arc<Segment<S>> {
        Arc::clone(&self.base.segment)
    }

    /// The report of the base.
    pub(crate) fn report(&self) -> &Report {
        self.base.segment.index.report()
    }

    /// The base, and the layer if there is one.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part<S, T>> {
        [Some(&self.base), self.layer.as_ref()].into_iter().flatten()
    }

    /// The number of rules in the layer or removed from the base.
    pub(crate) fn layered(&self) -> usize {
        let gone = self.base.targets.iter().filter(|target| target.is_none()).count();
        self.layer.as_ref().map_or(0, |layer| layer.targets.len()).saturating_add(gone)
    }
}

/// The base that changes of some sets build on: the one that was made last.
#[derive(Debug)]
pub(crate) struct Newest<S> {
    base: Mutex<Option<Arc<Segment<S>>>>,
    is_being_made: AtomicBool,
}

impl<S> Default for Newest<S> {
    fn default() -> Self {
        Self { base: Mutex::default(), is_being_made: AtomicBool::new(false) }
    }
}

impl<S: Send + Sync + 'static> Newest<S> {
    pub(crate) fn get(&self) -> Option<Arc<Segment<S>>> {
        self.base.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, segment: Arc<Segment<S>>) {
        *self.base.lock().unwrap_or_else(PoisonError::into_inner) = Some(segment);
    }

    /// Starts a thread that builds the next base, unless one does already or no thread can start.
    pub(crate) fn in_background(
        self: &Arc<Self>,
        make: impl FnOnce() -> Arc<Segment<S>> + Send + 'static,
    ) {
        if self.is_being_made.swap(true, Ordering::AcqRel) {
            return;
        }
        let newest = Arc::clone(self);
        let work = move || {
            newest.set(make());
            newest.is_being_made.store(false, Ordering::Release);
        };
        if Builder::new().name("tidegate-rebuild".to_owned()).spawn(work).is_err() {
            self.is_being_made.store(false, Ordering::Release);
        }
    }
}

/// The place of an index that is built on first use, and rebuilt as one after changes.
#[derive(Debug)]
pub(crate) struct Built<I> {
    first: OnceLock<I>,
    rebuilt: OnceLock<I>,
}

impl<I> Default for Built<I> {
    fn default() -> Self {
        Self { first: OnceLock::new(), rebuilt: OnceLock::new() }
    }
}

impl<I> From<I> for Built<I> {
    fn from(index: I) -> Self {
        Self { first: index.into(), rebuilt: OnceLock::new() }
    }
}

impl<I> Built<I> {
    /// The index, the rebuilt one if it is ready.
    #[inline]
    pub(crate) fn get(&self, make: impl FnOnce() -> I) -> &I {
        self.rebuilt.get().unwrap_or_else(|| self.first.get_or_init(make))
    }

    /// The index of all rules of a changed set, made now if it is not ready.
    pub(crate) fn whole(&self, make: impl FnOnce() -> I) -> &I {
        self.rebuilt.get_or_init(make)
    }

    /// Makes later searches use an index of all rules; another thread may have been faster.
    pub(crate) fn rebuild(&self, index: I) {
        let _ = self.rebuilt.set(index);
    }
}
