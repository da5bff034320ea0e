//! A list field that remembers whether it is present.

use std::ops::Deref;

/// The items of a list field, which dereferences to a slice.
///
/// For most fields, an absent list and an empty one mean the same. For some they differ
/// (`tools: []` removes the tools), so reading and writing a message keeps the difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated<T>(Option<Vec<T>>);

impl<T> Repeated<T> {
    /// The list of an absent field.
    pub const fn absent() -> Self {
        Self(None)
    }

    /// True if the field is present, even if the list is empty.
    pub const fn is_present(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the items by value.
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
