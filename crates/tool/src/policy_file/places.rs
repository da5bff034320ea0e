//! The positions of values in a file. They are computed only after a mistake, so a valid file costs
//! nothing extra.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The positions of all values in a file, computed once for all mistakes.
pub(super) struct Places {
    whole: Place,
    /// The offset of each line.
    lines: Vec<usize>,
}

/// The position of a value, and of its members and items by key or index.
#[derive(Default)]
pub(super) struct Place {
    pub(super) offset: Option<usize>,
    pub(super) inner: BTreeMap<String, Place>,
}

impl Places {
    pub(super) fn of(text: &str) -> Places {
        let whole = if super::mistake::is_json(text) {
            serde_json::from_str(text).map(|it| in_json(text, it)).ok()
        } else {
            super::toml_text::places(text)
        };
        let ends = text.bytes().enumerate().filter(|(_, it)| *it == b'\n');
        Places {
            whole: whole.unwrap_or_default(),
            lines: std::iter::once(0)
                .chain(ends.map(|(at, _)| at + 1))
                .collect(),
        }
    }

    /// Returns the line of the value at `path`, or of the nearest value around it.
    pub(super) fn line(&self, path: &[String]) -> Option<usize> {
        let mut here = &self.whole;
        for step in path {
            match here.inner.get(step) {
                Some(inner) => here = inner,
                None => break,
            }
        }
        let offset = here.offset?;
        Some(self.lines.partition_point(|begins| *begins <= offset))
    }
}

fn in_json(text: &str, value: &RawValue) -> Place {
    let of = |it: &RawValue| in_json(text, it);
    let inner = if let Ok(fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get())
    {
        fields.into_iter().map(|(key, it)| (key, of(it))).collect()
    } else if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
        numbered(items.into_iter().map(of))
    } else {
        BTreeMap::new()
    };
    Place {
        // A raw value is a slice of the text that it was parsed from.
        offset: (value.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize),
        inner,
    }
}

pub(super) fn numbered(items: impl Iterator<Item = Place>) -> BTreeMap<String, Place> {
    let numbered = items.enumerate();
    numbered
        .map(|(index, place)| (index.to_string(), place))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(steps: &[&str]) -> Vec<String> {
        steps.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn json_line_is_that_of_the_nearest_value() {
        let text = "{\n \"tools\": {\n  \"pay\":\n   {\"timeout\": 1,\n    \"x\": [1,\n 2]}}}";
        for (steps, expected) in [
            (&[] as &[&str], 1),
            (&["tools", "pay", "timeout"], 4),
            (&["tools", "pay", "x", "1"], 6),
            (&["tools", "pay", "gone", "y"], 4),
        ] {
            assert_eq!(
                Places::of(text).line(&path(steps)),
                Some(expected),
                "{steps:?}"
            );
        }
    }
}
