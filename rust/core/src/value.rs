//! The values of the language. `'a` is the event and the program: text that
//! either of them holds is borrowed, text an evaluation makes is shared.

use std::sync::Arc;

use crate::address::{Address, Network};

/// Text that is borrowed from the event or program, or shared when built.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

#[derive(Clone, Debug)]
pub enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<[u8]>),
}

#[derive(Clone, Debug)]
pub enum List<'a> {
    Borrowed(&'a [Value<'a>]),
    Shared(Arc<[Value<'a>]>),
}

/// A map of strings to strings from the event: absent keys read as `""`.
pub type TotalMap<'a> = &'a [(&'a str, &'a str)];

#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Bytes<'a>),
    List(List<'a>),
    /// An ordinary map, in the order in which it was built.
    Map(Arc<crate::map::Map<'a>>),
    TotalMap(TotalMap<'a>),
    Timestamp(Timestamp),
    Duration(Duration),
    Type(Text<'a>),
    Optional(Option<Arc<Value<'a>>>),
    Ip(Address),
    Cidr(Network),
}

/// Nanoseconds from the Unix epoch; the language allows years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i128);

/// Nanoseconds; the language allows what fits CEL's seconds range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i128);
