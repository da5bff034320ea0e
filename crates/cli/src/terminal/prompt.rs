//! Asking the person at the terminal, if there is one.

use std::io::{BufRead, IsTerminal, Write};

use crate::failures::Failure;

/// Whether somebody can be asked.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Drops what was typed and not read yet, also the beginning of a line: it was typed for something
/// else than the next question.
pub(crate) fn drop_typed() {
    // Where there is no terminal nothing was typed.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Asks until the answer is yes or no; no answer at all is a no, and what was typed before is none.
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
            if let Some(answer) = understood(&line) {
                return Ok(answer);
            }
        }
    });
    match asked.await {
        Ok(answer) => answer.map_err(|error| Failure::io("ask on the terminal", &error)),
        Err(_) => Ok(false),
    }
}

/// Yes, no, or something else.
pub(crate) fn understood(line: &str) -> Option<bool> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

/// Prints a prompt, which has no line end.
fn print_now(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}
