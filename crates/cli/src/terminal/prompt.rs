//! Questions to the person at the terminal, if there is one.

use std::io::{BufRead, IsTerminal, Write};

use crate::failures::Failure;

/// True if standard input and output are a terminal.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Drops typed characters that were not read yet, including the beginning of a line.
///
/// They were typed before the next question was shown, so they are no answer to it.
pub(crate) fn drop_typed() {
    // Without a terminal there is nothing to drop.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Asks until the answer is yes or no. The end of the input is a no.
pub(crate) async fn yes_or_no(question: &str) -> Result<bool, Failure> {
    let question = question.to_owned();
    let asked = tokio::task::spawn_blocking(move || -> std::io::Result<bool> {
        drop_typed();
        loop {
            print_now(&format!("{question} [y/n] "))?;
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line)? == 0 {
                print_now("\n")?;
                return Ok(false);
            }
            if let Some(answer) = yes_or_no_in(&line) {
                return Ok(answer);
            }
        }
    });
    match asked.await {
        Ok(answer) => answer.map_err(|error| Failure::io("ask on the terminal", &error)),
        Err(_) => Ok(false),
    }
}

/// Asks until the answer is one of these words, or its first letter. The end of the input is
/// `None`.
pub(crate) async fn one_of(
    question: &str,
    answers: &'static [&'static str],
) -> Result<Option<&'static str>, Failure> {
    let question = question.to_owned();
    let asked = tokio::task::spawn_blocking(move || -> std::io::Result<_> {
        drop_typed();
        loop {
            print_now(&format!("{question} "))?;
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line)? == 0 {
                print_now("\n")?;
                return Ok(None);
            }
            let answer = one_of_in(&line, answers);
            if answer.is_some() {
                return Ok(answer);
            }
        }
    });
    match asked.await {
        Ok(answer) => answer.map_err(|error| Failure::io("ask on the terminal", &error)),
        Err(_) => Ok(None),
    }
}

/// The answer that a line names by its word or its first letter.
fn one_of_in(line: &str, answers: &[&'static str]) -> Option<&'static str> {
    let line = line.trim().to_ascii_lowercase();
    let is_meant =
        |it: &&&str| **it == line || it.chars().next().map(String::from) == Some(line.clone());
    answers.iter().find(is_meant).copied()
}

/// True for yes, false for no, `None` for anything else.
pub(crate) fn yes_or_no_in(line: &str) -> Option<bool> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

/// Prints a prompt without a line end.
fn print_now(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}
