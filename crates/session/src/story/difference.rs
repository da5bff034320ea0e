//! The differences between two transcripts, line by line.

use std::fmt;

use super::Story;

/// The lines that differ between two transcripts, with three lines around each change.
///
/// As text, lines of both begin with two spaces, lines of the first alone with `- `, and lines of
/// the second alone with `+ `. `…` replaces further common lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    changes: Vec<Change>,
}

/// One line of a [`Difference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A line of both.
    Kept(String),
    /// A line of the first only.
    Removed(String),
    /// A line of the second only.
    Added(String),
    /// The number of lines of both that are not shown.
    Skipped(usize),
}

/// The number of common lines that are shown around a change.
const AROUND: usize = 3;

/// The maximum number of line pairs in the search for the shortest difference. If there are more,
/// everything between the first and the last change is shown as removed and added.
const PAIRS_MAX: usize = 4_000_000;

impl Difference {
    pub(super) fn between(one: &Story, two: &Story) -> Option<Difference> {
        if one == two {
            return None;
        }
        let changes = around(compared(one.lines(), two.lines()));
        Some(Difference { changes })
    }

    /// Returns the lines of the difference, from top to bottom.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the number of removed and of added lines.
    pub fn count(&self) -> (usize, usize) {
        self.changes
            .iter()
            .fold((0, 0), |(removed, added), it| match it {
                Change::Removed(_) => (removed + 1, added),
                Change::Added(_) => (removed, added + 1),
                Change::Kept(_) | Change::Skipped(_) => (removed, added),
            })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Kept(line) => write!(f, "  {line}"),
            Change::Removed(line) => write!(f, "- {line}"),
            Change::Added(line) => write!(f, "+ {line}"),
            Change::Skipped(lines) => write!(f, "  … {lines} more"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.changes.iter().try_for_each(|it| writeln!(f, "{it}"))
    }
}

/// Returns the line without its number, which changes with every line before it.
fn said(line: &str) -> &str {
    line.trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit())
}

/// Returns all lines of both, each as kept, removed or added.
fn compared(one: &[String], two: &[String]) -> Vec<Change> {
    let before = one.iter().zip(two).take_while(|(a, b)| a == b).count();
    let (one_rest, two_rest) = (
        one.get(before..).unwrap_or_default(),
        two.get(before..).unwrap_or_default(),
    );
    let same_end = |(a, b): &(&String, &String)| a == b;
    let after = one_rest.iter().rev().zip(two_rest.iter().rev());
    let after = after.take_while(same_end).count();
    let middle =
        |it: &[String], length: usize| it.iter().take(length - after).cloned().collect::<Vec<_>>();
    let (removed, added) = (
        middle(one_rest, one_rest.len()),
        middle(two_rest, two_rest.len()),
    );
    let kept = |lines: &[String]| lines.iter().cloned().map(Change::Kept).collect::<Vec<_>>();
    let mut changes = kept(one.get(..before).unwrap_or_default());
    changes.extend(shortest(&removed, &added));
    changes.extend(kept(one.get(one.len() - after..).unwrap_or_default()));
    changes
}

/// Returns the shortest edit script, which keeps the longest common subsequence.
fn shortest(one: &[String], two: &[String]) -> Vec<Change> {
    let removed = |it: &String| Change::Removed(it.clone());
    let added = |it: &String| Change::Added(it.clone());
    if one.len().saturating_mul(two.len()) > PAIRS_MAX {
        return one
            .iter()
            .map(removed)
            .chain(two.iter().map(added))
            .collect();
    }
    // `longest[i][j]`: the length of the longest common subsequence of `one[i..]` and `two[j..]`.
    let mut longest = vec![vec![0_u32; two.len() + 1]; one.len() + 1];
    let at = |table: &[Vec<u32>], i: usize, j: usize| {
        table
            .get(i)
            .and_then(|row| row.get(j))
            .copied()
            .unwrap_or(0)
    };
    for (i, a) in one.iter().enumerate().rev() {
        for (j, b) in two.iter().enumerate().rev() {
            let best = if said(a) == said(b) {
                at(&longest, i + 1, j + 1) + 1
            } else {
                at(&longest, i + 1, j).max(at(&longest, i, j + 1))
            };
            if let Some(cell) = longest.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut changes) = (0, 0, Vec::new());
    loop {
        match (one.get(i), two.get(j)) {
            (Some(a), Some(b)) if said(a) == said(b) => {
                changes.push(Change::Kept(b.clone()));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), Some(_)) if at(&longest, i + 1, j) >= at(&longest, i, j + 1) => {
                changes.push(removed(a));
                i += 1;
            }
            (_, Some(b)) => {
                changes.push(added(b));
                j += 1;
            }
            (Some(a), None) => {
                changes.push(removed(a));
                i += 1;
            }
            (None, None) => return changes,
        }
    }
}

/// Replaces kept lines that are far from any change by their number.
fn around(changes: Vec<Change>) -> Vec<Change> {
    let changed: Vec<usize> = changes
        .iter()
        .enumerate()
        .filter(|(_, it)| matches!(it, Change::Removed(_) | Change::Added(_)))
        .map(|(at, _)| at)
        .collect();
    let near = |at: usize| changed.iter().any(|it| it.abs_diff(at) <= AROUND);
    let mut shown = Vec::new();
    for (at, change) in changes.into_iter().enumerate() {
        if near(at) {
            shown.push(change);
        } else if let Some(Change::Skipped(lines)) = shown.last_mut() {
            *lines += 1;
        } else {
            shown.push(Change::Skipped(1));
        }
    }
    shown
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use super::*;

    fn story(lines: &[&str]) -> Story {
        Story::read(&lines.join("\n"))
    }

    #[test]
    fn a_line_that_moved_down_is_kept_and_only_the_new_one_is_added() {
        let one = story(&["  1  a", "  2  b", "  3  c"]);
        let two = story(&["  1  a", "  2  new", "  3  b", "  4  c"]);
        let difference = one.difference(&two).map(|it| it.to_string());
        let expected = "    1  a\n+   2  new\n    3  b\n    4  c\n";
        assert_eq!(difference.as_deref(), Some(expected));
    }

    #[test]
    fn lines_far_from_a_change_are_counted() {
        let lines: Vec<String> = (1..=20).map(|it| format!("line {it}")).collect();
        let mut other = lines.clone();
        other[9] = "changed".to_owned();
        let (one, two) = (
            Story::read(&lines.join("\n")),
            Story::read(&other.join("\n")),
        );
        let difference = one.difference(&two).map(|it| (it.count(), it.to_string()));
        let (count, text) = difference.unwrap_or_default();
        assert_eq!(count, (1, 1));
        insta::assert_snapshot!(text, @r"
          … 6 more
          line 7
          line 8
          line 9
        - line 10
        + changed
          line 11
          line 12
          line 13
          … 7 more
        ");
    }

    #[test]
    fn shorter_transcript_lacks_the_rest() {
        let difference = story(&["a", "b"]).difference(&story(&["a"]));
        assert_eq!(difference.map(|it| it.count()), Some((1, 0)));
        let difference = story(&["a"]).difference(&story(&["a", "b"]));
        assert_eq!(difference.map(|it| it.count()), Some((0, 1)));
    }
}
