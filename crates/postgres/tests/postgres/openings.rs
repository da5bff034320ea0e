//! The streams that requests with keys open: the first note of a key counts for all nodes.

use std::collections::BTreeSet;

use recount_journal::{Journal, Opening};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::place::Place;

fn opening(number: u8) -> Opening {
    Opening {
        session: Uuid::from_u128(number.into()),
        request: [number; 32],
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn first_note_of_a_key_counts_at_all_nodes() {
    let place = Place::new();
    let nodes = [place.node("a"), place.node("b")];
    let mut noting = JoinSet::new();
    for number in 1..=16 {
        let node = nodes[usize::from(number % 2)].clone();
        noting.spawn(async move {
            let sharing = node.sharing().unwrap();
            sharing.opening([7; 32], opening(number)).await.unwrap()
        });
    }
    let noted = noting.join_all().await;
    let first: BTreeSet<_> = noted.iter().map(|it| it.session).collect();
    assert_eq!(first.len(), 1, "{noted:?}");
    let again = place.node("c");
    let sharing = again.sharing().unwrap();
    let repeated = sharing.opening([7; 32], opening(99)).await.unwrap();
    assert_eq!(repeated, noted[0]);
    let other = sharing.opening([8; 32], opening(99)).await.unwrap();
    assert_eq!(other, opening(99));
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn new_key_removes_those_of_more_than_a_week_ago() {
    let place = Place::new();
    let node = place.node("a");
    let sharing = node.sharing().unwrap();
    for key in 1..=3 {
        sharing.opening([key; 32], opening(key)).await.unwrap();
    }
    let older = "UPDATE opening SET at = at - interval '7 days' WHERE session <> $1";
    let client = place.client().await;
    let kept = opening(3).session;
    assert_eq!(client.execute(older, &[&kept]).await.unwrap(), 2);
    sharing.opening([4; 32], opening(4)).await.unwrap();
    let left = client
        .query("SELECT session FROM opening ORDER BY session", &[])
        .await;
    let left: Vec<Uuid> = left.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(left, [kept, opening(4).session]);
}
