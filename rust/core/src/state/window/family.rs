//! Families of windows, and those windows of one entity that are not packed
//! ([`crate::state::window::packed`]), in the order of their numbers.
//!
//! Clauses that count the same events are a family. Their windows have numbers in a row, and
//! the first has the widest rule: it holds everything that the others would. So the others aren't
//! stored; they are read from the first, each by its own rule. A window with different content (a
//! final clause kept an event from it, or a change of definitions brought it into the family) is
//! stored until the two are equal again. An empty window is stored if it holds nothing while the
//! first holds something.

use crate::definitions::window_rule::Family;
use std::borrow::Cow;

use foldhash::fast::RandomState;

use crate::definitions::window_rule::Rule;
use crate::state::window::Window;

/// The windows of an entity for a family.
#[derive(Clone, Debug, Default)]
pub struct FamilyWindows<'s> {
    first: Option<Cow<'s, Window>>,
    /// The other windows that exist.
    own: &'s [Window],
}

impl<'s> FamilyWindows<'s> {
    /// The same with a first window that is kept elsewhere.
    pub(crate) fn with_first(self, first: Window) -> Self {
        Self { first: Some(Cow::Owned(first)), ..self }
    }

    /// The window that has the content of a window number.
    pub fn source(&self, number: u32) -> Option<&Window> {
        self.own(number).or(self.first.as_deref())
    }

    /// The same, as a value that can be kept.
    pub(crate) fn kept_source(&self, number: u32) -> Option<Cow<'s, Window>> {
        self.own(number).map(Cow::Borrowed).or_else(|| self.first.clone())
    }

    /// Whether the first window has the content of all.
    pub fn are_one(&self) -> bool {
        self.own.is_empty()
    }

    pub(crate) fn has_first(&self) -> bool {
        self.first.is_some()
    }

    fn own(&self, number: u32) -> Option<&'s Window> {
        let place = self.own.binary_search_by_key(&number, Window::number);
        place.ok().and_then(|place| self.own.get(place))
    }
}

/// One event, or a value in it, with the time at which it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'c> {
    pub(crate) time: i64,
    pub(crate) value: Option<&'c str>,
    pub(crate) hasher: &'c RandomState,
}

impl Counted<'_> {
    #[inline]
    pub(crate) fn add_event(self, window: &mut Window, rule: Rule) {
        window.add_event(rule, self.time, self.value, self.hasher);
    }

    pub(crate) fn empty(self, number: u32) -> Window {
        if self.value.is_some() { Window::distinct(number) } else { Window::count(number) }
    }
}

/// The existing windows of a family. See [`place_of`]; `near` becomes the place of its first.
pub(crate) fn of_family<'s>(
    windows: &'s [Window],
    near: &mut usize,
    family: Family<'_>,
) -> FamilyWindows<'s> {
    let found = place_of(windows, *near, family.first);
    let (Ok(place) | Err(place)) = found;
    *near = place;
    let first = if found.is_ok() { windows.get(place).map(Cow::Borrowed) } else { None };
    let start = place.saturating_add(usize::from(first.is_some()));
    let rest = windows.get(start..).unwrap_or_default();
    let is_own = |window: &&Window| family.position(window.number()).is_some();
    let own = rest.get(..rest.iter().take_while(is_own).count()).unwrap_or_default();
    FamilyWindows { first, own }
}

/// Counts in all windows of a family, and gives the place of the first.
pub(crate) fn count(
    windows: &mut Vec<Window>,
    near: usize,
    family: Family<'_>,
    counted: Counted<'_>,
) -> usize {
    let Some(widest) = family.rule(0) else { return near };
    let place = made(windows, near, family.first, |number| counted.empty(number));
    if let Some(window) = windows.get_mut(place) {
        counted.add_event(window, widest);
    }
    let next = place.saturating_add(1);
    if windows.get(next).is_some_and(|own| family.position(own.number()).is_some()) {
        count_own(windows, place, family, counted);
    }
    place
}

/// Counts in the existing windows besides the first, and drops windows that have become equal to
/// it.
fn count_own(windows: &mut Vec<Window>, place: usize, family: Family<'_>, counted: Counted<'_>) {
    let mut next = place.saturating_add(1);
    while let Some((before, own)) = windows
        .split_at_mut_checked(next)
        .and_then(|(before, rest)| Some((before, rest.first_mut()?)))
    {
        let rule = family.position(own.number()).and_then(|position| family.rule(position));
        let Some(rule) = rule else { break };
        counted.add_event(own, rule);
        if before.get(place).is_some_and(|first| first.holds_by(rule, own)) {
            windows.remove(next);
        } else {
            next = next.saturating_add(1);
        }
    }
}

/// Counts in one window of a family and not in the others.
pub(crate) fn count_one(
    windows: &mut Vec<Window>,
    family: Family<'_>,
    position: usize,
    counted: Counted<'_>,
) {
    let others = if position == 0 { 1..family.rules.len() } else { position..position };
    for other in others.chain([position]) {
        keep_apart(windows, family, other, counted);
    }
    if let Some((number, rule)) = number_and_rule(family, position)
        && let Ok(place) = place_of(windows, 0, number)
        && let Some(window) = windows.get_mut(place)
    {
        counted.add_event(window, rule);
    }
}

/// Makes a window of its own from the content of the first.
fn keep_apart(
    windows: &mut Vec<Window>,
    family: Family<'_>,
    position: usize,
    counted: Counted<'_>,
) {
    let Some((number, rule)) = number_and_rule(family, position) else { return };
    if let Err(place) = place_of(windows, 0, number) {
        let first = place_of(windows, 0, family.first).ok().and_then(|first| windows.get(first));
        let own = first.map(|first| first.narrowed(rule, number, counted.hasher));
        windows.insert(place, own.unwrap_or_else(|| counted.empty(number)));
    }
}

fn number_and_rule(family: Family<'_>, position: usize) -> Option<(u32, Rule)> {
    let number = family.first.checked_add(u32::try_from(position).ok()?)?;
    Some((number, family.rule(position)?))
}

/// The place of a window, which is created if it is missing.
fn made(
    windows: &mut Vec<Window>,
    near: usize,
    number: u32,
    make: impl FnOnce(u32) -> Window,
) -> usize {
    place_of(windows, near, number).unwrap_or_else(|place| {
        windows.insert(place, make(number));
        place
    })
}

/// The place of a window, present or absent. `near` is the place of a window before it: callers
/// search in the order of numbers, so mostly it is there or the next.
#[inline]
fn place_of(windows: &[Window], near: usize, number: u32) -> Result<usize, usize> {
    let next = near.saturating_add(1);
    let is_at = |place: usize| windows.get(place).is_some_and(|window| window.number() == number);
    if is_at(next) {
        Ok(next)
    } else if is_at(near) {
        Ok(near)
    } else {
        search(windows, near, number)
    }
}

/// The same if it is neither.
fn search(windows: &[Window], near: usize, number: u32) -> Result<usize, usize> {
    let is_before = |window: &Window| window.number() < number;
    let (mut start, mut step) = (near, 1_usize);
    while windows.get(start.saturating_add(step.wrapping_sub(1))).is_some_and(is_before) {
        start = start.saturating_add(step);
        step = step.saturating_mul(2);
    }
    let end = start.saturating_add(step).min(windows.len());
    let rest = windows.get(start..end).unwrap_or_default();
    let place = start.saturating_add(rest.partition_point(is_before));
    let is_there = windows.get(place).is_some_and(|window| window.number() == number);
    if is_there { Ok(place) } else { Err(place) }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
