//! The ids of a rule set as objects, made once for all answers that name many of them.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use tidegate_core::RuleSet;

/// The ids of fewer rules are taken one by one, and those of rules with more gaps between them.
const LONG: usize = 256;
const MANY_GAPS: usize = 5;

/// All ids, by the number of the rule.
pub(crate) struct Ids {
    each: Box<[Py<PyString>]>,
    /// The same once more: of a list, a part is taken at once.
    all: Py<PyList>,
}

impl Ids {
    pub(crate) fn new(py: Python<'_>, rules: &RuleSet) -> PyResult<Self> {
        let ids = (0..rules.len()).filter_map(|index| rules.id(index));
        let each: Box<[Py<PyString>]> = ids.map(|id| PyString::new(py, id).unbind()).collect();
        let all = PyList::new(py, each.iter().map(|id| id.bind(py)))?.unbind();
        Ok(Self { each, all })
    }

    /// The ids of some rules, in ascending order.
    pub(crate) fn of<'py>(&self, py: Python<'py>, rules: &[u32]) -> PyResult<Bound<'py, PyList>> {
        if let (Some(first), Some(last)) = (rules.first(), rules.last())
            && rules.len() >= LONG
            && let Some(gaps) = gaps(rules)
        {
            let end = (*last as usize).saturating_add(1);
            let ids = self.all.bind(py).get_slice(*first as usize, end);
            let place = |rule: u32| rule.saturating_sub(*first) as usize;
            for (before, after) in gaps.into_iter().rev() {
                ids.del_slice(place(before).saturating_add(1), place(after))?;
            }
            return Ok(ids);
        }
        PyList::new(py, rules.iter().map(|rule| Some(self.each.get(*rule as usize)?.bind(py))))
    }
}

/// The rules that stand before and after those that are left out, if these are few.
fn gaps(rules: &[u32]) -> Option<Vec<(u32, u32)>> {
    let neighbours = rules.iter().zip(rules.get(1..).unwrap_or_default());
    let gaps = neighbours.filter(|(one, next)| one.wrapping_add(1) != **next);
    let gaps: Vec<(u32, u32)> = gaps.map(|(one, next)| (*one, *next)).take(MANY_GAPS).collect();
    let left_out = gaps.iter().map(|(one, next)| next.saturating_sub(*one) as usize).sum::<usize>();
    (gaps.len() < MANY_GAPS && left_out < rules.len()).then_some(gaps)
}
