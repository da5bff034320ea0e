//! The withholding of live input while a model waits for a response.

use super::agent::Agent;

impl Agent {
    /// Withholds the user's live input while the model waits for the response to a call.
    ///
    /// Some models close the connection (1007, 1008) or stop answering if they get input then. The
    /// setting affects calls for which the model waits, but not background calls on a model that
    /// can continue meanwhile. So a call that waits for an approver withholds the input until the
    /// answer. Off by default.
    ///
    /// Audio, pictures and the start of an activity are dropped meanwhile. [`media_counted`]
    /// records how much, and [`LiveEvent::InputWithheld`] and [`LiveEvent::InputResumed`] mark the
    /// interval. Tools that listen to the input still get it.
    ///
    /// The end of an activity that the model knows of is sent. An activity that began meanwhile
    /// begins for the model with the first piece that is sent. [`audio_stream_end`] waits until
    /// input resumes. Text waits, too: [`send_text`] returns once it is sent, if the model takes
    /// text as live input. Outcomes and instructions follow the response.
    ///
    /// [`media_counted`]: crate::session::MediaCounted
    /// [`LiveEvent::InputWithheld`]: crate::engine::LiveEvent::InputWithheld
    /// [`LiveEvent::InputResumed`]: crate::engine::LiveEvent::InputResumed
    /// [`send_text`]: crate::engine::LiveHandle::send_text
    /// [`audio_stream_end`]: crate::engine::LiveHandle::audio_stream_end
    ///
    /// ```
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new()
    ///     .model("gemini-2.5-flash-native-audio")
    ///     .withhold_input_during_calls();
    /// # let _ = agent;
    /// ```
    pub fn withhold_input_during_calls(mut self) -> Agent {
        self.withholds_input = true;
        self
    }
}
