//! The share of each node in the streams that need one.

use deadpool_postgres::Object;
use recount_journal::{Error, Hash};
use uuid::Uuid;

use crate::server::{FREE, query};

/// A node with a valid lease, and the number of streams that it owns.
struct Living {
    node: Uuid,
    owned: i64,
}

/// Returns those of the streams that a node should claim first. Wakes the other nodes if some of
/// the streams are for them.
///
/// `owned` is the number of streams that the node owns now. Those of the others are from the last
/// renewals of their leases. A node that starts nothing, such as a command, takes none.
pub(crate) async fn share(
    client: &Object,
    (schema, channel): (&str, &str),
    (node, owned): (Uuid, usize),
    mut sessions: Vec<Uuid>,
) -> Result<Vec<Uuid>, Error> {
    let select = format!(
        "SELECT id, owned FROM {schema}.node
         WHERE until > clock_timestamp() AND applied IS NOT NULL ORDER BY id"
    );
    let rows = query(client, "find the nodes", &select, &[]).await?;
    let owned = i64::try_from(owned).unwrap_or(i64::MAX);
    let living = |id, noted| Living {
        node: id,
        owned: if id == node { owned } else { noted },
    };
    let nodes: Vec<Living> = rows
        .iter()
        .map(|row| living(row.get(0), row.get(1)))
        .collect();
    let found = sessions.len();
    let rooms = rooms(&nodes, found);
    sessions.retain(|session| taker(&rooms, *session).is_none_or(|it| it == node));
    if sessions.len() < found {
        let notify = "SELECT pg_notify($1, $2)";
        query(client, "wake the other nodes", notify, &[&channel, &FREE]).await?;
    }
    Ok(sessions)
}

/// The room of each node: what it lacks of an equal part of all its streams and of those found.
fn rooms(nodes: &[Living], found: usize) -> Vec<(Uuid, f64)> {
    let owned: f64 = nodes.iter().map(|it| it.owned as f64).sum();
    let part = (owned + found as f64) / nodes.len() as f64;
    let room = |it: &Living| (it.node, (part - it.owned as f64).max(0.0));
    nodes.iter().map(room).collect()
}

/// The node that takes a stream: each has a chance as large as its room. All nodes that see the
/// same rooms choose the same one, by weighted rendezvous hashing.
fn taker(rooms: &[(Uuid, f64)], session: Uuid) -> Option<Uuid> {
    let score = |(node, room): &(Uuid, f64)| -room / drawn(*node, session).ln();
    let best = |one: &&(Uuid, f64), other: &&(Uuid, f64)| score(one).total_cmp(&score(other));
    rooms.iter().max_by(best).map(|(node, _)| *node)
}

/// A number between 0 and 1, without both, drawn by the hash of a node and a stream.
fn drawn(node: Uuid, session: Uuid) -> f64 {
    let hash = Hash::of_object(&[*node.as_bytes(), *session.as_bytes()].concat());
    let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    (f64::from(u32::from_le_bytes(first)) + 0.5) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAMS: usize = 1_000;

    /// The numbers of streams that nodes with so many take of a thousand.
    fn taken(owned: &[i64]) -> Vec<usize> {
        let node = |(number, owned): (usize, &i64)| Living {
            node: Uuid::from_u128(number as u128),
            owned: *owned,
        };
        let nodes: Vec<Living> = owned.iter().enumerate().map(node).collect();
        let rooms = rooms(&nodes, STREAMS);
        let takers = (0..STREAMS).map(|it| taker(&rooms, Uuid::from_u128(it as u128)));
        let takers: Vec<_> = takers.flatten().collect();
        let of = |node: &Living| takers.iter().filter(|it| **it == node.node).count();
        nodes.iter().map(of).collect()
    }

    #[test]
    fn streams_spread_by_what_the_nodes_own() {
        let is_about = |taken: usize, expected: usize| taken.abs_diff(expected) < 60;
        assert_eq!(taken(&[7]), [STREAMS]);
        assert!(taken(&[0, 0, 0]).iter().all(|it| is_about(*it, 333)));
        // A new node takes what the others have more.
        assert_eq!(taken(&[1_000, 0]), [0, STREAMS]);
        assert!(matches!(taken(&[600, 0])[..], [a, b] if is_about(a, 200) && is_about(b, 800)));
        assert!(matches!(taken(&[9_000, 0, 0])[..], [0, b, c] if b + c == STREAMS));
    }
}
