//! Running a program over a record.

use crate::evaluate::{Evaluation, Meter};
use crate::event::record::Record;
use crate::functions::named_lists::Lists;
use crate::program::{Expr, Program};
use crate::value::Value;
use crate::value::error::Failure;

impl Program {
    /// The value of the expression for one event.
    ///
    /// # Errors
    /// The failure that the language defines; `meter` has what it cost.
    pub fn evaluate<'a>(
        &'a self,
        record: &Record<'a>,
        lists: &'a Lists,
        meter: &mut Meter,
    ) -> Result<Value<'a>, Failure> {
        Evaluation::new(record, lists, meter).evaluate(&self.root)
    }

    /// Whether the expression, which must be a bool, is true for one event.
    ///
    /// # Errors
    /// As [`Program::evaluate`]; `no_such_overload` if the value isn't a bool.
    pub fn test<'a>(
        &'a self,
        record: &Record<'a>,
        lists: &'a Lists,
        meter: &mut Meter,
    ) -> Result<bool, Failure> {
        Evaluation::new(record, lists, meter).test(&self.root)
    }

    /// Whether a part of some program is true.
    pub(crate) fn test_part<'a>(
        part: &'a Expr,
        record: &Record<'a>,
        lists: &'a Lists,
        meter: &mut Meter,
    ) -> Result<bool, Failure> {
        Evaluation::new(record, lists, meter).test(part)
    }
}
