//! The conversation of `recount run`: the texts, the approvals, and the end.

use std::collections::VecDeque;
use std::time::Duration;

use super::approvals::{Approvals, Treatment};
use super::input::{Input, Typed};
use crate::failures::Failure;
use crate::telling::{Follower, is_calm, question};
use crate::terminal::{Screen, Tone, prompt};
use recount::engine::{Clock, Error, LiveHandle, SystemClock, ToolConfirmation};
use recount::ledger::PendingConfirmation;
use recount::session::{About, Actor, Event, Fact, Observation, RequestId, Seq};
use recount_telling::{cut, one_line};

/// The time that a script waits for a silent model that has not ended its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The width of a call in the prompt, so that the prompt fits a line of 80 columns.
const CALL_COLUMNS: usize = 40;

/// The prompt while no request is on the screen.
const SAY: &str = "> ";

/// A conversation.
pub(super) struct Conversation<'a> {
    live: &'a LiveHandle,
    follower: Follower,
    approvals: Approvals,
    by: Actor,
    /// True if the model was sent something and has not ended its turn.
    model_is_busy: bool,
    /// The reason why the connection was lost.
    lost: Option<String>,
    /// The request that is on the screen.
    asked: Option<Asked>,
    /// The requests that the person postponed.
    put_off: Vec<RequestId>,
}

/// A request on the screen.
struct Asked {
    request: RequestId,
    /// The prompt, which names the call.
    prompt: String,
    /// Set once other lines were printed below the request, so that it must be shown again.
    is_hidden: bool,
}

/// The next step after a typed line.
enum Next {
    Continue,
    End,
}

