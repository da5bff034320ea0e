//! The projection in which two programs are compared: what is pending, decided, executed and
//! answered.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// The calls, in order of arrival.
    pub(crate) calls: Vec<Call>,
    /// The number of times that each tool took effect.
    pub(crate) ran: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// True if the call needed approval.
    pub(crate) asked: bool,
    /// True if its request is open.
    pub(crate) waits: bool,
    /// The answer of the approver.
    pub(crate) decided: Option<bool>,
    /// True if its result will be supplied from outside.
    pub(crate) paused: bool,
    /// The last response or text about it to the model.
    pub(crate) told: Option<Told>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// The call was denied.
    Denied,
    /// The call failed with this kind of error.
    Failed(String),
    /// The call returned this value, or reported it so far.
    Result(Value),
}

impl Standing {
    /// The projection without the runs, for a trace that does not show them.
    pub(crate) fn without_runs(mut self) -> Standing {
        self.ran.clear();
        self
    }
}

impl fmt::Display for Standing {
    /// Writes a line such as `transfer: yes, told {"status":"ok"}; ran transfer 1`.
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
