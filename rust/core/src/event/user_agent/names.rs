//! Names of robots in the text of a user agent: `evaluation/agents/robot_names.py` has the definition.

/// Text that web and mail addresses begin with or contain.
const CONTACTS: [&str; 3] = ["://", "@", "www."];
const ENDINGS: [&str; 4] = ["bot", "spider", "crawler", "crawl"];
/// Names after `compatible` that are browsers, and a phone's maker whose name ends like a robot's.
const PEOPLE: [&str; 4] = ["msie", "konqueror", "cubot", "googletoolbar"];

/// A name that may be a robot's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Robot<'a> {
    pub(super) name: &'a str,
    /// The name with a version, as the data's patterns need it.
    pub(super) product: String,
    /// Whether the maker's address comes after it.
    pub(super) has_contact: bool,
}

/// The names that may be robots', in order: those after `compatible` first.
pub(super) fn robots(user_agent: &str) -> impl Iterator<Item = Robot<'_>> {
    let compatible = user_agent.split(['(', ')']).filter_map(compatible_name);
    compatible.chain(last_words(user_agent).filter_map(robot_word))
}

/// The name after `compatible` in a comment.
fn compatible_name(comment: &str) -> Option<Robot<'_>> {
    let mut parts = comment.split([';', ',']).map(|part| part.trim_matches(' '));
    parts.find(|part| part.eq_ignore_ascii_case("compatible"))?;
    let name = name_of(parts.next()?)?;
    Some(robot(name, parts.any(is_contact)))
}

/// The words behind the first comment, which is about the device; all words without one.
fn last_words(user_agent: &str) -> impl Iterator<Item = &str> {
    let rest = user_agent.split_once(')').map_or(user_agent, |(_, rest)| rest);
    rest.split([' ', ';', ',', '(', ')'])
}

fn robot_word(word: &str) -> Option<Robot<'_>> {
    let name = name_of(word)?;
    let folded = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| folded.ends_with(ending)).then(|| robot(name, false))
}

fn robot(name: &str, has_contact: bool) -> Robot<'_> {
    Robot { name, product: format!("{name}/1.0"), has_contact }
}

/// The name in `Name/1.0`, `None` where it is a person's program, or an address.
fn name_of(product: &str) -> Option<&str> {
    let name = product.split('/').next().unwrap_or_default().trim_matches(' ');
    let folded = name.to_ascii_lowercase();
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && !is_contact(product)
        && !PEOPLE.iter().any(|people| folded.starts_with(people));
    is_name.then_some(name)
}

fn is_contact(part: &str) -> bool {
    CONTACTS.iter().any(|mark| part.contains(mark))
}

/// The text with blanks in place of the words that are addresses.
pub(super) fn without_contacts(user_agent: &str) -> String {
    let words = user_agent.split_inclusive([' ', ';', ',', '(', ')']);
    words
        .map(|word| match word.char_indices().next_back() {
            Some((end, last)) if is_contact(word) && " ;,()".contains(last) => {
                word.get(end..).unwrap_or_default()
            }
            Some(_) if is_contact(word) => "",
            _ => word,
        })
        .collect()
}

/// The name of a text without addresses: one that may be a robot's, else the first that is not
/// `Mozilla`.
pub(super) fn robot_or_first(text: &str) -> Option<String> {
    let first = text
        .split([' ', ';', ',', '(', ')'])
        .filter_map(name_of)
        .find(|name| !name.eq_ignore_ascii_case("mozilla"));
    robots(text).map(|robot| robot.name).next().or(first).map(str::to_owned)
}
