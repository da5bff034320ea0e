//! `recount diff`: where two sessions part, or a session and a fixture.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::failures::failure::{Exit, Failure};
use crate::journal::ids;
use crate::journal::keys::Keys;
use crate::journal::opening::{looking, quoted};
use crate::journal::unknown_kinds::UnknownKinds;
use crate::terminal::screen::{COLUMNS, Screen};
use crate::terminal::style::Tone;
use crate::text::count::count;
use crate::text::one_line::{cut, one_line};
use recount::compare::{
    CallNamed, Change, Difference, EventNamed, Exactness, Place, Story, differences, recorded,
    recorded_beside, told, told_beside,
};
use recount::fixture::{self, Fixture};
use recount::ledger::Ledger;
use recount::session::{Json, SessionId, Speaker};

/// Compares two sessions, or a session and a fixture, turn by turn and call by call; times and ids do not count.
///
/// What the sessions are known by counts, too: agent, model, rules and the reason of their close; with `--exact` also program, labels and names.
/// So does what the program and its hooks wrote to the state. How a session was served does not - connections and what they were told, runners,
/// which way a response took after a loss, frames that could not be understood, tokens and audio counted - but with `--exact`, and then with
/// every field and time of every record.
///
/// A session is named by its journal and its id, `journal:018f2c`; a journal alone stands for its only session, and a second
/// id alone for one of the same journal. A fixture is named by its directory: it is compared as the story that it records, and
/// what it takes out is taken out of the session, too. Exits with 5 where they differ.
#[derive(Args)]
pub(crate) struct Diff {
    /// The first: JOURNAL:SESSION, or the directory of a fixture.
    #[arg(value_name = "A")]
    a: String,
    /// The second: JOURNAL:SESSION, SESSION in the same journal, or the directory of a fixture.
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Every field of every record counts, also times and ids; a fixture holds none.
    #[arg(long)]
    exact: bool,
    /// Prints JSON lines: one a difference, and one of the counts.
    #[arg(long)]
    json: bool,
}

/// One side as somebody named it.
enum Side {
    Session {
        journal: PathBuf,
        session: Option<String>,
    },
    Fixture {
        dir: PathBuf,
        fixture: Box<Fixture>,
    },
}

impl Diff {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let a = side(&self.a, None)?;
        let b = side(&self.b, a.journal())?;
        let beside = a.fixture().or(b.fixture());
        if self.exact && beside.is_some() {
            let what =
                "expected two sessions for --exact, found a fixture, which holds no times and ids";
            return Err(Failure::new("bad-request", what).exit(Exit::Usage));
        }
        let mut open = None;
        let of_a = self
            .story(&a, b.fixture().or(beside), &mut open, screen)
            .await?;
        let of_b = self
            .story(&b, a.fixture().or(beside), &mut open, screen)
            .await?;
        let found = differences(&of_a, &of_b);
        let taken_out = taken_out(&a, &b);
        if self.json {
            for it in &found {
                screen.json(it)?;
            }
            screen.json(&json!({
                "same": found.is_empty(),
                "differences": found.len(),
                "turns": {"a": of_a.turns.len(), "b": of_b.turns.len()},
                "calls": {"a": of_a.calls.len(), "b": of_b.calls.len()},
                "events": {"a": of_a.events.len(), "b": of_b.events.len()},
                "taken_out": taken_out,
            }))?;
        } else {
            show(&found, screen)?;
            if !taken_out.is_empty() {
                let fields = one_line(&taken_out.join(", ")).into_owned();
                screen.line(&format!(
                    "Not compared, since the fixture has it taken out: {fields}"
                ))?;
            }
            self.sum_up(&found, &of_a, screen)?;
        }
        Ok(if found.is_empty() {
            Exit::Ok
        } else {
            Exit::Diverged
        })
    }

    /// The story of one side; `open` is the journal that is open so far.
    async fn story(
        &self,
        side: &Side,
        beside: Option<&Fixture>,
        open: &mut Option<(PathBuf, Ledger)>,
        screen: &Screen,
    ) -> Result<Story, Failure> {
        let (journal, session) = match side {
            Side::Fixture { dir, fixture } => {
                let story = match beside {
                    Some(other) => recorded_beside(fixture, other),
                    None => recorded(fixture),
                };
                return story.ok_or_else(|| no_story(dir));
            }
            Side::Session { journal, session } => (journal, session),
        };
        // Only one reading of a journal may be open at a time.
        let ledger = match open.take().filter(|(path, _)| path == journal) {
            Some((_, ledger)) => ledger,
            None => self
                .unknown
                .of(self.keys.of(looking(journal, screen)?)?, screen),
        };
        let id = match session {
            Some(text) => ids::session(&ledger, text).await?,
            None => only_session(&ledger, journal).await?,
        };
        let story = match beside {
            Some(fixture) => told_beside(fixture, &ledger, id).await?,
            None => told(&ledger, id, self.exactness()).await?,
        };
        *open = Some((journal.clone(), ledger));
        Ok(story)
    }

    fn sum_up(&self, found: &[Difference], a: &Story, screen: &mut Screen) -> Result<(), Failure> {
        if !found.is_empty() {
            let told = format!("They part: {}", count(found.len(), "difference"));
            return screen.toned(Tone::Bad, &told);
        }
        let (events, besides) = match self.exactness() {
            Exactness::Meaning => (
                "write",
                " to the state beside them; not compared: connections and what they were told, runners, frames that could not be \
                understood, counts, times and ids",
            ),
            Exactness::Record => ("event", " beside them"),
        };
        let told = format!(
            "The same: {}, {}, {}{besides}",
            count(a.turns.len(), "turn"),
            count(a.calls.len(), "call"),
            count(a.events.len(), events),
        );
        screen.toned(Tone::Good, &told)
    }

    fn exactness(&self) -> Exactness {
        if self.exact {
            Exactness::Record
        } else {
            Exactness::Meaning
        }
    }
}

