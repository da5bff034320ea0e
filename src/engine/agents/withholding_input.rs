//! Live input that the agent keeps from a model which waits for a response.

use super::agent::Agent;

impl Agent {
    /// Keeps the user's live input from the model while it waits for the response to a call.
    ///
    /// Some models close the connection (1007, 1008) or fall silent where input reaches them then.
    /// It is about calls of functions for which the model waits, none that run in the background on
    /// a model that can go on meanwhile; so a call that a person is asked about keeps the input
    /// away until the person has answered. Off unless asked for.
    ///
    /// Audio, pictures and the start of an activity that come meanwhile are dropped;
    /// [`media_counted`] has how much it was, and [`LiveEvent::InputWithheld`] and
    /// [`LiveEvent::InputResumed`] tell when. Tools that listen hear them all the same. The end of
    /// an activity that the model knows of goes; one that began meanwhile begins for the model with
    /// the first piece that goes. The end of the audio that the model has heard,
    /// [`audio_stream_end`], waits until input is heard again. Words wait: [`send_text`] ends when
    /// they are said, where the model takes them as live input, and outcomes and instructions
    /// follow the response.
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
    /// let agent = Agent::new().model("gemini-2.5-flash-native-audio").withhold_input_during_calls();
    /// # let _ = agent;
    /// ```
    pub fn withhold_input_during_calls(mut self) -> Agent {
        self.withholds_input = true;
        self
    }
}
