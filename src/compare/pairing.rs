//! The turns and calls that two stories have in common.

use std::collections::{BTreeMap, BTreeSet};

use super::alignment::{Aligned, align, between};
use super::story::Story;

/// The turns of two stories, aligned.
pub(super) struct Turns {
    pub(super) aligned: Vec<Aligned>,
    /// The turn of `a` for each paired turn of `b`.
    of_b: BTreeMap<usize, usize>,
}

/// A turn, named the same way in both stories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TurnOf {
    /// A turn of `a`, and its partner in `b` if it has one.
    A(usize),
    /// A turn that only `b` has.
    B(usize),
}

impl Turns {
    pub(super) fn of(a: &Story, b: &Story) -> Turns {
        let aligned = align(&turn_keys(a), &turn_keys(b));
        // A turn without an equal is paired with one in which the user said the same.
        let aligned = between(&aligned, |of_a, of_b| {
            let words_a: Vec<&str> = of_a.iter().map(|at| user(a, *at)).collect();
            let words_b: Vec<&str> = of_b.iter().map(|at| user(b, *at)).collect();
            let both = align(&words_a, &words_b).into_iter();
            both.filter_map(|it| match it {
                Aligned::Both(at, to) => Some((*of_a.get(at)?, *of_b.get(to)?)),
                Aligned::OnlyA(_) | Aligned::OnlyB(_) => None,
            })
            .collect()
        });
        // The rest is paired by position, unless an unpaired turn of the other story has the same
        // words. A turn that has its equal is never paired again.
        let left_a = left(&aligned, |it| match it {
            Aligned::OnlyA(at) => Some(user(a, at)),
            Aligned::OnlyB(_) | Aligned::Both(_, _) => None,
        });
        let left_b = left(&aligned, |it| match it {
            Aligned::OnlyB(at) => Some(user(b, at)),
            Aligned::OnlyA(_) | Aligned::Both(_, _) => None,
        });
        let aligned = between(&aligned, |of_a, of_b| {
            let of_a = of_a.iter().filter(|at| !left_b.contains(user(a, **at)));
            let of_b = of_b.iter().filter(|at| !left_a.contains(user(b, **at)));
            of_a.copied().zip(of_b.copied()).collect()
        });
        let both = aligned.iter().filter_map(|it| match it {
            Aligned::Both(at, of_b) => Some((*of_b, *at)),
            Aligned::OnlyA(_) | Aligned::OnlyB(_) => None,
        });
        // Events after the last turn are paired with each other.
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

/// The indices of the events that belong to no call: those in `a` alone, and those in `b` alone.
type Alone = (Vec<usize>, Vec<usize>);

/// The events that belong to no call and that only one story has, by turn.
///
/// Equal events of a turn are paired in order. A turn that only one story has, has no counterpart
/// in the other. An unpaired event of such a turn is therefore paired with any equal, unpaired
/// event of the other story.
pub(super) fn events(a: &Story, b: &Story, turns: &Turns) -> BTreeMap<TurnOf, Alone> {
    let mut alone: BTreeMap<TurnOf, Alone> = BTreeMap::new();
    for (at, it) in a.events.iter().enumerate() {
        alone.entry(TurnOf::A(it.turn)).or_default().0.push(at);
    }
    for (at, it) in b.events.iter().enumerate() {
        alone.entry(turns.of_b(it.turn)).or_default().1.push(at);
    }
    for (of_a, of_b) in alone.values_mut() {
        let said_a: Vec<&str> = of_a.iter().map(|at| said(a, *at)).collect();
        let said_b: Vec<&str> = of_b.iter().map(|at| said(b, *at)).collect();
        let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
        for it in align(&said_a, &said_b) {
            match it {
                Aligned::Both(_, _) => {}
                Aligned::OnlyA(at) => only_a.extend(of_a.get(at)),
                Aligned::OnlyB(at) => only_b.extend(of_b.get(at)),
            }
        }
        (*of_a, *of_b) = (only_a, only_b);
    }
    let shared: BTreeSet<TurnOf> = turns.of_b.values().map(|at| TurnOf::A(*at)).collect();
    let mut left: BTreeMap<(&str, bool), Vec<usize>> = BTreeMap::new();
    for (turn, (_, of_b)) in alone.iter().rev() {
        for at in of_b.iter().rev() {
            let key = (said(b, *at), shared.contains(turn));
            left.entry(key).or_default().push(*at);
        }
    }
    let mut taken = BTreeSet::new();
    for (turn, (of_a, _)) in &mut alone {
        of_a.retain(|at| {
            let mut take = |is_shared| left.get_mut(&(said(a, *at), is_shared))?.pop();
            let same = match (take(false), shared.contains(turn)) {
                (None, false) => take(true),
                (same, _) => same,
            };
            taken.extend(same);
            same.is_none()
        });
    }
    for (_, of_b) in alone.values_mut() {
        of_b.retain(|at| !taken.contains(at));
    }
    alone
}

/// The content of an event.
fn said(story: &Story, event: usize) -> &str {
    story.events.get(event).map_or("", |it| it.said.as_str())
}

/// The words of the user in a turn.
fn user(story: &Story, turn: usize) -> &str {
    story.turns.get(turn).map_or("", |it| it.user.trim())
}

/// The words of the turns without a partner.
fn left<'a>(aligned: &[Aligned], said: impl Fn(Aligned) -> Option<&'a str>) -> BTreeSet<&'a str> {
    aligned.iter().filter_map(|it| said(*it)).collect()
}

