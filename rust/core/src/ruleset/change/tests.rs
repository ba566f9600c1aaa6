//! Changed sets compared with sets made from the start.

use std::thread;

use bumpalo::Bump;
use serde_json::{Value as Json, json};

use super::*;

/// `request.path.contains(part)`
fn rule(id: &str, part: &str) -> Json {
    let arguments = [
        json!({"kind": "field", "span": [0, 1], "name": "request.path"}),
        json!({"kind": "literal", "span": [0, 1], "value": {"type": "string", "value": part}}),
    ];
    program(
        id,
        json!({"kind": "call", "span": [0, 1], "function": "contains", "member": true, "args": arguments}),
    )
}

fn variable(id: &str) -> Json {
    program(id, json!({"kind": "field", "span": [0, 1], "name": "flag"}))
}

fn program(id: &str, root: Json) -> Json {
    json!({"id": id, "version": 1, "text": "", "type": "bool", "root": root})
}

fn bundle(programs: &[Json]) -> Vec<u8> {
    let fields = json!({"request.path": "string", "flag": "bool"});
    json!({"version": 1, "fields": fields, "programs": programs}).to_string().into_bytes()
}

fn set(programs: &[Json]) -> RuleSet {
    RuleSet::from_json(&bundle(programs)).unwrap()
}

/// The ids that match an event; None if the event is rejected.
fn matches(set: &RuleSet, event: &str) -> Option<Vec<String>> {
    let arena = Bump::new();
    let record = set.read(event.as_bytes(), None, &arena).ok()?;
    Some(
        set.matches(&record)
            .into_iter()
            .map(|at| set.id(at as usize).unwrap().to_owned())
            .collect(),
    )
}

fn path(path: &str) -> String {
    json!({"request": {"path": path}}).to_string()
}

#[test]
fn a_changed_rule_keeps_its_place_and_a_new_one_comes_last() {
    let first = set(&[rule("a", "x"), rule("b", "y"), rule("c", "xy")]);
    let second = first.with_changes(&bundle(&[rule("d", "x"), rule("a", "xyz")]), &["b"]).unwrap();
    assert_eq!(matches(&second, &path("/xyz")).unwrap(), ["a", "c", "d"]);
    assert_eq!(matches(&second, &path("/xy")).unwrap(), ["c", "d"]);
    assert_eq!(matches(&first, &path("/xy")).unwrap(), ["a", "b", "c"]);
    let third = second.with_changes(&bundle(&[rule("c", "z")]), &["c", "d"]).unwrap();
    assert_eq!(matches(&third, &path("/xyz")).unwrap(), ["a", "c"]);
    assert_eq!(third.report().rules, 2);
}

#[test]
fn what_cannot_be_changed_leaves_the_set_as_it_was() {
    let first = set(&[rule("a", "x")]);
    let unknown = first.with_changes(&bundle(&[]), &["b"]).unwrap_err();
    assert_eq!(unknown, ChangeError::UnknownRule("b".to_owned()));
    let wrong = program("c", json!({"kind": "nothing", "span": [0, 1]}));
    let error = first.with_changes(&bundle(&[wrong]), &["a"]).unwrap_err();
    assert!(matches!(error, ChangeError::Program(_)));
    assert_eq!(matches(&first, &path("x")).unwrap(), ["a"]);
}

#[test]
fn a_variable_that_nothing_reads_any_more_refuses_no_event() {
    let first = set(&[rule("a", "x"), variable("b")]);
    let event = r#"{"flag": 7, "request": {"path": "x"}}"#;
    assert_eq!(matches(&first, event), None);
    let second = first.with_changes(&bundle(&[]), &["b"]).unwrap();
    assert_eq!(matches(&second, event).unwrap(), ["a"]);
    let third = second.with_changes(&bundle(&[variable("c")]), &[]).unwrap();
    assert_eq!(matches(&third, event), None);
    assert_eq!(matches(&third, r#"{"flag": true}"#).unwrap(), ["c"]);
}

/// A set and the rules it should have.
#[derive(Clone)]
struct Kept {
    set: Arc<RuleSet>,
    rules: Vec<Json>,
}

impl Kept {
    fn new(count: usize) -> Self {
        let numbers = 0..count;
        let rules: Vec<Json> =
            numbers.map(|number| rule(&format!("r{number}"), &format!("<{number}>"))).collect();
        Self { set: Arc::new(set(&rules)), rules }
    }

    /// Changes a rule, or removes an existing one if `new` is None. Some rules have a part that no
    /// rule of the first base has.
    fn change(&mut self, number: usize, new: Option<usize>) {
        let id = format!("r{number}");
        let place = self.rules.iter().position(|each| each["id"] == id.as_str());
        let part = |part: usize| match number % 3 {
            0 => format!("+{part}"),
            _ => format!("<{part}>"),
        };
        let new: Vec<Json> = new.map(|new| rule(&id, &part(new))).into_iter().collect();
        let mut removed = Vec::new();
        match (place, new.first()) {
            (Some(place), Some(new)) => self.rules[place] = new.clone(),
            (Some(place), None) => {
                self.rules.remove(place);
                removed.push(id.as_str());
            }
            (None, new) => self.rules.extend(new.cloned()),
        }
        self.set = Arc::new(self.set.with_changes(&bundle(&new), &removed).unwrap());
    }

    fn check(&self) {
        let ids: Vec<&str> = self.rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
        let found: Vec<&str> = (0..self.set.len()).filter_map(|at| self.set.id(at)).collect();
        assert_eq!(found, ids);
        let whole = set(&self.rules);
        for event in [path("<1> <39> +6"), path("<3><31><5><7>"), path("+1 +2 +8"), path("")] {
            assert_eq!(matches(&self.set, &event), matches(&whole, &event));
        }
        // The report rebuilds the index, which then gives the answers.
        let again = self.set.with_changes(&bundle(&[]), &[]).unwrap();
        assert_eq!(again.report().rules, ids.len());
        assert_eq!(matches(&again, &path("<1><2>")), matches(&whole, &path("<1><2>")));
    }
}

#[test]
fn the_layer_has_the_changed_rules_alone() {
    let mut kept = Kept::new(40);
    for (number, layered) in [(3, 2), (7, 4), (3, 4), (50, 5)] {
        kept.change(number, Some(number + 60));
        assert_eq!(kept.set.index().layered(), layered);
    }
    kept.change(50, None);
    assert_eq!(kept.set.index().layered(), 4);
    kept.check();
}

#[test]
fn many_changes_end_in_a_new_base_with_the_same_answers() {
    let mut kept = Kept::new(300);
    let base = kept.set.index().base();
    let mut changes = 0;
    while Arc::ptr_eq(&kept.set.index().base(), &base) {
        kept.change(changes * 11 % 320, (changes % 13 != 0).then_some(changes % 7));
        changes += 1;
        if kept.set.index().layered() > REBUILT_AT {
            thread::yield_now();
        }
    }
    assert!(changes > REBUILT_AT / 2);
    kept.check();
}

#[test]
fn scripts_of_changes_end_as_sets_made_at_once() {
    let mut all = vec![Kept::new(60)];
    for change in 0..300 {
        let number = change * 31 % all.len();
        all[number].change(change * 17 % 90, (change % 3 != 0).then_some(change % 41));
        if change % 100 == 50 {
            all.push(all[number].clone());
        }
        if change % 50 == 49 {
            all.iter().for_each(Kept::check);
        }
    }
}
