//! Colours. Each only repeats what the words say.

use std::io::IsTerminal;

use clap::ValueEnum;
use recount_telling::Tone;

/// The use of colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The colours of the output, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    colours: bool,
}

impl Palette {
    /// The palette for standard output that the user chose.
    pub(crate) fn chosen(choice: ColorChoice) -> Palette {
        let colours = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
                !refused && !dumb && std::io::stdout().is_terminal()
            }
        };
        Palette { colours }
    }

    /// The value of `--color` that gives a child process the same palette.
    pub(crate) fn as_choice(self) -> &'static str {
        if self.colours { "always" } else { "never" }
    }

    /// The text in the colour of its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            _ if !self.colours => return text.to_owned(),
            Tone::Plain => return text.to_owned(),
            Tone::Quiet => "2",
            Tone::Heading => "1",
            Tone::Speech => "36",
            Tone::Call => "35",
            Tone::Ask => "1;33",
            Tone::Good => "32",
            Tone::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
