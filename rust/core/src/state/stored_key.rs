//! The text of a key in its block. A short text, such as an address, lies within the block, so that
//! comparing it reads no other memory.

/// Bytes of a short key.
const SHORT: usize = 22;

#[derive(Clone, Debug)]
pub(crate) enum StoredKey {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Box<str>),
}

impl StoredKey {
    pub(crate) fn new(key: &str) -> Self {
        let mut bytes = [0; SHORT];
        match (bytes.get_mut(..key.len()), u8::try_from(key.len())) {
            (Some(place), Ok(len)) => {
                place.copy_from_slice(key.as_bytes());
                Self::Short { len, bytes }
            }
            _ => Self::Long(key.into()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Self::Long(key) => key.as_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_one_address_takes_no_memory_beside_its_block() {
        let longest = "99[\"255.255.255.255\"]";
        for (key, is_short) in
            [(longest, true), ("0[\"2001:db8:1:2:3:4:5:6\"]", false), ("0[\"é\"]", true)]
        {
            let stored = StoredKey::new(key);
            let found = matches!(stored, StoredKey::Short { .. });
            assert_eq!((stored.as_str(), found), (key, is_short));
        }
        assert_eq!(size_of::<StoredKey>(), 24);
    }
}
