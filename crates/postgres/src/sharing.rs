//! The ownership of streams, as the engine sees it.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use recount_journal::{Asked, BoxFuture, Error, Opening, Sharing, Unowned, causes};
use uuid::Uuid;

use crate::claims::{self, Sought};
use crate::commands;
use crate::journal::PostgresJournal;
use crate::node;
use crate::openings;

impl PostgresJournal {
    /// Runs statements on a connection for reads, with the names of the schema and the channel.
    fn with_client<'j, T, R>(
        &'j self,
        run: impl FnOnce(Object, (String, String)) -> R + Send + 'static,
    ) -> BoxFuture<'j, Result<T, Error>>
    where
        T: Send + 'static,
        R: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let server = Arc::clone(&self.server);
        Box::pin(self.server.run(async move {
            let names = (server.address.quoted_schema(), server.address.channel());
            run(server.reader().await?, names).await
        }))
    }
}

fn search(sought: &Unowned<'_>) -> Sought {
    Sought {
        kinds: sought.kinds.iter().map(ToString::to_string).collect(),
        flags: i64::from(sought.flags),
        due_us: sought.due_us,
        after: sought.after.unwrap_or(Uuid::nil()),
        limit: i64::try_from(sought.limit).unwrap_or(i64::MAX),
    }
}

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

    fn let_go(&self, session: Uuid) -> Option<i64> {
        self.writer.as_ref()?.claims.forget(session)
    }

    fn release(&self, session: Uuid, epoch: i64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(writer) = &self.writer else {
                return;
            };
            let node = writer.lease.node;
            let released = self.with_client(move |client, (schema, channel)| async move {
                claims::release(&client, (&schema, &channel), (session, epoch), node).await
            });
            if let Err(error) = released.await {
                tracing::warn!(
                    %session, error = %causes(&error),
                    "a session could not be released"
                );
            }
        })
    }

    fn owner(&self, session: Uuid) -> BoxFuture<'_, Result<Option<String>, Error>> {
        let server = Arc::clone(&self.server);
        Box::pin(
            self.server
                .run(async move { claims::owner(&server, session).await }),
        )
    }

    fn unowned<'j>(&'j self, sought: Unowned<'j>) -> BoxFuture<'j, Result<Vec<Uuid>, Error>> {
        let sought = search(&sought);
        self.with_client(move |client, (schema, _)| async move {
            claims::unowned(&client, &schema, sought).await
        })
    }

    fn share(&self, sessions: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Uuid>, Error>> {
        let Some(writer) = self.writer.clone() else {
            return Box::pin(async { Err(Error::ReadOnly) });
        };
        self.with_client(move |client, (schema, channel)| async move {
            let node = (writer.lease.node, writer.claims.count());
            claims::share(&client, (&schema, &channel), node, sessions).await
        })
    }

    fn key_mark(&self, mark: Option<Uuid>) -> BoxFuture<'_, Result<Option<Uuid>, Error>> {
        self.with_client(move |client, (schema, _)| async move {
            node::key_mark(&client, &schema, mark).await
        })
    }

    fn owned<'j>(&'j self, sought: Unowned<'j>) -> BoxFuture<'j, Result<Vec<Uuid>, Error>> {
        let Some(writer) = self.writer.clone() else {
            return Box::pin(async { Ok(Vec::new()) });
        };
        let sought = search(&sought);
        self.with_client(move |client, (schema, _)| async move {
            claims::owned(&client, &schema, sought, writer.lease.node).await
        })
    }

    fn changed(&self, seen: u64) -> BoxFuture<'_, u64> {
        let news = Arc::clone(&self.news);
        Box::pin(async move {
            let waiting = self
                .server
                .run(async move { Ok(news.free_after(seen).await) });
            // An error is the close.
            waiting.await.unwrap_or(seen)
        })
    }

    fn applied(&self, seq: u64) -> BoxFuture<'_, Result<(), Error>> {
        let Some(writer) = self.writer.clone() else {
            return Box::pin(async { Err(Error::ReadOnly) });
        };
        self.with_client(move |client, (schema, channel)| async move {
            let names = (schema.as_str(), channel.as_str());
            node::applied(&client, names, writer.lease.node, seq).await
        })
    }

    fn behind(&self, seq: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        let Some(writer) = self.writer.clone() else {
            return Box::pin(async { Err(Error::ReadOnly) });
        };
        self.with_client(move |client, (schema, _)| async move {
            node::behind(&client, &schema, writer.lease.node, seq).await
        })
    }

    fn ask(
        &self,
        session: Uuid,
        request: String,
        within: Duration,
    ) -> BoxFuture<'_, Result<Uuid, Error>> {
        self.with_client(move |client, names| async move {
            let names = (names.0.as_str(), names.1.as_str());
            commands::ask(&client, names, session, (&request, within)).await
        })
    }

    fn asked(&self) -> BoxFuture<'_, Result<Vec<Asked>, Error>> {
        let Some(writer) = self.writer.clone() else {
            return Box::pin(async { Ok(Vec::new()) });
        };
        self.with_client(move |client, (schema, _)| async move {
            let under_way = writer.under_way();
            let asked = commands::asked(&client, &schema, writer.lease.node, &under_way).await?;
            writer.begun(asked.iter().map(|it| it.id));
            Ok(asked)
        })
    }

    fn reply(
        &self,
        session: Uuid,
        id: Uuid,
        reply: Option<String>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        let Some(writer) = self.writer.clone() else {
            return Box::pin(async { Err(Error::ReadOnly) });
        };
        self.with_client(move |client, names| async move {
            let names = (names.0.as_str(), names.1.as_str());
            let taken = (session, id, writer.lease.node);
            commands::reply(&client, names, taken, reply.as_deref()).await?;
            writer.ended(id);
            Ok(())
        })
    }

    fn replied(&self, session: Uuid, id: Uuid) -> BoxFuture<'_, Result<Option<String>, Error>> {
        let server = Arc::clone(&self.server);
        let replied = async move { commands::replied(&server, (session, id)).await };
        Box::pin(self.server.run(replied))
    }

    fn withdraw(&self, session: Uuid, id: Uuid) -> BoxFuture<'_, Result<bool, Error>> {
        self.with_client(move |client, (schema, _)| async move {
            commands::withdraw(&client, &schema, (session, id)).await
        })
    }

    fn opening(&self, key: [u8; 32], opening: Opening) -> BoxFuture<'_, Result<Opening, Error>> {
        if self.writer.is_none() {
            return Box::pin(async { Err(Error::ReadOnly) });
        }
        self.with_client(move |client, (schema, _)| async move {
            openings::note(&client, &schema, &key, opening).await
        })
    }

    fn lease(&self) -> Result<(), Error> {
        self.writer
            .as_ref()
            .map_or(Ok(()), |writer| writer.lease.check())
    }

    fn takes_appends(&self) -> Result<(), Error> {
        self.server.health.check_appends()
    }

    fn lost(&self) -> BoxFuture<'_, Error> {
        Box::pin(async move {
            match &self.writer {
                Some(writer) => writer.lease.lost().await,
                None => std::future::pending().await,
            }
        })
    }
}
