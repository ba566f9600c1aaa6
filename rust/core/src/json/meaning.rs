//! A hash of the meaning of a JSON text, independent of space, escapes and order.

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use crate::json::{Kind, Reader, Result};

/// The members that a service may add to an event.
const ADDED: [&str; 2] = ["agent", "geo"];

/// The hash of an event: as [`meaning_hash`], without the members that a service may add.
///
/// # Errors
/// The first [`Fault`](crate::json::Fault) of the text.
pub fn event_hash(reader: &mut Reader<'_>) -> Result<u128> {
    let mut sum = 0;
    add_leaf(b"{", "", 0, &mut sum);
    let whole = inside(b"{", 0);
    reader.texts(|reader, name, text| {
        let place = inside(name.as_bytes(), whole);
        match text {
            Some(_) if ADDED.contains(&name) => {}
            None if ADDED.contains(&name) => reader.skip()?,
            Some(text) => add_leaf(b"\"", text, place, &mut sum),
            None => add(reader, place, &mut sum)?,
        }
        Ok(())
    })?;
    Ok(sum)
}

/// The hash of the value that comes next: the sum over all values in it, each hashed with its place.
/// Not a cryptographic hash.
///
/// Space, escapes and the order of members do not change it. Numbers count as they are written,
/// because rules read the text of a number.
///
/// # Errors
/// The first [`Fault`](crate::json::Fault) of the text.
pub fn meaning_hash(reader: &mut Reader<'_>) -> Result<u128> {
    let mut sum = 0;
    add(reader, 0, &mut sum)?;
    Ok(sum)
}

fn add(reader: &mut Reader<'_>, place: u64, sum: &mut u128) -> Result<()> {
    match reader.kind()? {
        Kind::String => {
            let text = reader.string()?;
            add_leaf(b"\"", text, place, sum);
        }
        Kind::Number => {
            let text = reader.number()?;
            add_leaf(b"0", text, place, sum);
        }
        Kind::Bool => {
            let text = if reader.boolean()? { "true" } else { "false" };
            add_leaf(b"w", text, place, sum);
        }
        Kind::Null => {
            reader.null()?;
            add_leaf(b"w", "null", place, sum);
        }
        Kind::Array => {
            add_leaf(b"[", "", place, sum);
            let place = inside(b"[", place);
            reader.array(|reader, index| add(reader, inside(&index.to_le_bytes(), place), sum))?;
        }
        Kind::Object => {
            add_leaf(b"{", "", place, sum);
            let place = inside(b"{", place);
            reader.texts(|reader, name, text| {
                let place = inside(name.as_bytes(), place);
                match text {
                    Some(text) => {
                        add_leaf(b"\"", text, place, sum);
                        Ok(())
                    }
                    None => add(reader, place, sum),
                }
            })?;
        }
    }
    Ok(())
}

/// The place of a part of the value at a place.
fn inside(part: &[u8], place: u64) -> u64 {
    xxh3_64_with_seed(part, place)
}

fn add_leaf(kind: &[u8], text: &str, place: u64, sum: &mut u128) {
    *sum = sum.wrapping_add(xxh3_128_with_seed(text.as_bytes(), inside(kind, place)));
}

#[cfg(test)]
mod tests;
