//! Callbacks: closures for the events of a live conversation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::listener::Listener;
use crate::engine::inputs::registry::TaskRef;
use crate::engine::live_media::live_event::LiveEvent;
use crate::session::Speaker;

type EventCallback = dyn Fn() + Send + Sync;
type TextCallback = dyn Fn(&str) + Send + Sync;
type BytesCallback = dyn Fn(&[u8]) + Send + Sync;
type TranscriptCallback = dyn Fn(Speaker, &str) + Send + Sync;

/// Closures for the events of a live conversation.
///
/// One task calls them one after another, in the order of the events. A slow closure delays only
/// the others. A closure that panics is called again for the next event. The events are not
/// recorded yet.
///
/// ```
/// use recount::engine::Callbacks;
///
/// let callbacks = Callbacks::new()
///     .on_text(|text| print!("{text}"))
///     .on_interrupted(|| println!("(stops playing)"));
/// # let _ = callbacks;
/// ```
#[derive(Clone, Default)]
pub struct Callbacks {
    text: Option<Arc<TextCallback>>,
    audio: Option<Arc<BytesCallback>>,
    transcript: Option<Arc<TranscriptCallback>>,
    turn_complete: Option<Arc<EventCallback>>,
    interrupted: Option<Arc<EventCallback>>,
    error: Option<Arc<TextCallback>>,
}

impl Callbacks {
    /// Creates a set without closures.
    #[must_use]
    pub fn new() -> Callbacks {
        Callbacks::default()
    }

    /// Sets the closure for each piece of the model's text.
    #[must_use]
    pub fn on_text(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Callbacks {
        self.text = Some(Arc::new(hear));
        self
    }

    /// Sets the closure for each piece of the model's audio: 16-bit PCM, 24,000 samples a second.
    #[must_use]
    pub fn on_audio(mut self, hear: impl Fn(&[u8]) + Send + Sync + 'static) -> Callbacks {
        self.audio = Some(Arc::new(hear));
        self
    }

    /// Sets the closure for each piece of a transcript.
    #[must_use]
    pub fn on_transcript(
        mut self,
        hear: impl Fn(Speaker, &str) + Send + Sync + 'static,
    ) -> Callbacks {
        self.transcript = Some(Arc::new(hear));
        self
    }

    /// Sets the closure for the end of the model's turn.
    #[must_use]
    pub fn on_turn_complete(mut self, hear: impl Fn() + Send + Sync + 'static) -> Callbacks {
        self.turn_complete = Some(Arc::new(hear));
        self
    }

    /// Sets the closure for an interruption of the model by the user.
    #[must_use]
    pub fn on_interrupted(mut self, hear: impl Fn() + Send + Sync + 'static) -> Callbacks {
        self.interrupted = Some(Arc::new(hear));
        self
    }

    /// Sets the closure for errors.
    ///
    /// They are: an unreadable message, a lost connection, events missed because the callbacks are
    /// too slow, and a stopped session.
    #[must_use]
    pub fn on_error(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Callbacks {
        self.error = Some(Arc::new(hear));
        self
    }

    pub(in crate::engine) fn has_any(&self) -> bool {
        self.text.is_some()
            || self.audio.is_some()
            || self.transcript.is_some()
            || self.turn_complete.is_some()
            || self.interrupted.is_some()
            || self.error.is_some()
    }

    /// Calls the closures until the session's task ends.
    pub(in crate::engine) async fn hear(self, mut listener: Listener, task: TaskRef) {
        while let Some(event) = listener.next().await {
            self.contained(|it| it.call(&event));
        }
        if let Some(failure) = task.failure.get() {
            let cause = &failure.cause;
            self.contained(|it| it.tell(&format!("the session stopped: {cause}")));
        }
    }

    fn contained(&self, call: impl Fn(&Callbacks)) {
        if catch_unwind(AssertUnwindSafe(|| call(self))).is_err() {
            tracing::error!("a callback panicked");
        }
    }

    fn tell(&self, problem: &str) {
        self.error.iter().for_each(|hear| hear(problem));
    }

    fn call(&self, event: &LiveEvent) {
        match event {
            LiveEvent::Audio { data, .. } => self.audio.iter().for_each(|hear| hear(data)),
            LiveEvent::Text(text) => self.text.iter().for_each(|hear| hear(text)),
            LiveEvent::Transcript { speaker, text } => {
                self.transcript.iter().for_each(|hear| hear(*speaker, text));
            }
            LiveEvent::Interrupted => self.interrupted.iter().for_each(|hear| hear()),
            LiveEvent::TurnComplete => self.turn_complete.iter().for_each(|hear| hear()),
            LiveEvent::Lagged(lost) => {
                self.tell(&format!(
                    "the callbacks are too slow and missed {lost} events"
                ));
            }
            LiveEvent::Lost { code, reason } => {
                let code = code.map(|code| format!(" with code {code}"));
                let code = code.unwrap_or_default();
                self.tell(&format!("the connection was lost{code}: {reason}"));
            }
            LiveEvent::Unreadable(problem) => {
                self.tell(&format!(
                    "a message or a part of it could not be read: {problem}"
                ));
            }
            LiveEvent::Video { .. }
            | LiveEvent::InputWithheld
            | LiveEvent::InputResumed
            | LiveEvent::Paused { .. } => {}
        }
    }
}
