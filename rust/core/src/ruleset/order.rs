//! Rules in their order.

/// Fewer rules than this, or than this part of the set, are sorted by comparing them.
const FEW: usize = 16;
const FEW_PART: usize = 512;

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
    let mut bits = vec![0_u64; set.div_ceil(64)];
    for rule in rules.drain(..) {
        if let Some(word) = bits.get_mut(rule as usize / 64) {
            *word |= 1 << (rule % 64);
        }
    }
    for (start, mut word) in (0_u32..).step_by(64).zip(bits) {
        while word != 0 {
            rules.push(start.wrapping_add(word.trailing_zeros()));
            word &= word.wrapping_sub(1);
        }
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
}
