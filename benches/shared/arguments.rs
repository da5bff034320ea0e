//! The command line of a bench with its own `main`, in criterion's syntax.

/// The effort of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Effort {
    /// The effort of the recorded figures.
    Full,
    /// `--quick`: shorter and less precise.
    Quick,
    /// `--test`, or a run without `cargo bench`: only checks that the bench works.
    Test,
}

/// The parsed command line.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) effort: Effort,
    filters: Vec<String>,
    values: Vec<(String, String)>,
}

impl Arguments {
    /// Reads the command line. Options named in `with_value` take a value. Other options are
    /// criterion's and have no effect.
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

    /// True if the figure with this name is requested. Without a filter, all are.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }

    /// The value of an option.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let (_, value) = self.values.iter().rev().find(|(name, _)| name == option)?;
        Some(value)
    }
}
