use super::*;

#[test]
fn only_repeated_names_are_repeated() {
    let names: Vec<String> = (0..200).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut seen = Names::default();
    for (count, name) in names.iter().enumerate() {
        assert!(seen.add(name), "{name}");
        assert_eq!(seen.len(), count + 1);
        for name in &names[..=count] {
            assert!(!seen.add_new_of_few(name), "{name}");
            assert!(!seen.add(name), "{name}");
        }
    }
    assert_eq!(seen.len(), names.len());
}

#[test]
fn few_new_names_need_no_longer_look() {
    let names = ["host", "accept", "accept-language", "user-agent", "", "a", "ab"];
    let mut seen = Names::default();
    for name in names {
        assert!(seen.add_new_of_few(name), "{name}");
        assert!(!seen.add(name), "{name}");
    }
    assert_eq!(seen.len(), names.len());
}

#[test]
fn names_alike_in_the_sketch_are_distinguished() {
    let names = ["abcdefghij", "abcdeeghij", "abcdxxghij", "abcdyyghij"];
    let mut seen = Names::default();
    for name in names {
        assert!(seen.add(name));
    }
    assert!(!seen.add(names[0]));
    assert_eq!(sketch(b"abcdefghij"), sketch(b"abcdxxghij"));
}
