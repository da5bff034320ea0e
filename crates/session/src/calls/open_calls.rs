//! The open calls of a session, oldest first.

use std::collections::{VecDeque, vec_deque};
use std::iter::Map;

use serde::{Deserialize, Serialize};

use super::call::{Call, Phase};
use crate::values::id::Seq;

/// The calls that have not ended, by the seq of their `function_call_received` record.
///
/// A step looks up one call a dozen times, usually the newest, and calls end roughly in the order
/// of their arrival. So a queue sorted by seq holds them: the lookup tries both ends first and then
/// uses a binary search, and a removed call is near the front.
///
/// ```
/// use recount_session::{Seq, Session, SessionId};
/// let session = Session::new(SessionId(uuid::Uuid::nil()));
/// assert!(session.calls.get(&Seq(1)).is_none());
/// assert_eq!(session.calls.iter().count(), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCalls(VecDeque<(Seq, Box<Call>)>);

impl OpenCalls {
    /// Returns the call with this seq, if it is open.
    #[must_use]
    pub fn get(&self, seq: &Seq) -> Option<&Call> {
        let (_, call) = self.0.get(self.position(*seq)?)?;
        Some(call)
    }

    pub(crate) fn get_mut(&mut self, seq: &Seq) -> Option<&mut Call> {
        let index = self.position(*seq)?;
        self.0.get_mut(index).map(|(_, call)| &mut **call)
    }

    /// True if the call with this seq is open.
    #[must_use]
    pub fn contains_key(&self, seq: &Seq) -> bool {
        self.position(*seq).is_some()
    }

    /// Adds a call. Seqs grow, so the call is usually the newest. A caller that folds facts in
    /// another order may add an older one.
    pub(crate) fn insert(&mut self, seq: Seq, call: Call) {
        let older = |(it, _): &(Seq, Box<Call>)| *it < seq;
        let index = match self.0.back() {
            Some(newest) if !older(newest) => self.0.partition_point(older),
            Some(_) | None => self.0.len(),
        };
        if self.contains_key(&seq) {
            self.0.remove(index);
        }
        self.0.insert(index, (seq, Box::new(call)));
    }

    pub(crate) fn remove(&mut self, seq: &Seq) -> Option<Call> {
        let (_, call) = self.0.remove(self.position(*seq)?)?;
        // Without this, a session would keep the capacity of its peak as long as it lives.
        if self.0.capacity() > CAPACITY_KEPT && self.0.len() < self.0.capacity() / 4 {
            self.0.shrink_to(self.0.capacity() / 2);
        }
        Some(*call)
    }

    /// The number of open calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if no call is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of open calls that are older than this seq.
    pub(crate) fn older_than(&self, seq: Seq) -> usize {
        self.0.partition_point(|(it, _)| *it < seq)
    }

    /// An iterator over the calls and their seqs, oldest first.
    pub fn iter(&self) -> Iter<'_> {
        self.0.iter().map(|(seq, call)| (seq, call))
    }

    /// An iterator over the seqs, oldest first.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Seq> {
        self.0.iter().map(|(seq, _)| seq)
    }

    /// An iterator over the calls, oldest first.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.0.iter().map(|(_, call)| &**call)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        self.0.iter_mut().map(|(_, call)| &mut **call)
    }

    /// Sets the phase of a call, if it is open.
    pub(crate) fn set_phase(&mut self, seq: Seq, phase: Phase) {
        if let Some(call) = self.get_mut(&seq) {
            call.phase = phase;
        }
    }

    fn position(&self, seq: Seq) -> Option<usize> {
        let ((oldest, _), (newest, _)) = (self.0.front()?, self.0.back()?);
        if *newest == seq {
            return Some(self.0.len() - 1);
        }
        if *oldest == seq {
            return Some(0);
        }
        let within = *oldest < seq && seq < *newest;
        within.then(|| self.0.binary_search_by_key(&seq, |(seq, _)| *seq).ok())?
    }
}

/// The capacity, in calls, below which the queue never shrinks.
const CAPACITY_KEPT: usize = 64;

/// The iterator over open calls, oldest first.
type Iter<'a> = Map<vec_deque::Iter<'a, (Seq, Box<Call>)>, Borrowed<'a>>;

/// The function that turns an entry of the queue into references.
type Borrowed<'a> = fn(&'a (Seq, Box<Call>)) -> (&'a Seq, &'a Call);

impl<'a> IntoIterator for &'a OpenCalls {
    type Item = (&'a Seq, &'a Call);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::record::observation::FunctionCallReceived;
    use crate::reducers::dispatcher;
    use crate::{Session, SessionId};

    fn with(seqs: &[u64]) -> OpenCalls {
        let mut session = Session::new(SessionId(uuid::Uuid::nil()));
        for seq in seqs {
            let received = FunctionCallReceived {
                epoch: Seq(0),
                id: None,
                name: Some(seq.to_string()),
                args: None,
                malformed_args: None,
                invalid_args: None,
                sealed_args: Vec::new(),
                original_args: None,
                by: None,
                parent: None,
                beyond_max: None,
                key: None,
            };
            dispatcher::call_received(&mut session, Seq(*seq), &received);
        }
        session.calls
    }

    #[test]
    fn calls_are_found_by_seq_in_any_order() {
        for order in [[3, 5, 9, 12], [12, 3, 9, 5], [9, 12, 5, 3], [5, 5, 3, 12]] {
            let mut calls = with(&order);
            calls.insert(Seq(9), with(&[9]).remove(&Seq(9)).unwrap());
            let all: Vec<u64> = calls.keys().map(|seq| seq.0).collect();
            assert_eq!(all, [3, 5, 9, 12]);
            for seq in 0..14 {
                let name = calls.get(&Seq(seq)).map(|call| call.name.clone());
                assert_eq!(name, all.contains(&seq).then(|| seq.to_string()));
            }
            assert_eq!(
                calls.remove(&Seq(5)).map(|call| call.name),
                Some("5".to_owned())
            );
            assert!(!calls.contains_key(&Seq(5)) && calls.contains_key(&Seq(12)));
            assert_eq!((calls.len(), calls.is_empty()), (3, false));
        }
    }

    #[test]
    fn capacity_of_a_peak_is_released() {
        let many: Vec<u64> = (1..=5_000).collect();
        let mut calls = with(&many);
        assert!(calls.0.capacity() >= 5_000);
        for seq in 1..5_000 {
            calls.remove(&Seq(seq));
        }
        assert_eq!((&calls).into_iter().count(), 1);
        assert!(
            calls.0.capacity() <= CAPACITY_KEPT,
            "{}",
            calls.0.capacity()
        );
    }
}
