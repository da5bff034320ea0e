//! Scripts: rules for the model's behavior.
//!
//! `docs/simulator.md` is the reference for authors.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use recount_text::files::given_file;
use recount_wire::{DecodeError, Fields};

use super::expectation::Expectation;
use super::reading::{nothing_left, number, unknown};
use super::reply::Reply;
use super::service::Service;
use super::step::{Step, steps_of};
use super::trigger::Trigger;

/// The maximum size of a script file, in bytes. It allows hours of recorded audio.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Rules for the model's behavior, in order, and expectations of the client's messages.
///
/// ```
/// use recount_simulator::Script;
/// let script = Script::parse(r#"
///     // Lines like this one are comments.
///     {"on": {"text": "order"}, "send": [{"call": [{"id": "c1", "name": "lookup"}]}]}
///     {"on": {"responses_to": ["c1"]}, "send": [{"say": "There it is."}]}
/// "#)?;
/// # Ok::<(), recount_simulator::ScriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub(super) service: Service,
    pub(super) rules: Vec<Rule>,
    pub(super) replies: Vec<Reply>,
    pub(super) expectations: Vec<Expectation>,
}

/// The reason why a script cannot be played.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("script {} does not read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// A line is not a rule.
    #[error("line {line} of the script is not a rule: {problem}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The fault.
        problem: DecodeError,
    },
}

/// A rule: a trigger and its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) trigger: Trigger,
    /// The connection on which the rule fires, counted from 1.
    pub(super) connection: Option<u32>,
    pub(super) once: bool,
    /// True if a setup is answered with `setupComplete` before the steps.
    pub(super) completes: bool,
    pub(super) steps: Vec<Step>,
}

impl Script {
    /// Reads a script from a file: YAML if its name ends in `.yaml` or `.yml`, otherwise JSON
    /// lines.
    ///
    /// # Errors
    /// A [`ScriptError`] if the file cannot be read, is larger than 256 MiB or endless, or if a
    /// line is not a rule.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let text =
            given_file::text(path, FILE_BYTES_MAX).map_err(|source| ScriptError::Unreadable {
                path: path.to_owned(),
                source,
            })?;
        #[cfg(feature = "yaml")]
        if path
            .extension()
            .is_some_and(|it| it == "yaml" || it == "yml")
        {
            return Self::parse_yaml(&text);
        }
        Self::parse(&text)
    }

    /// Parses a script in YAML: a list of the entries that are lines in JSON lines.
    ///
    /// ```
    /// use recount_simulator::Script;
    /// let script = Script::parse_yaml("
    /// - on: {text: order}
    ///   send:
    ///     - call: [{id: c1, name: lookup}]
    /// - on: {responses_to: [c1]}
    ///   send:
    ///     - say: There it is.
    /// ")?;
    /// # Ok::<(), recount_simulator::ScriptError>(())
    /// ```
    ///
    /// # Errors
    /// An error if the text is not YAML or an entry is not a rule.
    #[cfg(feature = "yaml")]
    pub fn parse_yaml(text: &str) -> Result<Self, ScriptError> {
        let entries = super::yaml::entries(text)?;
        Self::of(entries.iter().map(|(line, text)| (*line, text.as_str())))
    }

    /// Parses a script with one rule per line. Empty lines and lines that begin with `#` or `//`
    /// are ignored.
    ///
    /// # Errors
    /// An error if a line is not a rule.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| {
                !(line.is_empty() || line.starts_with('#') || line.starts_with("//"))
            });
        Self::of(lines)
    }

    /// Adds an echo of all user text that no rule handles.
    ///
    /// ```
    /// use recount_wire::{ClientMessage, Setup};
    /// use recount_simulator::{Action, Player, Script};
    /// let mut player =
    ///     Player::new(Script::parse(r#"{"when": "weather", "say": "Sunny."}"#)?.with_echo());
    /// let connection = player.connect();
    /// player.receive(
    ///     connection,
    ///     &ClientMessage::setup(Setup {
    ///         model: "m".into(),
    ///         ..Setup::default()
    ///     }),
    /// );
    /// let said = player.receive(connection, &ClientMessage::user_text("Hello?"));
    /// assert!(format!("{said:?}").contains("Hello?"));
    /// # Ok::<(), recount_simulator::ScriptError>(())
    /// ```
    #[must_use]
    pub fn with_echo(mut self) -> Self {
        self.replies.push(Reply::echo());
        self
    }

    /// Creates a script from its entries, each with its first line's number.
    fn of<'a>(entries: impl Iterator<Item = (usize, &'a str)>) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (line, text) in entries {
            script
                .take(line, text)
                .map_err(|problem| ScriptError::Line { line, problem })?;
        }
        Ok(script)
    }

    fn take(&mut self, line: usize, text: &str) -> Result<(), DecodeError> {
        let mut fields = Fields::parse(text)?;
        if let Some(service) = fields.raw("service")? {
            self.service = Service::read(&service).map_err(|error| error.under("service"))?;
            return nothing_left(&mut fields, &["service"]);
        }
        let connection = number(&mut fields, "connection")?;
        if let Some(expectation) = Expectation::take(&mut fields, line, connection)? {
            self.expectations.push(expectation);
            return nothing_left(&mut fields, &["expect", "never", "connection"]);
        }
        if let Some(reply) = Reply::take(&mut fields)? {
            self.replies.push(reply);
            return Ok(());
        }
        self.rules.push(Rule::read(&mut fields, connection)?);
        Ok(())
    }
}

