//! Notifications, and the polls that stand behind them.

use std::sync::Arc;
use std::time::Duration;

use recount::ledger::Ledger;
use recount_journal::testing::Stream;
use recount_journal::{Error, Journal};
use tokio::sync::watch;

use crate::place::Place;
use crate::proxy::{Fault, Proxy};

/// The longest wait of a test. Only a defect takes so long.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// A server that does not answer the statement which listens, as behind a broken network.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn silent_listener_stops_no_poll_and_is_replaced() {
    let place = Place::new();
    let proxy = Proxy::start(place.server()).await;
    let options = place.options(place.address_at(proxy.port()), "a");
    let node = options.open().unwrap();
    proxy.fail_at("LISTEN", Fault::Unanswered);
    let all = async {
        let sharing = node.sharing().unwrap();
        // It starts the listener, and returns without it.
        sharing.changed(0).await;
        proxy.failed().await;
        // A commit of another node is found without a notification.
        let mut stream = Stream::new(1);
        let other = place.node("b");
        other.append(stream.next(&["{}"])).await.unwrap();
        assert_eq!(node.follow(0).await.unwrap().position, 1);
        // Another connection listens once the first one is given up.
        while sharing.changed(0).await == 0 {}
    };
    tokio::time::timeout(HANGS_AFTER, all).await.unwrap();
    node.close().await.unwrap();
}

/// The reads of a follower wait for the server, but not beyond the lease.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn follower_waits_as_long_as_the_lease() {
    let place = Place::new();
    let proxy = Proxy::start(place.server()).await;
    let options = place.options(place.address_at(proxy.port()), "a");
    let node = options.lease(Duration::from_secs(1)).open().unwrap();
    let (_stop, stopped) = watch::channel(false);
    let ledger = Ledger::new(Arc::new(node)).through_outages("the test", stopped);
    let journal = ledger.journal().clone();
    let following = tokio::spawn(async move { journal.follow(1_000).await });
    proxy.refuse();
    proxy.cut();
    let ended = tokio::time::timeout(HANGS_AFTER, following).await.unwrap();
    let error = ended.unwrap().unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
}
