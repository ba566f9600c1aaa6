//! The automaton of positions in parallel bits: a state is a set of positions, one bit
//! each, and a step works on 64 of them at once (as in Navarro and Raffinot, "Flexible
//! Pattern Matching in Strings", 2002, and Hyperscan's LimEx).

use std::collections::BTreeMap;

use super::alphabet::{Members, ones};
use super::looks::Looks;
use super::positions::{Ends, Positions, Product};

/// A set of positions: an empty word, the words of the set, an empty word, so that shifts can read
/// past either end.
pub(super) type Set = [u64];

#[derive(Debug)]
pub(super) struct Machine {
    /// Words of a set, the two at its ends included.
    words: usize,
    /// The positions that read each class, one set after another, without the words at its
    /// ends.
    masks: Box<[u64]>,
    /// Positions that may begin anywhere.
    first: Box<[(Looks, Run)]>,
    last: Box<[(Looks, Run)]>,
    empty: Box<[Looks]>,
    follow: Box<[(Looks, Follow)]>,
    /// The most work of a step.
    step_work: u64,
}

/// The words of a set from the first to the last that is not empty.
#[derive(Debug)]
struct Run {
    start: usize,
    words: Box<[u64]>,
}

/// Which positions follow which, under the same assertions.
#[derive(Debug)]
struct Follow {
    shifts: Box<[Shift]>,
    /// The words that pieces are read from, in order.
    sources: Box<[Source]>,
    /// The pieces of the first source, then those of the next.
    pieces: Box<[Piece]>,
    products: Box<[Products]>,
}

/// The builder of a [`Follow`].
#[derive(Default)]
struct FollowBuilder {
    shifts: Vec<Shift>,
    /// Pieces by the word they are read from.
    pieces: BTreeMap<usize, Vec<Piece>>,
    products: Vec<Products>,
}

/// Positions that follow those at one distance before them.
#[derive(Debug)]
struct Shift {
    /// The word before the first that is read.
    from: usize,
    /// The shift in bits, in addition to whole words.
    bits: u32,
    /// The words that are written.
    to: Run,
}

/// A word that pieces are read from, and how many: mostly it has no position of a state.
#[derive(Debug)]
struct Source {
    word: u16,
    pieces: u16,
}

/// The part of a shift that goes from one word to another.
#[derive(Debug)]
struct Piece {
    to: u16,
    bits: u32,
    mask: u64,
}

/// The most products. Their words are in one list each way, since short lists of
/// different lengths would mislead the processor at every end.
#[derive(Debug, Default)]
struct Products {
    count: usize,
    /// Words and the product they belong to.
    from: Vec<(Bits, usize)>,
    to: Vec<(Bits, usize)>,
}

const PRODUCTS: usize = 16;

/// Some positions of one word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    word: usize,
    bits: u64,
}

impl Machine {
    /// The machine of a pattern over an alphabet that has these classes.
    pub(super) fn new(positions: &Positions, members: &Members) -> Self {
        let words = positions.len().div_ceil(64).saturating_add(2);
        let mut of_sets = vec![vec![0; words]; positions.sets.len()];
        for (position, set) in (0_u32..).zip(&positions.set_of) {
            if let Some(of_set) = of_sets.get_mut(*set as usize) {
                add(of_set, position);
            }
        }
        let masks = members.iter().flat_map(|sets| {
            let mut mask = vec![0; words];
            for of_set in sets.iter().filter_map(|set| of_sets.get(*set as usize)) {
                mask.iter_mut().zip(of_set).for_each(|(word, more)| *word |= more);
            }
            mask.into_iter().skip(1).take(words.saturating_sub(2))
        });
        let mut follow: BTreeMap<Looks, FollowBuilder> = BTreeMap::new();
        for ((needs, distance), targets) in &positions.near {
            follow.entry(*needs).or_default().add_near(*distance, targets, words);
        }
        for product in &positions.products {
            follow.entry(product.needs).or_default().add_product(product);
        }
        let follow: Box<[(Looks, Follow)]> =
            follow.into_iter().map(|(needs, follow)| (needs, follow.build())).collect();
        let of_follow = follow.iter().map(|(_, follow)| follow.work()).fold(0, u64::saturating_add);
        Self {
            words,
            masks: masks.collect(),
            first: runs(&positions.first, words),
            last: runs(&positions.last, words),
            empty: positions.empty.as_slice().into(),
            step_work: step_work(words.saturating_sub(2)).saturating_add(of_follow),
            follow,
        }
    }

    /// Words of a set.
    pub(super) const fn words(&self) -> usize {
        self.words
    }

    /// The most work of a step, in the units of `tidegate/regex/work.py`.
    pub(super) const fn step_work(&self) -> u64 {
        self.step_work
    }

