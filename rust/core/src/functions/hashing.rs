//! Stable hashes, for partial roll-outs.

use xxhash_rust::xxh3::xxh3_64;

use super::{Function, function, overload};
use crate::value::Value;
use crate::value::error::ErrorCode;

pub(super) const FUNCTIONS: &[Function] = &[function(
    "bucket",
    &[overload!(|_, text: &str, count: i64| {
        let count = u64::try_from(count).map_err(|_| ErrorCode::InvalidArgument)?;
        let bucket = xxh3_64(text.as_bytes()).checked_rem(count);
        let bucket = bucket.and_then(|bucket| i64::try_from(bucket).ok());
        bucket.map(Value::Int).ok_or(ErrorCode::InvalidArgument)
    })],
)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tests::{fails, gives};

    #[test]
    fn a_bucket_is_stable_and_below_the_count() {
        let arguments = |count| [Value::text("192.0.2.1"), Value::Int(count)];
        gives("bucket", false, &arguments(100), Value::Int(BUCKET_OF_EXAMPLE));
        fails("bucket", false, &arguments(0), ErrorCode::InvalidArgument);
        fails("bucket", false, &arguments(-1), ErrorCode::InvalidArgument);
    }

    /// The result of Python's xxhash for the same text.
    const BUCKET_OF_EXAMPLE: i64 = 24;
}
