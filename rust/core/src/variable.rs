//! The types of declared variables, and their values from JSON.

/// The type of a variable that is declared beside the field model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableType {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Type,
    Ip,
    Cidr,
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Optional(Box<Self>),
}

impl VariableType {
    /// Reads the text form of docs/canonical-tree.md.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let parsed = parse_type(&mut rest, 0)?;
        rest.is_empty().then_some(parsed)
    }
}

/// Deeper types say nothing about JSON that is itself no deeper than this.
const MAX_DEPTH: u32 = 32;

fn parse_type(rest: &mut &str, depth: u32) -> Option<VariableType> {
    let depth = depth.checked_add(1).filter(|depth| *depth <= MAX_DEPTH)?;
    let end = rest.find(['(', ')', ',']).unwrap_or(rest.len());
    let (name, after) = rest.split_at_checked(end)?;
    *rest = after;
    Some(match name.trim() {
        "dyn" => VariableType::Dyn,
        "null_type" => VariableType::Null,
        "bool" => VariableType::Bool,
        "int" => VariableType::Int,
        "uint" => VariableType::Uint,
        "double" => VariableType::Double,
        "string" => VariableType::String,
        "bytes" => VariableType::Bytes,
        "timestamp" => VariableType::Timestamp,
        "duration" => VariableType::Duration,
        "net.IP" => VariableType::Ip,
        "net.CIDR" => VariableType::Cidr,
        "list" => VariableType::List(parse_argument(rest, '(', depth)?.closed(rest)?),
        "optional_type" => VariableType::Optional(parse_argument(rest, '(', depth)?.closed(rest)?),
        "type" if !rest.starts_with('(') => VariableType::Type,
        "type" => {
            parse_argument(rest, '(', depth)?.closed(rest)?;
            VariableType::Type
        }
        "map" => {
            let key = parse_argument(rest, '(', depth)?;
            let value = parse_argument(rest, ',', depth)?;
            VariableType::Map(key, value.closed(rest)?)
        }
        _ => return None,
    })
}

fn parse_argument(rest: &mut &str, opener: char, depth: u32) -> Option<Box<VariableType>> {
    *rest = rest.strip_prefix(opener)?;
    parse_type(rest, depth).map(Box::new)
}

/// A last type argument, to be followed by the closing parenthesis.
trait Closed: Sized {
    fn closed(self, rest: &mut &str) -> Option<Self>;
}

impl Closed for Box<VariableType> {
    fn closed(self, rest: &mut &str) -> Option<Self> {
        *rest = rest.strip_prefix(')')?;
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_text_is_read_whole() {
        let strings = || Box::new(VariableType::String);
        for (text, expected) in [
            ("int", VariableType::Int),
            ("list(string)", VariableType::List(strings())),
            (
                "map(string, list(string))",
                VariableType::Map(strings(), Box::new(VariableType::List(strings()))),
            ),
            ("optional_type(string)", VariableType::Optional(strings())),
            ("type(int)", VariableType::Type),
            ("type", VariableType::Type),
        ] {
            assert_eq!(VariableType::parse(text), Some(expected), "{text}");
        }
        for text in ["", "integer", "list", "list(int", "list(int))", "map(int)", "int int"] {
            assert_eq!(VariableType::parse(text), None, "{text}");
        }
        assert_eq!(VariableType::parse(&"list(".repeat(100_000)), None);
    }
}
