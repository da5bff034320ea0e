#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use tokio::sync::Notify;
use uuid::Uuid;

use super::*;
use crate::control::{Answered, Client, Unanswered};

/// A handler that is told when to go on, and tells when it has begun.
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
async fn what_is_being_answered_is_answered_before_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let server = Server::start(directory.path(), gate.handler()).unwrap();
    let mut client = Client::connect(directory.path()).await.unwrap();
    let mut idle = Client::connect(directory.path()).await.unwrap();
    client.ask(&Request::Pending {}).await.unwrap();
    gate.begun.notified().await;
    let ending = tokio::spawn(server.end());
    // Whoever asks for nothing is told first.
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
async fn what_goes_on_for_ever_is_cut_at_the_end() {
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

#[tokio::test]
async fn nobody_is_let_in_beyond_the_limit_and_nobody_who_is_in_suffers() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let server = Server::start(directory.path(), gate.handler()).unwrap();
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        clients.push(Client::connect(directory.path()).await.unwrap());
    }
    assert!(Client::connect(directory.path()).await.is_err());
    gate.open.notify_one();
    let first = clients.first_mut().unwrap();
    let done = first.done(&Request::Pending {}).await.unwrap();
    assert_eq!(done.get(), "3");
    drop(server);
}
