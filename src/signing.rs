//! What this deployment signs and later takes back: HMAC-SHA256 (RFC 2104) under
//! `HOLDFAST_SIGNING_KEY`. Pure.
//!
//! A text is signed for a purpose, which is part of what is signed: what was signed for one never
//! counts for another.

use crate::auth;
use sha2::{Digest as _, Sha256};

/// Bytes of one block of SHA-256.
const BLOCK: usize = 64;

/// The key of this deployment.
#[derive(Clone)]
pub struct SigningKey {
    inner: Sha256,
    outer: Sha256,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    /// The key of a secret of any length.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        let mut block = [0_u8; BLOCK];
        let hashed;
        let short = if secret.len() > BLOCK {
            hashed = Sha256::digest(secret);
            hashed.as_slice()
        } else {
            secret
        };
        for (place, byte) in block.iter_mut().zip(short) {
            *place = *byte;
        }
        let padded = |pad: u8| Sha256::new_with_prefix(block.map(|byte| byte ^ pad));
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// The signature of `text` for `purpose`, hex.
    #[must_use]
    pub fn sign(&self, purpose: &str, text: &str) -> String {
        // A purpose has no line break, so two pairs never join to one text.
        self.mac(format!("{purpose}\n{text}").as_bytes())
    }

    /// Whether `signature` is that of `text` for `purpose`. The time it takes tells nothing.
    #[must_use]
    pub fn holds(&self, purpose: &str, text: &str, signature: &str) -> bool {
        auth::same(&self.sign(purpose, text), signature)
    }

    fn mac(&self, message: &[u8]) -> String {
        let inner = self.inner.clone().chain_update(message).finalize();
        crate::hex::encode(&self.outer.clone().chain_update(inner).finalize())
    }
}

#[cfg(test)]
mod tests {
    //! RFC 4231, and that a purpose counts.

    use super::*;

    #[test]
    fn it_is_hmac_sha256() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, message, expected) in cases {
            assert_eq!(SigningKey::new(key).mac(message), expected);
        }
    }

    #[test]
    fn a_signature_counts_for_its_text_its_purpose_and_its_key_only() {
        let key = SigningKey::new(b"one");
        let signature = key.sign("state", "text");
        assert!(key.holds("state", "text", &signature));
        assert!(!key.holds("state", "texts", &signature));
        assert!(!key.holds("session", "text", &signature));
        assert!(!key.holds("state", "text", ""));
        assert!(!SigningKey::new(b"two").holds("state", "text", &signature));
    }
}
