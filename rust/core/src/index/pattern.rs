//! Texts of which a pattern needs at least one, so that a search for texts
//! finds the values on which the pattern is worth running.
//!
//! Case plays no part: the texts are in ASCII lower case and sought in text in
//! lower case. That finds too much at worst.

use regex_syntax::Parser;
use regex_syntax::hir::{Class, Hir, HirKind};

/// More alternatives than this are not worth a search.
const MAX_TEXTS: usize = 64;
/// Shorter texts are in too many values.
const MIN_LENGTH: usize = 3;

/// Texts in lower case of which every match has at least one; None when no
/// such texts are worth looking for.
pub(crate) fn required_texts(pattern: &str) -> Option<Vec<Box<str>>> {
    let hir = Parser::new().parse(pattern).ok()?;
    required(&hir).map(|found| found.into_iter().map(String::into_boxed_str).collect())
}

fn required(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Concat(parts) => of_concatenation(parts),
        HirKind::Alternation(parts) => {
            let mut texts = Vec::new();
            for part in parts {
                texts.extend(required(part)?);
            }
            worthwhile(texts)
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => None,
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

/// The best that one of the parts, or parts that are fixed text together, require.
fn of_concatenation(parts: &[Hir]) -> Option<Vec<String>> {
    let mut runs = Runs::default();
    for part in parts {
        runs.add(part);
    }
    runs.end();
    runs.best
}

/// Fixed text as it comes together, and the best texts so far.
#[derive(Default)]
struct Runs {
    open: String,
    best: Option<Vec<String>>,
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
                self.offer(required(hir));
            }
        }
    }

    fn end(&mut self) {
        let run = std::mem::take(&mut self.open);
        self.offer(worthwhile(vec![run]));
    }

    fn offer(&mut self, texts: Option<Vec<String>>) {
        let Some(texts) = texts else { return };
        let is_better = match &self.best {
            Some(best) => worth(&texts) > worth(best),
            None => true,
        };
        if is_better {
            self.best = Some(texts);
        }
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
    use super::*;

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
                texts.as_ref().map(|texts| texts.iter().map(|text| &**text).collect());
            assert_eq!(texts, expected, "{pattern}");
        }
    }
}
