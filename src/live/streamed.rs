//! Collection of calls whose arguments arrive in pieces.
//!
//! Each connection has one [`Streamed`]. It ends with the connection: an unfinished call is no
//! call. A fault in a piece is reported for its call, when the call is complete.

mod path;
mod target;
mod tree;

use std::collections::BTreeSet;

use self::target::{Target, is_whole};
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
    /// The number of the current list of calls.
    list: u64,
    /// The functions of unfinished calls that several elements of the current list may continue.
    contested: BTreeSet<String>,
}

/// A complete call, and the fault of its pieces.
pub(super) type Whole = (FunctionCall, Option<String>);

#[derive(Debug)]
struct Gathered {
    state: State,
    /// The number of the list with the newest piece.
    list: u64,
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
    /// Adds a call or a piece of one, with its fault if it is malformed. Returns the calls that are
    /// now complete or have failed.
    pub(super) fn take(&mut self, mut call: FunctionCall, malformed: Option<String>) -> Vec<Whole> {
        call.id = call.id.filter(|id| !id.is_empty());
        call.name = call.name.filter(|name| !name.is_empty());
        match self.target(&call) {
            Target::Apart => Vec::from_iter(self.begin(call, malformed)),
            Target::Open(at) => Vec::from_iter(self.grow(at, call, malformed)),
            Target::Unclear => self.refuse_unclear(call, malformed),
        }
    }

    /// Takes a call, or the first piece of one.
    fn begin(&mut self, call: FunctionCall, malformed: Option<String>) -> Option<Whole> {
        if call.will_continue != Some(true) && !comes_in_pieces(&call) {
            let lost = self.overflowed && call.args.is_none();
            return Some((call, malformed.or(lost.then(|| of_arguments(TOO_MUCH)))));
        }
        let mut gathered = Gathered::of(&call);
        if let Some(problem) = malformed {
            gathered.fail_with(problem);
        } else if self.overflowed {
            gathered.fail(TOO_MUCH);
        }
        self.gather(gathered, call)
    }

    /// Takes a piece of the unfinished call at this position.
    fn grow(&mut self, at: usize, call: FunctionCall, malformed: Option<String>) -> Option<Whole> {
        let known = self.open.get_mut(at)?;
        if known.state != State::Gathering {
            let is_next =
                known.state == State::Ended && call.will_continue != Some(true) && is_whole(&call);
            self.swallow(at, &call);
            return is_next.then(|| (call, Some(of_arguments(USED_UP))));
        }
        if is_whole(&call) {
            // The service contradicts itself, so neither of the two may run.
            known.fail(WHOLE_AS_PIECE);
            let refused = known.refuse();
            self.bound_dropped();
            return Some(refused);
        }
        let mut gathered = self.open.remove(at);
        if let Some(problem) = malformed {
            gathered.fail_with(problem);
        }
        self.gather(gathered, call)
    }

    /// Adds a piece to its call. Returns the call if it is now complete.
    fn gather(&mut self, mut gathered: Gathered, piece: FunctionCall) -> Option<Whole> {
        gathered.list = self.list;
        gathered.add(&piece);
        if piece.will_continue != Some(true) {
            return Some(gathered.whole(piece));
        }
        let (open, bytes) = self.count(|state| state == State::Gathering);
        if open < CALLS_MAX && bytes + gathered.bytes <= BYTES_MAX {
            self.open.push(gathered);
        } else {
            self.overflowed = true;
        }
        None
    }

    /// Drops a piece of a dropped call.
    fn swallow(&mut self, at: usize, piece: &FunctionCall) {
        let list = self.list;
        let Some(dropped) = self.open.get_mut(at) else {
            return;
        };
        dropped.list = list;
        if piece.will_continue == Some(true) {
            return;
        }
        dropped.state = State::Ended;
        // Only an id can be used up.
        if dropped.id.is_none() {
            self.open.remove(at);
        }
    }

    /// Fails the calls to which an element may belong. The element runs nowhere.
    ///
    /// Each call remains as a dropped one until its last piece, or that piece would run alone.
    fn refuse_unclear(&mut self, piece: FunctionCall, malformed: Option<String>) -> Vec<Whole> {
        let name = piece.name.as_deref();
        let problem = unclear(name);
        let mut refused = Vec::new();
        for at in Vec::from_iter(self.gathering(name)) {
            if let Some(gathered) = self.open.get_mut(at) {
                gathered.fail(&problem);
                refused.push(gathered.refuse());
            }
        }
        // Another element of this list may have been the piece of each of these calls.
        let is_free = |at: &usize| name.is_none() || !self.is_of_this_list(*at);
        let dropped = self.dropped(name).rev().find(is_free);
        if let Some(at) = dropped {
            self.swallow(at, &piece);
        } else {
            let mut own = Gathered::of(&piece);
            own.list = self.list;
            own.name.clone_from(&piece.name);
            own.fail_with(malformed.unwrap_or_else(|| of_arguments(&problem)));
            refused.push(own.refuse());
            if piece.will_continue == Some(true) {
                self.open.push(own);
            }
        }
        self.bound_dropped();
        refused
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
}

impl Gathered {
    fn of(call: &FunctionCall) -> Gathered {
        Gathered {
            state: State::Gathering,
            list: 0,
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

    /// Frees the pieces and keeps the id and the name, by which further pieces are recognized.
    fn drop_pieces(&mut self) {
        let (id, name) = (self.id.take(), self.name.take());
        let bytes = |it: &Option<String>| it.as_ref().map_or(0, String::len);
        *self = Gathered {
            state: State::Dropped,
            list: self.list,
            tree: Tree::default(),
            bytes: bytes(&id) + bytes(&name),
            problem: None,
            id,
            name,
        };
    }

    /// Returns the failed call. Its further pieces are dropped.
    fn refuse(&mut self) -> Whole {
        let call = FunctionCall {
            id: self.id.clone(),
            name: self.name.clone(),
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

/// The fault of calls to which an element without an id may belong.
fn unclear(name: Option<&str>) -> String {
    let name = name.map(|name| name.chars().take(60).collect::<String>());
    let calls = name.map_or("calls".to_owned(), |name| format!("calls of {name:?}"));
    format!("expected an id, found a piece without one that may belong to several {calls}")
}

/// True if an element has pieces of arguments, well-formed or not.
fn comes_in_pieces(call: &FunctionCall) -> bool {
    !call.partial_args.is_empty() || has_odd_pieces(call)
}

/// True if `partialArgs` is present with an unexpected type.
fn has_odd_pieces(call: &FunctionCall) -> bool {
    call.other.get_field("partialArgs").is_some()
}

/// The approximate memory overhead of a piece, in bytes.
const PIECE_BYTES: usize = 64;

const USED_UP: &str = "a call of this id was ended while its arguments were streamed";

const WHOLE_AS_PIECE: &str =
    "expected `partialArgs` for the unfinished call of this id, found complete `args`";

const TOO_MUCH: &str = "too much was streamed at a time, and pieces of it are gone";

const LOST: &str = "a message that may have brought a piece of them could not be read";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
#[path = "streamed/streamed_tests.rs"]
mod tests;
