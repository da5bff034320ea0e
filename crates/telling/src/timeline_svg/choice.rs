//! The lanes of a picture: the newest calls, and older ones that are still open.

use super::model::{Index, Lane};

/// The share of the lanes for older calls that are still open: one in this number.
const OPEN_SHARE: usize = 4;

/// The chosen lanes, in the order of their calls.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) lanes: Vec<Lane>,
    /// The number of calls without a lane.
    pub(super) left_out: usize,
    /// The first fact on the time axis.
    pub(super) first: Index,
    /// The number of chosen calls that were received before that fact.
    pub(super) carried: usize,
}

/// Chooses at most `lanes_max` lanes.
pub(super) fn chosen(mut lanes: Vec<Lane>, lanes_max: usize) -> Choice {
    let lanes_max = lanes_max.max(1);
    if lanes.len() <= lanes_max {
        return Choice {
            lanes,
            left_out: 0,
            first: 0,
            carried: 0,
        };
    }
    let total = lanes.len();
    // Older calls that are still open take a share of the lanes, or as much of it as they need.
    let older = total - lanes_max;
    let lasting = lanes.iter().take(older).filter(|it| it.lasts()).count();
    let share = lasting.min(lanes_max / OPEN_SHARE);
    let newest = lanes.split_off(total - (lanes_max - share));
    let mut open: Vec<Lane> = lanes.into_iter().filter(Lane::lasts).collect();
    let open = open.split_off(open.len().saturating_sub(share));
    let carried = open.len();
    let first = newest.first().map_or(0, |it| it.received);
    let lanes: Vec<Lane> = open.into_iter().chain(newest).collect();
    Choice {
        left_out: total - lanes.len(),
        lanes,
        first,
        carried,
    }
}
