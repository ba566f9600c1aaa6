//! The positions of a pattern: each place in it that reads a character, which of them
//! may come first and last, and which may follow which (Glushkov, "The abstract theory
//! of automata", 1961).
//!
//! The follow relation is kept as pairs at a distance, which many copies of a counted part have in
//! common, and as products of two sets where those are large.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};
use smallvec::{SmallVec, smallvec};

use super::Refused;
use super::alphabet::Ranges;
use super::looks::Looks;

/// More pairs than this stay a product.
const MAX_PAIRS: usize = 16;
/// Maximum positions of a pattern, and of all its products together: far above anything that the
/// checker accepts.
const MAX_POSITIONS: usize = 1 << 16;
const MAX_NAMED: usize = 1 << 20;

/// Sets in most patterns, at most.
pub(super) const COMMON_SETS: usize = 28;

/// Positions that may come at one end, by the assertions they need there: mostly one entry, which
/// needs none.
pub(super) type Ends = SmallVec<[(Looks, SmallVec<[u32; 4]>); 1]>;

/// Assertions under which a part may be skipped.
type Empty = SmallVec<[Looks; 2]>;

/// Every position of `to` may follow every one of `from`.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) needs: Looks,
    pub(super) from: Vec<u32>,
    pub(super) to: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Positions {
    /// The distinct sets of characters.
    pub(super) sets: Vec<Ranges>,
    /// The set of each position.
    pub(super) set_of: Vec<u32>,
    pub(super) first: Ends,
    pub(super) last: Ends,
    /// Assertions under which the empty text matches.
    pub(super) empty: Empty,
    /// Positions that may follow the one so far before them.
    pub(super) near: BTreeMap<(Looks, i32), Vec<u32>>,
    pub(super) products: Vec<Product>,
}

impl Positions {
    /// The positions of a pattern.
    ///
    /// # Errors
    /// The pattern is too large, or outside the language.
    pub(super) fn new(hir: &Hir) -> Result<Self, Refused> {
        let known = HashMap::with_capacity_and_hasher(COMMON_SETS, RandomState::default());
        let mut builder = Builder { known, ..Builder::default() };
        let Part { first, last, empty } = builder.part(hir)?;
        Ok(Self { first, last, empty, ..builder.positions })
    }

    pub(super) const fn len(&self) -> usize {
        self.set_of.len()
    }

    /// The pattern read backwards: positions are counted from the other end.
    pub(super) fn reversed(&self) -> Self {
        let last = i32::try_from(self.len()).unwrap_or(i32::MAX).wrapping_sub(1);
        let turn = |position: &u32, distance: i32| {
            last.wrapping_sub_unsigned(*position).wrapping_add(distance).cast_unsigned()
        };
        let all = |positions: &[u32]| positions.iter().map(|one| turn(one, 0)).collect();
        let end = |(needs, some): &(Looks, SmallVec<[u32; 4]>)| {
            (*needs, some.iter().map(|one| turn(one, 0)).collect())
        };
        let ends = |ends: &Ends| ends.iter().map(end).collect();
        let near = |(key, targets): (&(Looks, i32), &Vec<u32>)| {
            (*key, targets.iter().map(|target| turn(target, key.1)).collect())
        };
        let product = |product: &Product| Product {
            needs: product.needs,
            from: all(&product.to),
            to: all(&product.from),
        };
        Self {
            sets: self.sets.clone(),
            set_of: self.set_of.iter().rev().copied().collect(),
            first: ends(&self.last),
            last: ends(&self.first),
            empty: self.empty.clone(),
            near: self.near.iter().map(near).collect(),
            products: self.products.iter().map(product).collect(),
        }
    }
}

/// Facts about a part of the pattern.
#[derive(Default)]
struct Part {
    first: Ends,
    last: Ends,
    empty: Empty,
}

impl Part {
    fn empty(needs: Looks) -> Self {
        Self { empty: smallvec![needs], ..Self::default() }
    }
}

#[derive(Default)]
struct Builder {
    positions: Positions,
    known: HashMap<Ranges, u32, RandomState>,
    named: usize,
}

