use super::*;

#[test]
fn lengths_are_counted_in_code_points_where_they_may_matter() {
    let mut layout = Layout::new([("request.path", "string")]).unwrap();
    let slot = layout.slot("request.path").unwrap();
    let length = |bound| Condition::Number {
        source: NumberSource::LengthOf(TextSource::Field(slot)),
        bound,
    };
    let above = [length(Bound::Above(5)), length(Bound::Above(2))];
    let other = [length(Bound::Below(3)), length(Bound::OneOf(vec![2]))];
    let all: Vec<&Condition> = above.iter().chain(&other).collect();
    let found = |conditions: &[&Condition], text: &'static str| {
        let patterns = CompiledPatterns::default();
        let searches = Searches::new(conditions, &patterns, &layout);
        let mut record = Record::empty(&layout);
        record.set(slot, Some(Value::text(text)));
        let mut scratch = Scratch::default();
        scratch.begin(&searches, conditions.len(), 0, crate::value::work::Work::unlimited());
        searches.run(&record, &Lists::default(), &mut scratch);
        scratch.found.sort_unstable();
        scratch.found
    };
    for (text, of_above, of_all) in [
        ("", vec![], vec![2]),
        ("éé", vec![], vec![2, 3]),
        ("abc", vec![1], vec![1]),
        ("ééé", vec![1], vec![1]),
        ("ééabc", vec![1], vec![1]),
        ("éabcde", vec![0, 1], vec![0, 1]),
    ] {
        assert_eq!(found(&all[..2], text), of_above, "{text}");
        assert_eq!(found(&all, text), of_all, "{text}");
    }
}
