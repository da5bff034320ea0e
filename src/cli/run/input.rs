//! The lines that the person at the terminal types.

use std::io::BufRead;

use tokio::sync::mpsc;

/// Lines of standard input as they come; none where nobody is to be heard.
pub(super) struct Input {
    lines: Option<mpsc::UnboundedReceiver<String>>,
}

impl Input {
    /// Reads standard input from here on.
    pub(super) fn typed() -> Input {
        let (sender, lines) = mpsc::unbounded_channel();
        // Reading a terminal cannot be interrupted, so it is left to a thread that the end of the program ends.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Input { lines: Some(lines) }
    }

    /// Hears nobody.
    pub(super) fn nobody() -> Input {
        Input { lines: None }
    }

    /// The next line; `None` at the end of the input. Where nobody is heard it is never ready.
    pub(super) async fn line(&mut self) -> Option<String> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => std::future::pending().await,
        }
    }

    /// A line that was typed already, if there is one.
    pub(super) fn typed_before(&mut self) -> Option<String> {
        self.lines.as_mut()?.try_recv().ok()
    }
}
