//! A pattern as a program of one thread (Thompson's); the order of its alternatives is their
//! preference. It is built from its end: each part gets the part that follows it.

use regex_syntax::hir::{Hir, HirKind, Repetition};

use super::Refused;
use super::looks::Looks;
use super::machine::{Bits, all_bits};

/// Maximum instructions, far above anything that the checker accepts.
const MAX_INSTRUCTIONS: usize = 1 << 18;

/// The place of an instruction.
pub(super) type Place = u32;

#[derive(Debug)]
pub(super) enum Instruction {
    /// Read the character of a position.
    Read { position: u32, then: Place },
    /// Go on if these hold.
    Require { needs: Looks, then: Place },
    /// Note the place in the text.
    Mark { slot: u32, then: Place },
    /// Enter a part once more, or leave it.
    Repeat(Repeat),
    /// Go on in one of these places, the first preferred.
    Choose(Box<Choice>),
    /// The pattern has matched.
    Accept,
}

/// Positions, counted from the last of the pattern, one of which must lead to a match for a part
/// that reads before all else. None if only trying decides.
pub(super) type Guard = Option<Box<[Bits]>>;

#[derive(Debug)]
pub(super) struct Repeat {
    pub(super) enter: Place,
    pub(super) leave: Place,
    pub(super) greedy: bool,
    pub(super) guard: Guard,
}

/// Alternatives. Among those that read before all else, bits find the first one that leads to a
/// match.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) places: Box<[Place]>,
    /// The first position of each alternative, in order.
    pub(super) starts: Box<[u32]>,
    /// The guards of all alternatives that have one.
    pub(super) first: Box<[Bits]>,
    /// The other alternatives, which have to be tried.
    pub(super) others: Box<[u32]>,
}

#[derive(Debug)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) start: Place,
}

impl Program {
    /// The program of a pattern with this number of positions.
    ///
    /// # Errors
    /// The pattern is too large, or outside the language.
    pub(super) fn new(hir: &Hir, positions: usize) -> Result<Self, Refused> {
        let position = u32::try_from(positions).map_err(|_| Refused::TooLarge)?;
        let last_position = position.wrapping_sub(1);
        let mut builder = Builder { instructions: Vec::new(), position, last_position };
        let accept = builder.add(Instruction::Accept)?;
        let start = builder.build(hir, accept)?;
        Ok(Self { instructions: builder.instructions, start })
    }
}

struct Builder {
    instructions: Vec<Instruction>,
    /// The position after the next that is read.
    position: u32,
    last_position: u32,
}

impl Builder {
    fn add(&mut self, instruction: Instruction) -> Result<Place, Refused> {
        let place = self.instructions.len();
        if place >= MAX_INSTRUCTIONS {
            return Err(Refused::TooLarge);
        }
        self.instructions.push(instruction);
        Place::try_from(place).map_err(|_| Refused::TooLarge)
    }

