//! The conversation of `recount run`: what is said, what is asked, and when it is over.

use std::collections::VecDeque;
use std::time::Duration;

use super::approvals::{Approvals, Treatment};
use super::input::{Input, Typed};
use crate::failures::Failure;
use crate::telling::{Follower, is_calm, question};
use crate::terminal::{Screen, Tone, prompt};
use crate::text::{cut, one_line};
use recount::engine::{Clock, Error, LiveHandle, SystemClock, ToolConfirmation};
use recount::ledger::PendingConfirmation;
use recount::session::{About, Actor, Event, Fact, Observation, RequestId, Seq};

/// How long a silent model is waited for that has not said that its turn is over.
const PATIENCE: Duration = Duration::from_secs(10);

/// The width of a call in the prompt. With what stands around it, the prompt fits a line of 80
/// columns.
const CALL_COLUMNS: usize = 40;

/// The prompt while the terminal asks nothing.
const SAY: &str = "> ";

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
    /// The question that waits for the person's answer.
    asked: Option<Asked>,
    /// What the person does not want to decide now.
    put_off: Vec<RequestId>,
}

/// A question on the terminal.
struct Asked {
    request: RequestId,
    /// The prompt, which names the call.
    prompt: String,
    /// Set once something else was printed below the question, so that it must be shown again.
    is_hidden: bool,
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

    /// Says the texts in turn, then what is typed; ends when there is nothing to say and nothing
    /// runs. Texts that were not said, because the model did not end its turn, stay.
    pub(super) async fn hold(
        &mut self,
        texts: &mut VecDeque<String>,
        interactive: bool,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
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
            // Only what is typed below a question answers it.
            input.show(self.asked.as_ref().map(|it| it.request));
            if interactive && (calm || self.asked.is_some()) {
                screen.prompt(self.asked.as_ref().map_or(SAY, |it| &it.prompt))?;
            }
            tokio::select! {
                biased;
                woken = self.follower.wake(self.live) => woken?,
                line = input.line() => if let Next::Over = self.hear(line, screen).await? { return Ok(()) },
                // A model that neither speaks nor ends its turn is not waited for for ever where
                // nobody sees it.
                () = tokio::time::sleep(PATIENCE), if calm && !interactive => return Ok(()),
            }
        }
    }

    /// Shows what is on record and was not shown.
    pub(super) async fn tell(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let told = self.follower.tell(screen).await?;
        if let Some(asked) = &mut self.asked {
            asked.is_hidden |= !told.is_empty();
        }
        told.iter().for_each(|fact| self.take(fact));
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
        if self.approvals.nobody_answers() {
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

    /// Shows a question where none is on the screen, and again where something else came below it.
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
            // Somebody else, or the clock, may have been quicker; the timeline shows what counts.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn hear(&mut self, typed: Option<Typed>, screen: &mut Screen) -> Result<Next, Failure> {
        screen.answered();
        let Some(Typed { line, question }) = typed else {
            return Ok(Next::Over);
        };
        let is_empty = line.trim().is_empty();
        let asked = self.asked.as_ref().map(|it| it.request);
        match question {
            None if is_empty => {}
            None => self.say(line).await?,
            Some(question) if asked != Some(question) => {
                let told = "That call waits no more; what was typed answers no other.";
                screen.toned(Tone::Quiet, told)?;
            }
            Some(request) => match prompt::understood(&line) {
                Some(confirmed) => {
                    self.asked = None;
                    let by = self.by.clone().as_person();
                    self.answer(request, confirmed, by).await?;
                }
                None if is_empty => {
                    self.asked = None;
                    self.put_off.push(request);
                }
                // It is asked again.
                None => {}
            },
        }
        Ok(Next::On)
    }
}

/// The decision that a question wants.
fn verb(about: About) -> &'static str {
    match about {
        About::Gate | About::Tool => "Approve",
        About::InDoubt => "May have run. Run again",
    }
}
