//! The headers of a signed webhook, by Standard Webhooks.

use uuid::Uuid;

use super::secrets::SigningSecret;

/// The headers of a message: its id, the time of this attempt, and the signature over both and the
/// body.
pub(super) fn headers(
    secret: &SigningSecret,
    id: Uuid,
    seconds: i64,
    body: &[u8],
) -> [(&'static str, String); 3] {
    let (id, seconds) = (id.to_string(), seconds.to_string());
    let signed: [&[u8]; 5] = [id.as_bytes(), b".", seconds.as_bytes(), b".", body];
    let signatures = secret.sign(&signed).map(|it| format!("v1,{it}"));
    let signature = signatures.collect::<Vec<_>>().join(" ");
    [
        ("webhook-id", id),
        ("webhook-timestamp", seconds),
        ("webhook-signature", signature),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value was computed with Python's `hmac` and `hashlib`.
    #[test]
    fn signature_is_that_of_another_program() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let id = Uuid::from_u128(7);
        let [_, _, (name, signature)] = headers(&secret, id, 1_614_265_330, b"{\"test\":1}");
        assert_eq!(
            (name, signature.as_str()),
            (
                "webhook-signature",
                "v1,wopvdXgIValW/ct1DOSrWmBcxgT2ahiFdPKrOZs4TD8="
            )
        );
    }

    #[test]
    fn each_secret_signs() {
        let (old, new) = (
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        );
        let signature = |secret: &str| {
            let secret = secret.parse().unwrap();
            let [_, _, (_, signature)] = headers(&secret, Uuid::from_u128(7), 9, b"{}");
            signature
        };
        let both = signature(&format!("{new}\n{old}"));
        assert_eq!(both, format!("{} {}", signature(new), signature(old)));
    }
}
