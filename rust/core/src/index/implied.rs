//! Which conditions of an index are found of every event that some other rule is true of. A
//! changed rule beside the index is evaluated only where one of them is found, and needs no
//! search of its own.

use super::requirements::condition::{Bound, Condition, TextSource, TextTest};
use super::requirements::formula::formula;
use super::search::text::{FIRST_LITERAL, TextSearch};
use super::search::{NumberSearch, Searches};
use super::substring::Scanned;
use super::{Atoms, Formula, Index};
use crate::event::layout::Layout;
use crate::program::Program;

/// Stands for unknown text around a part: a byte that is in no text, so that nothing is found
/// that must stand at an end.
const MORE: &[u8] = &[0xff];
/// More conditions than this for one rule are no gain over a search of its own.
const MOST: usize = 8;

/// Conditions of which at least one is found.
type Found = Option<Vec<u32>>;

impl Index {
    /// Conditions of this index of which one is found of every event that a program is true of.
    /// None of them is of a shared subexpression, because those are often found.
    pub(crate) fn implied(&self, program: &Program, layout: &Layout) -> Option<Vec<u32>> {
        let mut atoms = Atoms::new(layout);
        let formula = formula(&program.root, true, &mut atoms);
        formula.implied(&|number| {
            let found = self.searches.implied(atoms.conditions.get(number as usize)?)?;
            // The conditions of shared subexpressions have the least numbers.
            let are_rare = found.iter().all(|condition| *condition as usize >= self.shared.len());
            are_rare.then_some(found)
        })
    }
}

impl Formula {
    /// What is found where it holds, given what is found where each of its conditions does.
    fn implied(&self, by_condition: &impl Fn(u32) -> Found) -> Found {
        let each = |part: &Self| part.implied(by_condition);
        match self {
            Self::Open(_) => None,
            Self::One(watch) => by_condition(watch.condition),
            Self::All(parts) => parts.iter().filter_map(each).min_by_key(Vec::len),
            Self::Any(parts) => joined(parts.iter().map(each)),
        }
    }
}

impl Searches {
    fn implied(&self, condition: &Condition) -> Found {
        match condition {
            Condition::Text { source, is_folded, test } => {
                self.text(*source)?.implied(test, *is_folded)
            }
            Condition::Network { source, networks } => {
                let search = self.networks.iter().find(|search| search.source == *source)?;
                any(networks, |network| search.networks.reported_of(*network))
            }
            Condition::Number { source, bound } => {
                self.numbers.iter().find(|search| search.source == *source)?.implied(bound)
            }
            Condition::Present(key) => named(&self.present, key),
            Condition::True(slot) => named(&self.flags, slot),
        }
    }

    /// The search of the texts of a source.
    fn text(&self, source: TextSource) -> Option<&TextSearch> {
        let number = match source {
            TextSource::Key(key) => self.keys.iter().find(|sought| sought.source == key)?.number,
            _ => self.sources.iter().find(|sought| sought.source == source)?.number,
        };
        self.texts.get(number as usize)
    }
}

impl NumberSearch {
    fn implied(&self, bound: &Bound) -> Found {
        let first = |bounds: &[(i64, u32)], is_wider: &dyn Fn(i64) -> bool| {
            let wider = bounds.iter().rev().find(|(bound, _)| is_wider(*bound));
            wider.map(|(_, condition)| vec![*condition])
        };
        match bound {
            Bound::Above(bound) => first(&self.above, &|own| own <= *bound),
            Bound::Below(bound) => first(&self.below, &|own| own >= *bound),
            Bound::OneOf(numbers) => {
                any(numbers, |number| self.equal.get(number).cloned().unwrap_or_default())
            }
        }
    }
}

impl TextSearch {
    fn implied(&self, test: &TextTest, is_folded: bool) -> Found {
        let of = |texts: &[Box<str>], before, after| {
            any(texts, |text| self.found_in(text, before, after, is_folded))
        };
        match test {
            TextTest::Equals(texts) => of(texts, &[], &[]),
            TextTest::Contains(texts) => of(texts, MORE, MORE),
            TextTest::StartsWith(texts) => of(texts, &[], MORE),
            TextTest::EndsWith(texts) => of(texts, MORE, &[]),
            TextTest::Matches(patterns) => any(patterns, |pattern| {
                let own = self.led_to.iter().chain(&self.others);
                let same = own.filter(|own| {
                    own.is_folded == is_folded && own.regex.as_str() == &*pattern.text
                });
                same.map(|own| own.condition).collect()
            }),
            TextTest::InList(list) => named(&self.lists, list),
        }
    }

