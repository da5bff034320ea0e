//! The lease of this node: until when other nodes leave its streams alone. And the seq up to which
//! each node has applied the journal's own stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::Object;
use recount_journal::Error;
use tokio::sync::watch;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::supervision::look_after;
use crate::claims::{Claims, signed};
use crate::error::{error_text, failed};
use crate::server::{FREE, Server, clock, query};

/// The parts of a lease: it is renewed when one of them has passed.
const PARTS: u32 = 4;

/// The part of a lease that this node does not use. It is for what has been checked and begins, and
/// for clocks that do not go at the same rate.
const MARGIN: u32 = 10;

/// The pause before a lost connection is opened again.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A node's right to own streams. The database's clock decides for others. For itself, the node
/// counts from before it asked, so it always stops first.
pub(crate) struct Lease {
    pub(crate) node: Uuid,
    pub(crate) name: String,
    length: Duration,
    /// The end, in microseconds of this process's clock.
    until_us: AtomicU64,
    lost: watch::Sender<Option<String>>,
}

impl Lease {
    /// Registers a new node.
    pub(crate) async fn register(
        client: &Client,
        schema: &str,
        name: String,
        length: Duration,
    ) -> Result<Self, Error> {
        let node = Uuid::new_v4();
        let asked = clock::elapsed();
        let insert = format!(
            "INSERT INTO {schema}.node (id, name, until)
             VALUES ($1, $2, clock_timestamp() + $3 * interval '1 microsecond')"
        );
        let length_us = micros(length);
        let insert = client
            .execute(&insert, &[&node, &name, &(length_us as f64)])
            .await;
        insert.map_err(failed("register this node"))?;
        Ok(Self {
            node,
            name,
            length,
            until_us: AtomicU64::new(end_of(asked, length)),
            lost: watch::Sender::new(None),
        })
    }

    /// Returns an error if the lease has ended. Then another node may own the streams.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(cause) = &*self.lost.borrow() {
            return Err(poisoned(cause));
        }
        if self.left().is_zero() {
            return Err(poisoned(&self.ended()));
        }
        Ok(())
    }

    /// Waits until the lease has ended, and returns why.
    pub(crate) async fn lost(&self) -> Error {
        let mut lost = self.lost.subscribe();
        // The sender lives as long as `self`.
        let cause = lost.wait_for(Option::is_some).await;
        let cause = cause.ok().and_then(|it| it.clone());
        poisoned(&cause.unwrap_or_else(|| self.ended()))
    }

    /// Ends the lease for this process. All later appends fail.
    pub(crate) fn lose(&self, cause: String) {
        self.lost.send_if_modified(|lost| {
            let first = lost.is_none();
            lost.get_or_insert(cause);
            first
        });
    }

    /// Renews the lease in time, until it is lost, and notes the number of claims with it. Each
    /// time it looks after the health of the node, with the lossy settings that are allowed.
    pub(crate) async fn keep(&self, server: &Server, claims: &Claims, allowed: &[String]) {
        let (mut client, mut is_late) = (None, false);
        loop {
            let pause = if is_late {
                AGAIN_AFTER
            } else {
                self.length / PARTS
            };
            tokio::select! {
                () = tokio::time::sleep(self.left().min(pause)) => {}
                _ = self.lost() => return,
            }
            if self.check().is_err() {
                self.lose(self.ended());
                return;
            }
            // A connection that hangs leaves time for another one.
            let within = self.left().min(self.length / PARTS);
            let renewed = tokio::time::timeout(within, self.renew(server, claims, &mut client));
            let renewed = renewed.await;
            is_late = !matches!(renewed, Ok(Ok(true)));
            match renewed {
                Ok(Ok(true)) => {
                    let looking = look_after(server, client.as_ref(), (allowed, self.length));
                    // A connection that hangs is replaced with the next renewal.
                    if tokio::time::timeout(within, looking).await.is_err() {
                        tracing::warn!("the database does not tell its settings and our rights");
                        client = None;
                    }
                }
                Ok(Ok(false)) => {
                    self.lose(format!("{}, as the database says", self.ended()));
                    return;
                }
                Ok(Err(error)) => {
                    tracing::warn!(
                        error = error_text(&error),
                        left_ms = self.left().as_millis() as u64,
                        "the lease of this node could not be renewed"
                    );
                }
                Err(_) => tracing::warn!(
                    left_ms = self.left().as_millis() as u64,
                    "the database does not answer, so the lease of this node is not renewed"
                ),
            }
        }
    }

    async fn renew(
        &self,
        server: &Server,
        claims: &Claims,
        known: &mut Option<Client>,
    ) -> Result<bool, tokio_postgres::Error> {
        let client = match known.take().filter(|it| !it.is_closed()) {
            Some(client) => client,
            None => server.connect(|_| ()).await?,
        };
        let update = format!(
            "UPDATE {schema}.node
             SET until = clock_timestamp() + $2 * interval '1 microsecond', owned = $3
             WHERE id = $1 AND until > clock_timestamp()",
            schema = server.address.quoted_schema()
        );
        let owned = i64::try_from(claims.count()).unwrap_or(i64::MAX);
        let length_us = micros(self.length);
        let asked = clock::elapsed();
        let update = client
            .execute(&update, &[&self.node, &(length_us as f64), &owned])
            .await;
        let renewed = update? == 1;
        if renewed {
            let until = end_of(asked, self.length);
            self.until_us.store(until, Ordering::Release);
        }
        *known = Some(client);
        Ok(renewed)
    }

    /// The time that is left.
    fn left(&self) -> Duration {
        let until = Duration::from_micros(self.until_us.load(Ordering::Acquire));
        until.saturating_sub(clock::elapsed())
    }

    fn ended(&self) -> String {
        format!(
            "the lease of node {} ended, so another node may own its sessions",
            self.name
        )
    }
}

