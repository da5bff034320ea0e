#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use uuid::Uuid;

use super::*;
use crate::control::unauthenticated::UNAUTHENTICATED_MAX;
use crate::control::{Answered, Client, ConnectError, Unanswered};

/// A handler that reports when it has begun and waits before it continues.
#[derive(Clone, Default)]
struct Gate {
    begun: Arc<Notify>,
    open: Arc<Notify>,
}

impl Gate {
    fn handler(&self) -> Handler {
        let gate = self.clone();
        Arc::new(move |_, items| {
            let gate = gate.clone();
            Box::pin(async move {
                items.send(&1).await.unwrap();
                gate.begun.notify_one();
                gate.open.notified().await;
                items.send(&2).await.unwrap();
                Reply::done(&3)
            })
        })
    }
}

fn said(answered: Answered) -> String {
    match answered {
        Answered::Item(item) => format!("item {}", item.get()),
        Answered::Done(done) => format!("done {}", done.get()),
    }
}

#[tokio::test]
async fn running_request_is_answered_before_end() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let server = Server::start(directory.path(), gate.handler()).unwrap();
    let mut client = Client::connect(directory.path()).await.unwrap();
    let mut idle = Client::connect(directory.path()).await.unwrap();
    client.ask(&Request::Pending {}).await.unwrap();
    gate.begun.notified().await;
    let ending = tokio::spawn(server.end());
    // A connection without a request is closed first.
    assert!(matches!(idle.next().await, Err(Unanswered::Ended)));
    assert!(Client::connect(directory.path()).await.is_err());
    gate.open.notify_one();
    assert_eq!(said(client.next().await.unwrap()), "item 1");
    assert_eq!(said(client.next().await.unwrap()), "item 2");
    assert_eq!(said(client.next().await.unwrap()), "done 3");
    assert!(matches!(client.next().await, Err(Unanswered::Ended)));
    ending.await.unwrap();
}

#[tokio::test]
async fn followed_log_is_cut_off_at_end() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let server = Server::start(directory.path(), gate.handler()).unwrap();
    let mut client = Client::connect(directory.path()).await.unwrap();
    let log = Request::Log {
        session: crate::session::SessionId(Uuid::nil()),
        from: crate::session::Seq(1),
        follow: true,
    };
    client.ask(&log).await.unwrap();
    gate.begun.notified().await;
    assert_eq!(said(client.next().await.unwrap()), "item 1");
    server.end().await;
    assert!(matches!(client.next().await, Err(Unanswered::Ended)));
}

/// Connects as many operators as there are permits.
async fn connect_max_operators(directory: &Path) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..OPERATORS_MAX {
        clients.push(Client::connect(directory).await.unwrap());
    }
    clients
}

#[tokio::test]
async fn operators_beyond_limit_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let server = Server::start(directory.path(), gate.handler()).unwrap();
    let mut clients = connect_max_operators(directory.path()).await;
    let refused = Client::connect(directory.path()).await;
    assert!(
        matches!(&refused, Err(ConnectError::Busy { said, .. }) if said == "all places are taken"),
        "{refused:?}"
    );
    gate.open.notify_one();
    let first = clients.first_mut().unwrap();
    let done = first.done(&Request::Pending {}).await.unwrap();
    assert_eq!(done.get(), "3");
    drop(server);
}

#[tokio::test]
async fn idle_operator_is_disconnected_unless_following() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let server = Server::start(directory.path(), gate.handler()).unwrap();
    let mut clients = connect_max_operators(directory.path()).await;
    let mut follower = clients.pop().unwrap();
    let log = Request::Log {
        session: crate::session::SessionId(Uuid::nil()),
        from: crate::session::Seq(1),
        follow: true,
    };
    follower.ask(&log).await.unwrap();
    gate.begun.notified().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    for mut idle in clients {
        let Err(Unanswered::Lost(why)) = idle.next().await else {
            unreachable!("it asked for nothing")
        };
        assert_eq!(why, "nothing was asked for 60 s");
    }
    Client::connect(directory.path()).await.unwrap();
    assert_eq!(said(follower.next().await.unwrap()), "item 1");
    gate.open.notify_one();
    assert_eq!(said(follower.next().await.unwrap()), "item 2");
    server.end().await;
}

#[tokio::test]
async fn connections_without_token_use_no_operator_permit() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let server = Server::start(directory.path(), gate.handler()).unwrap();
    let address = server.address().address;
    // A blocking task keeps the paused clock from advancing, so no time limit passes.
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let waiting = tokio::task::spawn_blocking(move || ends.recv().is_err());
    tokio::time::pause();
    let mut silent = Vec::new();
    for _ in 0..UNAUTHENTICATED_MAX {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let operators = connect_max_operators(directory.path()).await;
    assert_eq!(operators.len(), OPERATORS_MAX);
    let mut nothing = [0];
    let oldest = silent.first_mut().unwrap();
    assert_eq!(oldest.read(&mut nothing).await.unwrap(), 0);
    // The youngest connections stay open.
    let youngest = silent.last_mut().unwrap();
    let read = youngest.try_read(&mut nothing).unwrap_err();
    assert_eq!(read.kind(), io::ErrorKind::WouldBlock);
    drop(end);
    assert!(waiting.await.unwrap());
    server.end().await;
}
