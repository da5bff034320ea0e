//! The conversation of `recount run`: what is said, what is asked, and when it is over.

use std::collections::VecDeque;
use std::time::Duration;

use super::input::Input;
use crate::cli::failure::Failure;
use crate::cli::follow::{Follower, is_calm};
use crate::cli::screen::Screen;
use crate::cli::{pending, prompt};
use crate::engine::{Clock, Error, LiveHandle, SystemClock, ToolConfirmation};
use crate::ledger::PendingConfirmation;
use crate::session::{Actor, Event, Fact, Observation, RequestId, Seq};

/// How long a silent model is waited for that has not said that its turn is over.
const PATIENCE: Duration = Duration::from_secs(10);

/// The question below a call that asks.
const APPROVE: &str = "Approve? [y/n, empty: later] ";

/// Who answers the calls that ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approvals {
    /// All of them alike.
    All(bool),
    /// The person at the terminal.
    Ask,
    /// Nobody here: they wait in the journal.
    Park,
}

/// A conversation under way.
pub(super) struct Conversation<'a> {
    live: &'a LiveHandle,
    follower: Follower,
    approvals: Approvals,
    by: Actor,
    /// The model has heard something and has not ended its turn.
    models_turn: bool,
    /// The connection is gone, and why.
    lost: Option<String>,
    /// What was shown to the person and waits for their answer.
    asked: Option<RequestId>,
    /// What the person does not want to decide now.
    put_off: Vec<RequestId>,
}

/// Whether the conversation goes on.
enum Next {
    On,
    Over,
}

impl<'a> Conversation<'a> {
    pub(super) async fn new(
        live: &'a LiveHandle,
        told: Seq,
        approvals: Approvals,
        by: Actor,
        screen: &Screen,
    ) -> Result<Conversation<'a>, Failure> {
        Ok(Conversation {
            live,
            follower: Follower::new(live, told, screen).await?,
            approvals,
            by,
            models_turn: false,
            lost: None,
            asked: None,
            put_off: Vec::new(),
        })
    }

    /// Says the texts in turn, then what is typed; ends when there is nothing to say and nothing runs.
    pub(super) async fn hold(
        &mut self,
        texts: Vec<String>,
        interactive: bool,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let mut texts = VecDeque::from(texts);
        let mut shown = None;
        let mut input = if interactive {
            Input::typed()
        } else {
            Input::nobody()
        };
        loop {
            self.tell(screen).await?;
            if let Some(reason) = &self.lost {
                let what = format!("the connection was lost: {reason}");
                return Err(Failure::new("disconnected", what).advice("go on with --resume"));
            }
            let session = self.live.session().await?;
            if session.head != self.follower.told() {
                continue;
            }
            if self.see_to_approvals(screen).await? {
                continue;
            }
            let calm = is_calm(&session);
            if calm && !self.models_turn && self.asked.is_none() {
                match texts.pop_front() {
                    Some(text) => {
                        self.say(text).await?;
                        continue;
                    }
                    None if interactive => {}
                    None => return Ok(()),
                }
            }
            let newly_asked = self.asked.filter(|asked| shown != Some(*asked));
            if newly_asked.is_some() {
                // What was typed before the question was shown was said to the model and approves nothing.
                while let Some(line) = input.typed_before() {
                    if !line.trim().is_empty() {
                        self.say(line).await?;
                    }
                }
                shown = newly_asked;
            }
            if interactive && (calm || self.asked.is_some()) {
                screen.prompt(if self.asked.is_some() { APPROVE } else { "> " })?;
            }
            tokio::select! {
                biased;
                woken = self.follower.wake(self.live) => woken?,
                line = input.line() => if let Next::Over = self.hear(line, screen).await? { return Ok(()) },
                // A model that neither speaks nor ends its turn is not waited for for ever where nobody sees it.
                () = tokio::time::sleep(PATIENCE), if calm && !interactive => return Ok(()),
            }
        }
    }

    /// Shows what is on record and was not shown.
    pub(super) async fn tell(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        for fact in self.follower.tell(screen).await? {
            self.take(&fact);
        }
        Ok(())
    }

    /// Learns from an event whose turn it is.
    fn take(&mut self, fact: &Fact) {
        let Event::Observed(observation) = &fact.event else {
            return;
        };
        if let Observation::UserTextSent(_) | Observation::ResponsesSent(_) = observation {
            self.models_turn = true;
        } else if let Observation::TurnCompleted(_)
        | Observation::TurnInterrupted(_)
        | Observation::FunctionCallReceived(_) = observation
        {
            self.models_turn = false;
        } else if let Observation::Disconnected(it) = observation {
            self.lost = Some(it.reason.clone());
        } else if let Observation::Connected(_) | Observation::ReconnectScheduled(_) = observation {
            // The end of the connection before is an old story, or will be.
            self.lost = None;
        } else if let Observation::ReconnectsExhausted(it) = observation {
            self.lost = Some(it.reason.clone());
        } else if let Observation::HistorySent(it) = observation {
            self.models_turn |= it.answer_wanted;
        }
    }

    async fn say(&mut self, text: String) -> Result<(), Failure> {
        self.models_turn = true;
        Ok(self.live.send_text(text).await?)
    }

    /// Answers, or asks about, what waits for approval; says whether something was answered.
    async fn see_to_approvals(&mut self, screen: &mut Screen) -> Result<bool, Failure> {
        if self.approvals == Approvals::Park {
            return Ok(false);
        }
        let mut answered = false;
        let waiting: Vec<PendingConfirmation> = self.live.pending().await?;
        if self
            .asked
            .is_some_and(|asked| !waiting.iter().any(|it| it.id == asked))
        {
            self.asked = None;
        }
        for request in &waiting {
            match self.approvals {
                Approvals::Park => {}
                Approvals::All(confirmed) => {
                    self.answer(request.id, confirmed).await?;
                    answered = true;
                }
                Approvals::Ask if self.asked.is_some() => {}
                Approvals::Ask if self.put_off.contains(&request.id) => {}
                Approvals::Ask => {
                    screen.line("")?;
                    pending::show(request, SystemClock.now(), screen)?;
                    screen.flush()?;
                    self.asked = Some(request.id);
                }
            }
        }
        Ok(answered)
    }

    async fn answer(&self, request: RequestId, confirmed: bool) -> Result<(), Failure> {
        let answer = ToolConfirmation {
            confirmed,
            ..ToolConfirmation::default()
        };
        match self.live.answer(request, answer, self.by.clone()).await {
            // Somebody else, or the clock, may have been quicker; the timeline shows what counts.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn hear(&mut self, line: Option<String>, screen: &mut Screen) -> Result<Next, Failure> {
        screen.answered();
        let Some(line) = line else {
            return Ok(Next::Over);
        };
        match self.asked {
            Some(request) => match prompt::understood(&line) {
                Some(confirmed) => {
                    self.asked = None;
                    self.answer(request, confirmed).await?;
                }
                None if line.trim().is_empty() => {
                    self.asked = None;
                    self.put_off.push(request);
                }
                // It is asked again.
                None => {}
            },
            None if line.trim().is_empty() => {}
            None => self.say(line).await?,
        }
        Ok(Next::On)
    }
}
