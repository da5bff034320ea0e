//! The sessions of a journal in pages.

use recount_journal::Head;
use uuid::Uuid;

use super::{Error, Ledger};
use crate::session::SessionId;

/// The number of sessions in a page.
const PAGE: usize = 1024;

/// The number of sessions among which a sealed one is sought.
const SOUGHT: usize = 1_000;

/// The sessions of a journal with their heads, oldest first, in pages.
#[doc(hidden)]
pub struct SessionPages<'l> {
    ledger: &'l Ledger,
    /// The last session of the previous page.
    after: Option<Uuid>,
}

impl Ledger {
    /// Returns the sessions of the journal in pages, so that memory use does not grow with their
    /// number.
    #[doc(hidden)]
    pub fn session_pages(&self) -> SessionPages<'_> {
        SessionPages {
            ledger: self,
            after: None,
        }
    }

    /// Returns all sessions of the journal with their heads, oldest first.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    #[doc(hidden)]
    pub async fn session_heads(&self) -> Result<Vec<(SessionId, Head)>, Error> {
        let (mut heads, mut pages) = (Vec::new(), self.session_pages());
        while let Some(page) = pages.next().await? {
            heads.extend(page);
        }
        Ok(heads)
    }

    /// Returns the newest session that is sealed and not erased, among the newest thousand.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub(crate) async fn sealed_session(&self) -> Result<Option<SessionId>, Error> {
        let erased = self.erasures().await?;
        let heads = self.session_heads().await?;
        for (session, _) in heads.into_iter().rev().take(SOUGHT) {
            match self.is_sealed(session).await {
                Ok(true) if !erased.contains_key(&session) => return Ok(Some(session)),
                Ok(_) => {}
                Err(error) if error.is_of_one_session() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl SessionPages<'_> {
    /// Returns the next page, which is not empty. `None` after the last page.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn next(&mut self) -> Result<Option<Vec<(SessionId, Head)>>, Error> {
        let page = self.ledger.journal().sessions(self.after, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(None);
        };
        self.after = Some(*last);
        let named = page.into_iter().map(|(id, head)| (SessionId(id), head));
        Ok(Some(named.collect()))
    }
}
