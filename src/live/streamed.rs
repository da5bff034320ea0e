//! Collection of calls whose arguments arrive in pieces.
//!
//! Each connection has one [`Streamed`]. It ends with the connection: an unfinished call is no
//! call. A fault in a piece is reported for its call, when the call is complete.

mod path;
mod tree;

use self::tree::Tree;
use super::wire::{FunctionCall, PartialArg, RawJson};

/// The maximum number of unfinished calls of a connection.
const CALLS_MAX: usize = 256;

/// The maximum size of the pieces of one call, in bytes. Longer arguments are not recorded.
const CALL_BYTES_MAX: usize = 512 << 10;

/// The maximum size of the pieces of all unfinished calls, in bytes.
const BYTES_MAX: usize = 4 << 20;

/// The maximum number of dropped calls of a connection whose ids are kept.
const DROPPED_MAX: usize = 256;

/// The maximum size of these ids, in bytes.
const DROPPED_BYTES_MAX: usize = 1 << 20;

/// The unfinished calls of one connection.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    /// The unfinished calls, and dropped ones so that their further pieces are recognized.
    open: Vec<Gathered>,
    /// Set once a piece was dropped because of a limit. From then on, a call without arguments may
    /// be the end of a call whose pieces are lost.
    overflowed: bool,
}

/// A complete call, and the fault of its pieces.
pub(super) type Whole = (FunctionCall, Option<String>);

#[derive(Debug)]
struct Gathered {
    state: State,
    id: Option<String>,
    name: Option<String>,
    tree: Tree,
    bytes: usize,
    problem: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Pieces are kept.
    Gathering,
    /// The call was cancelled or refused before its end, so further pieces are dropped.
    Dropped,
    /// The last piece of a dropped call has arrived.
    Ended,
}

impl Streamed {
    /// Adds a call or a piece of one, with its fault if it is malformed. Returns the call if it is
    /// now complete or has failed.
    pub(super) fn take(
        &mut self,
        mut call: FunctionCall,
        malformed: Option<String>,
    ) -> Option<Whole> {
        call.id = call.id.filter(|id| !id.is_empty());
        call.name = call.name.filter(|name| !name.is_empty());
        let is_unfinished = call.will_continue == Some(true);
        let comes_in_pieces = !call.partial_args.is_empty() || has_odd_pieces(&call);
        let at = self.position(&call);
        if let Some(dropped) = at.and_then(|at| self.open.get_mut(at))
            && dropped.state != State::Gathering
        {
            let is_whole = !is_unfinished && !comes_in_pieces && call.args.is_some();
            let is_next = dropped.state == State::Ended && is_whole;
            if !is_unfinished {
                dropped.state = State::Ended;
            }
            return is_next.then(|| (call, Some(of_arguments(USED_UP))));
        }
        if at.is_none() && !is_unfinished && !comes_in_pieces {
            let lost = self.overflowed && call.args.is_none();
            return Some((call, malformed.or(lost.then(|| of_arguments(TOO_MUCH)))));
        }
        let mut gathered = match at {
            Some(at) => self.open.remove(at),
            None => Gathered::of(&call),
        };
        if let Some(problem) = malformed {
            gathered.fail_with(problem);
        } else if self.overflowed && at.is_none() {
            gathered.fail(TOO_MUCH);
        }
        gathered.add(&call);
        if !is_unfinished {
            return Some(gathered.whole(call));
        }
        let (open, bytes) = self.count(|state| state == State::Gathering);
        if open < CALLS_MAX && bytes + gathered.bytes <= BYTES_MAX {
            self.open.push(gathered);
        } else {
            self.overflowed = true;
        }
        None
    }

    /// Fails the unfinished calls to which a lost piece may belong: those of function `name`, or
    /// all. Returns the calls that are refused at once.
    ///
    /// Without the piece, their arguments would be incomplete and look complete. The piece may have
    /// been the last one, so a call with an id fails at once. Without an id, further pieces would
    /// look like a new call, so such a call fails at its end.
    pub(super) fn lose_piece(&mut self, name: Option<&str>) -> Vec<Whole> {
        let mut refused = Vec::new();
        for gathered in &mut self.open {
            let is_other = match (name, &gathered.name) {
                (Some(lost), Some(name)) => lost != name,
                (None, _) | (_, None) => false,
            };
            if gathered.state != State::Gathering || is_other {
                continue;
            }
            gathered.fail(LOST);
            if gathered.id.is_some() {
                refused.push(gathered.refuse());
            }
        }
        if !refused.is_empty() {
            self.bound_dropped();
        }
        refused
    }

    /// Drops calls that the service cancels, and their further pieces.
    pub(super) fn cancel(&mut self, ids: &[String]) {
        let is_meant = |it: &Gathered| {
            let is_named = it.id.as_ref().is_some_and(|id| ids.contains(id));
            is_named && it.state == State::Gathering
        };
        let meant = self.open.iter_mut().filter(|it| is_meant(it));
        meant.for_each(Gathered::drop_pieces);
        self.bound_dropped();
    }

    /// Forgets the oldest dropped calls beyond the limit, finished ones first. Further pieces of a
    /// forgotten unfinished call count as lost.
    fn bound_dropped(&mut self) {
        loop {
            let (calls, bytes) = self.count(|state| state != State::Gathering);
            if calls <= DROPPED_MAX && bytes <= DROPPED_BYTES_MAX {
                return;
            }
            let oldest = |state| self.open.iter().position(|it| it.state == state);
            let ended = oldest(State::Ended);
            let Some(oldest) = ended.or_else(|| oldest(State::Dropped)) else {
                return;
            };
            self.open.remove(oldest);
            self.overflowed |= ended.is_none();
        }
    }

