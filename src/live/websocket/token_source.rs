//! Access tokens that expire, and their sources.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::live::TokenError;
use crate::session::secret::Secret;

/// The time before its expiry at which a token is replaced. It must not expire during the
/// handshake.
const MARGIN: Duration = Duration::from_secs(60);

/// An OAuth access token. Its `Debug` output hides the text.
///
/// ```
/// use recount::live::AccessToken;
/// use std::time::Duration;
///
/// let token = AccessToken::new("ya29.secret").lasting(Duration::from_secs(3600));
/// assert!(!format!("{token:?}").contains("secret"));
/// ```
#[derive(Clone, Debug)]
pub struct AccessToken {
    text: Secret,
    lasts: Option<Duration>,
}

impl AccessToken {
    /// Creates a token with an unknown lifetime. Its source is asked again for the next connection.
    #[must_use]
    pub fn new(text: impl Into<String>) -> AccessToken {
        AccessToken {
            text: Secret::new(text),
            lasts: None,
        }
    }

    /// Sets the lifetime from now, the `expires_in` of OAuth. The token is reused until one minute
    /// before its expiry.
    #[must_use]
    pub fn lasting(mut self, lasts: Duration) -> AccessToken {
        self.lasts = Some(lasts);
        self
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.text
    }
}

/// A source of access tokens: a metadata server, a login, a vault.
///
/// The source is asked when a connection opens and the last token is about to expire or has an
/// unknown lifetime. It is asked once more if the service rejects the token. A string is the source
/// of a token that is never renewed. An async closure is a source, too:
///
/// ```
/// use recount::live::{AccessToken, Endpoint, TokenError};
/// use std::time::Duration;
///
/// # async fn ask_the_vault() -> Result<String, TokenError> { Ok("ya29.token".to_owned()) }
/// let source = || async {
///     let token = ask_the_vault().await?;
///     Ok::<_, TokenError>(AccessToken::new(token).lasting(Duration::from_secs(3600)))
/// };
/// let endpoint = Endpoint::vertex("my-project", "us-central1", source);
/// # let _ = endpoint;
/// ```
#[async_trait]
pub trait TokenSource: Send + Sync + 'static {
    /// Returns a token that is valid now.
    ///
    /// # Errors
    /// [`TokenError`] if no token is available. The connection is not opened then.
    async fn token(&self) -> Result<AccessToken, TokenError>;
}

#[async_trait]
impl<F, Fut> TokenSource for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<AccessToken, TokenError>> + Send + 'static,
{
    async fn token(&self) -> Result<AccessToken, TokenError> {
        self().await
    }
}

#[async_trait]
impl TokenSource for AccessToken {
    async fn token(&self) -> Result<AccessToken, TokenError> {
        Ok(self.clone())
    }
}

#[async_trait]
impl TokenSource for String {
    async fn token(&self) -> Result<AccessToken, TokenError> {
        Ok(AccessToken::new(self.as_str()))
    }
}

#[async_trait]
impl TokenSource for &'static str {
    async fn token(&self) -> Result<AccessToken, TokenError> {
        Ok(AccessToken::new(*self))
    }
}

#[async_trait]
impl<S: TokenSource + ?Sized> TokenSource for Arc<S> {
    async fn token(&self) -> Result<AccessToken, TokenError> {
        self.as_ref().token().await
    }
}

/// A source and its last token. Many connections share it, and one at a time asks the source.
#[derive(Clone)]
pub(super) struct Tokens {
    source: Arc<dyn TokenSource>,
    last: Arc<Mutex<Option<Held>>>,
}

struct Held {
    token: AccessToken,
    good_until: Instant,
}

impl Tokens {
    pub(super) fn of(source: impl TokenSource) -> Tokens {
        Tokens {
            source: Arc::new(source),
            last: Arc::new(Mutex::new(None)),
        }
    }

    /// Returns a token for a new connection.
    pub(super) async fn current(&self) -> Result<AccessToken, TokenError> {
        let mut last = self.last.lock().await;
        match last.as_ref() {
            Some(held) if Instant::now() < held.good_until => Ok(held.token.clone()),
            Some(_) | None => self.renew(&mut last).await,
        }
    }

    /// Returns another token than `refused`, or `None` if the source has no other.
    pub(super) async fn in_place_of(
        &self,
        refused: &AccessToken,
    ) -> Result<Option<AccessToken>, TokenError> {
        let mut last = self.last.lock().await;
        let other = |token: &AccessToken| token.text != refused.text;
        // Another connection may have renewed the token already.
        if let Some(held) = last.as_ref().filter(|held| other(&held.token)) {
            return Ok(Some(held.token.clone()));
        }
        let token = self.renew(&mut last).await?;
        Ok(Some(token).filter(other))
    }

    async fn renew(&self, last: &mut Option<Held>) -> Result<AccessToken, TokenError> {
        // If the source fails, the expiring token must not be used again.
        *last = None;
        let token = self.source.token().await?;
        let good_for = token.lasts.unwrap_or_default().saturating_sub(MARGIN);
        *last = Some(Held {
            token: token.clone(),
            good_until: Instant::now() + good_for.min(DAY),
        });
        Ok(token)
    }
}

/// The maximum time for which a token is reused. Larger values could overflow the clock.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A source that returns `token-1`, `token-2` and so on, with the same lifetime.
    fn counting(lasts: Option<Duration>) -> Tokens {
        let asked = Arc::new(AtomicU32::new(0));
        Tokens::of(move || {
            let n = asked.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                let token = AccessToken::new(format!("token-{n}"));
                Ok(AccessToken { lasts, ..token })
            }
        })
    }

    async fn now(tokens: &Tokens) -> String {
        tokens.current().await.unwrap().secret().reveal().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_used_until_a_minute_before_its_end() {
        let tokens = counting(Some(Duration::from_secs(3600)));
        assert_eq!(now(&tokens).await, "token-1");
        tokio::time::advance(Duration::from_secs(3539)).await;
        assert_eq!(now(&tokens).await, "token-1");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(now(&tokens).await, "token-2");
    }

    #[tokio::test(start_paused = true)]
    async fn token_of_unknown_lifetime_serves_one_connection() {
        for lasts in [None, Some(Duration::from_secs(60))] {
            let tokens = counting(lasts);
            assert_eq!(now(&tokens).await, "token-1");
            assert_eq!(now(&tokens).await, "token-2");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn refused_token_is_replaced_once_for_all() {
        let tokens = counting(Some(Duration::MAX));
        let refused = tokens.current().await.unwrap();
        for _ in 0..3 {
            let other = tokens.in_place_of(&refused).await.unwrap().unwrap();
            assert_eq!(other.secret().reveal(), "token-2");
        }
        assert_eq!(now(&tokens).await, "token-2");
    }

    #[tokio::test]
    async fn a_source_of_one_token_has_no_other() {
        let tokens = Tokens::of("the-only-one");
        let refused = tokens.current().await.unwrap();
        assert!(tokens.in_place_of(&refused).await.unwrap().is_none());
    }
}
