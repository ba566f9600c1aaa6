use super::*;

fn chunks(len: usize) -> CowVec<usize> {
    let mut chunks = CowVec::default();
    (0..len).for_each(|number| chunks.push(number));
    chunks
}

#[test]
fn elements_are_found_at_their_numbers() {
    for len in [0, 1, LEN - 1, LEN, LEN + 1, 5 * LEN] {
        let chunks = chunks(len);
        assert_eq!((chunks.len(), chunks.is_empty()), (len, len == 0));
        assert!(chunks.iter().copied().eq(0..len));
        assert!((0..len).all(|index| chunks.get(index) == Some(&index)));
        assert_eq!(chunks.get(len), None);
    }
}

#[test]
fn a_frozen_copy_stays_as_it_was() {
    let mut chunks = chunks(LEN + 5);
    let frozen = chunks.freeze();
    *chunks.get_mut(3).unwrap() = 100;
    chunks.push(200);
    let again = chunks.freeze();
    *chunks.get_mut(3).unwrap() = 101;
    assert!(frozen.iter().copied().eq(0..LEN + 5));
    assert_eq!((again.get(3), again.get(LEN + 5)), (Some(&100), Some(&200)));
    assert_eq!((chunks.get(3), chunks.len()), (Some(&101), LEN + 6));
}

#[test]
fn only_what_is_changed_while_frozen_is_copied() {
    let place = |chunks: &CowVec<usize>, index| std::ptr::from_ref(chunks.get(index).unwrap());
    let mut chunks = chunks(3 * LEN);
    let before = [0, LEN, 2 * LEN].map(|index| place(&chunks, index));
    let frozen = chunks.freeze();
    *chunks.get_mut(0).unwrap() = 1;
    drop(frozen);
    *chunks.get_mut(LEN).unwrap() = 1;
    let after = [0, LEN, 2 * LEN].map(|index| place(&chunks, index));
    assert_ne!(after[0], before[0]);
    assert_eq!(after[1..], before[1..]);
}