impl Side {
    fn journal(&self) -> Option<&Path> {
        match self {
            Side::Session { journal, .. } => Some(journal),
            Side::Fixture { .. } => None,
        }
    }

    fn fixture(&self) -> Option<&Fixture> {
        match self {
            Side::Session { .. } => None,
            Side::Fixture { fixture, .. } => Some(fixture),
        }
    }
}

/// What the fixtures among the two have taken out.
fn taken_out(a: &Side, b: &Side) -> Vec<String> {
    let fixtures = a.fixture().into_iter().chain(b.fixture());
    let mut fields: Vec<String> = fixtures
        .flat_map(|it| it.header().redacted.iter().cloned())
        .collect();
    fields.sort();
    fields.dedup();
    fields
}

fn no_story(dir: &Path) -> Failure {
    let dir = quoted(dir);
    let what =
        format!("the fixture {dir} has no story.txt, so what was decided there is not known");
    Failure::new("no-fixture", what).advice(format!(
        "`recount fixture update {dir}` plays it and writes down what comes of it"
    ))
}

fn side(text: &str, same: Option<&Path>) -> Result<Side, Failure> {
    let is_journal = |path: &str| Path::new(path).join("JOURNAL").is_file();
    let of = |journal: &Path, session: Option<&str>| Side::Session {
        journal: journal.to_owned(),
        session: session.map(str::to_owned),
    };
    if is_journal(text) {
        return Ok(of(Path::new(text), None));
    }
    if fixture::is_there(Path::new(text)) {
        let fixture = Box::new(Fixture::load(text)?);
        let dir = PathBuf::from(text);
        return Ok(Side::Fixture { dir, fixture });
    }
    match (text.rsplit_once(':'), same) {
        (Some((journal, session)), _) if is_journal(journal) => {
            Ok(of(Path::new(journal), Some(session)))
        }
        (Some((journal, _)), _) => Err(Failure::no_journal(Path::new(journal))),
        (None, Some(journal)) => Ok(of(journal, Some(text))),
        (None, None) => {
            let shown = one_line(text);
            let what =
                format!("expected JOURNAL:SESSION or the directory of a fixture, found {shown:?}");
            Err(Failure::new("not-a-session", what)
                .exit(Exit::Usage)
                .advice("`recount sessions JOURNAL` lists the sessions of a journal"))
        }
    }
}

async fn only_session(ledger: &Ledger, journal: &Path) -> Result<SessionId, Failure> {
    let sessions = ledger.journal().sessions(None, 2).await?;
    let path = quoted(journal);
    match sessions.as_slice() {
        [(one, _)] => Ok(SessionId(*one)),
        [] => Err(Failure::new(
            "unknown-session",
            format!("the journal {path} has no session"),
        )),
        _ => Err(Failure::new(
            "ambiguous-id",
            format!("the journal {path} has several sessions"),
        )
        .exit(Exit::Usage)
        .advice(format!("name one: {path}:SESSION"))),
    }
}

fn show(found: &[Difference], screen: &mut Screen) -> Result<(), Failure> {
    let mut last: Option<&CallNamed> = None;
    for it in found {
        if let Some((call, b)) = both(it) {
            // What differs in one call stands below one line.
            if last != Some(call) {
                let line = format!(
                    "Turn {}, {}  ({})",
                    call.turn,
                    called(call),
                    places(call.place, b.place)
                );
                screen.toned(Tone::Heading, &line)?;
            }
            last = Some(call);
        } else {
            last = None;
        }
        show_one(it, screen)?;
    }
    Ok(())
}

/// The call that a difference is about, on both sides.
fn both(it: &Difference) -> Option<(&CallNamed, &CallNamed)> {
    match it {
        Difference::CallReordered { call, b, .. }
        | Difference::ArgumentsChanged { call, b, .. }
        | Difference::PolicyChanged { call, b, .. }
        | Difference::DecisionChanged { call, b, .. }
        | Difference::ReportChanged { call, b, .. } => Some((call, b)),
        Difference::SessionChanged { .. }
        | Difference::TurnMissing { .. }
        | Difference::TurnAdded { .. }
        | Difference::WordsChanged { .. }
        | Difference::PhasesChanged { .. }
        | Difference::InterruptionChanged { .. }
        | Difference::CallMissing { .. }
        | Difference::CallAdded { .. }
        | Difference::EventMissing { .. }
        | Difference::EventAdded { .. } => None,
    }
}

