//! Access tokens that expire, and where new ones come from.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::live::TokenError;
use crate::session::secret::Secret;

/// How long before its end a token is replaced, so that it does not end on its way.
const MARGIN: Duration = Duration::from_secs(60);

/// An OAuth access token. Shows itself to nobody.
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
    /// A token of which it is not known how long it lasts; its source is asked again for the next
    /// connection.
    #[must_use]
    pub fn new(text: impl Into<String>) -> AccessToken {
        AccessToken {
            text: Secret::new(text),
            lasts: None,
        }
    }

    /// How long it lasts from now, the `expires_in` of OAuth; until a minute before that it is used
    /// again.
    #[must_use]
    pub fn lasting(mut self, lasts: Duration) -> AccessToken {
        self.lasts = Some(lasts);
        self
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.text
    }
}

/// Where access tokens come from: a metadata server, a login, a vault.
///
/// It is asked when a connection is opened and the last token is about to end, or its life was not
/// told; and once more when the service refuses the token. A token in a string is a source, too, of
/// one that is never renewed, and so is an async closure:
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
    /// Gets a token that is good now.
    ///
    /// # Errors
    /// Where none can be had; the connection is not opened then.
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

/// A source, and the token it gave last. Many connections share one, and one of them at a time asks
/// the source.
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

    /// A token for a connection that is opened now.
    pub(super) async fn current(&self) -> Result<AccessToken, TokenError> {
        let mut last = self.last.lock().await;
        match last.as_ref() {
            Some(held) if Instant::now() < held.good_until => Ok(held.token.clone()),
            Some(_) | None => self.renew(&mut last).await,
        }
    }

    /// Another token than `refused`; none if the source has no other.
    pub(super) async fn in_place_of(
        &self,
        refused: &AccessToken,
    ) -> Result<Option<AccessToken>, TokenError> {
        let mut last = self.last.lock().await;
        let other = |token: &AccessToken| token.text != refused.text;
        // Another connection may have been refused, too, and have asked for it already.
        if let Some(held) = last.as_ref().filter(|held| other(&held.token)) {
            return Ok(Some(held.token.clone()));
        }
        let token = self.renew(&mut last).await?;
        Ok(Some(token).filter(other))
    }

    async fn renew(&self, last: &mut Option<Held>) -> Result<AccessToken, TokenError> {
        // What is about to end must not be used again where the source fails.
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

/// No token is used for longer, whatever its source says; the clock cannot add everything.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Gives `token-1`, `token-2` and so on, each lasting as long.
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
    async fn a_token_whose_life_is_not_told_or_is_over_serves_one_connection() {
        for lasts in [None, Some(Duration::from_secs(60))] {
            let tokens = counting(lasts);
            assert_eq!(now(&tokens).await, "token-1");
            assert_eq!(now(&tokens).await, "token-2");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_replaced_once_for_all_who_were_refused() {
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
