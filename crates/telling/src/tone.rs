//! The kinds of text, from which a terminal or a page takes its colours.

/// The kind of a piece of text, which decides on its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// Text of little interest.
    Quiet,
    /// A heading.
    Heading,
    /// Words of the user or the model.
    Speech,
    /// A call of the model.
    Call,
    /// A question to a person.
    Ask,
    /// A success.
    Good,
    /// A failure.
    Bad,
}
