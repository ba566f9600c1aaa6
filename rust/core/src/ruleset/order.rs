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
    // A bit for each rule, and a bit for each word of those that has one.
    let mut words = vec![0_u64; set.div_ceil(64)];
    let mut some = vec![0_u64; words.len().div_ceil(64)];
    for rule in rules.drain(..) {
        let word = rule / 64;
        if let (Some(bits), Some(some)) =
            (words.get_mut(word as usize), some.get_mut(word as usize / 64))
        {
            *bits |= 1 << (rule % 64);
            *some |= 1 << (word % 64);
        }
    }
    each_number(&some, |word| {
        let bits = words.get(word as usize).copied().unwrap_or_default();
        let start = word.wrapping_mul(64);
        each_number(&[bits], |rule| rules.push(start.wrapping_add(rule)));
    });
}

/// Hands over the numbers whose bits are set, in order.
fn each_number(words: &[u64], mut take: impl FnMut(u32)) {
    for (start, word) in (0_u32..).step_by(64).zip(words) {
        let mut rest = *word;
        while rest != 0 {
            take(start.wrapping_add(rest.trailing_zeros()));
            rest &= rest.wrapping_sub(1);
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
