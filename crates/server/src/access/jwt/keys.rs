//! The public keys of an issuer: a JWK set (RFC 7517), and the verification with one of its keys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::JwtAlgorithm;
use super::source::KeySourceError;

/// The maximum number of keys. Issuers have two or three, the next one among them.
const KEYS_MAX: usize = 64;

/// The keys of an issuer that can verify signatures.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySet(Vec<Key>);

/// A public key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    id: Option<String>,
    /// The only algorithm that the key is for, by its name. `None`: any that fits the key.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    /// The modulus and the exponent.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    /// An uncompressed point.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The members of a key that are read. All others are ignored.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Value>,
}

impl KeySet {
    /// Reads a JWK set. Keys that cannot verify a signature are left out, as the RFC asks for.
    pub(super) fn parse(text: &str) -> Result<KeySet, KeySourceError> {
        let set: JwkSet = serde_json::from_str(text)
            .map_err(|error| KeySourceError::new(format!("expected a JWK set: {error}")))?;
        let is_empty = set.keys.is_empty();
        let read = |it| serde_json::from_value::<Jwk>(it).ok().and_then(Key::of);
        let keys: Vec<Key> = set.keys.into_iter().filter_map(read).collect();
        match keys.len() {
            // The issuer has withdrawn all keys, so none verifies any more.
            0 if is_empty => Ok(KeySet(keys)),
            0 => Err(KeySourceError::new(
                "expected a public key for signatures in the JWK set, found none",
            )),
            1..=KEYS_MAX => Ok(KeySet(keys)),
            found => Err(KeySourceError::new(format!(
                "expected {KEYS_MAX} keys at most, found {found}"
            ))),
        }
    }

    /// The keys with which a token with this header may be signed.
    pub(super) fn fitting<'k>(
        &'k self,
        id: Option<&'k str>,
        algorithm: JwtAlgorithm,
    ) -> impl Iterator<Item = &'k Key> {
        let named = move |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let fits = move |key: &&Key| key.is_for(algorithm);
        self.0.iter().filter(named).filter(fits)
    }
}

impl Key {
    /// `None`: the key verifies no signature, or its kind is unknown.
    fn of(jwk: Jwk) -> Option<Key> {
        if jwk.used_for.as_deref().is_some_and(|it| it != "sig") {
            return None;
        }
        let verifies = |operations: &Vec<String>| operations.iter().any(|it| it == "verify");
        if !jwk.key_ops.as_ref().is_none_or(verifies) {
            return None;
        }
        let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa {
                n: without_zeros(bytes(&jwk.n)?),
                e: without_zeros(bytes(&jwk.e)?),
            },
            ("EC", Some("P-256")) => Material::P256(point(bytes(&jwk.x)?, bytes(&jwk.y)?, 32)?),
            ("EC", Some("P-384")) => Material::P384(point(bytes(&jwk.x)?, bytes(&jwk.y)?, 48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&jwk.x)?),
            _ => return None,
        };
        Some(Key {
            id: jwk.kid,
            algorithm: jwk.alg,
            material,
        })
    }

    fn is_for(&self, algorithm: JwtAlgorithm) -> bool {
        let named = self.algorithm.as_deref();
        if named.is_some_and(|it| it != algorithm.as_str()) {
            return false;
        }
        match algorithm {
            JwtAlgorithm::Rs256
            | JwtAlgorithm::Rs384
            | JwtAlgorithm::Rs512
            | JwtAlgorithm::Ps256
            | JwtAlgorithm::Ps384
            | JwtAlgorithm::Ps512 => matches!(self.material, Material::Rsa { .. }),
            JwtAlgorithm::Es256 => matches!(self.material, Material::P256(_)),
            JwtAlgorithm::Es384 => matches!(self.material, Material::P384(_)),
            JwtAlgorithm::EdDsa => matches!(self.material, Material::Ed25519(_)),
        }
    }

    /// True if the key has signed the message with the algorithm.
    pub(super) fn verifies(
        &self,
        algorithm: JwtAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        // RSA keys have 2,048 to 8,192 bits.
        let rsa: &'static RsaParameters = match algorithm {
            JwtAlgorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
            JwtAlgorithm::Rs384 => &RSA_PKCS1_2048_8192_SHA384,
            JwtAlgorithm::Rs512 => &RSA_PKCS1_2048_8192_SHA512,
            JwtAlgorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
            JwtAlgorithm::Ps384 => &RSA_PSS_2048_8192_SHA384,
            JwtAlgorithm::Ps512 => &RSA_PSS_2048_8192_SHA512,
            JwtAlgorithm::Es256 | JwtAlgorithm::Es384 | JwtAlgorithm::EdDsa => {
                return self.is_for(algorithm) && self.verifies_on_curve(message, signature);
            }
        };
        match &self.material {
            Material::Rsa { n, e } if self.is_for(algorithm) => RsaPublicKeyComponents { n, e }
                .verify(rsa, message, signature)
                .is_ok(),
            Material::Rsa { .. } | Material::P256(_) | Material::P384(_) | Material::Ed25519(_) => {
                false
            }
        }
    }

    fn verifies_on_curve(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                .verify(message, signature)
                .is_ok(),
            Material::P384(point) => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point)
                .verify(message, signature)
                .is_ok(),
            Material::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key)
                .verify(message, signature)
                .is_ok(),
            Material::Rsa { .. } => false,
        }
    }
}

