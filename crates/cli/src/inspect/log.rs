//! `recount log`: one session as a timeline, on request with `--follow`.

use clap::Args;
use recount_journal::Line;

use crate::failures::{Exit, Failure, unanswered};
use crate::journal::{Keys, Location, Source, ids};
use crate::telling::{Fit, Timeline};
use crate::terminal::{COLUMNS, Screen, Tone};
use recount::control::{Answered, Client, LogItem, Request, Unanswered, read};
use recount::ledger::{self, Entry, Ledger};
use recount::session::{Seq, SessionId, Timestamp};

/// The number of records that are read at a time.
const PAGE: usize = 1024;

/// Shows a session as a timeline, with one line for each event.
#[derive(Args)]
pub(crate) struct Log {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// The id of the session, or a unique beginning of it.
    session: String,
    #[command(flatten)]
    keys: Keys,
    /// Continues with new records of the running service, until the service ends; with a database,
    /// with those of every node.
    #[arg(long, short)]
    follow: bool,
    /// Shows every line in full, whatever its length.
    #[arg(long)]
    full: bool,
    /// Prints the records as JSON lines, exactly as they are stored.
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::reading(&self.path, &self.keys, screen).await?;
        let session = ids::session_at(&mut source, &self.session).await?;
        let fit = if self.full {
            Fit::Full
        } else {
            Fit::Cut(COLUMNS)
        };
        let mut printer = Printer {
            timeline: Timeline::new(screen.palette, fit),
            json: self.json,
        };
        let end = match source {
            Source::Journal(ledger) => {
                match self.follow && self.path.path().is_none() {
                    true => printer.print_all_and_new(&ledger, session, screen).await?,
                    false => drop(
                        printer
                            .print_all(&ledger, (session, Seq(1)), screen)
                            .await?,
                    ),
                }
                "No process serves the journal, so there are no new records.".to_owned()
            }
            Source::Service(mut client) => {
                let pid = client.pid();
                let printed = printer.print_from(&mut client, session, self.follow, screen);
                printed.await.map_err(|it| it.of_service(pid))?;
                format!("The service (pid {pid}) has ended.")
            }
        };
        if self.follow && !self.json {
            screen.toned(Tone::Quiet, &end)?;
        }
        Ok(Exit::Ok)
    }
}

/// Prints record by record.
struct Printer {
    timeline: Timeline,
    json: bool,
}

/// The failure that ended the output: of this command, or of the service.
enum Broken {
    Here(Failure),
    There(Unanswered),
}

impl Broken {
    fn of_service(self, pid: u32) -> Failure {
        match self {
            Broken::Here(failure) => failure,
            Broken::There(error) => unanswered(pid, error),
        }
    }
}

impl<E: Into<Failure>> From<E> for Broken {
    fn from(error: E) -> Broken {
        Broken::Here(error.into())
    }
}

impl Printer {
    /// Prints the records of a session in a database, and the new ones that any node appends, until
    /// the program is interrupted.
    async fn print_all_and_new(
        &mut self,
        ledger: &Ledger,
        session: SessionId,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let mut position = ledger.journal().position().await?;
        let mut next = Seq(1);
        loop {
            next = self.print_all(ledger, (session, next), screen).await?;
            screen.flush()?;
            loop {
                let commit = ledger.journal().follow(position).await?;
                position = commit.position;
                if commit
                    .appends
                    .iter()
                    .any(|(stream, _)| *stream == session.0)
                {
                    break;
                }
            }
        }
    }

    /// Prints the records of a session from one on, and returns the number of the next one.
    async fn print_all(
        &mut self,
        ledger: &Ledger,
        (session, from): (SessionId, Seq),
        screen: &mut Screen,
    ) -> Result<Seq, Failure> {
        let mut next = from;
        loop {
            let entries = ledger.entries(session, next, PAGE).await?;
            let Some(last) = entries.last() else {
                return Ok(next);
            };
            next = last.seq.next();
            for entry in &entries {
                self.print(entry, screen)?;
            }
        }
    }

    /// Prints the records of a service, and with `follow` the new ones until the service ends.
    async fn print_from(
        &mut self,
        client: &mut Client,
        session: SessionId,
        follow: bool,
        screen: &mut Screen,
    ) -> Result<(), Broken> {
        let from = Seq(1);
        let request = Request::Log {
            session,
            from,
            follow,
        };
        client.ask(&request).await.map_err(Broken::There)?;
        let mut seq = from;
        loop {
            let item = match client.next().await {
                Ok(Answered::Item(item)) => item,
                Ok(Answered::Done(_)) => return Ok(()),
                Err(Unanswered::Ended) if follow => return Ok(()),
                Err(error) => return Err(Broken::There(error)),
            };
            let item: LogItem = read(&item).map_err(Broken::There)?;
            let line = Line::new(item.record.get().as_bytes());
            let body = item.body.map(|it| it.get().to_owned());
            self.print(&Entry::relayed(session, seq, line, body)?, screen)?;
            if follow {
                screen.flush()?;
            }
            seq = seq.next();
        }
    }

    fn print(&mut self, entry: &Entry, screen: &mut Screen) -> Result<(), Failure> {
        if self.json {
            return screen.bytes(entry.line.bytes());
        }
        let shown = match entry.fact() {
            Ok(fact) => self.timeline.event(&fact),
            // Records of a newer version and sealed ones are shown as far as they can be read.
            Err(ledger::Error::Unreadable { .. }) => {
                let record = entry.record()?;
                let at = Timestamp(record.at_us);
                self.timeline
                    .unknown(entry.seq, at, record.kind, entry.body()?)
            }
            Err(ledger::Error::Sealed { .. }) => {
                let record = entry.record()?;
                let at = Timestamp(record.at_us);
                self.timeline
                    .sealed(entry.seq, at, &record.actor.kind, record.kind)
            }
            Err(error) => return Err(error.into()),
        };
        screen.line(&shown)
    }
}