impl<'a> Conversation<'a> {
    pub(super) async fn new(
        live: &'a LiveHandle,
        shown: Seq,
        approvals: Approvals,
        by: Actor,
        screen: &Screen,
    ) -> Result<Conversation<'a>, Failure> {
        Ok(Conversation {
            live,
            follower: Follower::new(live, shown, screen).await?,
            approvals,
            by,
            model_is_busy: false,
            lost: None,
            asked: None,
            put_off: Vec::new(),
        })
    }

    /// Sends the texts turn by turn, then the typed lines, until there is nothing to send and
    /// nothing runs.
    ///
    /// Texts stay in the queue if the model did not end its turn.
    pub(super) async fn hold(
        &mut self,
        texts: &mut VecDeque<String>,
        interactive: bool,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let mut input = if interactive {
            Input::typed()
        } else {
            Input::none()
        };
        loop {
            self.show_new(screen).await?;
            if let Some(reason) = &self.lost {
                let what = format!("the connection was lost: {reason}");
                return Err(Failure::new("disconnected", what).advice("continue with --resume"));
            }
            let session = self.live.session().await?;
            if session.head != self.follower.shown() {
                continue;
            }
            if self.handle_requests(screen).await? {
                continue;
            }
            let calm = is_calm(&session);
            if calm && !self.model_is_busy && self.asked.is_none() {
                match texts.pop_front() {
                    Some(text) => {
                        self.send(text).await?;
                        continue;
                    }
                    None if interactive => {}
                    None => return Ok(()),
                }
            }
            // Only a line that is typed below a request answers it.
            input.show(self.asked.as_ref().map(|it| it.request));
            if interactive && (calm || self.asked.is_some()) {
                screen.prompt(self.asked.as_ref().map_or(SAY, |it| &it.prompt))?;
            }
            tokio::select! {
                biased;
                woken = self.follower.wake(self.live) => woken?,
                line = input.line() => {
                    if let Next::End = self.handle_line(line, screen).await? {
                        return Ok(());
                    }
                }
                // A script does not wait forever for a model that neither speaks nor ends its turn.
                () = tokio::time::sleep(PATIENCE), if calm && !interactive => return Ok(()),
            }
        }
    }

    /// Shows the new records.
    pub(super) async fn show_new(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let facts = self.follower.show_new(screen).await?;
        if let Some(asked) = &mut self.asked {
            asked.is_hidden |= !facts.is_empty();
        }
        facts.iter().for_each(|fact| self.learn(fact));
        Ok(())
    }

    /// Learns from an event if the model is busy and if the connection is lost.
    fn learn(&mut self, fact: &Fact) {
        let Event::Observed(observation) = &fact.event else {
            return;
        };
        if let Observation::UserTextSent(_) | Observation::ResponsesSent(_) = observation {
            self.model_is_busy = true;
        } else if let Observation::TurnCompleted(_)
        | Observation::TurnInterrupted(_)
        | Observation::FunctionCallReceived(_) = observation
        {
            self.model_is_busy = false;
        } else if let Observation::Disconnected(it) = observation {
            self.lost = Some(it.reason.clone());
        } else if let Observation::Connected(_) | Observation::ReconnectScheduled(_) = observation {
            // The new connection, or the coming one, replaces the lost one.
            self.lost = None;
        } else if let Observation::ReconnectsExhausted(it) = observation {
            self.lost = Some(it.reason.clone());
        } else if let Observation::HistorySent(it) = observation {
            self.model_is_busy |= it.answer_wanted;
        }
    }

    async fn send(&mut self, text: String) -> Result<(), Failure> {
        self.model_is_busy = true;
        Ok(self.live.send_text(text).await?)
    }

    /// Answers the open requests, or shows them. Returns true if one was answered.
    async fn handle_requests(&mut self, screen: &mut Screen) -> Result<bool, Failure> {
        if self.approvals.all_wait() {
            return Ok(false);
        }
        let waiting: Vec<PendingConfirmation> = self.live.pending().await?;
        let asked = self.asked.take();
        self.asked = asked.filter(|asked| waiting.iter().any(|it| it.id == asked.request));
        let mut answered = false;
        for request in &waiting {
            match self.approvals.answer_to(request.about) {
                Treatment::Park => {}
                Treatment::Alike { confirmed, flag } => {
                    let by = self.by.clone().as_program(flag);
                    self.answer(request.id, confirmed, by).await?;
                    answered = true;
                }
                Treatment::Ask if self.put_off.contains(&request.id) => {}
                Treatment::Ask => self.ask(request, screen)?,
            }
        }
        Ok(answered)
    }

    /// Shows a request if none is on the screen, and again if other lines were printed below it.
    fn ask(&mut self, request: &PendingConfirmation, screen: &mut Screen) -> Result<(), Failure> {
        match &mut self.asked {
            Some(asked) if asked.request != request.id || !asked.is_hidden => return Ok(()),
            Some(asked) => asked.is_hidden = false,
            None => {
                let call = format!("{} #{} {}", request.tool, request.call, request.args);
                let call = cut(&one_line(&call), CALL_COLUMNS).into_owned();
                self.asked = Some(Asked {
                    request: request.id,
                    prompt: format!("{}: {call}? [y/n, empty: later] ", verb(request.about)),
                    is_hidden: false,
                });
            }
        }
        screen.line("")?;
        question::show(request, SystemClock.now(), screen)?;
        screen.flush()
    }

    async fn answer(&self, request: RequestId, confirmed: bool, by: Actor) -> Result<(), Failure> {
        let answer = if confirmed {
            ToolConfirmation::confirmed()
        } else {
            ToolConfirmation::default()
        };
        match self.live.answer(request, answer, by).await {
            // Another approver, or the expiry, may have been first. The timeline shows what counts.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn handle_line(
        &mut self,
        typed: Option<Typed>,
        screen: &mut Screen,
    ) -> Result<Next, Failure> {
        screen.answered();
        let Some(Typed { line, question }) = typed else {
            return Ok(Next::End);
        };
        let is_empty = line.trim().is_empty();
        let asked = self.asked.as_ref().map(|it| it.request);
        match question {
            None if is_empty => {}
            None => self.send(line).await?,
            Some(question) if asked != Some(question) => {
                let note = "That call no longer waits; the typed line answers no other call.";
                screen.toned(Tone::Quiet, note)?;
            }
            Some(request) => match prompt::yes_or_no_in(&line) {
                Some(confirmed) => {
                    self.asked = None;
                    let by = self.by.clone().as_person();
                    self.answer(request, confirmed, by).await?;
                }
                None if is_empty => {
                    self.asked = None;
                    self.put_off.push(request);
                }
                // The request is shown again.
                None => {}
            },
        }
        Ok(Next::Continue)
    }
}

/// The words of the prompt for a request.
fn verb(about: About) -> &'static str {
    match about {
        About::Gate | About::Tool => "Approve",
        About::InDoubt => "May have run. Run again",
    }
}
