//! What is pending, decided, executed and answered at one moment: the projection in which two
//! programs are compared.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// The calls, in the order in which they came.
    pub(crate) calls: Vec<Call>,
    /// How often each tool took effect.
    pub(crate) ran: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// A person was asked about it.
    pub(crate) asked: bool,
    /// A person is asked about it now.
    pub(crate) waits: bool,
    /// What the person said.
    pub(crate) decided: Option<bool>,
    /// Its result will come from outside.
    pub(crate) paused: bool,
    /// What the model was told last of it.
    pub(crate) told: Option<Told>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// That it was denied.
    Denied,
    /// That it failed, and how.
    Failed(String),
    /// What it returned, or what came of it so far.
    Result(Value),
}

impl Standing {
    /// Without the runs, for a trace that does not show them.
    pub(crate) fn without_runs(mut self) -> Standing {
        self.ran.clear();
        self
    }
}

impl fmt::Display for Standing {
    /// `transfer: yes, told {"status":"ok"}; ran transfer 1`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = Vec::new();
        for call in &self.calls {
            let mut words = Vec::new();
            match (call.asked, call.waits, call.decided) {
                (_, true, _) => words.push("waits".to_owned()),
                (_, false, Some(true)) => words.push("yes".to_owned()),
                (_, false, Some(false)) => words.push("no".to_owned()),
                (true, false, None) => words.push("asked".to_owned()),
                (false, false, None) => {}
            }
            if call.paused {
                words.push("paused".to_owned());
            }
            match &call.told {
                None => {}
                Some(Told::Denied) => words.push("told denied".to_owned()),
                Some(Told::Failed(kind)) => words.push(format!("told {kind}")),
                Some(Told::Result(value)) => words.push(format!("told {value}")),
            }
            said.push(format!("{}: {}", call.tool, words.join(", ")));
        }
        let ran = self
            .ran
            .iter()
            .map(|(tool, runs)| format!("ran {tool} {runs}"));
        said.extend(ran);
        f.write_str(&said.join("; "))
    }
}
