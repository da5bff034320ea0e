//! What a bench with a main of its own is told on the command line, spelt as criterion spells it.

/// How much is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Effort {
    /// What the recorded figures come from.
    Full,
    /// `--quick`: shorter and coarser.
    Quick,
    /// `--test`, or a run that `cargo bench` did not start: only whether it works.
    Test,
}

/// The command line, read.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) effort: Effort,
    filters: Vec<String>,
    values: Vec<(String, String)>,
}

impl Arguments {
    /// Reads the command line. Options named in `with_value` take one; other options are
    /// criterion's and mean nothing here.
    pub(crate) fn read(with_value: &[&str]) -> Self {
        let (mut filters, mut values) = (Vec::new(), Vec::new());
        let (mut bench, mut quick, mut test) = (false, false, false);
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => bench = true,
                "--quick" => quick = true,
                "--test" => test = true,
                option if with_value.contains(&option) => {
                    let value = words.next().expect("a value behind the option");
                    values.push((word, value));
                }
                option if option.starts_with('-') => {}
                filter => filters.push(filter.to_owned()),
            }
        }
        let effort = match (test || !bench, quick) {
            (true, _) => Effort::Test,
            (false, true) => Effort::Quick,
            (false, false) => Effort::Full,
        };
        Self {
            effort,
            filters,
            values,
        }
    }

    /// Whether a figure of this name is asked for: all are when no filter is given.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }

    /// What stands behind an option.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let (_, value) = self.values.iter().rev().find(|(name, _)| name == option)?;
        Some(value)
    }
}