/// Ends a node's lease in the database, so that others need not wait for its end.
pub(crate) async fn release(
    client: &Client,
    (schema, channel): (&str, &str),
    node: Uuid,
) -> Result<(), Error> {
    let update = format!(
        "WITH released AS (
             UPDATE {schema}.node SET until = clock_timestamp() WHERE id = $1 RETURNING 1)
         SELECT pg_notify($2, '{FREE}') FROM released"
    );
    let update = client.query(&update, &[&node, &channel]).await;
    update.map_err(failed("end the lease of this node"))?;
    Ok(())
}

/// Notes the seq up to which a node has applied the journal's own stream.
pub(crate) async fn applied(
    client: &Object,
    (schema, channel): (&str, &str),
    node: Uuid,
    seq: u64,
) -> Result<(), Error> {
    let update = format!(
        "WITH applied AS (
             UPDATE {schema}.node SET applied = greatest(applied, $2) WHERE id = $1 RETURNING 1)
         SELECT pg_notify($3, '{FREE}') FROM applied"
    );
    let seq = signed(seq);
    let parameters: [&(dyn ToSql + Sync); 3] = [&node, &seq, &channel];
    let doing = "note what this node has applied";
    query(client, doing, &update, &parameters).await?;
    Ok(())
}

/// Returns the names of the other nodes with a valid lease that have applied less than that.
pub(crate) async fn behind(
    client: &Object,
    schema: &str,
    node: Uuid,
    seq: u64,
) -> Result<Vec<String>, Error> {
    let select = format!(
        "SELECT name FROM {schema}.node
         WHERE id <> $1 AND applied < $2 AND until > clock_timestamp() ORDER BY name"
    );
    let doing = "look for nodes that lag behind";
    let rows = query(client, doing, &select, &[&node, &signed(seq)]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn poisoned(cause: &str) -> Error {
    Error::Poisoned {
        cause: cause.to_owned(),
    }
}

/// The end of a lease that was asked for at a time of this process's clock.
fn end_of(asked: Duration, length: Duration) -> u64 {
    micros(asked.saturating_add(length - length / MARGIN))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