impl Rule {
    fn read(fields: &mut Fields, connection: Option<u32>) -> Result<Self, DecodeError> {
        let Some(on) = fields.raw("on")? else {
            // A misspelt name is a better explanation than a missing one.
            let rest = fields.rest(&[])?;
            let strange = rest
                .iter()
                .map(|(name, _)| name)
                .find(|it| !FIELDS.contains(it));
            return Err(match strange {
                Some(name) => unknown("one of", ENTRIES, Some(name)),
                None => DecodeError::new("a trigger", "none").under("on"),
            });
        };
        let trigger = Trigger::of(&on).map_err(|error| error.under("on"))?;
        let completes = fields.boolean("complete")? != Some(false);
        if !completes && !matches!(trigger, Trigger::Setup(_)) {
            return Err(DecodeError::new("a trigger of setup", "another").under("complete"));
        }
        let rule = Self {
            connection,
            // A fallback rule may fire repeatedly.
            once: fields
                .boolean("once")?
                .unwrap_or(trigger != Trigger::Otherwise),
            completes,
            steps: steps_of(fields)?,
            trigger,
        };
        nothing_left(fields, FIELDS)?;
        Ok(rule)
    }
}

const FIELDS: &[&str] = &["on", "send", "once", "connection", "complete"];

/// The fields with which an entry of a script may begin.
const ENTRIES: &[&str] = &[
    "on",
    "send",
    "once",
    "connection",
    "complete",
    "when",
    "say",
    "call",
    "then",
    "expect",
    "never",
    "service",
];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn problem(line: &str) -> String {
        Script::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn short_forms_are_the_messages_they_stand_for() {
        let short = r#"{"on":"setup","send":[{"say":"Hi."},{"call":[{"id":"c1","name":"pay","args":{"n":1.0}}]},{"cancel":["c1"]},{"go_away":"10s"},{"close":{"code":1011,"reason":"why"}}]}"#;
        let long = r#"{"on":"setup","send":[
            {"serverContent":{"modelTurn":{"role":"model","parts":[{"text":"Hi."}]}}},
            {"serverContent":{"generationComplete":true}},
            {"serverContent":{"turnComplete":true}},
            {"toolCall":{"functionCalls":[{"id":"c1","name":"pay","args":{"n":1.0}}]}},
            {"toolCallCancellation":{"ids":["c1"]}},
            {"goAway":{"timeLeft":"10s"}},
            {"close":{"reason":"why","code":1011}}]}"#
            .replace('\n', "");
        assert_eq!(Script::parse(short).unwrap(), Script::parse(&long).unwrap());
    }

    #[test]
    fn comments_and_empty_lines_are_skipped_but_counted() {
        let error = problem("# one\n\n// three\n{\"on\":\"stup\"}");
        assert!(
            error.starts_with(
                "line 4 of the script is not a rule: on: expected one of connect, setup"
            ),
            "{error}"
        );
    }

    #[test]
    fn misspelt_names_are_errors() {
        assert!(
            problem(r#"{"on":"setup","sned":[]}"#)
                .ends_with(r#"found "sned"; did you mean "send"?"#)
        );
        assert!(
            problem(r#"{"on":"setup","send":[{"sya":"Hi"}]}"#)
                .ends_with(r#"found "sya"; did you mean "say"?"#)
        );
        assert!(problem(r#"{"on":{"text":"a","any_text":true}}"#).contains("no other field"));
        assert!(problem(r#"{"on":{"responses_to":[]}}"#).contains("none of them"));
        assert!(problem(r#"{"send":[]}"#).contains("on: expected a trigger"));
        assert!(
            problem(r#"{"on":"setup","send":[{"close":{}},{"say":"Hi"}]}"#)
                .contains("nothing after a close")
        );
        assert!(
            problem(r#"{"on":"setup","send":[{"close":{"code":7}}]}"#).contains("a close code")
        );
    }

    #[test]
    fn a_message_too_large_for_clients_is_refused() {
        let line = format!(
            r#"{{"on":"setup","send":[{{"say":"{}"}}]}}"#,
            "x".repeat(1 << 20)
        );
        assert!(problem(&line).contains("below 1048576 bytes"));
    }
}
