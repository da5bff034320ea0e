//! `recount diff`: the differences of two sessions, or of a session and a fixture.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::differences::show;
use crate::failures::{Exit, Failure, is_address};
use crate::journal::{Keys, Location, UnknownKinds, exported, ids};
use crate::terminal::{Screen, Tone};
use recount::compare::{
    Difference, EventTold, Exactness, Story, differences, recorded, recorded_beside, told,
    told_beside,
};
use recount::fixture::{self, Fixture};
use recount::ledger::Ledger;
use recount::session::SessionId;
use recount_telling::{count, one_line, quoted};

/// The reach of a comparison without `--exact`.
const NOT_COMPARED: &str = "\
note: connections, workers, unreadable messages, counts of tokens and audio,
times and ids are not compared; --exact compares them, too";

/// Compares two sessions, or a session and a fixture, turn by turn and call by call.
///
/// It also compares the agent, the model, the rules, the reason of the close, and the state that
/// the program and its hooks wrote. It does not compare times, ids, connections, workers, the way
/// of a response after a lost connection, unreadable messages, or counts of tokens and audio.
/// `--exact` compares every field and time of every record.
///
/// Name a session by its journal, or an export of it, and its id: `journal:018f2c`. A journal alone
/// means its only session, and a second id alone a session of the same journal. Name a fixture by
/// its directory: its recorded story is compared, and the fields that it redacts are redacted in
/// the session, too. Exits with 5 if there is a difference.
#[derive(Args)]
pub(crate) struct Diff {
    /// The first one: JOURNAL:SESSION, or the directory of a fixture.
    #[arg(value_name = "A")]
    a: String,
    /// The second one: JOURNAL:SESSION, SESSION in the same journal, or the directory of a fixture.
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Compares every field of every record, with times and ids; not with a fixture, which has
    /// none.
    #[arg(long)]
    exact: bool,
    /// Prints JSON lines: one for each difference, and one with the counts.
    #[arg(long)]
    json: bool,
}

/// One side of the comparison, as the command line names it.
enum Side {
    Session {
        journal: Location,
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
                "expected two sessions for --exact, found a fixture, which has no times and ids";
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
                    "Not compared, because the fixture redacts it: {fields}"
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

    /// The story of one side. `open` is the journal that was opened for the other side.
    async fn story(
        &self,
        side: &Side,
        beside: Option<&Fixture>,
        open: &mut Option<(Location, Ledger)>,
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
        // A journal can be opened only once at a time.
        let ledger = match open.take().filter(|(it, _)| it == journal) {
            Some((_, ledger)) => ledger,
            None => self.unknown.looking(journal, &self.keys, screen)?,
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
            let found = count(found.len(), "difference");
            return screen.toned(Tone::Bad, &found);
        }
        let is_change = |it: &&EventTold| it.said.starts_with("state_changed ");
        let changes = a.events.iter().filter(is_change).count();
        let others = a.events.len() - changes;
        let events = match (self.exactness(), others) {
            (Exactness::Meaning, 0) => count(changes, "state change"),
            (Exactness::Meaning, others) => {
                let (changes, others) = (count(changes, "state change"), count(others, "record"));
                format!("{changes}, {others} of pauses")
            }
            (Exactness::Record, _) => count(a.events.len(), "other event"),
        };
        let same = format!(
            "No difference: {}, {}, {events}",
            count(a.turns.len(), "turn"),
            count(a.calls.len(), "call"),
        );
        screen.toned(Tone::Good, &same)?;
        match self.exactness() {
            Exactness::Meaning => screen.toned(Tone::Quiet, NOT_COMPARED),
            Exactness::Record => Ok(()),
        }
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
    fn journal(&self) -> Option<&Location> {
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

/// The fields that the fixtures among the two redact.
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
    let what = format!("the fixture {dir} has no story.txt, so there is nothing to compare with");
    Failure::new("no-fixture", what).advice(format!(
        "`recount fixture update {dir}` plays it and writes the result"
    ))
}

fn side(text: &str, same: Option<&Location>) -> Result<Side, Failure> {
    let is_journal =
        |path: &str| Path::new(path).join("JOURNAL").is_file() || exported::is_at(Path::new(path));
    let of = |journal: Location, session: Option<&str>| Side::Session {
        journal,
        session: session.map(str::to_owned),
    };
    if is_address(text) {
        let (address, session) = of_address(text);
        return Ok(of(Location::read(OsStr::new(address))?, session));
    }
    if is_journal(text) {
        return Ok(of(Location::Path(text.into()), None));
    }
    if fixture::is_there(Path::new(text)) {
        let fixture = Box::new(Fixture::load(text)?);
        let dir = PathBuf::from(text);
        return Ok(Side::Fixture { dir, fixture });
    }
    match (text.rsplit_once(':'), same) {
        (Some((journal, session)), _) if is_journal(journal) => {
            Ok(of(Location::Path(journal.into()), Some(session)))
        }
        (Some((journal, _)), _) => Err(Failure::no_journal(Path::new(journal))),
        (None, Some(journal)) => Ok(of(journal.clone(), Some(text))),
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

/// The address and the session of ADDRESS:SESSION. A port is before the name of the database.
fn of_address(text: &str) -> (&str, Option<&str>) {
    let is_id = |it: &str| it.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let has_database = |it: &str| {
        it.split_once("://")
            .is_some_and(|(_, rest)| rest.contains('/'))
    };
    match text.rsplit_once(':') {
        Some((address, session)) if is_id(session) && has_database(address) => {
            (address, Some(session))
        }
        Some(_) | None => (text, None),
    }
}

async fn only_session(ledger: &Ledger, journal: &Location) -> Result<SessionId, Failure> {
    let sessions = ledger.journal().sessions(None, 2).await?;
    let path = journal.quoted();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_of_an_address_is_no_session() {
        for (text, address, session) in [
            (
                "postgres://u@h:5432/d:018f2c",
                "postgres://u@h:5432/d",
                Some("018f2c"),
            ),
            ("postgres://u@h:5432/d", "postgres://u@h:5432/d", None),
            ("postgres://h:5432", "postgres://h:5432", None),
        ] {
            assert_eq!(of_address(text), (address, session));
        }
    }
}
