//! A list field that remembers whether it was there.

use std::ops::Deref;

/// The items of a repeated field; reads as a slice.
///
/// An absent list and an empty one mean the same to most fields but not to all (`tools: []` clears
/// the tools), so a message that is read and written again keeps the difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated<T>(Option<Vec<T>>);

impl<T> Repeated<T> {
    /// The list of a field that is not there.
    pub const fn absent() -> Self {
        Self(None)
    }

    /// Whether the field is there, be it empty.
    pub const fn is_present(&self) -> bool {
        self.0.is_some()
    }

    /// The items, taken out.
    pub fn into_vec(self) -> Vec<T> {
        self.0.unwrap_or_default()
    }

    pub(super) fn present(&self) -> Option<&[T]> {
        self.0.as_deref()
    }
}

impl<T> Default for Repeated<T> {
    fn default() -> Self {
        Self::absent()
    }
}

impl<T> Deref for Repeated<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<T> From<Vec<T>> for Repeated<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Some(items))
    }
}

impl<T> FromIterator<T> for Repeated<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(Some(items.into_iter().collect()))
    }
}

impl<'a, T> IntoIterator for &'a Repeated<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for Repeated<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}
