//! A pattern as programs have it, and the texts that its matches contain.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use tidegate_regex::Regex;

/// Patterns by their text.
pub(crate) type CompiledPatterns = HashMap<Box<str>, CompiledPattern, RandomState>;

/// A pattern as programs have it.
#[derive(Debug)]
pub(crate) struct CompiledPattern {
    pub(crate) regex: Regex,
    /// Texts of which every match has one, the best to search for first.
    pub(crate) required: Vec<Vec<Box<str>>>,
}

impl CompiledPattern {
    pub(crate) fn new(regex: &Regex) -> Self {
        Self { regex: regex.clone(), required: regex.required().texts }
    }
}
