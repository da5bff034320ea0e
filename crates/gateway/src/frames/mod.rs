//! Messages of the Gemini Live API as text: what they hold, and how they are divided.