/// The keys by which turns are paired: the words of the user, and the tools that were called.
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

/// The partner of a call: its index in `b`, and the range within which it has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) b: usize,
    pub(super) moved: Option<PairScope>,
}

/// The calls of `a` that are also in `b`, by index.
///
/// Equal calls in the same turn are paired first, then equal calls anywhere. The remaining calls of
/// a turn are paired by tool.
pub(super) fn calls(a: &Story, b: &Story, turns: &Turns) -> BTreeMap<usize, Pair> {
    let mut left = Unpaired::of(a, b, turns);
    let mut pairs = BTreeMap::new();
    left.in_place(&mut pairs, Key::clone);
    left.moved(&mut pairs, PairScope::Turn);
    left.moved(&mut pairs, PairScope::Story);
    left.in_place(&mut pairs, |(_, tool, _)| tool.clone());
    pairs
}

/// The range within which equal calls are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairScope {
    Turn,
    Story,
}

/// The key of a call: its turn, its tool, and its arguments.
type Key = (TurnOf, String, String);

/// The calls without a partner.
struct Unpaired {
    a: Vec<(usize, Key)>,
    b: Vec<(usize, Key)>,
}

impl Unpaired {
    fn of(a: &Story, b: &Story, turns: &Turns) -> Unpaired {
        let keys = |of: &Story, turn: &dyn Fn(usize) -> TurnOf| {
            let calls = of.calls.iter().enumerate();
            let key = |(at, call): (usize, &super::story::CallTold)| {
                let (tool, args) = (call.tool.clone(), call.args.canonical());
                (at, (turn(call.turn), tool, args))
            };
            calls.map(key).collect()
        };
        Unpaired {
            a: keys(a, &TurnOf::A),
            b: keys(b, &|turn| turns.of_b(turn)),
        }
    }

    /// Pairs calls that have the same turn and key, in the same order.
    fn in_place<K: Ord + std::hash::Hash>(
        &mut self,
        pairs: &mut BTreeMap<usize, Pair>,
        known_by: impl Fn(&Key) -> K,
    ) {
        let (by_turn_a, by_turn_b) = (by_turn(&self.a), by_turn(&self.b));
        for (turn, of_a) in &by_turn_a {
            let Some(of_b) = by_turn_b.get(turn) else {
                continue;
            };
            let keys = |of: &[&(usize, Key)]| -> Vec<K> {
                of.iter().map(|(_, key)| known_by(key)).collect()
            };
            for it in align(&keys(of_a), &keys(of_b)) {
                if let Aligned::Both(at, to) = it
                    && let (Some((at, _)), Some((b, _))) = (of_a.get(at), of_b.get(to))
                {
                    let (b, moved) = (*b, None);
                    pairs.insert(*at, Pair { b, moved });
                }
            }
        }
        self.without(pairs);
    }

    /// Pairs equal calls at different places, in the order of `a`.
    fn moved(&mut self, pairs: &mut BTreeMap<usize, Pair>, scope: PairScope) {
        let key = |(turn, tool, args): &Key| match scope {
            PairScope::Turn => (Some(*turn), tool.clone(), args.clone()),
            PairScope::Story => (None, tool.clone(), args.clone()),
        };
        let mut elsewhere: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, of_b) in self.b.iter().rev() {
            elsewhere.entry(key(of_b)).or_default().push(*at);
        }
        for (at, of_a) in &self.a {
            if let Some(b) = elsewhere.get_mut(&key(of_a)).and_then(Vec::pop) {
                let moved = Some(scope);
                pairs.insert(*at, Pair { b, moved });
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
