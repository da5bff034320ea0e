//! Assignment of an element of a list of calls to the unfinished call that it continues.
//!
//! An element with an id belongs to the call with that id. Vertex may omit ids: a first piece then
//! has the name of the function, and its continuations have the name or nothing. Two calls of one
//! function look alike, so an element that may belong to several calls fails all of them.

use std::collections::BTreeSet;

use super::{State, Streamed, comes_in_pieces};
use crate::live::wire::{CallRead, FunctionCall};

/// The call of an element.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The element is a call of its own, or the first piece of one.
    Apart,
    /// The element continues the unfinished call at this position.
    Open(usize),
    /// The element may belong to several calls.
    Unclear,
}

impl Streamed {
    /// Begins a list of calls, whose elements are separate calls. Each element is then
    /// [taken](Streamed::take), in order.
    pub(in crate::live) fn begin_list(&mut self, calls: &[CallRead]) {
        self.list += 1;
        let (mut names, mut repeated) = (BTreeSet::new(), BTreeSet::new());
        for call in calls {
            let name = match call {
                CallRead::Call(call) | CallRead::Malformed(call, _) => {
                    let has_id = call.id.as_ref().is_some_and(|id| !id.is_empty());
                    let counts = !has_id && may_continue(call);
                    call.name.as_ref().filter(|_| counts)
                }
                CallRead::Unreadable { name, .. } => name.as_ref(),
            };
            if let Some(name) = name.filter(|name| !names.insert(*name)) {
                repeated.insert(name);
            }
        }
        let is_open = |name: &&&String| self.gathering(Some(name.as_str())).next().is_some();
        self.contested = repeated
            .iter()
            .filter(is_open)
            .map(|it| (*it).clone())
            .collect();
    }

    /// Finds the call of an element.
    pub(super) fn target(&self, call: &FunctionCall) -> Target {
        if let Some(id) = &call.id {
            let known = self.open.iter().rposition(|it| it.id.as_ref() == Some(id));
            return known.map_or(Target::Apart, Target::Open);
        }
        if !may_continue(call) {
            return Target::Apart;
        }
        let name = call.name.as_deref();
        if name.is_some_and(|name| self.contested.contains(name)) {
            return Target::Unclear;
        }
        // A named element with arguments is another call than the other elements of its list.
        let is_end = !comes_in_pieces(call);
        let is_apart = |at: &usize| name.is_some() && self.is_of_this_list(*at);
        let open = self.gathering(name);
        let open: Vec<usize> = open.filter(|at| is_end || !is_apart(at)).collect();
        let dropped = self.dropped(name).next_back();
        match (open.as_slice(), dropped) {
            ([], None) => Target::Apart,
            ([], Some(dropped)) => Target::Open(dropped),
            ([at], dropped) if dropped.is_none_or(|it| it < *at) && !is_apart(at) => {
                Target::Open(*at)
            }
            ([..], _) => Target::Unclear,
        }
    }

    /// The positions of the unfinished calls of a function, or of all, that gather pieces.
    pub(super) fn gathering(&self, name: Option<&str>) -> impl DoubleEndedIterator<Item = usize> {
        self.in_state(State::Gathering, name)
    }

    /// The positions of the dropped calls of a function, or of all, whose last piece is missing.
    pub(super) fn dropped(&self, name: Option<&str>) -> impl DoubleEndedIterator<Item = usize> {
        self.in_state(State::Dropped, name)
    }

    fn in_state(&self, state: State, name: Option<&str>) -> impl DoubleEndedIterator<Item = usize> {
        let open = self.open.iter().enumerate().filter(move |(_, it)| {
            let is_of_name = name.is_none_or(|name| it.name.as_deref() == Some(name));
            it.state == state && is_of_name
        });
        open.map(|(at, _)| at)
    }

    /// True if an element of the current list belongs to the call at this position.
    pub(super) fn is_of_this_list(&self, at: usize) -> bool {
        self.open.get(at).is_some_and(|it| it.list == self.list)
    }
}

/// True if an element has complete arguments.
pub(super) fn is_whole(call: &FunctionCall) -> bool {
    call.args.is_some() && !comes_in_pieces(call)
}

/// True if an element without an id may continue an unfinished call.
///
/// Complete arguments belong to a call of their own. So does a name without arguments that
/// announces pieces, because a call starts that way.
fn may_continue(call: &FunctionCall) -> bool {
    let has_name = call.name.as_ref().is_some_and(|name| !name.is_empty());
    let starts = has_name && call.will_continue == Some(true) && !comes_in_pieces(call);
    !is_whole(call) && !starts
}
