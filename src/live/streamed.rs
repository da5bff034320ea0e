//! Calls whose arguments come in pieces, gathered until they are whole.
//!
//! One of these belongs to each connection and ends with it: a call that was never finished is no
//! call. What is wrong with the pieces of a call is told of that call, once it is finished.

mod path;
mod tree;

use self::tree::Tree;
use super::wire::{FunctionCall, PartialArg, RawJson};

/// The maximum number of calls of one connection whose arguments are under way.
const CALLS_MAX: usize = 256;

/// The maximum length of what one call brings, in bytes; longer arguments do not go on record.
const CALL_BYTES_MAX: usize = 512 << 10;

/// The maximum length of what all of them bring, in bytes.
const BYTES_MAX: usize = 4 << 20;

/// The maximum number of dropped calls of one connection whose ids are kept.
const DROPPED_MAX: usize = 256;

/// The maximum length of their ids, in bytes.
const DROPPED_BYTES_MAX: usize = 1 << 20;

/// The calls of one connection whose arguments are under way.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    /// Dropped calls are among them, so that their further pieces are known.
    open: Vec<Gathered>,
    /// Set once a piece was dropped because too much was under way: a call without arguments may
    /// be the end of a call whose pieces are gone.
    overflowed: bool,
}

/// A call that is whole, and what is wrong with its pieces.
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
    /// The call was cancelled, or refused before its end; further pieces are dropped.
    Dropped,
    /// The last piece of a dropped call came.
    Ended,
}

impl Streamed {
    /// Takes a call or a piece of one, with what is malformed about it; returns the call that is
    /// whole now, or has failed.
    pub(super) fn take(
        &mut self,
        mut call: FunctionCall,
        malformed: Option<String>,
    ) -> Option<Whole> {
        call.id = call.id.filter(|id| !id.is_empty());
        call.name = call.name.filter(|name| !name.is_empty());
        let goes_on = call.will_continue == Some(true);
        let comes_in_pieces = !call.partial_args.is_empty() || has_odd_pieces(&call);
        let at = self.position(&call);
        if let Some(dropped) = at.and_then(|at| self.open.get_mut(at))
            && dropped.state != State::Gathering
        {
            let is_whole = !goes_on && !comes_in_pieces && call.args.is_some();
            let is_next = dropped.state == State::Ended && is_whole;
            if !goes_on {
                dropped.state = State::Ended;
            }
            return is_next.then(|| (call, Some(of_arguments(USED_UP))));
        }
        if at.is_none() && !goes_on && !comes_in_pieces {
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
        if !goes_on {
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

    /// Fails the calls under way to which a lost piece may belong: those of function `name`, or
    /// all. Returns those that are refused at once.
    ///
    /// Without the piece their arguments would have a hole that nothing else shows. It may have
    /// been the last piece, so a call with an id does not wait for another one. Without an id,
    /// further pieces could not be told from a new call, so that call fails at its end.
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

    /// Drops calls that the service takes back, with the pieces that still come.
    pub(super) fn cancel(&mut self, ids: &[String]) {
        let is_meant = |it: &Gathered| {
            let is_named = it.id.as_ref().is_some_and(|id| ids.contains(id));
            is_named && it.state == State::Gathering
        };
        let meant = self.open.iter_mut().filter(|it| is_meant(it));
        meant.for_each(Gathered::drop_pieces);
        self.bound_dropped();
    }

    /// Forgets the oldest of too many dropped calls, those first that have ended. The pieces of the
    /// others are not known any more, as if they had been too much.
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

    /// The number of calls in such a state, and the length of what they brought.
    fn count(&self, is_meant: impl Fn(State) -> bool) -> (usize, usize) {
        let meant = self.open.iter().filter(|it| is_meant(it.state));
        meant.fold((0, 0), |(calls, bytes), it| (calls + 1, bytes + it.bytes))
    }

    /// True while a call is under way.
    pub(crate) fn is_open(&self) -> bool {
        self.open.iter().any(|it| it.state == State::Gathering)
    }

    /// The call that a piece belongs to: the one of its id; without an id, the newest of its name;
    /// without either, the newest of all.
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

    /// Counts what came; once it is too much, nothing of it is kept.
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

    /// Keeps the id alone, by which further pieces are known.
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

    /// The failed call, whose further pieces are dropped.
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

/// True if `partialArgs` is there and is not what it should be.
fn has_odd_pieces(call: &FunctionCall) -> bool {
    call.other.get("partialArgs").is_some() || call.other.get("partial_args").is_some()
}

/// The memory that a piece takes beyond its own bytes, about.
const PIECE_BYTES: usize = 64;

const USED_UP: &str = "a call of this id was ended while its arguments were streamed";

const TOO_MUCH: &str = "too much was streamed at a time, and pieces of it are gone";

const LOST: &str = "a message that may have brought a piece of them could not be read";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
#[path = "streamed/streamed_tests.rs"]
mod tests;
