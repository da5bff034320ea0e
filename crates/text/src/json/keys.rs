//! The keys of the open objects of a check. A few keys need no allocation.

/// The keys of the open objects, those of the innermost last.
pub(super) struct Keys<'a> {
    text: &'a [u8],
    few: [Span; FEW],
    more: Vec<Span>,
    count: usize,
    unescaped: Vec<u8>,
}

/// The number of keys that need no allocation.
const FEW: usize = 32;
/// The number of keys of one object that are compared one by one. More keys are sorted when the
/// object closes.
const ONE_BY_ONE: usize = 16;

/// A key, as a range of the text or, after its end, of the unescaped keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// The position of the opening quote.
    pub(super) quoted_at: usize,
    start: usize,
    length: usize,
}

impl Span {
    pub(super) fn new(quoted_at: usize, start: usize, length: usize) -> Self {
        Self {
            quoted_at,
            start,
            length,
        }
    }
}

impl<'a> Keys<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            few: [Span::default(); FEW],
            more: Vec::new(),
            count: 0,
            unescaped: Vec::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn unescaped(&mut self, quoted_at: usize, key: &str) -> Span {
        let start = self.text.len() + self.unescaped.len();
        self.unescaped.extend_from_slice(key.as_bytes());
        Span::new(quoted_at, start, key.len())
    }

    pub(super) fn bytes(&self, key: Span) -> &[u8] {
        let (from, start) = match key.start.checked_sub(self.text.len()) {
            Some(start) => (self.unescaped.as_slice(), start),
            None => (self.text, key.start),
        };
        from.get(start..start + key.length).unwrap_or_default()
    }

    /// Returns the keys from `first` on.
    fn since(&self, first: usize) -> impl Iterator<Item = Span> {
        let few = self.few.get(first..self.count.min(FEW)).unwrap_or_default();
        let more = self.more.get(first.saturating_sub(FEW)..);
        few.iter().chain(more.unwrap_or_default()).copied()
    }

    /// Adds a key to the object whose keys begin at `first`. Returns false if the key is known to
    /// be a repetition.
    ///
    /// `seen` has a mark for each key of this object, computed so that equal keys have equal marks.
    /// A key with a new mark is new. Keys with the same mark are compared.
    pub(super) fn add(&mut self, first: usize, key: Span, seen: &mut u64) -> bool {
        let new = self.bytes(key);
        let ends = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(*byte));
        let sum = new.len() * 7 + ends(new.first()) * 3 + ends(new.last());
        let mark = 1 << (sum % 64);
        let may_be_there = *seen & mark != 0;
        *seen |= mark;
        if may_be_there
            && self.count - first < ONE_BY_ONE
            && self
                .since(first)
                .any(|old| old.length == key.length && self.bytes(old) == new)
        {
            return false;
        }
        match self.few.get_mut(self.count) {
            Some(place) => *place = key,
            None => self.more.push(key),
        }
        self.count += 1;
        true
    }

    /// Removes the keys of a closed object. Returns the first key that repeats an earlier one.
    pub(super) fn close(&mut self, first: usize) -> Option<Span> {
        let repeated = if self.count - first > ONE_BY_ONE {
            self.repeated(first)
        } else {
            None
        };
        self.count = first;
        self.more.truncate(first.saturating_sub(FEW));
        repeated
    }

    fn repeated(&self, first: usize) -> Option<Span> {
        let mut sorted: Vec<Span> = self.since(first).collect();
        sorted.sort_unstable_by_key(|key| (self.bytes(*key), key.quoted_at));
        let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
        let same = pairs
            .by_ref()
            .filter(|(one, other)| self.bytes(**one) == self.bytes(**other));
        same.map(|(_, later)| *later)
            .min_by_key(|key| key.quoted_at)
    }
}
