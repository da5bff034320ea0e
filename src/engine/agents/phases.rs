//! The builder of a conversation's phases.

use std::collections::BTreeSet;

use crate::session::{
    Condition, DEPTH_MAX, PhaseDeclaration, PolicySet, Transition, recorded_key, unfit_policy,
};
use crate::tool::ToolDispatcher;

/// The builder of a phase; [`done`](PhaseBuilder::done) returns to its parent.
///
/// A conversation begins in the first phase. Conditions are checked after every change of the state
/// and at the end of every turn. The first transition whose condition holds is taken.
///
/// ```
/// use recount::prelude::*;
///
/// let agent = Agent::new()
///     .model("gemini-3.8-live")
///     .tools(T::simple("verify_identity", "Verifies the caller", |_| async { Ok(json!({"verified": true})) }))
///     .phase("verify_identity")
///     .instruction("Verify the caller's identity.")
///     .tools(["verify_identity"])
///     .transition("inform_debt", S::is_true("identity_verified"))
///     .done()
///     .phase("inform_debt")
///     .instruction("Tell the caller what is owed.")
///     .done();
/// ```
#[must_use = "a phase counts once it is `done`"]
pub struct PhaseBuilder<B> {
    parent: B,
    add: fn(B, PhaseDeclaration) -> B,
    phase: PhaseDeclaration,
}

impl<B> PhaseBuilder<B> {
    pub(in crate::engine) fn new(
        parent: B,
        name: String,
        add: fn(B, PhaseDeclaration) -> B,
    ) -> PhaseBuilder<B> {
        let phase = PhaseDeclaration {
            name,
            ..PhaseDeclaration::default()
        };
        PhaseBuilder { parent, add, phase }
    }

    /// Sets the instruction sent to the model when the phase is entered, in addition to the
    /// agent's.
    pub fn instruction(mut self, instruction: impl Into<String>) -> Self {
        self.phase.instruction = Some(instruction.into());
        self
    }

    /// Sets the tools that may be called in this phase. The default is all.
    pub fn tools(mut self, tools: impl Into<ToolNames>) -> Self {
        self.phase.tools = Some(tools.into().0);
        self
    }

    /// Adds a transition to another phase, with its condition.
    pub fn transition(mut self, to: impl Into<String>, when: Condition) -> Self {
        let to = to.into();
        self.phase.transitions.push(Transition { to, when });
        self
    }

    /// Completes the phase.
    pub fn done(self) -> B {
        (self.add)(self.parent, self.phase)
    }
}

/// A set of tool names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNames(BTreeSet<String>);

impl From<Vec<String>> for ToolNames {
    fn from(names: Vec<String>) -> ToolNames {
        ToolNames(names.into_iter().collect())
    }
}

impl<const N: usize> From<[&str; N]> for ToolNames {
    fn from(names: [&str; N]) -> ToolNames {
        ToolNames(names.into_iter().map(str::to_owned).collect())
    }
}

/// Returns the mistakes in the phases, and in the policies and conditions that refer to phases or
/// to the state.
pub(in crate::engine) fn mistakes(policies: &PolicySet, tools: &ToolDispatcher) -> Vec<String> {
    let mut mistakes = Vec::new();
    let names: Vec<&str> = policies.phases.iter().map(|it| it.name.as_str()).collect();
    let declared = || {
        if names.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        }
    };
    for (index, phase) in policies.phases.iter().enumerate() {
        let name = &phase.name;
        if name.is_empty() {
            mistakes.push("a phase has no name".to_owned());
        }
        if names.iter().take(index).any(|before| before == name) {
            mistakes.push(format!("phase {name:?} is declared twice"));
        }
        for tool in phase.tools.iter().flatten() {
            if tools.get(tool).is_none() {
                let known: Vec<&str> = tools.names().collect();
                let known = known.join(", ");
                mistakes.push(format!(
                    "phase {name:?}: no tool is named {tool:?}; there are {known}"
                ));
            }
        }
        for transition in &phase.transitions {
            if !names.contains(&transition.to.as_str()) {
                let (to, declared) = (&transition.to, declared());
                mistakes.push(format!(
                    "phase {name:?} leads to {to:?}, which is no phase; {declared}"
                ));
            }
            mistakes.extend(unfit_keys(name, &transition.when));
            let unfit = unfit_policy(&transition.when, DEPTH_MAX);
            mistakes.extend(unfit.map(|why| {
                let to = &transition.to;
                format!(
                    "phase {name:?}: no record carries the condition that leads to {to:?}: {why}"
                )
            }));
        }
    }
    for (tool, policy) in &policies.tools {
        for phase in policy.phases.iter().flatten() {
            if !names.contains(&phase.as_str()) {
                let declared = declared();
                mistakes.push(format!(
                    "tool {tool:?} is enabled in {phase:?}, which is no phase; {declared}"
                ));
            }
        }
    }
    mistakes
}

/// Returns the mistakes in a condition's keys. It may read only recorded keys.
fn unfit_keys(phase: &str, condition: &Condition) -> Vec<String> {
    let keys = condition.keys().into_iter();
    keys.filter_map(|key| recorded_key(key).err())
        .map(|problem| format!("phase {phase:?}: {problem}"))
        .collect()
}