    /// The conditions, patterns apart, that are true of every text with a part that something
    /// may stand before and after; where `is_folded`, of a text that has it in any case.
    fn found_in(&self, part: &str, before: &[u8], after: &[u8], is_folded: bool) -> Vec<u32> {
        let lower = part.to_ascii_lowercase();
        let mut found = Vec::new();
        if before.is_empty() && after.is_empty() {
            found.extend(self.whole_folded.find(&lower));
            if !is_folded {
                found.extend(self.whole.find(part));
            }
        }
        let Some(substrings) = &self.substrings else { return found };
        let around = |part: &str| [before, part.as_bytes(), after].concat();
        let folded = around(&lower);
        let text = if is_folded { MORE.repeat(folded.len()) } else { around(part) };
        let count = found.len();
        let scanned = substrings.scan(&text, &folded, |condition| {
            if condition < FIRST_LITERAL {
                found.push(condition);
            }
        });
        if scanned == Scanned::GivenUp {
            found.truncate(count);
        }
        found
    }
}

/// What is found where one of some alternatives is true, by all that is found where each is:
/// of those that may be found the last, which is likely to be the rarest.
fn any<T>(alternatives: &[T], found: impl Fn(&T) -> Vec<u32>) -> Found {
    let (first, others) = alternatives.split_first()?;
    let mut common = found(first);
    for other in others {
        let found = found(other);
        common.retain(|condition| found.contains(condition));
    }
    match common.iter().max() {
        Some(condition) => Some(vec![*condition]),
        None => joined(alternatives.iter().map(|each| Some(vec![*found(each).iter().max()?]))),
    }
}

