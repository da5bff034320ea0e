//! The agents of this library: one that asks a language model, and a sequence of agents.
//!
//! An agent is a pure function from its run so far to its next step. The engine asks the model,
//! records the reply, and runs the calls. So a run continues after a restart. Nothing here knows a
//! session. Read `llm_agent`.

pub(super) mod llm_agent;
pub(super) mod sequence;