fn show_one(it: &Difference, screen: &mut Screen) -> Result<(), Failure> {
    match it {
        Difference::SessionChanged { field, a, b } => {
            screen.toned(Tone::Heading, &format!("The session's {}", one_line(field)))?;
            let told =
                |it: &Option<String>| it.as_deref().map_or("absent".into(), one_line).into_owned();
            gone(&told(a), screen)?;
            come(&told(b), screen)
        }
        Difference::TurnMissing { turn, user } => {
            gone(&format!("turn {turn}: {}", quoted_words(user)), screen)
        }
        Difference::TurnAdded { turn, user } => {
            come(&format!("turn {turn}: {}", quoted_words(user)), screen)
        }
        Difference::WordsChanged {
            turn,
            speaker,
            a,
            b,
        } => {
            let who = match speaker {
                Speaker::User => "user",
                Speaker::Model => "model",
            };
            screen.toned(Tone::Heading, &format!("Turn {turn}, the {who} said"))?;
            gone(&quoted_words(a), screen)?;
            come(&quoted_words(b), screen)
        }
        Difference::PhasesChanged { turn, a, b } => {
            screen.toned(Tone::Heading, &format!("Turn {turn}, phases"))?;
            gone(&one_line(&a.join(", ")), screen)?;
            come(&one_line(&b.join(", ")), screen)
        }
        Difference::InterruptionChanged { turn, a, .. } => {
            let which = if *a { "first" } else { "second" };
            let line = format!("Turn {turn} was cut short in the {which} only");
            screen.toned(Tone::Heading, &line)
        }
        Difference::CallMissing { call } => gone(&whole(call), screen),
        Difference::CallAdded { call } => come(&whole(call), screen),
        Difference::CallReordered {
            call,
            b,
            within_turn,
        } => {
            let told = if *within_turn {
                "  comes elsewhere in its turn".to_owned()
            } else {
                let (of_a, of_b) = (call.turn, b.turn);
                format!("  comes in another turn: {of_a} in the first, {of_b} in the second")
            };
            screen.line(&told)
        }
        Difference::EventMissing { event } => gone(&happened(event), screen),
        Difference::EventAdded { event } => come(&happened(event), screen),
        Difference::ArgumentsChanged { changes, .. } => changed("arguments", changes, screen),
        Difference::PolicyChanged { changes, .. } => changed("policy", changes, screen),
        Difference::DecisionChanged { only_a, only_b, .. } => {
            lines("decided", only_a, only_b, screen)
        }
        Difference::ReportChanged { only_a, only_b, .. } => {
            lines("reported", only_a, only_b, screen)
        }
    }
}

fn happened(event: &EventNamed) -> String {
    let said = one_line(&event.said);
    format!("turn {}: {said}  ({})", event.turn, event.place)
}

fn whole(call: &CallNamed) -> String {
    format!("turn {}: {}  ({})", call.turn, called(call), call.place)
}

/// Where a call stands on both sides.
fn places(a: Place, b: Place) -> String {
    match (a, b) {
        (Place::Seq(_), Place::Seq(b)) => format!("{a} and {b}"),
        (Place::Line(_), Place::Line(b)) => format!("{a} and {b}"),
        (Place::Seq(_), Place::Line(_)) | (Place::Line(_), Place::Seq(_)) => format!("{a} and {b}"),
    }
}

fn called(call: &CallNamed) -> String {
    let text = format!("{} {}", call.tool, call.args.as_str());
    cut(&one_line(&text), COLUMNS / 2).into_owned()
}

fn quoted_words(words: &str) -> String {
    let words = one_line(words.trim());
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        format!("“{words}”")
    }
}

fn changed(what: &str, changes: &[Change], screen: &mut Screen) -> Result<(), Failure> {
    for Change { at, a, b } in changes {
        screen.line(&format!("  {what} {}", one_line(at)))?;
        gone(&value(a.as_ref()), screen)?;
        come(&value(b.as_ref()), screen)?;
    }
    Ok(())
}

fn value(value: Option<&Json>) -> String {
    value.map_or("absent".to_owned(), |it| one_line(it.as_str()).into_owned())
}

fn lines(what: &str, a: &[String], b: &[String], screen: &mut Screen) -> Result<(), Failure> {
    screen.line(&format!("  {what}"))?;
    for line in a {
        gone(&one_line(line), screen)?;
    }
    for line in b {
        come(&one_line(line), screen)?;
    }
    Ok(())
}

/// What only the first has.
fn gone(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Bad, &format!("- {text}"))
}

/// What only the second has.
fn come(text: &str, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Good, &format!("+ {text}"))
}
