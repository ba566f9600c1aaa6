//! JSON trees that borrow from a text: strings without escapes, names and numbers borrow from it,
//! everything else is in an arena, so that dropping a tree doesn't visit its parts.
//!
//! Members keep their order in a plain list. The objects of a checked tree have a handful of
//! members, for which a linear search is faster than a hash.

use bumpalo::Bump;
use smallvec::SmallVec;

use crate::json::{Kind, Reader, Result};
use crate::value::limits::Limits;

/// A value of JSON that borrows from its text and its arena.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tree<'t> {
    Null,
    Bool(bool),
    /// The number as it is written.
    Number(&'t str),
    String(&'t str),
    /// An array of two positions, as every node of a checked tree has one: most arrays.
    Span(u32, u32),
    /// Any other array.
    Array(&'t [Tree<'t>]),
    Object(Members<'t>),
}

/// The members of an object, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Members<'t>(&'t [(&'t str, Tree<'t>)]);

impl<'t> Members<'t> {
    /// The values of the members.
    pub fn values(&self) -> impl Iterator<Item = &Tree<'t>> {
        self.0.iter().map(|(_, value)| value)
    }

    /// A member by its name; the last where there are several.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Tree<'t>> {
        self.0.iter().rev().find(|(other, _)| *other == name).map(|(_, value)| value)
    }
}

impl<'t> Tree<'t> {
    pub const fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    pub const fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(parts) => Some(parts),
            _ => None,
        }
    }

    pub const fn as_object(&self) -> Option<&Members<'t>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }
}

/// Deepest JSON that is read. A level of a checked tree is at most three of JSON.
pub const MAX_DEPTH: usize = 512;

/// Most arrays of a tree have at most this many parts, most objects this many members.
const PARTS: usize = 4;
const MEMBERS: usize = 6;

/// A reader of trees and their envelopes that bounds their depth and nothing else.
pub(crate) fn reader<'t>(text: &'t str, arena: &'t Bump) -> Reader<'t> {
    let limits = Limits {
        event_depth: MAX_DEPTH,
        event_members: usize::MAX,
        event_string_bytes: usize::MAX,
        ..Limits::default()
    };
    Reader::over(text, arena, &limits)
}

/// Reads a text that is one tree.
///
/// # Errors
/// The first fault of the text.
pub(crate) fn read<'t>(text: &'t str, arena: &'t Bump) -> Result<Tree<'t>> {
    let mut reader = reader(text, arena);
    let tree = value(&mut reader)?;
    reader.finish()?;
    Ok(tree)
}

fn value<'t>(reader: &mut Reader<'t>) -> Result<Tree<'t>> {
    Ok(match reader.kind()? {
        Kind::Null => {
            reader.null()?;
            Tree::Null
        }
        Kind::Bool => Tree::Bool(reader.boolean()?),
        Kind::Number => Tree::Number(reader.number()?),
        Kind::String => Tree::String(reader.string()?),
        Kind::Array => match reader.span() {
            Some((start, end)) => Tree::Span(start, end),
            None => Tree::Array(parts(reader)?),
        },
        Kind::Object => Tree::Object(members(reader)?),
    })
}

fn parts<'t>(reader: &mut Reader<'t>) -> Result<&'t [Tree<'t>]> {
    let mut parts = SmallVec::<[Tree<'t>; PARTS]>::new();
    reader.array(|reader, _| {
        parts.push(value(reader)?);
        Ok(())
    })?;
    Ok(reader.arena().alloc_slice_copy(&parts))
}

fn members<'t>(reader: &mut Reader<'t>) -> Result<Members<'t>> {
    let mut members = SmallVec::<[(&'t str, Tree<'t>); MEMBERS]>::new();
    reader.entries(|reader, name| {
        members.push((name, value(reader)?));
        Ok(())
    })?;
    Ok(Members(reader.arena().alloc_slice_copy(&members)))
}

#[cfg(test)]
mod tests;