    /// Adds a part before `then`; the place to enter it.
    fn build(&mut self, hir: &Hir, then: Place) -> Result<Place, Refused> {
        match hir.kind() {
            HirKind::Empty => Ok(then),
            HirKind::Look(look) => {
                let needs = Looks::of(*look).ok_or(Refused::Unsupported)?;
                self.add(Instruction::Require { needs, then })
            }
            HirKind::Class(_) => self.read(then),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| Refused::Unsupported)?;
                text.chars().try_fold(then, |then, _| self.read(then))
            }
            HirKind::Capture(capture) => {
                let slot = capture.index.saturating_mul(2);
                let close = self.add(Instruction::Mark { slot: slot.saturating_add(1), then })?;
                let then = self.build(&capture.sub, close)?;
                self.add(Instruction::Mark { slot, then })
            }
            HirKind::Concat(parts) => {
                parts.iter().rev().try_fold(then, |then, part| self.build(part, then))
            }
            HirKind::Alternation(parts) => self.alternation(parts, then),
            HirKind::Repetition(repetition) => match repetition.max {
                Some(max) => self.bounded(repetition, max, then),
                None => self.unbounded(repetition, then),
            },
        }
    }

    fn alternation(&mut self, parts: &[Hir], then: Place) -> Result<Place, Refused> {
        let (mut places, mut starts) = (Vec::new(), Vec::new());
        for part in parts.iter().rev() {
            places.push(self.build(part, then)?);
            starts.push(self.position);
        }
        places.reverse();
        starts.reverse();
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for (number, place) in (0_u32..).zip(&places) {
            match self.first(*place, then) {
                Some(positions) => first.extend(positions),
                None => others.push(number),
            }
        }
        self.add(Instruction::Choose(Box::new(Choice {
            places: places.into(),
            starts: starts.into(),
            first: all_bits(&first),
            others: others.into(),
        })))
    }

    /// The positions that may come first in a part, counted from the last; None when it
    /// asks for anything else, or may be empty.
    fn first(&self, place: Place, then: Place) -> Option<Vec<u32>> {
        let mut first = Vec::new();
        let (mut seen, mut stack) = (vec![place], vec![place]);
        while let Some(place) = stack.pop() {
            if place == then {
                return None;
            }
            let following: &[Place] = match self.instructions.get(place as usize)? {
                Instruction::Read { position, .. } => {
                    first.push(self.last_position.wrapping_sub(*position));
                    continue;
                }
                Instruction::Mark { then, .. } => std::slice::from_ref(then),
                Instruction::Repeat(repeat) => &[repeat.enter, repeat.leave],
                Instruction::Choose(choice) => &choice.places,
                Instruction::Require { .. } | Instruction::Accept => return None,
            };
            for place in following {
                if !seen.contains(place) {
                    seen.push(*place);
                    stack.push(*place);
                }
            }
        }
        Some(first)
    }

    fn read(&mut self, then: Place) -> Result<Place, Refused> {
        self.position = self.position.checked_sub(1).ok_or(Refused::TooLarge)?;
        self.add(Instruction::Read { position: self.position, then })
    }

    fn bounded(
        &mut self,
        repetition: &Repetition,
        max: u32,
        then: Place,
    ) -> Result<Place, Refused> {
        let mut entry = then;
        for _ in repetition.min..max {
            let item = self.build(&repetition.sub, entry)?;
            let repeat = self.repeat(repetition, item, entry, then);
            entry = self.add(repeat)?;
        }
        self.copies(&repetition.sub, repetition.min, entry)
    }

    fn unbounded(&mut self, repetition: &Repetition, then: Place) -> Result<Place, Refused> {
        let place = self.add(Instruction::Accept)?; // until what is entered is known
        let entry = self.build(&repetition.sub, place)?;
        let repeat = self.repeat(repetition, entry, place, then);
        if let Some(instruction) = self.instructions.get_mut(place as usize) {
            *instruction = repeat;
        }
        if let Some(more) = repetition.min.checked_sub(1) {
            return self.copies(&repetition.sub, more, entry);
        }
        if repetition.sub.properties().minimum_len().is_none_or(|least| least == 0) {
            // `(x+)?` in place of `x*`: an `x` that has matched nothing would come back
            // to the loop it entered by, find it taken, and lose its preference.
            let repeat = self.repeat(repetition, entry, place, then);
            return self.add(repeat);
        }
        Ok(place)
    }

    /// The choice between a part, which is followed by `after`, and leaving it.
    fn repeat(&self, of: &Repetition, enter: Place, after: Place, leave: Place) -> Instruction {
        let guard = self.first(enter, after).map(|first| all_bits(&first));
        Instruction::Repeat(Repeat { enter, leave, greedy: of.greedy, guard })
    }

    fn copies(&mut self, hir: &Hir, count: u32, then: Place) -> Result<Place, Refused> {
        (0..count).try_fold(then, |then, _| self.build(hir, then))
    }
}
