//! Connections to the server, and the threads that drive them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Timeouts,
};
use futures_channel::oneshot;
use recount_journal::Error;
use tokio::runtime::{Handle, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::health::Health;
use super::set_up::set_up;
use crate::address::Address;
use crate::error::{failed, failed_for};

/// The content of a notification that sessions are free, or that the journal's own stream has a new
/// record. The notification of any other commit is empty.
pub(crate) const FREE: &str = "free";

/// The connections for reads.
const READERS: usize = 8;

/// The time after which a new connection counts as failed, if the address sets none.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// A server, and the runtime on which all of its connections run. A journal works without a runtime
/// of its caller.
pub(crate) struct Server {
    pub(crate) address: Address,
    tls: MakeRustlsConnect,
    pool: Pool,
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    pub(crate) health: Health,
    /// The `synchronous_commit` that was accepted when the journal was opened.
    commit: Arc<OnceLock<String>>,
}

impl Server {
    /// Starts the runtime. Nothing is connected yet.
    pub(crate) fn new(address: Address) -> Result<Self, Error> {
        let mut address = address;
        if address.config.get_connect_timeout().is_none() {
            address.config.connect_timeout(CONNECT_WITHIN);
        }
        if address.config.get_tcp_user_timeout().is_none() {
            address.config.tcp_user_timeout(CONNECT_WITHIN);
        }
        let tls = address.encryption.connector()?;
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(
            address.config.clone(),
            tls.clone(),
            ManagerConfig { recycling_method },
        );
        // Without these, a connection whose peer is silent holds a read for ever.
        let within = Some(CONNECT_WITHIN);
        let commit = Arc::<OnceLock<String>>::default();
        let pinned = Arc::clone(&commit);
        let settings = Hook::async_fn(move |client, _| {
            let commit = pinned.get().cloned();
            Box::pin(async move {
                let settings = set_up(client, commit.as_deref()).await;
                settings.map_err(HookError::Backend)
            })
        });
        let pool = Pool::builder(manager)
            .post_create(settings)
            .max_size(READERS)
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .timeouts(Timeouts {
                wait: within,
                create: within,
                recycle: within,
            })
            .build()
            .map_err(|error| failed_for("make connections", error))?;
        // After everything that may fail: a caller's runtime lets no other one be dropped.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("recount-postgres")
            .enable_all()
            .build()
            .map_err(Error::io("start the threads of the database's connections"))?;
        Ok(Self {
            address,
            tls,
            pool,
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            health: Health::default(),
            commit,
        })
    }

    /// Runs a task on the threads of the connections.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.handle.spawn(task)
    }

    /// Runs a task on the threads of the connections, and returns its result. The caller needs no
    /// runtime.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        // Not the handle of the task: it lets no more than so many results pass before its own
        // runtime is asked, which never happens where a caller blocks.
        let (reply, result) = oneshot::channel();
        drop(self.spawn(async move {
            // The caller may be gone.
            let _ = reply.send(task.await);
        }));
        // The runtime is dropped at the close alone.
        result.await.unwrap_or(Err(Error::Closed))
    }

    /// The connections for reads.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns a connection for reads.
    pub(crate) async fn reader(&self) -> Result<Object, Error> {
        let reader = self.pool.get().await;
        reader.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                failed("connect")(error)
            }
            PoolError::Closed => Error::Closed,
            error => failed_for("connect", error),
        })
    }

    /// Opens a connection, unless it takes longer than the `connect_timeout` of all hosts. A server
    /// that takes connections and says nothing would hold an opening for ever.
    pub(crate) async fn connect_in_time(&self) -> Result<Client, Error> {
        let config = &self.address.config;
        let hosts = config.get_hosts().len().max(1);
        let of_one = config.get_connect_timeout().copied();
        let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
        // The address may name any number of seconds.
        let within = of_one.unwrap_or(CONNECT_WITHIN).saturating_mul(hosts);
        match tokio::time::timeout(within, self.connect(|_| ())).await {
            Ok(client) => client.map_err(failed("connect")),
            Err(_) => {
                let silent = format!("the server did not answer within {within:?}");
                Err(failed_for("connect", silent))
            }
        }
    }

    /// Opens a connection for a task that keeps it. Its notifications go to `on_notification`.
    pub(crate) async fn connect(
        &self,
        on_notification: impl Fn(&str) + Send + 'static,
    ) -> Result<Client, tokio_postgres::Error> {
        let (client, mut connection) = self.address.config.connect(self.tls.clone()).await?;
        self.handle.spawn(async move {
            let mut messages =
                futures_util::stream::poll_fn(move |context| connection.poll_message(context));
            // The client reports an error of the connection with its next statement.
            while let Some(Ok(message)) = futures_util::StreamExt::next(&mut messages).await {
                if let AsyncMessage::Notification(it) = message {
                    on_notification(it.payload());
                }
            }
            // What came since is lost, so everything is news.
            on_notification(FREE);
        });
        set_up(&client, self.commit.get().map(String::as_str)).await?;
        Ok(client)
    }

    /// Keeps this `synchronous_commit` for every later connection.
    pub(crate) fn pin_commit(&self, accepted: String) {
        // Nothing sets it twice: a journal is opened once.
        let _ = self.commit.set(accepted);
    }

    /// Ends all tasks and connections, without waiting for them.
    pub(crate) fn stop(&self) {
        self.pool.close();
        let runtime = self.runtime.lock();
        if let Some(runtime) = runtime.unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs a statement that each connection for reads parses once. `doing` is for the error, such as
/// "read records".
pub(crate) async fn query(
    client: &Object,
    doing: &str,
    statement: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Error> {
    let statement = client.prepare_cached(statement).await;
    let statement = statement.map_err(failed(doing))?;
    let rows = client.query(&statement, parameters).await;
    rows.map_err(failed(doing))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
