//! An issuer of JWTs: its keys, the tokens that it signs, and the JWK set that it publishes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use recount_server::{KeySource, KeySourceError};
use ring::rand::SystemRandom;
use ring::rsa::KeyPair as RsaKeyPair;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// A private key of 2,048 bits in PKCS #8; `ring` generates none.
const RSA: &[u8] = include_bytes!("../keys/rsa.der");

/// A key that signs tokens.
pub(crate) struct SigningKey {
    pub(crate) id: &'static str,
    pair: Pair,
}

enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

/// Bytes in base64url.
pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The signed part of a token.
pub(crate) fn message(header: &Value, claims: &Value) -> String {
    let part = |it: &Value| base64url(it.to_string());
    format!("{}.{}", part(header), part(claims))
}

impl SigningKey {
    pub(crate) fn p256(id: &'static str) -> SigningKey {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        let pair = Pair::P256(pair);
        SigningKey { id, pair }
    }

    pub(crate) fn p384(id: &'static str) -> SigningKey {
        let (kind, random) = (&ECDSA_P384_SHA384_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        let pair = Pair::P384(pair);
        SigningKey { id, pair }
    }

    pub(crate) fn ed25519(id: &'static str) -> SigningKey {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let pair = Pair::Ed25519(pair);
        SigningKey { id, pair }
    }

    pub(crate) fn rsa(id: &'static str) -> SigningKey {
        let pair = Pair::Rsa(Box::new(RsaKeyPair::from_pkcs8(RSA).unwrap()));
        SigningKey { id, pair }
    }

    /// The public key as a JWK.
    pub(crate) fn jwk(&self) -> Value {
        let point = |pair: &EcdsaKeyPair, curve: &str| {
            let (x, y) = pair.public_key().as_ref()[1..].split_at(curve_bytes(curve));
            json!({"kty": "EC", "crv": curve, "x": base64url(x), "y": base64url(y)})
        };
        let mut jwk = match &self.pair {
            Pair::P256(pair) => point(pair, "P-256"),
            Pair::P384(pair) => point(pair, "P-384"),
            Pair::Ed25519(pair) => {
                let x = base64url(pair.public_key());
                json!({"kty": "OKP", "crv": "Ed25519", "x": x})
            }
            Pair::Rsa(pair) => {
                let public: RsaPublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({"kty": "RSA", "n": base64url(public.n), "e": base64url(public.e)})
            }
        };
        jwk["kid"] = self.id.into();
        jwk["use"] = "sig".into();
        jwk
    }

    /// The public key as bytes, which an attacker may take for a secret.
    pub(crate) fn public(&self) -> Vec<u8> {
        match &self.pair {
            Pair::P256(pair) | Pair::P384(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Rsa(pair) => pair.public().as_ref().to_vec(),
        }
    }

    /// The usual algorithm of the key.
    pub(crate) fn algorithm(&self) -> &'static str {
        match &self.pair {
            Pair::P256(_) => "ES256",
            Pair::P384(_) => "ES384",
            Pair::Ed25519(_) => "EdDSA",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.token_with(self.algorithm(), claims)
    }

    /// A token with these claims, signed with another algorithm of the key.
    pub(crate) fn token_with(&self, algorithm: &str, claims: &Value) -> String {
        let header = json!({"alg": algorithm, "kid": self.id, "typ": "at+jwt"});
        self.sign(&message(&header, claims), algorithm)
    }

    /// The message with its signature.
    pub(crate) fn sign(&self, message: &str, algorithm: &str) -> String {
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::P256(pair) | Pair::P384(pair) => {
                let signature = pair.sign(&random, message.as_bytes()).unwrap();
                signature.as_ref().to_vec()
            }
            Pair::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let padding: &dyn RsaEncoding = match algorithm {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    "PS512" => &RSA_PSS_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message.as_bytes(), &mut signature)
                    .unwrap();
                signature
            }
        };
        format!("{message}.{}", base64url(signature))
    }
}

fn curve_bytes(curve: &str) -> usize {
    match curve {
        "P-256" => 32,
        _ => 48,
    }
}

/// The JWK set of these keys.
pub(crate) fn set_of(keys: &[&SigningKey]) -> String {
    let keys: Vec<Value> = keys.iter().map(|it| it.jwk()).collect();
    json!({ "keys": keys }).to_string()
}

/// The keys that an issuer publishes, with the number of times at which they were fetched.
#[derive(Clone, Default)]
pub(crate) struct Published {
    set: Arc<Mutex<Option<String>>>,
    fetches: Arc<AtomicUsize>,
}

impl Published {
    pub(crate) fn of(keys: &[&SigningKey]) -> Published {
        let published = Published::default();
        published.publish(keys);
        published
    }

    pub(crate) fn publish(&self, keys: &[&SigningKey]) {
        *self.set.lock().unwrap() = Some(set_of(keys));
    }

    /// Makes every fetch fail.
    pub(crate) fn fail(&self) {
        *self.set.lock().unwrap() = None;
    }

    pub(crate) fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl KeySource for Published {
    async fn fetch(&self) -> Result<String, KeySourceError> {
        self.fetches.fetch_add(1, Ordering::SeqCst);
        // Other requests come while the keys are fetched.
        tokio::task::yield_now().await;
        let set = self.set.lock().unwrap().clone();
        set.ok_or_else(|| KeySourceError::new("the issuer is down"))
    }
}
