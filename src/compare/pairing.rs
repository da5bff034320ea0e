//! Which turns and calls of two stories are the same ones.

use std::collections::{BTreeMap, BTreeSet};

use super::alignment::{Aligned, align};
use super::story::Story;

/// The turns of two stories, side by side.
pub(super) struct Turns {
    pub(super) aligned: Vec<Aligned>,
    /// The turn of `a` that stands for one of `b`.
    of_b: BTreeMap<usize, usize>,
}

/// A turn as both stories know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TurnOf {
    /// A turn of `a`, and the one of `b` that is the same.
    A(usize),
    /// A turn that only `b` has.
    B(usize),
}

impl Turns {
    pub(super) fn of(a: &Story, b: &Story) -> Turns {
        // Without an equal it is the one in which the user said the same, or the one in its place that nobody else claims.
        let said = |of: &Story, at: usize| of.turns.get(at).map(|it| it.user.trim().to_owned());
        let says = |of: &Story, user: &str| of.turns.iter().any(|it| it.user.trim() == user);
        let aligned = align(&turn_keys(a), &turn_keys(b), |at, of_b| {
            let (Some(one), Some(other)) = (said(a, at), said(b, of_b)) else {
                return false;
            };
            one == other || !says(b, &one) && !says(a, &other)
        });
        let both = aligned.iter().filter_map(|it| match it {
            Aligned::Both(at, of_b) => Some((*of_b, *at)),
            Aligned::OnlyA(_) | Aligned::OnlyB(_) => None,
        });
        // What comes behind the last turn has its place there.
        let behind = (b.turns.len(), a.turns.len());
        let of_b = both.chain([behind]).collect();
        Turns { aligned, of_b }
    }

    pub(super) fn of_b(&self, turn: usize) -> TurnOf {
        self.of_b
            .get(&turn)
            .map_or(TurnOf::B(turn), |it| TurnOf::A(*it))
    }
}

/// What turns are known by: what the user said, and which tools were called.
fn turn_keys(story: &Story) -> Vec<(String, Vec<String>)> {
    let of_user = |turn: &super::story::Turn| (turn.user.trim().to_owned(), Vec::new());
    let mut keys: Vec<(String, Vec<String>)> = story.turns.iter().map(of_user).collect();
    for call in &story.calls {
        if let Some((_, tools)) = keys.get_mut(call.turn) {
            tools.push(call.tool.clone());
        }
    }
    keys
}

/// A call that both stories have: its places, and whether it comes elsewhere in `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) b: usize,
    pub(super) moved: bool,
}

/// The calls of `a` that `b` has, too.
///
/// Within a turn equal calls belong together; then equal ones, wherever they stand; only what is left of a turn is paired by its tool.
pub(super) fn calls(a: &Story, b: &Story, turns: &Turns) -> BTreeMap<usize, Pair> {
    let mut left = Left::of(a, b, turns);
    let mut pairs = BTreeMap::new();
    left.in_place(&mut pairs, |_, _| false);
    left.moved(&mut pairs, Whose::Turn);
    left.moved(&mut pairs, Whose::Story);
    let tool = |of: &Story, at: usize| of.calls.get(at).map(|it| it.tool.clone());
    left.in_place(&mut pairs, |at, of_b| tool(a, at) == tool(b, of_b));
    pairs
}

/// Within what equal calls belong together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Turn,
    Story,
}

/// A call as it is known: its turn, its tool, its arguments.
type Key = (TurnOf, String, String);

/// What has no partner yet.
struct Left {
    a: Vec<(usize, Key)>,
    b: Vec<(usize, Key)>,
}

impl Left {
    fn of(a: &Story, b: &Story, turns: &Turns) -> Left {
        let keys = |of: &Story, turn: &dyn Fn(usize) -> TurnOf| {
            let calls = of.calls.iter().enumerate();
            let key = |(at, call): (usize, &super::story::CallTold)| {
                let (tool, args) = (call.tool.clone(), call.args.canonical());
                (at, (turn(call.turn), tool, args))
            };
            calls.map(key).collect()
        };
        Left {
            a: keys(a, &TurnOf::A),
            b: keys(b, &|turn| turns.of_b(turn)),
        }
    }

    /// Pairs what stands in one order in a turn of both.
    fn in_place(
        &mut self,
        pairs: &mut BTreeMap<usize, Pair>,
        alike: impl Fn(usize, usize) -> bool,
    ) {
        let turns: BTreeSet<TurnOf> = self.a.iter().map(|(_, (turn, ..))| *turn).collect();
        let (by_turn_a, by_turn_b) = (by_turn(&self.a), by_turn(&self.b));
        for turn in turns {
            let (Some(of_a), Some(of_b)) = (by_turn_a.get(&turn), by_turn_b.get(&turn)) else {
                continue;
            };
            let key = |it: &&(usize, Key)| it.1.clone();
            let keys_a: Vec<Key> = of_a.iter().map(key).collect();
            let keys_b: Vec<Key> = of_b.iter().map(key).collect();
            let place = |of: &[&(usize, Key)], at: usize| of.get(at).map(|it| it.0);
            let aligned = align(
                &keys_a,
                &keys_b,
                |at, to| matches!((place(of_a, at), place(of_b, to)), (Some(at), Some(to)) if alike(at, to)),
            );
            for it in aligned {
                if let Aligned::Both(at, to) = it
                    && let (Some(at), Some(b)) = (place(of_a, at), place(of_b, to))
                {
                    pairs.insert(at, Pair { b, moved: false });
                }
            }
        }
        self.without(pairs);
    }

    /// Pairs what is equal and stands elsewhere, the first of them first.
    fn moved(&mut self, pairs: &mut BTreeMap<usize, Pair>, whose: Whose) {
        let key = |(turn, tool, args): &Key| match whose {
            Whose::Turn => (Some(*turn), tool.clone(), args.clone()),
            Whose::Story => (None, tool.clone(), args.clone()),
        };
        let mut elsewhere: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, of_b) in self.b.iter().rev() {
            elsewhere.entry(key(of_b)).or_default().push(*at);
        }
        for (at, of_a) in &self.a {
            if let Some(b) = elsewhere.get_mut(&key(of_a)).and_then(Vec::pop) {
                pairs.insert(*at, Pair { b, moved: true });
            }
        }
        self.without(pairs);
    }

    fn without(&mut self, pairs: &BTreeMap<usize, Pair>) {
        let taken: BTreeSet<usize> = pairs.values().map(|it| it.b).collect();
        self.a.retain(|(at, _)| !pairs.contains_key(at));
        self.b.retain(|(at, _)| !taken.contains(at));
    }
}

fn by_turn(calls: &[(usize, Key)]) -> BTreeMap<TurnOf, Vec<&(usize, Key)>> {
    let mut by_turn: BTreeMap<TurnOf, Vec<&(usize, Key)>> = BTreeMap::new();
    for call in calls {
        by_turn.entry(call.1.0).or_default().push(call);
    }
    by_turn
}
