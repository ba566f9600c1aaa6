//! Texts of which a pattern needs at least one, so that a search for texts
//! finds the values on which the pattern is worth running.
//!
//! Case is ignored: texts in ASCII lower case are searched in lower-case text, which at worst finds
//! too many values.

use std::cmp::Reverse;

use regex_syntax::hir::{Class, Hir, HirKind};

/// More alternatives than this are not worth a search.
const MAX_TEXTS: usize = 64;
/// Shorter texts are in too many values.
const MIN_LENGTH: usize = 3;
/// The most ways to look for one pattern.
const MAX_CHOICES: usize = 4;

/// Texts in lower case of which every match has at least one, as several such lists, the best
/// first; no list if none is worth a search.
pub(crate) fn required_texts(hir: &Hir) -> Vec<Vec<Box<str>>> {
    let boxed = |texts: Vec<String>| texts.into_iter().map(String::into_boxed_str).collect();
    required(hir).into_iter().map(boxed).collect()
}

fn required(hir: &Hir) -> Vec<Vec<String>> {
    match hir.kind() {
        HirKind::Concat(parts) => of_concatenation(parts),
        HirKind::Alternation(parts) => {
            let best = parts.iter().map(|part| required(part).into_iter().next());
            let texts: Option<Vec<Vec<String>>> = best.collect();
            texts.and_then(|texts| worthwhile(texts.concat())).into_iter().collect()
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => Vec::new(),
        HirKind::Repetition(repetition) => required(&repetition.sub),
        HirKind::Capture(capture) => required(&capture.sub),
        _ => of_concatenation(std::slice::from_ref(hir)),
    }
}

fn worthwhile(mut texts: Vec<String>) -> Option<Vec<String>> {
    texts.sort_unstable();
    texts.dedup();
    let is_long = texts.iter().all(|text| text.len() >= MIN_LENGTH);
    (is_long && !texts.is_empty() && texts.len() <= MAX_TEXTS).then_some(texts)
}

/// The required texts of each part, where neighbouring fixed parts are one.
fn of_concatenation(parts: &[Hir]) -> Vec<Vec<String>> {
    let mut runs = Runs::default();
    for part in parts {
        runs.add(part);
    }
    runs.end();
    runs.required.sort_by_key(|texts| Reverse(worth(texts)));
    runs.required.truncate(MAX_CHOICES);
    runs.required
}

/// Fixed text that is being collected, and the texts required so far.
#[derive(Default)]
struct Runs {
    open: String,
    required: Vec<Vec<String>>,
}

impl Runs {
    fn add(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => self.open.push_str(&text.to_ascii_lowercase()),
                Err(_) => self.end(),
            },
            HirKind::Class(class) => match one_letter(class) {
                Some(letter) => self.open.push(letter),
                None => self.end(),
            },
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => {
                for part in parts {
                    self.add(part);
                }
            }
            HirKind::Repetition(_) | HirKind::Alternation(_) => {
                self.end();
                self.required.extend(required(hir));
            }
        }
    }

    fn end(&mut self) {
        let run = std::mem::take(&mut self.open);
        self.required.extend(worthwhile(vec![run]));
    }
}

/// Long texts are rarer, few texts are rarer still.
fn worth(texts: &[String]) -> usize {
    let shortest = texts.iter().map(String::len).min().unwrap_or(0);
    shortest.min(12).saturating_mul(MAX_TEXTS.saturating_mul(2).saturating_sub(texts.len()))
}

/// The letter in lower case that all characters of a class are in lower case.
fn one_letter(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let mut letter = None;
    for range in class.iter() {
        let folded = range.start().to_ascii_lowercase();
        if range.start() != range.end() || letter.is_some_and(|letter| letter != folded) {
            return None;
        }
        letter = Some(folded);
    }
    letter
}

#[cfg(test)]
mod tests {
    use regex_syntax::Parser;

    fn required_texts(pattern: &str) -> Vec<Vec<Box<str>>> {
        super::required_texts(&Parser::new().parse(pattern).unwrap())
    }

    #[test]
    fn every_match_has_one_of_the_texts() {
        for (pattern, expected) in [
            (r"\bDomainCrawler\b", Some(vec!["domaincrawler"])),
            ("(?:select|insert) [0-9]+", Some(vec!["insert", "select"])),
            ("a.*longer.+b", Some(vec!["longer"])),
            ("[Bb][Oo][Tt]s?", Some(vec!["bot"])),
            ("(?:abcd)+x", Some(vec!["abcd"])),
            ("(?:abcd)*", None),
            ("abcd|[0-9]", None),
            ("[0-9]{4}", None),
            ("(ab)cd", Some(vec!["abcd"])),
            ("", None),
        ] {
            let texts = required_texts(pattern);
            let texts: Option<Vec<&str>> =
                texts.first().map(|texts| texts.iter().map(|text| &**text).collect());
            assert_eq!(texts, expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_required_beside_the_best_is_told_too() {
        let texts = required_texts("admin[0-9]*(123|4567)x+(ab)?path");
        let texts: Vec<String> = texts.iter().map(|texts| texts.join("|")).collect();
        assert_eq!(texts, ["admin", "path", "123|4567"]);
    }
}
