//! The macros over lists and maps.

use crate::evaluate::{Absorbed, Evaluated, Evaluation, insert};
use crate::functions::lists::sorted_by;
use crate::program::{Comprehension, Expr, Macro};
use crate::value::Value;
use crate::value::error::{ErrorCode, Failure, Span};
use crate::value::map::Map;

impl<'a> Evaluation<'a, '_> {
    /// The value of a comprehension. Each element visited costs a unit, before
    /// its condition or body.
    pub(crate) fn comprehend(
        &mut self,
        comprehension: &'a Comprehension,
        span: Span,
    ) -> Evaluated<'a> {
        let range = self.evaluate(&comprehension.range)?;
        let length = match &range {
            Value::List(values) => Some(values.len()),
            other => other.map_len(),
        };
        let length = length.ok_or(Failure { code: ErrorCode::NoSuchOverload, span })?;
        let depth = self.locals.len();
        let mut visit = Visit { evaluation: self, comprehension, range: &range, length, span };
        let result = match comprehension.operation {
            Macro::All => visit.absorb(false).map(Value::Bool),
            Macro::Exists => visit.absorb(true).map(Value::Bool),
            Macro::ExistsOne => visit.has_one().map(Value::Bool),
            Macro::Filter => visit.filter(),
            Macro::SortBy => visit.sort(),
            Macro::Map | Macro::TransformList => visit.transform_list(),
            Macro::TransformMap => visit.transform_map(),
            Macro::TransformMapEntry => visit.merge(),
        };
        self.locals.truncate(depth);
        result
    }
}

/// One pass over the elements of a range.
struct Visit<'v, 'a, 'e> {
    evaluation: &'v mut Evaluation<'a, 'e>,
    comprehension: &'a Comprehension,
    range: &'v Value<'a>,
    length: usize,
    span: Span,
}

impl<'a> Visit<'_, 'a, '_> {
    /// Enters an element: its variables are on the stack of locals afterwards.
    /// The first of them is returned.
    fn enter(&mut self, depth: usize, position: usize) -> Value<'a> {
        let is_pair = self.comprehension.has_two_variables;
        let (first, second) = match self.range {
            Value::List(values) => {
                let element = values.get(position).cloned().unwrap_or(Value::Null);
                let index = Value::Int(i64::try_from(position).unwrap_or(i64::MAX));
                if is_pair { (index, Some(element)) } else { (element, None) }
            }
            map => {
                let entry = map.map_entry(position).unwrap_or((Value::Null, Value::Null));
                (entry.0, is_pair.then_some(entry.1))
            }
        };
        self.evaluation.locals.truncate(depth);
        self.evaluation.locals.push(first.clone());
        self.evaluation.locals.extend(second);
        first
    }

    /// Whether the predicate holds for the element that was entered.
    fn holds(&mut self, predicate: &'a Expr) -> Result<bool, Failure> {
        self.evaluation.charge(1, self.span)?;
        self.evaluation.test(predicate)
    }

    fn absorb(&mut self, deciding: bool) -> Result<bool, Failure> {
        let depth = self.evaluation.locals.len();
        let mut absorbed = Absorbed::new(deciding);
        for position in 0..self.length {
            self.enter(depth, position);
            let outcome = self.holds(&self.comprehension.body);
            if let Some(decided) = absorbed.take(outcome) {
                return decided;
            }
        }
        absorbed.end()
    }

    fn has_one(&mut self) -> Result<bool, Failure> {
        let depth = self.evaluation.locals.len();
        let mut found = 0_usize;
        for position in 0..self.length {
            self.enter(depth, position);
            found = found.saturating_add(usize::from(self.holds(&self.comprehension.body)?));
        }
        Ok(found == 1)
    }

    fn filter(&mut self) -> Evaluated<'a> {
        let depth = self.evaluation.locals.len();
        let mut kept = Vec::new();
        for position in 0..self.length {
            let element = self.enter(depth, position);
            if self.holds(&self.comprehension.body)? {
                kept.push(element);
            }
        }
        Ok(Value::List(kept.into()))
    }

    /// The elements of a list in the order of their values of the body.
    fn sort(&mut self) -> Evaluated<'a> {
        let Value::List(values) = self.range else {
            return Err(Failure { code: ErrorCode::NoSuchOverload, span: self.span });
        };
        let mut keys = Vec::new();
        self.transform(|_, key| {
            keys.push(key);
            Ok(())
        })?;
        let sorted = sorted_by(values, &keys, self.evaluation.meter);
        sorted
            .map(|sorted| Value::List(sorted.into()))
            .map_err(|code| Failure { code, span: self.span })
    }

    /// Passes the values of the body to `keep`, with the first variable of their element.
    fn transform(
        &mut self,
        mut keep: impl FnMut(Value<'a>, Value<'a>) -> Result<(), ErrorCode>,
    ) -> Result<(), Failure> {
        let depth = self.evaluation.locals.len();
        for position in 0..self.length {
            let first = self.enter(depth, position);
            self.evaluation.charge(1, self.span)?;
            let is_wanted = match &self.comprehension.condition {
                Some(condition) => self.evaluation.test(condition)?,
                None => true,
            };
            if is_wanted {
                let value = self.evaluation.evaluate(&self.comprehension.body)?;
                keep(first, value).map_err(|code| Failure { code, span: self.span })?;
            }
        }
        Ok(())
    }

    fn transform_list(&mut self) -> Evaluated<'a> {
        let mut values = Vec::new();
        self.transform(|_, value| {
            values.push(value);
            Ok(())
        })?;
        Ok(Value::List(values.into()))
    }

    fn transform_map(&mut self) -> Evaluated<'a> {
        let mut map = Map::default();
        self.transform(|key, value| insert(&mut map, key, value))?;
        Ok(Value::Map(map.into()))
    }

    /// A repeated key ends the loop immediately; maps without end could pile up otherwise.
    fn merge(&mut self) -> Evaluated<'a> {
        let mut map = Map::default();
        self.transform(|_, each| {
            let length = each.map_len().ok_or(ErrorCode::NoSuchOverload)?;
            for (key, value) in (0..length).filter_map(|position| each.map_entry(position)) {
                insert(&mut map, key, value)?;
            }
            Ok(())
        })?;
        Ok(Value::Map(map.into()))
    }
}
