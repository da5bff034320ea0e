//! What a command has put on record for a call, and when the model hears of it.

use super::failure::Failure;
use super::one_line::one_line;
use super::screen::Screen;
use super::style::Tone;

/// Shows it: by whose process, where a running service has done it.
pub(super) fn show(text: &str, service: Option<u32>, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Good, &one_line(text))?;
    screen.line(&match service {
        Some(pid) => format!("Answered through the running service (pid {pid})."),
        None => "The model is told when the session is next served.".to_owned(),
    })?;
    Ok(())
}
