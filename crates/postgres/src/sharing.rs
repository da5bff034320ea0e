//! The ownership of streams, as the engine sees it.

use std::sync::Arc;

use recount_journal::{BoxFuture, Error, Sharing, Unowned};
use uuid::Uuid;

use crate::claims::{self, OwnedSearch};
use crate::journal::PostgresJournal;

impl Sharing for PostgresJournal {
    fn node(&self) -> &str {
        self.writer.as_ref().map_or("", |writer| &writer.lease.name)
    }

    fn claim(&self, sessions: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Uuid>, Error>> {
        Box::pin(async move {
            let writer = Arc::clone(self.writer.as_ref().ok_or(Error::ReadOnly)?);
            writer.lease.check()?;
            let is_known = |session: &Uuid| writer.claims.epoch(*session).is_some();
            let (mut owned, sought): (Vec<_>, Vec<_>) = sessions.into_iter().partition(is_known);
            if sought.is_empty() {
                return Ok(owned);
            }
            let server = Arc::clone(&self.server);
            let claimed = self.server.run(async move {
                let client = server.reader().await?;
                let schema = server.address.quoted_schema();
                let claimed = claims::claim(&client, &schema, &sought, writer.lease.node).await?;
                for (session, epoch) in &claimed {
                    writer.claims.note(*session, *epoch);
                }
                Ok(claimed)
            });
            owned.extend(claimed.await?.into_iter().map(|(session, _)| session));
            Ok(owned)
        })
    }

    fn release(&self, session: Uuid) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(writer) = self.writer.clone() else {
                return;
            };
            // First, so that an append from now on claims the stream again.
            let Some(epoch) = writer.claims.forget(session) else {
                return;
            };
            let server = Arc::clone(&self.server);
            let released = self.server.run(async move {
                let client = server.reader().await?;
                let (schema, channel) = (server.address.quoted_schema(), server.address.channel());
                let node = writer.lease.node;
                claims::release(&client, (&schema, &channel), (session, epoch), node).await
            });
            if let Err(error) = released.await {
                tracing::warn!(%session, %error, "a session could not be released");
            }
        })
    }

    fn owner(&self, session: Uuid) -> BoxFuture<'_, Result<Option<String>, Error>> {
        let server = Arc::clone(&self.server);
        Box::pin(self.server.run(async move {
            let client = server.reader().await?;
            claims::owner(&client, &server.address.quoted_schema(), session).await
        }))
    }

    fn unowned<'j>(&'j self, sought: Unowned<'j>) -> BoxFuture<'j, Result<Vec<Uuid>, Error>> {
        let server = Arc::clone(&self.server);
        let sought = OwnedSearch {
            kinds: sought.kinds.iter().map(ToString::to_string).collect(),
            flags: i64::from(sought.flags),
            due_us: sought.due_us,
            after: sought.after.unwrap_or(Uuid::nil()),
            limit: i64::try_from(sought.limit).unwrap_or(i64::MAX),
        };
        Box::pin(self.server.run(async move {
            let client = server.reader().await?;
            claims::unowned(&client, &server.address.quoted_schema(), sought).await
        }))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        let news = Arc::clone(&self.news);
        Box::pin(async move {
            let mut free = news.free();
            let waiting = self.server.run(async move {
                news.wait(&mut free).await;
                Ok(())
            });
            // An error is the close.
            let _ = waiting.await;
        })
    }

    fn lease(&self) -> Result<(), Error> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.lease.check())
    }
}
