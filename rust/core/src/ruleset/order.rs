//! Rules in their order.

/// Fewer rules than this, or than this part of the set, are sorted by comparing them.
const FEW: usize = 64;
const FEW_PART: usize = 512;
/// Rules that are in order already for each that is not, where these are put among them.
const LONG_RUN: usize = 64;

/// Sorts some of the rules of a set, each there once.
pub(super) fn sort(rules: &mut Vec<u32>, set: usize) {
    if rules.len() < FEW.max(set / FEW_PART) {
        return rules.sort_unstable();
    }
    // All of it at once is sooner done than up to the first that is not.
    let neighbours = rules.iter().zip(rules.get(1..).unwrap_or_default());
    if neighbours.fold(true, |is_sorted, (one, next)| is_sorted & (one < next)) {
        return;
    }
    let is_fall = |pair: &[u32]| matches!(pair, [one, next] if one > next);
    let unsorted = rules.windows(2).rposition(is_fall).map_or(0, |last| last.saturating_add(1));
    if unsorted <= rules.len() / LONG_RUN {
        return insert(rules, unsorted);
    }
    let mut words = vec![0_u64; set.div_ceil(64)];
    for rule in rules.drain(..) {
        if let Some(bits) = words.get_mut(rule as usize / 64) {
            *bits |= 1 << (rule % 64);
        }
    }
    for (start, word) in (0_u32..).step_by(64).zip(words) {
        let mut rest = word;
        while rest != 0 {
            rules.push(start.wrapping_add(rest.trailing_zeros()));
            rest &= rest.wrapping_sub(1);
        }
    }
}

/// Puts the first few of some rules among the others, which are in order.
fn insert(rules: &mut [u32], few: usize) {
    let mut first = rules.get(..few).unwrap_or_default().to_vec();
    first.sort_unstable();
    let (mut end, mut rest) = (0_usize, few);
    for rule in first {
        let others = rules.get(rest..).unwrap_or_default();
        let next = rest.saturating_add(others.partition_point(|other| *other < rule));
        rules.copy_within(rest..next, end);
        end = end.saturating_add(next.saturating_sub(rest));
        rest = next;
        if let Some(place) = rules.get_mut(end) {
            *place = rule;
        }
        end = end.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_sorted() {
        for set in [1_u32, 64, 100, 10_000] {
            for step in [1, 2, 7, 500] {
                let sorted: Vec<u32> = (0..set).step_by(step).collect();
                let half = sorted.len() / 2;
                let mut rotated = [&sorted[half..], &sorted[..half]].concat();
                sort(&mut rotated, set as usize);
                assert_eq!(rotated, sorted);
                rotated.reverse();
                sort(&mut rotated, set as usize);
                assert_eq!(rotated, sorted);
            }
        }
    }

    #[test]
    fn few_are_put_among_many_that_are_in_order() {
        for first in [vec![5], vec![0], vec![9999], vec![7, 6, 9990, 3], vec![0, 1, 2]] {
            let others = (0..10_000).filter(|rule| !first.contains(rule));
            let mut rules: Vec<u32> = first.iter().copied().chain(others).collect();
            sort(&mut rules, 10_000);
            assert_eq!(rules, (0..10_000).collect::<Vec<_>>());
        }
    }
}
