//! What a rule that is evaluated on every event needs first: a text that has some part.

use crate::event::record::Record;
use crate::predicate::{Kind, Predicate, TextTest};
use crate::program::{Expr, Node, Program};

/// A test of a text for a part, which a rule is not true without.
#[derive(Debug)]
pub(super) struct Lead(Predicate);

impl Lead {
    /// The lead of a rule, if a conjunct of it is such a test: the one with the longest part,
    /// which is likely to be the rarest.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let (mut best, mut longest) = (None, 0);
        each_conjunct(&program.root, &mut |conjunct| {
            let Node::Predicate(predicate) = &conjunct.node else { return };
            let length = part_length(predicate);
            if length > longest {
                (best, longest) = (Some(predicate), length);
            }
        });
        best.cloned().map(Self)
    }

    /// Whether the rule is not true for want of it. Where there is no text, that is for the
    /// rule to say.
    #[inline]
    pub(super) fn is_missing(&self, record: &Record<'_>) -> bool {
        self.0.holds_for_text(record) == Some(false)
    }
}

/// Bytes of the part that a test asks a text for, zero if it asks for none.
fn part_length(predicate: &Predicate) -> usize {
    let Kind::Text { test, .. } = &predicate.kind else { return 0 };
    match test {
        TextTest::Differs | TextTest::Matches(_) | TextTest::In(_) => 0,
        _ => predicate.constant().len(),
    }
}

/// Hands over what must all be true for an expression to be true.
fn each_conjunct<'e>(expression: &'e Expr, take: &mut impl FnMut(&'e Expr)) {
    match &expression.node {
        Node::And(operands) => operands.iter().for_each(|operand| each_conjunct(operand, take)),
        _ => take(expression),
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::ruleset::RuleSet;

    fn test(function: &str, part: &str) -> Json {
        let field = json!({"kind": "field", "span": [0, 1], "name": "word"});
        let value = json!({"type": "string", "value": part});
        let part = json!({"kind": "literal", "span": [0, 1], "value": value});
        let is_member = function.starts_with(char::is_alphabetic);
        json!({
            "kind": "call", "span": [0, 1], "function": function, "member": is_member,
            "args": [field, part],
        })
    }

    fn joined(kind: &str, parts: [Json; 2]) -> Json {
        json!({"kind": kind, "span": [0, 1], "args": parts})
    }

    /// Of some words those that have what a rule needs first; None where it has no lead.
    fn led_to<'w>(root: &Json, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let program = json!({"id": "", "version": 1, "text": "", "type": "bool", "root": root});
        let fields = json!({"word": "string"});
        let bundle = json!({"version": 1, "fields": fields, "programs": [program]}).to_string();
        let set = RuleSet::from_json(bundle.as_bytes()).unwrap();
        let lead = Lead::of(set.rule(0)?.1)?;
        let is_missing = |event: &Json| {
            let (event, arena) = (event.to_string(), Bump::new());
            lead.is_missing(&set.read(event.as_bytes(), None, &arena).unwrap())
        };
        assert!(!is_missing(&json!({})));
        let has = |word: &&str| !is_missing(&json!({"word": word}));
        Some(words.iter().copied().filter(has).collect())
    }

    #[test]
    fn a_rule_is_led_to_by_the_part_that_it_needs() {
        let words = ["", "ab", "/ab", "ab/", "/ab/", "/"];
        for (function, expected) in [
            ("==", vec!["ab"]),
            ("startsWith", vec!["ab", "ab/"]),
            ("endsWith", vec!["ab", "/ab"]),
            ("contains", vec!["ab", "/ab", "ab/", "/ab/"]),
        ] {
            assert_eq!(led_to(&test(function, "ab"), &words), Some(expected), "{function}");
            assert_eq!(led_to(&test(function, ""), &words), None, "{function}");
        }
        assert_eq!(led_to(&test("!=", "ab"), &words), None);
    }

    #[test]
    fn the_longest_part_of_what_must_all_be_true_leads() {
        let (short, long) = (test("contains", "/"), test("endsWith", "long"));
        let words = ["/", "long", "/long"];
        let both = joined("and", [short.clone(), long.clone()]);
        assert_eq!(led_to(&both, &words), Some(vec!["long", "/long"]));
        let one = joined("or", [short.clone(), long.clone()]);
        assert_eq!(led_to(&one, &words), None);
        let inside = joined("and", [one, joined("and", [long, short])]);
        assert_eq!(led_to(&inside, &words), Some(vec!["long", "/long"]));
    }
}
