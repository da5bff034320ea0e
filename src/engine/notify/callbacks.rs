//! Callbacks: closures that hear a conversation as it happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::listener::Listener;
use crate::engine::inputs::registry::TaskRef;
use crate::engine::live_media::live_event::LiveEvent;
use crate::session::Speaker;

type Hears = dyn Fn() + Send + Sync;
type HearsText = dyn Fn(&str) + Send + Sync;
type HearsBytes = dyn Fn(&[u8]) + Send + Sync;
type HearsSpeaker = dyn Fn(Speaker, &str) + Send + Sync;

/// Closures that hear a conversation as it happens.
///
/// They are called one after another, in the order of the events, by a task of their own: one that
/// takes long delays the others and nothing else, and one that panics is called again for the next
/// event. What they hear is not on record yet.
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
    text: Option<Arc<HearsText>>,
    audio: Option<Arc<HearsBytes>>,
    transcript: Option<Arc<HearsSpeaker>>,
    turn_complete: Option<Arc<Hears>>,
    interrupted: Option<Arc<Hears>>,
    error: Option<Arc<HearsText>>,
}

impl Callbacks {
    /// None.
    #[must_use]
    pub fn new() -> Callbacks {
        Callbacks::default()
    }

    /// Hears each piece of what the model writes.
    #[must_use]
    pub fn on_text(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Callbacks {
        self.text = Some(Arc::new(hear));
        self
    }

    /// Hears each piece of what the model says aloud: PCM of 16 bits, 24,000 a second.
    #[must_use]
    pub fn on_audio(mut self, hear: impl Fn(&[u8]) + Send + Sync + 'static) -> Callbacks {
        self.audio = Some(Arc::new(hear));
        self
    }

    /// Hears each piece of speech that was written down.
    #[must_use]
    pub fn on_transcript(
        mut self,
        hear: impl Fn(Speaker, &str) + Send + Sync + 'static,
    ) -> Callbacks {
        self.transcript = Some(Arc::new(hear));
        self
    }

    /// Hears that the model's turn is over.
    #[must_use]
    pub fn on_turn_complete(mut self, hear: impl Fn() + Send + Sync + 'static) -> Callbacks {
        self.turn_complete = Some(Arc::new(hear));
        self
    }

    /// Hears that the user cut the model short.
    #[must_use]
    pub fn on_interrupted(mut self, hear: impl Fn() + Send + Sync + 'static) -> Callbacks {
        self.interrupted = Some(Arc::new(hear));
        self
    }

    /// Hears what went wrong: a message that could not be read, a connection that was lost, events
    /// that were missed because the callbacks are too slow, a session that stopped.
    #[must_use]
    pub fn on_error(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Callbacks {
        self.error = Some(Arc::new(hear));
        self
    }

    pub(in crate::engine) fn hear_anything(&self) -> bool {
        self.text.is_some()
            || self.audio.is_some()
            || self.transcript.is_some()
            || self.turn_complete.is_some()
            || self.interrupted.is_some()
            || self.error.is_some()
    }

    /// Calls them until nobody serves the session any more.
    pub(in crate::engine) async fn hear(self, mut listener: Listener, task: TaskRef) {
        while let Some(event) = listener.next().await {
            self.contained(|it| it.call(&event));
        }
        if let Some(cause) = task.failure.get() {
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