    /// Whether a match ends at a place: behind one of `state`, or because it is empty.
    #[inline]
    pub(super) fn accepts(&self, state: &Set, looks: Looks) -> bool {
        self.empty.iter().any(|needs| looks.allow(*needs))
            || self.last.iter().any(|(needs, last)| looks.allow(*needs) && last.meets(state))
    }

    /// Leaves in `next` the positions that have read a character of `class` when those of
    /// `state` have read the character before it.
    #[inline]
    pub(super) fn step(&self, state: &Set, looks: Looks, class: u16, next: &mut Set) {
        next.fill(0);
        for (needs, first) in &self.first {
            if looks.allow(*needs) {
                first.add_to(next);
            }
        }
        for (needs, follow) in &self.follow {
            if looks.allow(*needs) {
                follow.run(state, next);
            }
        }
        let start = self.words.wrapping_sub(2).wrapping_mul(usize::from(class));
        let mask = self.masks.get(start..).unwrap_or_default();
        // The word at the end has nothing to lose.
        next.iter_mut().skip(1).zip(mask).for_each(|(word, mask)| *word &= mask);
    }

    /// Whether a match can begin behind the first character.
    pub(super) fn begins_anywhere(&self) -> bool {
        let first = self.first.iter().map(|(needs, _)| needs);
        first.chain(&self.empty).any(|needs| !needs.need_text_start())
    }
}

impl FollowBuilder {
    fn add_near(&mut self, distance: i32, targets: &[u32], words: usize) {
        let to = Run::new(targets, words);
        let bits = distance.rem_euclid(64).cast_unsigned();
        let mut pieces: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for target in to.positions() {
            let Bits { word, bits } = Bits::of(target);
            let from = word_of(target.wrapping_sub_signed(distance));
            *pieces.entry((from, word)).or_default() |= bits;
        }
        if pieces.len().saturating_mul(PIECE_COST) > shift_cost(to.words.len()) {
            let whole = distance.div_euclid(64) as isize;
            let from = to.start.wrapping_add_signed(whole.wrapping_neg()).wrapping_sub(1);
            return self.shifts.push(Shift { from, bits, to });
        }
        for ((from, to), mask) in pieces {
            // There are fewer words than that.
            let to = u16::try_from(to).unwrap_or(u16::MAX);
            self.pieces.entry(from).or_default().push(Piece { to, bits, mask });
        }
    }

    fn add_product(&mut self, product: &Product) {
        if self.products.last().is_none_or(|products| products.count == PRODUCTS) {
            self.products.push(Products::default());
        }
        if let Some(Products { count, from, to }) = self.products.last_mut() {
            from.extend(all_bits(&product.from).into_iter().map(|bits| (bits, *count)));
            to.extend(all_bits(&product.to).into_iter().map(|bits| (bits, *count)));
            *count = count.saturating_add(1);
        }
    }

    /// The finished form, without spare capacity.
    fn build(mut self) -> Follow {
        let number = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let sources = self.pieces.iter().flat_map(|(word, pieces)| {
            let parts = pieces.chunks(usize::from(u16::MAX));
            parts.map(|part| Source { word: number(*word), pieces: number(part.len()) })
        });
        for products in &mut self.products {
            products.from.shrink_to_fit();
            products.to.shrink_to_fit();
        }
        Follow {
            shifts: self.shifts.into(),
            sources: sources.collect(),
            pieces: self.pieces.into_values().flatten().collect(),
            products: self.products.into(),
        }
    }
}

impl Follow {
    /// The work of all of it in one step.
    fn work(&self) -> u64 {
        let shifts = self.shifts.iter().map(|shift| shift_cost(shift.to.words.len()));
        let pieces = self.pieces.len().saturating_mul(PIECE_COST);
        let products = self.products.iter().map(Products::work);
        shifts.chain(products).fold(pieces, usize::saturating_add) as u64
    }

    #[inline]
    fn run(&self, state: &Set, next: &mut Set) {
        for shift in &self.shifts {
            shift.run(state, next);
        }
        let mut rest = &*self.pieces;
        for Source { word, pieces } in &self.sources {
            let of_source;
            (of_source, rest) = rest.split_at_checked(usize::from(*pieces)).unwrap_or_default();
            let word = state.get(usize::from(*word)).copied().unwrap_or_default();
            if word != 0 {
                of_source.iter().for_each(|piece| piece.run(word, next));
            }
        }
        for products in &self.products {
            products.run(state, next);
        }
    }
}

impl Products {
    fn work(&self) -> usize {
        let words = self.from.len().saturating_add(self.to.len());
        self.count.saturating_mul(PRODUCT_COST).saturating_add(words.saturating_mul(3))
    }

