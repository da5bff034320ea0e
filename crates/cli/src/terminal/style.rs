//! Colour, where it helps and is wanted. Whatever it says is said by the words, too.

use std::io::IsTerminal;

use clap::ValueEnum;

/// When to use colour.
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

/// What a piece of text is, for the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing particular.
    Plain,
    /// Of little interest.
    Quiet,
    /// A heading.
    Heading,
    /// Said by the user or the model.
    Speech,
    /// The model wants something.
    Call,
    /// A person is wanted.
    Ask,
    /// It went well.
    Good,
    /// It did not.
    Bad,
}

/// Paints, or leaves as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    colours: bool,
}

impl Palette {
    /// As the user chose, for standard output.
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

    /// What a child process is to be told so that it paints alike.
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
