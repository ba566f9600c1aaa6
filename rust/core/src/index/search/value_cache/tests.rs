use super::*;

fn known(cache: &mut ValueCache, text: &str) -> Option<Vec<u32>> {
    match cache.recall(text) {
        Recall::Known(conditions) => Some(conditions.collect()),
        _ => None,
    }
}

fn see(cache: &mut ValueCache, text: &str, conditions: &[u32]) {
    if let Recall::Missed(missed) = cache.recall(text)
        && cache.wants(missed)
    {
        cache.remember(missed, text, conditions);
    }
}

#[test]
fn a_value_is_remembered_from_its_second_sight() {
    let mut cache = ValueCache::default();
    see(&mut cache, "curl", &[3, 5]);
    assert_eq!(known(&mut cache, "curl"), None);
    see(&mut cache, "curl", &[3, 5]);
    assert_eq!(known(&mut cache, "curl"), Some(vec![3, 5]));
    assert_eq!(known(&mut cache, "curl/8"), None);
}

#[test]
fn new_values_do_not_take_the_place_of_used_ones() {
    let mut cache = ValueCache::default();
    for _ in 0..3 {
        see(&mut cache, "kept", &[1]);
    }
    for number in 0..700 {
        for _ in 0..2 {
            see(&mut cache, &format!("new {number}"), &[2]);
            see(&mut cache, "kept", &[1]);
        }
    }
    assert_eq!(known(&mut cache, "kept"), Some(vec![1]));
}

#[test]
fn a_cache_that_is_little_used_is_small() {
    let mut cache = ValueCache::default();
    assert!(cache.entries.is_empty());
    for number in 0..TRIAL {
        see(&mut cache, &number.to_string(), &[]);
    }
    let few = cache.entries.len();
    for number in 0..TRIAL {
        see(&mut cache, &number.to_string(), &[]);
    }
    assert!(few * 10 < cache.entries.len());
}

#[test]
fn a_cache_is_bounded_and_rests_when_nothing_returns() {
    let mut cache = ValueCache::default();
    for number in 0..40_000 {
        let text = format!("{number:0400}");
        see(&mut cache, &text, &[]);
        see(&mut cache, &text, &[]);
    }
    assert!(cache.bytes <= MAX_BYTES);
    let mut cache = ValueCache::default();
    for number in 0..=2 * TRIAL {
        see(&mut cache, &number.to_string(), &[]);
    }
    assert!(matches!(cache.recall("again"), Recall::Passed));
}
