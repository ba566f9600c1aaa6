//! The library of functions.
