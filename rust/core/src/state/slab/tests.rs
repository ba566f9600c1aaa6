use super::*;

fn values(slab: &Slab<char>, queue: &Queue) -> String {
    slab.iter(queue).map(|(_, value)| value).collect()
}

#[test]
fn members_keep_the_order_of_their_last_renewal() {
    let (mut slab, mut queue): (Slab<char>, _) = Default::default();
    let slots: Vec<u32> =
        "abcd".chars().map(|value| slab.insert(&mut queue, value).unwrap()).collect();
    slab.renew(&mut queue, slots[1]);
    slab.renew(&mut queue, slots[0]);
    slab.renew(&mut queue, slots[0]);
    assert_eq!(values(&slab, &queue), "cdba");
}

#[test]
fn a_slot_moves_between_queues_and_is_used_again() {
    let (mut slab, mut left, mut right): (Slab<char>, _, _) = Default::default();
    let a = slab.insert(&mut left, 'a').unwrap();
    slab.insert(&mut left, 'b').unwrap();
    slab.transfer(&mut left, &mut right, a);
    assert_eq!((values(&slab, &left), values(&slab, &right)), ("b".into(), "a".into()));
    assert_eq!(slab.remove(&mut right, a), Some('a'));
    assert!(right.is_empty() && right.newest().is_none());
    assert_eq!(slab.remove(&mut right, a), None);
    assert_eq!(slab.insert(&mut left, 'c'), Some(a));
    assert_eq!((values(&slab, &left), slab.capacity()), ("bc".into(), 2));
}

#[test]
fn a_frozen_slab_keeps_values_and_order() {
    let (mut slab, mut queue): (FreezableSlab<char>, Queue) = Default::default();
    let slots: Vec<u32> =
        "abc".chars().map(|value| slab.insert(&mut queue, value).unwrap()).collect();
    let (frozen, then) = (slab.freeze(), queue);
    slab.renew(&mut queue, slots[0]);
    slab.remove(&mut queue, slots[1]);
    *slab.get_mut(slots[2]).unwrap() = 'd';
    let text = |slab: &FreezableSlab<char>, queue| -> String {
        slab.iter(queue).map(|(_, value)| value).collect()
    };
    assert_eq!((text(&frozen, &then), text(&slab, &queue)), ("abc".into(), "da".into()));
}