    /// Returns the number of calls in such a state and the size of their pieces.
    fn count(&self, is_meant: impl Fn(State) -> bool) -> (usize, usize) {
        let meant = self.open.iter().filter(|it| is_meant(it.state));
        meant.fold((0, 0), |(calls, bytes), it| (calls + 1, bytes + it.bytes))
    }

    /// True while a call is unfinished.
    pub(crate) fn is_open(&self) -> bool {
        self.open.iter().any(|it| it.state == State::Gathering)
    }

    /// Finds the call of a piece: by its id, else the newest of its name, else the newest call.
    fn position(&self, piece: &FunctionCall) -> Option<usize> {
        self.open
            .iter()
            .rposition(|it| match (&piece.id, &piece.name) {
                (Some(id), _) => it.id.as_ref() == Some(id),
                (None, Some(name)) => it.id.is_none() && it.name.as_ref() == Some(name),
                (None, None) => it.state != State::Ended,
            })
    }
}

impl Gathered {
    fn of(call: &FunctionCall) -> Gathered {
        Gathered {
            state: State::Gathering,
            id: call.id.clone(),
            name: None,
            tree: Tree::default(),
            bytes: call.id.as_ref().map_or(0, String::len),
            problem: None,
        }
    }

    fn add(&mut self, piece: &FunctionCall) {
        if let Some(name) = &piece.name {
            match &self.name {
                None => {
                    self.bytes += name.len();
                    self.name = Some(name.clone());
                }
                Some(first) if first == name => {}
                Some(_) => self.fail("its pieces name two functions"),
            }
        }
        if has_odd_pieces(piece) {
            self.fail("expected `partialArgs` to be a list of pieces");
        }
        if let Some(args) = &piece.args {
            self.grow(args.as_str().len());
            if self.problem.is_none()
                && let Err(problem) = self.tree.begin_with(args.as_str())
            {
                self.fail(&problem);
            }
        }
        for part in &piece.partial_args {
            self.part(part);
        }
    }

    fn part(&mut self, part: &PartialArg) {
        let path = part.json_path.as_deref().unwrap_or_default();
        let text = part.string_value.as_ref().map_or(0, String::len);
        let number = part.number_value.as_ref().map_or(0, |it| it.digits().len());
        self.grow(path.len() + text + number + PIECE_BYTES);
        if self.problem.is_some() {
            return;
        }
        if let Err(problem) = self.tree.put(part) {
            let short: String = path.chars().take(60).collect();
            self.fail(&format!("the piece at {short:?}: {problem}"));
        }
    }

    /// Adds to the size. Beyond the limit the call fails and its pieces are freed.
    fn grow(&mut self, bytes: usize) {
        if self.problem.is_some() {
            return;
        }
        self.bytes += bytes;
        if self.bytes > CALL_BYTES_MAX {
            self.fail(&format!("longer than {CALL_BYTES_MAX} bytes"));
        }
    }

    fn fail(&mut self, problem: &str) {
        self.fail_with(of_arguments(problem));
    }

    fn fail_with(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
        self.tree = Tree::default();
        self.bytes = self.bytes.min(CALL_BYTES_MAX / 64);
    }

    /// Frees the pieces and keeps only the id, by which further pieces are recognized.
    fn drop_pieces(&mut self) {
        let id = self.id.take();
        *self = Gathered {
            state: State::Dropped,
            name: None,
            tree: Tree::default(),
            bytes: id.as_ref().map_or(0, String::len),
            problem: None,
            id,
        };
    }

    /// Returns the failed call. Its further pieces are dropped.
    fn refuse(&mut self) -> Whole {
        let call = FunctionCall {
            id: self.id.clone(),
            name: self.name.take(),
            ..FunctionCall::default()
        };
        let problem = self.problem.take();
        self.drop_pieces();
        (call, problem)
    }

    fn whole(mut self, last: FunctionCall) -> Whole {
        let cut_off = self.tree.open_text();
        if let (None, Some(place)) = (&self.problem, cut_off) {
            self.fail(&format!("the text at {place} was never finished"));
        }
        let args = RawJson::parse(&self.tree.text()).ok();
        let call = FunctionCall {
            id: self.id.or(last.id),
            name: self.name.or(last.name),
            args: args.filter(|_| self.problem.is_none()),
            other: last.other,
            ..FunctionCall::default()
        };
        (call, self.problem)
    }
}

fn of_arguments(problem: &str) -> String {
    format!("the streamed arguments: {problem}")
}

/// True if `partialArgs` is present with an unexpected type.
fn has_odd_pieces(call: &FunctionCall) -> bool {
    call.other.get("partialArgs").is_some() || call.other.get("partial_args").is_some()
}

/// The approximate memory overhead of a piece, in bytes.
const PIECE_BYTES: usize = 64;

const USED_UP: &str = "a call of this id was ended while its arguments were streamed";

const TOO_MUCH: &str = "too much was streamed at a time, and pieces of it are gone";

const LOST: &str = "a message that may have brought a piece of them could not be read";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
#[path = "streamed/streamed_tests.rs"]
mod tests;