/// What is found where one of some parts is true, if something is for each.
fn joined(parts: impl Iterator<Item = Found>) -> Found {
    let mut all = Vec::new();
    for part in parts {
        all.extend(part?);
        if all.len() > MOST {
            return None;
        }
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

fn named<T: PartialEq>(named: &[(T, u32)], name: &T) -> Found {
    let (_, condition) = named.iter().find(|(own, _)| own == name)?;
    Some(vec![*condition])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::record::Record;
    use crate::functions::named_lists::Lists;
    use crate::index::Scratch;
    use crate::index::requirements::compiled_pattern::{CompiledPattern, CompiledPatterns};
    use crate::index::requirements::condition::{NumberSource, Pattern};
    use crate::value::Value;
    use crate::value::address::Network;
    use tidegate_regex::Regex;

    type Test = fn(Vec<Box<str>>) -> TextTest;

    const TESTS: [Test; 4] =
        [TextTest::Equals, TextTest::Contains, TextTest::StartsWith, TextTest::EndsWith];
    const TEXTS: [&str; 12] = [
        "curl/8",
        "Curl/8",
        "CURL/8.1",
        "a curl/8",
        "a CURL/8 b",
        "curl",
        "bot",
        "Bot/1",
        "a bot",
        "",
        "10",
        "abcdefgh curl/8 bots",
    ];

    fn on(source: TextSource, is_folded: bool, test: Test, texts: &[&str]) -> Condition {
        let lower =
            |text: &&str| if is_folded { text.to_ascii_lowercase() } else { text.to_string() };
        let texts = texts.iter().map(lower).map(String::into_boxed_str).collect();
        Condition::Text { source, is_folded, test: test(texts) }
    }

    fn every(source: TextSource) -> Vec<Condition> {
        let mut all = Vec::new();
        for (test, is_folded) in TESTS.into_iter().flat_map(|test| [(test, false), (test, true)]) {
            for texts in [&["curl/8"][..], &["url/"], &["bot"], &["Bot", "curl/8"], &["bo", "CU"]] {
                all.push(on(source, is_folded, test, texts));
            }
        }
        all
    }

    /// The conditions that are true of a text.
    fn found(searches: &Searches, count: usize, layout: &Layout, text: &'static str) -> Vec<u32> {
        let slot = layout.clone().slot("request.path").unwrap();
        let mut record = Record::empty(layout);
        record.set(slot, Some(Value::text(text)));
        let mut scratch = Scratch::default();
        scratch.begin(searches, count, 0, crate::value::work::Work::unlimited());
        searches.run(&record, &Lists::default(), &mut scratch);
        scratch.found
    }

    #[test]
    fn what_is_implied_is_found_wherever_the_condition_is_true() {
        let mut layout = Layout::new([("request.path", "string")]).unwrap();
        let source = TextSource::Field(layout.slot("request.path").unwrap());
        let patterns = CompiledPatterns::default();
        let all = every(source);
        let search = |conditions: &[&Condition]| Searches::new(conditions, &patterns, &layout);
        let mut count = 0;
        for (number, own) in all.iter().enumerate() {
            let apart = search(&[own]);
            // Beside conditions that are not this one.
            for step in 1..all.len() {
                let others: Vec<&Condition> =
                    all.iter().cycle().skip(number + 1).step_by(step).take(4).collect();
                let searches = search(&others);
                let Some(implied) = searches.implied(own) else { continue };
                count += 1;
                for text in TEXTS {
                    let is_true = !found(&apart, 1, &layout, text).is_empty();
                    let found = found(&searches, others.len(), &layout, text);
                    let is_found = implied.iter().any(|condition| found.contains(condition));
                    assert!(!is_true || is_found, "{own:?} of {text:?} beside {others:?}");
                }
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn a_condition_is_implied_by_what_says_as_much_or_more() {
        let mut layout = Layout::new([("request.path", "string"), ("flag", "bool")]).unwrap();
        let source = TextSource::Field(layout.slot("request.path").unwrap());
        let flag = layout.slot("flag").unwrap();
        let mut patterns = CompiledPatterns::default();
        let compiled = CompiledPattern::new(&Regex::new("x[0-9]").unwrap());
        patterns.insert("x[0-9]".into(), compiled);
        let pattern = |text: &str| Condition::Text {
            source,
            is_folded: false,
            test: TextTest::Matches(vec![Pattern { text: text.into(), required: None }]),
        };
        let size = |bound| Condition::Number { source: NumberSource::LengthOf(source), bound };
        let network = |text: &str| Condition::Network {
            source,
            networks: vec![Network::parse(text).unwrap()],
        };
        let contains = |text| on(source, false, TextTest::Contains, &[text]);
        let conditions = [
            contains("curl"),
            on(source, true, TextTest::Contains, &["bot"]),
            pattern("x[0-9]"),
            size(Bound::Above(10)),
            size(Bound::Above(20)),
            size(Bound::Below(5)),
            size(Bound::OneOf(vec![7])),
            network("10.0.0.0/8"),
            network("10.1.0.0/16"),
            Condition::True(flag),
        ];
        let conditions: Vec<&Condition> = conditions.iter().collect();
        let searches = Searches::new(&conditions, &patterns, &layout);
        for (condition, expected) in [
            (contains("curl/8"), Some(vec![0])),
            (contains("cur"), None),
            (contains("a Bot"), Some(vec![1])),
            (on(source, true, TextTest::Contains, &["a curl"]), None),
            (on(source, true, TextTest::Equals, &["bots"]), Some(vec![1])),
            (on(source, false, TextTest::Contains, &["curl", "bot"]), Some(vec![0, 1])),
            (on(source, false, TextTest::Contains, &["curl", "x"]), None),
            (on(source, false, TextTest::EndsWith, &["curl bot"]), Some(vec![1])),
            (pattern("x[0-9]"), Some(vec![2])),
            (pattern("x[0-8]"), None),
            (size(Bound::Above(9)), None),
            (size(Bound::Above(10)), Some(vec![3])),
            (size(Bound::Above(30)), Some(vec![4])),
            (size(Bound::Below(3)), Some(vec![5])),
            (size(Bound::Below(6)), None),
            (size(Bound::OneOf(vec![7])), Some(vec![6])),
            (size(Bound::OneOf(vec![7, 8])), None),
            (network("10.2.0.0/16"), Some(vec![7])),
            (network("10.1.2.0/24"), Some(vec![8])),
            (network("10.0.0.0/8"), None),
            (network("11.0.0.0/8"), None),
            (Condition::True(flag), Some(vec![9])),
        ] {
            assert_eq!(searches.implied(&condition), expected, "{condition:?}");
        }
    }
}
