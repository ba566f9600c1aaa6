//! Base64.

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

use super::{Function, function, overload};
use crate::value::error::ErrorCode;
use crate::value::{Bytes, Value};

/// Padding may be left out altogether; left-over bits of the last letter are ignored.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "base64.encode",
        &[overload!(|call, bytes: &Bytes<'_>| {
            call.meter.allow_bytes(bytes.len().div_ceil(3).saturating_mul(4))?;
            Ok(Value::text(STANDARD.encode(&**bytes)))
        })],
    ),
    function(
        "base64.decode",
        &[overload!(|_, text: &str| decode(text).map(|bytes| Value::Bytes(bytes.into())))],
    ),
];

fn decode(text: &str) -> Result<Vec<u8>, ErrorCode> {
    let bare = text.trim_end_matches('=').len();
    let padding = text.len().saturating_sub(bare);
    // The engine also accepts partial padding.
    if padding != 0 && !text.len().is_multiple_of(4) {
        return Err(ErrorCode::InvalidArgument);
    }
    LENIENT.decode(text).map_err(|_| ErrorCode::InvalidArgument)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tests::{call, fails, gives};

    #[test]
    fn decoding_takes_whole_padding_or_none() {
        for text in ["aGVsbG8=", "aGVsbG8"] {
            let Ok(Value::Bytes(bytes)) = call("base64.decode", false, &[Value::text(text)]) else {
                panic!("{text}")
            };
            assert_eq!(&*bytes, b"hello");
        }
        for text in
            ["aGVsbG8==", "aGVsbA=", "a", "a===", "=", "====", "aGVs bG8=", "aGVsbG8\n", "_-__"]
        {
            fails("base64.decode", false, &[Value::text(text)], ErrorCode::InvalidArgument);
        }
        let bytes = Value::Bytes(b"hello".to_vec().into());
        gives("base64.encode", false, &[bytes], Value::text("aGVsbG8="));
    }
}