/// The uncompressed point of two coordinates. `None`: one has another length.
fn point(x: Vec<u8>, y: Vec<u8>, length: usize) -> Option<Vec<u8>> {
    let fits = x.len() == length && y.len() == length;
    fits.then(|| [vec![4], x, y].concat())
}

/// The number without leading zeros, which some issuers write.
fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|it| **it == 0).count();
    number.drain(..zeros);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ed25519, from RFC 8037.
    const ED25519: &str = r#""kty":"OKP","crv":"Ed25519",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#;

    fn fitting(members: &str, id: Option<&str>) -> usize {
        let text = format!(r#"{{"keys":[{{{ED25519}{members}}},{{"kty":"new"}},7]}}"#);
        let set = KeySet::parse(&text);
        set.map_or(0, |it| it.fitting(id, JwtAlgorithm::EdDsa).count())
    }

    #[test]
    fn key_is_selected_by_use_algorithm_and_id() {
        for (members, id, fits) in [
            ("", None, 1),
            (r#","kid":"a""#, Some("a"), 1),
            (r#","kid":"a""#, None, 1),
            (r#","kid":"a""#, Some("b"), 0),
            ("", Some("a"), 0),
            (r#","use":"sig","alg":"EdDSA""#, None, 1),
            (r#","use":"enc""#, None, 0),
            (r#","alg":"ES256""#, None, 0),
            (r#","key_ops":["verify"]"#, None, 1),
            (r#","key_ops":["sign"]"#, None, 0),
        ] {
            assert_eq!(fitting(members, id), fits, "{members} {id:?}");
        }
    }

    #[test]
    fn set_without_a_public_key_is_refused() {
        for text in [
            "",
            "[]",
            r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#,
            r#"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#,
        ] {
            assert!(KeySet::parse(text).is_err(), "{text}");
        }
        // The issuer has withdrawn its keys.
        assert!(KeySet::parse(r#"{"keys":[]}"#).unwrap().0.is_empty());
    }

    #[test]
    fn number_of_keys_is_bounded() {
        let of = |keys: usize| {
            let keys = vec![format!("{{{ED25519}}}"); keys];
            KeySet::parse(&format!(r#"{{"keys":[{}]}}"#, keys.join(",")))
        };
        assert!(of(KEYS_MAX).is_ok());
        assert!(of(KEYS_MAX + 1).is_err());
    }

    #[test]
    fn rsa_key_of_1024_bits_verifies_nothing() {
        let n = "rCDkf-8_IISQbi90sbd_xUDXhb7Dou7L4IrVaCSH3f6wpj8qp_wxtecb9iZ5HlQ-ooiiT1xQ\
             ab9dO4zXvReekqUvY_RZBZhaifThS6DzZVgbh_pGi9x1GlyeSKZBnUUI4u4xRKDq5UQ2DSSR\
             G_a_zTnOOk1Gkz1PaGgEagPtA18";
        let signature = "NNBR3i-xdid9Gf5CF1BiVK_ABsWv9f19hzNgyW8wHRK4dmIZtsafrcW1y0UiGGU4c-31MrO6\
             R3QLQLKqRatCuR1ZaWo5cXRnAO2IpzI9sEuXtVYjd2phRmxR8fhv9oMfZKaOMhE_P6r0IgH9\
             exDWlr3BEOV0SC6kCEo7GxJ3D3w";
        let set = format!(r#"{{"keys":[{{"kty":"RSA","n":"{n}","e":"AQAB"}}]}}"#);
        let key = &KeySet::parse(&set).unwrap().0[0];
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let weak = &ring::signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY;
        let Material::Rsa { n, e } = &key.material else {
            unreachable!("{key:?}");
        };
        let public = RsaPublicKeyComponents { n, e };
        assert!(public.verify(weak, b"message", &signature).is_ok());
        assert!(!key.verifies(JwtAlgorithm::Rs256, b"message", &signature));
    }

    #[test]
    fn leading_zeros_of_a_number_are_dropped() {
        assert_eq!(without_zeros(vec![0, 0, 1, 0]), [1, 0]);
        assert!(without_zeros(vec![0]).is_empty());
    }

    #[test]
    fn signature_of_the_rfc_is_verified() {
        // RFC 8037, appendix A.4.
        let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt\
                         9g7sVvpAr_MuM0KAg";
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let set = KeySet::parse(&format!(r#"{{"keys":[{{{ED25519}}}]}}"#)).unwrap();
        let key = &set.0[0];
        assert!(key.verifies(JwtAlgorithm::EdDsa, message, &signature));
        assert!(!key.verifies(JwtAlgorithm::EdDsa, &message[1..], &signature));
        assert!(!key.verifies(JwtAlgorithm::Es256, message, &signature));
        assert!(!key.verifies(JwtAlgorithm::Rs256, message, &signature));
    }
}
