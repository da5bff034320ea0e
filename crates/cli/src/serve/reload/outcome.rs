//! The failure of a reload that has not taken the whole configuration.

use crate::failures::{Exit, Failure};
use recount::control::Reloaded;
use recount_telling::one_line;

/// The failure of a configuration that was not taken as a whole.
pub(super) fn wrong(outcome: &Reloaded) -> Failure {
    let listed = outcome.mistakes.iter();
    let listed: String = listed.map(|it| format!("\n  - {}", one_line(it))).collect();
    let taken = match outcome.reloaded.as_slice() {
        [] => String::new(),
        taken => format!("; taken anew: {}", taken.join(", ")),
    };
    let what = format!("some parts stay as they were{taken}:{listed}");
    Failure::new("config-file", one_line_each(&what))
        .exit(Exit::Usage)
        .advice(
            "`recount check` lists mistakes with their lines; a restart takes what is read with \
             the next start",
        )
}

fn one_line_each(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(one_line).collect();
    lines.join("\n")
}