    #[inline]
    fn run(&self, state: &Set, next: &mut Set) {
        let mut found = [0; PRODUCTS];
        for (bits, product) in &self.from {
            if let Some(found) = found.get_mut(*product) {
                *found |= bits.within(state);
            }
        }
        for found in &mut found {
            // All bits or none.
            *found = u64::from(*found != 0).wrapping_neg();
        }
        for (bits, product) in &self.to {
            bits.add_to(next, found.get(*product).copied().unwrap_or_default());
        }
    }
}

impl Shift {
    #[inline]
    fn run(&self, state: &Set, next: &mut Set) {
        let from = state.get(self.from..).unwrap_or_default();
        let highs = from.get(1..).unwrap_or_default();
        let to = next.get_mut(self.to.start..).unwrap_or_default();
        let back = 63_u32.wrapping_sub(self.bits);
        for (((word, low), high), mask) in to.iter_mut().zip(from).zip(highs).zip(&self.to.words) {
            // In two steps, since none of 64 bits would be a shift by all of them.
            *word |= (high.wrapping_shl(self.bits) | (low >> 1).wrapping_shr(back)) & mask;
        }
    }
}

impl Piece {
    #[inline]
    fn run(&self, from: u64, next: &mut Set) {
        if let Some(word) = next.get_mut(usize::from(self.to)) {
            *word |= from.rotate_left(self.bits) & self.mask;
        }
    }
}

impl Bits {
    fn of(position: u32) -> Self {
        Self { word: word_of(position), bits: 1 << (position % 64) }
    }

    /// The bits that a set has.
    #[inline]
    fn within(self, set: &Set) -> u64 {
        set.get(self.word).map_or(0, |word| word & self.bits)
    }

    /// The last of these positions that a set has.
    pub(super) fn last_in(self, set: &Set) -> Option<u32> {
        let bit = self.within(set).checked_ilog2()?;
        Some((self.word.wrapping_sub(1) as u32).wrapping_mul(64).wrapping_add(bit))
    }

    #[inline]
    fn add_to(self, set: &mut Set, mask: u64) {
        if let Some(word) = set.get_mut(self.word) {
            *word |= mask & self.bits;
        }
    }
}

impl Run {
    fn new(positions: &[u32], words: usize) -> Self {
        let mut set = vec![0; words];
        positions.iter().for_each(|position| add(&mut set, *position));
        let start = set.iter().position(|word| *word != 0).unwrap_or(0);
        let end = set.iter().rposition(|word| *word != 0).map_or(0, |last| last.saturating_add(1));
        Self { start, words: set.get(start..end).unwrap_or_default().into() }
    }

    fn positions(&self) -> impl Iterator<Item = u32> {
        let before = self.start.saturating_sub(1).saturating_mul(64) as u32;
        ones(&self.words).map(move |position| position.saturating_add(before))
    }

    #[inline]
    fn meets(&self, set: &Set) -> bool {
        let set = set.get(self.start..).unwrap_or_default();
        set.iter().zip(&self.words).fold(0, |met, (one, other)| met | one & other) != 0
    }

    #[inline]
    fn add_to(&self, set: &mut Set) {
        let set = set.get_mut(self.start..).unwrap_or_default();
        set.iter_mut().zip(&self.words).for_each(|(word, more)| *word |= more);
    }
}

/// The cost of either way of a distance, as in `tidegate/regex/work.py`.
const PIECE_COST: usize = 4;

const fn shift_cost(words: usize) -> usize {
    words.saturating_mul(2).saturating_add(28)
}

/// The cost of a product, in addition to its words.
const PRODUCT_COST: usize = 8;

/// The fixed cost of a step plus that of the words of all positions.
const fn step_work(words: usize) -> u64 {
    words.saturating_mul(2).saturating_add(80) as u64
}

const fn word_of(position: u32) -> usize {
    (position as usize / 64).saturating_add(1)
}

/// Whether a position is in a set.
#[inline]
pub(super) fn has(set: &Set, position: u32) -> bool {
    Bits::of(position).within(set) != 0
}

fn add(set: &mut Set, position: u32) {
    Bits::of(position).add_to(set, u64::MAX);
}

fn runs(ends: &Ends, words: usize) -> Box<[(Looks, Run)]> {
    ends.iter().map(|(needs, positions)| (*needs, Run::new(positions, words))).collect()
}

/// The words that hold some positions.
pub(super) fn all_bits(positions: &[u32]) -> Box<[Bits]> {
    let mut words: BTreeMap<usize, u64> = BTreeMap::new();
    for Bits { word, bits } in positions.iter().map(|position| Bits::of(*position)) {
        *words.entry(word).or_default() |= bits;
    }
    words.into_iter().map(|(word, bits)| Bits { word, bits }).collect()
}