impl Builder {
    fn part(&mut self, hir: &Hir) -> Result<Part, Refused> {
        match hir.kind() {
            HirKind::Empty => Ok(Part::empty(Looks::NONE)),
            HirKind::Look(look) => Looks::of(*look).map(Part::empty).ok_or(Refused::Unsupported),
            HirKind::Capture(capture) => self.part(&capture.sub),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| Refused::Unsupported)?;
                let mut characters = text.chars().map(|one| smallvec![(one.into(), one.into())]);
                let first =
                    characters.next().map_or(Ok(Part::empty(Looks::NONE)), |set| self.read(set))?;
                characters.try_fold(first, |before, set| {
                    let part = self.read(set)?;
                    self.join(before, part)
                })
            }
            HirKind::Class(class) => self.read(ranges(class)?),
            HirKind::Concat(parts) => {
                let mut parts = parts.iter();
                let first =
                    parts.next().map_or(Ok(Part::empty(Looks::NONE)), |part| self.part(part))?;
                parts.try_fold(first, |before, hir| {
                    let part = self.part(hir)?;
                    self.join(before, part)
                })
            }
            HirKind::Alternation(parts) => {
                let mut all = Part::default();
                for hir in parts {
                    let part = self.part(hir)?;
                    add_ends(&mut all.first, part.first, Looks::NONE);
                    add_ends(&mut all.last, part.last, Looks::NONE);
                    all.empty.extend(part.empty);
                }
                simplify(&mut all.empty);
                Ok(all)
            }
            HirKind::Repetition(repetition) => self.repetition(repetition),
        }
    }

    /// A position that reads a character of a set.
    fn read(&mut self, set: Ranges) -> Result<Part, Refused> {
        let Positions { sets, set_of, .. } = &mut self.positions;
        if set_of.len() >= MAX_POSITIONS {
            return Err(Refused::TooLarge);
        }
        let position = u32::try_from(set_of.len()).map_err(|_| Refused::TooLarge)?;
        let next = u32::try_from(sets.len()).map_err(|_| Refused::TooLarge)?;
        let number = *self.known.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            next
        });
        set_of.push(number);
        let ends: Ends = smallvec![(Looks::NONE, smallvec![position])];
        Ok(Part { first: ends.clone(), last: ends, empty: Empty::new() })
    }

    /// One part, then another.
    fn join(&mut self, before: Part, after: Part) -> Result<Part, Refused> {
        self.follow(&before.last, &after.first)?;
        let Part { mut first, last: before_last, empty: before_empty } = before;
        let Part { first: after_first, mut last, empty: after_empty } = after;
        for needs in &before_empty {
            add_ends(&mut first, after_first.clone(), *needs);
        }
        match after_empty.as_slice() {
            [] => {}
            [needs] => add_ends(&mut last, before_last, *needs),
            several => {
                for needs in several {
                    add_ends(&mut last, before_last.clone(), *needs);
                }
            }
        }
        let pairs = before_empty
            .iter()
            .flat_map(|one| after_empty.iter().map(move |other| one.union(*other)));
        let mut empty: Empty = pairs.collect();
        simplify(&mut empty);
        Ok(Part { first, last, empty })
    }

    /// Repeats a part. A part that may be empty gets a lower count and is never empty then: the
    /// copies are chained like optional ones.
    fn repetition(&mut self, repetition: &Repetition) -> Result<Part, Refused> {
        let copies = repetition.max.unwrap_or(repetition.min.max(1));
        let mut needed = Part::empty(Looks::NONE);
        let mut further = Part::empty(Looks::NONE);
        let mut before = Ends::new();
        for number in 0..copies {
            let part = self.part(&repetition.sub)?;
            if repetition.max.is_none() && number.saturating_add(1) == copies {
                self.follow(&part.last, &part.first)?;
            }
            if number < repetition.min && !part.empty.contains(&Looks::NONE) {
                needed = self.join(needed, part)?;
                continue;
            }
            if further.first.is_empty() {
                further.first = part.first;
            } else {
                self.follow(&before, &part.first)?;
            }
            before.clone_from(&part.last);
            add_ends(&mut further.last, part.last, Looks::NONE);
        }
        self.join(needed, further)
    }

    /// Every position of `after` may follow every one of `before`.
    fn follow(&mut self, before: &Ends, after: &Ends) -> Result<(), Refused> {
        for (needs_before, from) in before {
            for (needs_after, to) in after {
                let needs = needs_before.union(*needs_after);
                if from.len().saturating_mul(to.len()) > MAX_PAIRS {
                    self.name(from.len().saturating_add(to.len()))?;
                    let product = Product { needs, from: from.to_vec(), to: to.to_vec() };
                    self.positions.products.push(product);
                    continue;
                }
                for source in from {
                    for target in to {
                        let distance = target.wrapping_sub(*source).cast_signed();
                        self.positions.near.entry((needs, distance)).or_default().push(*target);
                    }
                }
            }
        }
        Ok(())
    }

    fn name(&mut self, count: usize) -> Result<(), Refused> {
        self.named = self.named.saturating_add(count);
        if self.named > MAX_NAMED { Err(Refused::TooLarge) } else { Ok(()) }
    }
}

fn add_ends(ends: &mut Ends, more: Ends, needs: Looks) {
    for (others, positions) in more {
        let needs = others.union(needs);
        match ends.iter_mut().find(|(known, _)| *known == needs) {
            Some((_, known)) => known.extend(positions),
            None => ends.push((needs, positions)),
        }
    }
}

/// Drops alternatives that ask for more than another one does.
fn simplify(all: &mut Empty) {
    if all.len() < 2 {
        return;
    }
    all.sort_unstable();
    all.dedup();
    let every = all.clone();
    all.retain(|one| !every.iter().any(|other| other != one && one.allow(*other)));
}

fn ranges(class: &Class) -> Result<Ranges, Refused> {
    match class {
        Class::Unicode(class) => Ok(class
            .iter()
            .map(|range| (u32::from(range.start()), u32::from(range.end())))
            .collect()),
        // Nothing is of no class, of bytes or of characters.
        Class::Bytes(class) => class
            .is_ascii()
            .then(|| {
                let ranges = class.iter();
                ranges.map(|range| (range.start().into(), range.end().into())).collect()
            })
            .ok_or(Refused::Unsupported),
    }
}
