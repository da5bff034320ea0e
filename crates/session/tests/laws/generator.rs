//! Random histories, mostly plausible and often hostile, built from bytes that shrink to simpler
//! ones.
//!
//! A move is four random bytes ("dice"), interpreted for the current session. So most moves are
//! meaningful: a running call returns, an open request is answered. The others do what a hostile
//! world may do.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use recount_session::testing::{Toolbox, answer_to, called_by, written};
use recount_session::*;
use serde_json::json;

use crate::recording::{Recording, observed};

#[path = "clients.rs"]
mod clients;

use crate::terms::{CLERK, Dice, KEYS, NAMES, tools_of};

/// Histories in which answers are checked by `admit`.
pub(crate) fn recordings() -> impl Strategy<Value = Recording> {
    scripts().prop_map(|script| play(&script, false))
}

/// Histories that also contain answers and results which `admit` would reject.
pub(crate) fn wild_recordings() -> impl Strategy<Value = Recording> {
    scripts().prop_map(|script| play(&script, true))
}

/// The dice of one history: the tools of its runners, and the moves.
#[derive(Debug)]
struct Script {
    tools: Vec<Dice>,
    moves: Vec<[u8; 4]>,
}

fn scripts() -> impl Strategy<Value = Script> {
    let tools = vec(any::<Dice>(), 1..5);
    let moves = vec(any::<[u8; 4]>(), 0..70);
    (tools, moves).prop_map(|(tools, moves)| Script { tools, moves })
}

/// Argument texts. Some are equal except for the order of keys, and some only look equal.
fn args_of(die: u8) -> String {
    let n = die % 3;
    match die % 5 {
        // Decisions treat sealed bytes like any others.
        0 => format!(r#"{{"n":{{"$sealed":"v1.{n}"}}}}"#),
        1 if die & 64 == 0 => r#"{"m":[1,{"y":1,"x":2}],"n":0}"#.to_owned(),
        1 => r#"{"n":0,"m":[1,{"x":2,"y":1}]}"#.to_owned(),
        2 => format!(r#"{{"n":{n}.0}}"#),
        _ => format!(r#"{{"n":{n}}}"#),
    }
}

/// A history under construction.
struct World {
    session: Session,
    now: Timestamp,
    wild: bool,
    tools: Vec<Toolbox>,
    recording: Recording,
}

/// Approvers of all kinds: with and without an issuer, with other roles, programs, and strangers.
fn person(die: u8) -> Actor {
    let of_role = |role: &str| Identity::of("https://login.example").with_role(role);
    let issued = |name: &str, role: &str| {
        let actor = Actor::token(name).as_person();
        actor.with_identity(of_role(role))
    };
    match die % 16 {
        0..=3 => Actor::embedder("ada"),
        4 | 5 => Actor::os_user("bob").as_person(),
        6 | 7 => issued("ada", "finance"),
        8 | 9 => issued("dave", "finance"),
        10 => issued("eve", "sales"),
        11 => {
            let identity = of_role("sales").with_group("eu");
            Actor::token("bob").as_person().with_identity(identity)
        }
        12 => Actor::embedder("ada").as_program("--approve-all"),
        13 => Actor::unverified("ada"),
        14 => Actor::embedder("pipeline"),
        _ => Actor::os_user("ada"),
    }
}

/// The same answer, by another actor.
fn said_by(mut command: Command, actor: Actor) -> Command {
    if let Command::AnswerConfirmation { by, .. } = &mut command {
        *by = actor;
    }
    command
}

/// The party for whom the agent acts, in three of four histories.
fn on_behalf_of(script: &Script) -> Option<String> {
    match script.tools.first()?[12] / 64 {
        0 => None,
        1 => Some("bob".into()),
        _ => Some("ada".into()),
    }
}

/// A session id that no other history has, so that one journal can store many.
fn name_of(script: &Script) -> SessionId {
    let tools = script.tools.iter().flatten();
    let dice: Vec<u8> = tools
        .chain(script.moves.iter().flatten())
        .copied()
        .collect();
    SessionId(uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, &dice))
}

fn play(script: &Script, wild: bool) -> Recording {
    let mut start = Session::new(name_of(script));
    let tools: Vec<Toolbox> = script.tools.iter().copied().map(tools_of).collect();
    for tools in &tools {
        // A recording starts with every object that its events may refer to.
        let _ = tools.attached("support", start.library_mut());
    }
    let mut world = World {
        session: start.clone(),
        now: Timestamp(1_763_700_000_000_000),
        wild,
        tools,
        recording: Recording {
            start,
            facts: Vec::new(),
            steps: Vec::new(),
            commands: Vec::new(),
            times: Vec::new(),
            tools: BTreeMap::new(),
        },
    };
    world.observe(SessionOpened {
        agent: "support".into(),
        external_id: None,
        on_behalf_of: on_behalf_of(script),
        labels: BTreeMap::new(),
        rules: RULES_MIN,
        program: "test".into(),
    });
    world.attach(0);
    world.connect(0);
    for dice in &script.moves {
        world.act(*dice);
    }
    world.recording
}

impl World {
    fn observe(&mut self, observation: impl Into<Observation>) {
        let done = step(self.session.clone(), self.now, observation.into());
        let done = done.unwrap_or_else(|endless| panic!("{endless}\n{:?}", self.recording));
        self.session = done.session;
        self.recording.facts.extend(done.facts);
        let seen = (self.recording.facts.len(), self.session.clone());
        self.recording.steps.push(seen);
    }

    /// Handles a command as the engine does: `admit`, then `step`. A refused answer is recorded.
    fn command(&mut self, command: Command) {
        let before = self.recording.facts.len();
        self.recording.times.push(self.now);
        match admit_at(&self.session, self.now, command.clone()) {
            Ok(observation) => {
                self.recording.commands.push((before, command, None));
                self.observe(observation);
            }
            Err(rejection) => {
                if let Command::AnswerConfirmation { request, by, .. } = &command
                    && let Some(refused) =
                        refusal_on_record(&self.session, *request, by, &rejection)
                {
                    self.observe(refused);
                }
                let turned_away = (before, command, Some(rejection));
                self.recording.commands.push(turned_away);
            }
        }
    }

    fn act(&mut self, [kind, which, flavour, delay]: [u8; 4]) {
        // Rarely, the clock goes backwards, or a minute passes.
        let ms = i64::from(delay % 8) - i64::from(delay == 255) * 20
            + i64::from(delay % 32 == 30) * 59_999;
        self.now = Timestamp(self.now.0 + ms * 1000);
        if flavour % 16 != 15 {
            for due in overdue(&self.session, self.now) {
                self.observe(due);
            }
        }
        let live = self.session.connection.unwrap_or(Seq(0));
        // Pauses are short, so that most of a history runs.
        if !self.session.pauses.is_empty() && delay % 8 == 5 {
            return self.unpause(which, flavour);
        }
        match kind % 40 {
            30 if flavour % 4 == 1 => self.revoke(which, flavour),
            0..=7 => self.call(which, flavour),
            8 => self.redeliver(which, flavour),
            9..=16 => self.progress(which, flavour),
            17 | 18 => self.send(which),
            19 => self.observe(TurnCompleted {
                epoch: live,
                reason: None,
            }),
            20 | 21 if flavour % 8 == 5 => self.change_tools(which),
            20 | 21 => self.attach(which),
            22 => self.detach(which, flavour),
            23 => self.connect(which),
            24 if flavour.is_multiple_of(2) => self.disconnect(flavour),
            24 => self.lose(which, flavour),
            25 | 26 => self.cancel_by_model(which, flavour),
            27 => self.cancel(which),
            28 => self.misreport(which, flavour),
            29 => self.answer_again(which, flavour),
            30 if flavour.is_multiple_of(4) => self.stray(which, flavour, live),
            30 => self.chatter(which, live),
            31 => self.close_or_intrude(which, flavour),
            32..=34 => self.write(which, flavour),
            35 => self.program_calls(which, flavour),
            36 | 37 => self.instruct(which, flavour),
            38 => self.crash(which),
            39 if flavour % 4 == 1 => self.lease_passes(which, flavour),
            39 if which.is_multiple_of(3) => self.pause(which, flavour),
            39 => self.client(which, flavour),
            _ => self.progress(which, flavour),
        }
    }

    fn call(&mut self, which: u8, flavour: u8) {
        let malformed = flavour % 16 == 1;
        let number = self.recording.facts.len();
        let epoch = match flavour / 16 {
            // Any existing record, but never a connection of the future.
            15 => Seq(u64::from(which) % (self.session.head.0 + 1)),
            _ => self
                .session
                .connection
                .or(self.last_epoch())
                .unwrap_or(Seq(0)),
        };
        let args = (!malformed && flavour % 16 != 2).then(|| args_of(flavour));
        let sealed = match &args {
            Some(args) if args.contains("$sealed") => vec!["/n".to_owned()],
            Some(_) | None => Vec::new(),
        };
        let args = args.map(|text| Json::parse(&text).expect("the generator writes JSON"));
        self.observe(FunctionCallReceived {
            epoch,
            id: match flavour % 8 {
                6 => None,
                7 => Some(format!("c{}", which % 4)),
                _ => Some(format!("f{number}")),
            },
            name: match which % 16 {
                11 | 12 => Some(CLERK.into()),
                14 => None,
                15 => Some("nothing".into()),
                n => Some(NAMES[usize::from(n) % NAMES.len()].into()),
            },
            args,
            malformed_args: malformed.then(|| MalformedArgs {
                text: "{".into(),
                problem: "not JSON".into(),
            }),
            invalid_args: (flavour % 16 == 3).then(|| "n must be a string".into()),
            sealed_args: sealed,
            original_args: None,
            by: None,
            parent: None,
            beyond_max: (flavour % 64 == 17).then_some(1),
            key: None,
        });
    }

    /// Redelivers a call unchanged on the current connection.
    fn redeliver(&mut self, which: u8, flavour: u8) {
        let calls = self.recording.facts.iter().rev();
        let mut calls = calls.filter_map(|fact| match observed(fact) {
            Some(Observation::FunctionCallReceived(it)) => Some(it.clone()),
            _ => None,
        });
        let live = self.session.connection.or(self.last_epoch());
        match calls.nth(usize::from(which % 4)) {
            Some(call) if call.by.is_none() && call.parent.is_none() => {
                self.observe(FunctionCallReceived {
                    epoch: live.unwrap_or(Seq(0)),
                    ..call
                })
            }
            Some(_) | None => self.call(which, flavour),
        }
    }

    /// Plans a switch, loses the connection, schedules a reconnect, or gives up.
    fn lose(&mut self, which: u8, flavour: u8) {
        let epoch = self.session.connection.unwrap_or(Seq(0));
        let (attempt, due_us) = (u32::from(which % 3) + 1, self.now);
        let handle = self.session.resumption.as_ref();
        let handle = handle.map(|it| it.fingerprint.clone());
        match flavour / 2 % 8 {
            0 | 1 => self.observe(SwitchPlanned { epoch, due_us }),
            2 => self.observe(ReconnectScheduled {
                attempt,
                due_us,
                resumes: handle,
            }),
            3 => self.observe(ConnectFailed {
                attempt,
                code: Some(1007),
                reason: "no".into(),
                rejected: handle.filter(|_| which.is_multiple_of(2)),
            }),
            4 => self.observe(ReconnectsExhausted {
                attempts: attempt,
                reason: "no".into(),
            }),
            5 => self.observe(HistorySent {
                epoch,
                after: Seq(0),
                through: self.session.head,
                turns: 1,
                left_out: 0,
                answer_wanted: false,
                form: HistoryForm::Turns,
            }),
            _ => self.observe(RunnerDraining {
                reason: "deploy".into(),
            }),
        }
    }

    /// Counts media, or answers a hook that nothing waits for.
    fn stray(&mut self, which: u8, flavour: u8, epoch: Seq) {
        if flavour.is_multiple_of(8) {
            let (heard, sent) = (MediaCount::default(), MediaCount::default());
            let withheld = MediaCount::default();
            return self.observe(MediaCounted {
                epoch,
                heard,
                sent,
                withheld,
            });
        }
        let open = self.session.calls.keys().nth(usize::from(which % 4));
        let call = open.copied().unwrap_or(Seq(u64::from(which)));
        let issued = self.session.deliveries.keys().next().copied();
        let hook = if which.is_multiple_of(2) {
            Hook::OnToolCall
        } else {
            Hook::BeforeToolResponse
        };
        let response = Some(Json::of(&json!({"said": which})));
        self.observe(HookAnswered {
            hook,
            call,
            of: issued,
            response,
            failure: None,
            gated: None,
            by: None,
        });
    }

    /// Records a call by the embedding program, without a model.
    fn program_calls(&mut self, which: u8, flavour: u8) {
        let key = (which & 64 != 0).then(|| format!("k{}", which % 2));
        if key.is_some() {
            self.raise_rules();
        }
        self.observe(FunctionCallReceived {
            epoch: Seq(0),
            id: None,
            name: Some(NAMES[usize::from(which) % NAMES.len()].into()),
            args: Json::parse(&args_of(flavour)).ok(),
            malformed_args: None,
            invalid_args: None,
            sealed_args: Vec::new(),
            original_args: None,
            by: Some(match which / 4 % 4 {
                0 => Actor::embedder("ada").as_program("nightly"),
                1 => Actor::unverified("bob"),
                _ => Actor::embedder("pipeline"),
            }),
            parent: None,
            beyond_max: None,
            key,
        });
    }

    /// Changes the state as a hook, the program, a running tool, or a tool of an earlier run.
    fn write(&mut self, which: u8, flavour: u8) {
        let values = [
            json!(true),
            json!(1),
            json!(2),
            json!(null),
            json!("x"),
            json!(1.0),
            json!(false),
            json!([1]),
        ];
        let value = |die: u8| values[usize::from(die) % values.len()].clone();
        let key = |die: u8| KEYS[usize::from(die) % KEYS.len()];
        let mut changes = vec![(key(flavour), value(flavour / 4))];
        if flavour & 128 != 0 {
            changes.push((key(flavour / 8), value(flavour / 2)));
        }
        if flavour == 255 {
            changes.push(("temp:c", json!(1)));
        }
        let call = self.session.calls.iter().nth(usize::from(which / 4 % 4));
        let author = match (which % 4, call) {
            (1, _) => {
                let change = |(key, value): (&str, _)| StateChange {
                    key: key.to_owned(),
                    value: Json::of(&value),
                };
                let changes = changes.into_iter().map(change).collect();
                let by = Actor::embedder("crm");
                return self.command(Command::ChangeState { changes, by });
            }
            (0, _) | (_, None) => Author::Hook("extract".into()),
            (_, Some((call, open))) => Author::Tool {
                call: *call,
                attempt: open
                    .attempts
                    .saturating_sub(u32::from((which / 16).is_multiple_of(8))),
            },
        };
        self.observe(written(author, changes));
    }

    /// Records that the owed instruction was sent, or an instruction of another connection or stay.
    fn instruct(&mut self, which: u8, flavour: u8) {
        let owed = owed(&self.session)
            .into_iter()
            .find_map(|effect| match effect {
                Effect::SendInstruction { phase, epoch } => Some((phase, epoch)),
                Effect::RunTool { .. }
                | Effect::AskHook { .. }
                | Effect::AskConfirmation { .. }
                | Effect::SendResponse { .. }
                | Effect::CloseSession { .. }
                | Effect::Connect
                | Effect::ArmTimer { .. } => None,
            });
        let stay = self.session.phase.as_ref().map(|stay| stay.entered);
        let (phase, epoch) = match (which % 4, owed) {
            (0, _) => (stay.unwrap_or(Seq(1)), Seq(u64::from(flavour))),
            (1, _) => (
                Seq(u64::from(flavour)),
                self.session.connection.unwrap_or(Seq(0)),
            ),
            (_, Some(owed)) => owed,
            (_, None) => return self.write(which, flavour),
        };
        self.observe(InstructionSent { epoch, phase });
    }

    /// Makes the next step of a well-behaved world for one of the open calls.
    fn progress(&mut self, which: u8, flavour: u8) {
        let open = self.session.calls.len().max(1);
        let picked = self.session.calls.iter().nth(usize::from(which) % open);
        let Some((call, open)) = picked.map(|(seq, call)| (*seq, call.clone())) else {
            return self.call(which, flavour);
        };
        let response = Json::of(&json!({"done": flavour}));
        if open.held_claim().is_some() && !flavour.is_multiple_of(4) {
            return self.client(which, flavour);
        }
        match open.phase {
            Phase::Ready { .. } | Phase::InDoubt { .. } if flavour % 8 != 7 => {
                self.client_or_attach(call, which, flavour);
            }
            // A run that waits in place may end without the answer.
            Phase::AwaitingConfirmation { .. } if open.in_place().is_some() && which % 8 > 5 => {
                self.observe(ToolReturned {
                    call,
                    attempt: open.attempts,
                    failed: flavour % 4 == 2,
                    response,
                    error_kind: None,
                    scheduling: None,
                    ends_session: None,
                });
            }
            Phase::AwaitingConfirmation {
                request,
                expires_at: Some(due_us),
                ..
            } if flavour % 4 == 3 => {
                self.now = self.now.max(due_us);
                let deadline = Deadline::Confirmation { call, request };
                self.observe(DeadlinePassed { deadline, due_us });
            }
            Phase::AwaitingConfirmation { request, .. } if flavour % 16 == 9 => {
                self.answer_malformed(request);
            }
            Phase::AwaitingConfirmation { request, .. } => {
                let reason = (flavour % 8 == 1).then_some("too much");
                let mut said = answer_to(request, flavour.is_multiple_of(2), reason, "ada");
                if let Command::AnswerConfirmation {
                    answer: Ok(answer), ..
                } = &mut said
                {
                    answer.found = (flavour % 16 == 5).then(|| match which % 2 {
                        0 => Finding::failed("the bank refused it"),
                        _ => Finding::Done(response),
                    });
                    answer.allow_for = self.bound(which, flavour);
                }
                self.command(said_by(said, person(which / 4)));
                // A second approver answers the opposite at the same moment, or agrees.
                let agrees = which % 4 == 1;
                if agrees || which.is_multiple_of(4) {
                    let yes = flavour.is_multiple_of(2) == agrees;
                    let mut said = answer_to(request, yes, None, "bob");
                    if let Command::AnswerConfirmation {
                        answer: Ok(answer), ..
                    } = &mut said
                    {
                        answer.payload = (flavour % 8 == 4).then(|| json!({"n": which}));
                        answer.allow_for = self.bound(which / 2, flavour);
                    }
                    self.command(said_by(said, person(which / 4 + flavour / 16)));
                }
            }
            Phase::Running { attempt, .. } if open.agent.is_some() && flavour % 4 != 3 => {
                self.agent_turn(call, attempt, which, flavour);
            }
            Phase::Running {
                attempt,
                deadline: Some(due_us),
                ..
            } if flavour % 4 == 3 => {
                self.now = self.now.max(due_us);
                let deadline = Deadline::Run { call, attempt };
                self.observe(DeadlinePassed { deadline, due_us });
            }
            Phase::Running {
                attempt, runner, ..
            } if flavour % 16 == 4 => {
                // The run's own runner, no runner, or an earlier one.
                let runner = match which % 4 {
                    0 => None,
                    1 => Some(Seq(runner.0.saturating_sub(1))),
                    _ => Some(runner),
                };
                self.observe(ToolYielded {
                    call,
                    attempt,
                    runner,
                    response,
                });
            }
            Phase::Running { attempt, .. } if flavour % 16 == 8 => {
                // From this run, or from an earlier one.
                let name = if which.is_multiple_of(4) {
                    "shipped"
                } else {
                    PROGRESS_EVENT
                };
                self.observe(ToolEventEmitted {
                    call,
                    attempt: attempt.saturating_sub(u32::from(which % 8 == 1)),
                    name: name.to_owned(),
                    data: response,
                });
            }
            Phase::Running { attempt, .. } if flavour % 16 == 12 => self.observe(ToolAsked {
                call,
                attempt,
                hint: "and now?".to_owned(),
                payload_schema: None,
                state: response,
                expires_after_ms: which.is_multiple_of(2).then_some(40),
                in_place: !(flavour / 16).is_multiple_of(4),
            }),
            Phase::Running { attempt, .. } if flavour % 4 == 1 => {
                let state = which.is_multiple_of(2).then(|| response.clone());
                let interim = (flavour % 8 == 1).then_some(response);
                self.observe(ToolPaused {
                    call,
                    attempt,
                    interim,
                    state,
                });
            }
            Phase::Running { attempt, .. } => {
                let failed = flavour % 4 == 2;
                let kind = if (flavour / 16).is_multiple_of(4) {
                    "invalid_args"
                } else {
                    "execution_failed"
                };
                let scheduling = FunctionResponseScheduling::Interrupt;
                // More often under an agent: the agent's other calls decide when the session ends.
                let ends = flavour % 16 >= 14 || open.parent.is_some() && !which.is_multiple_of(3);
                self.observe(ToolReturned {
                    call,
                    attempt,
                    failed,
                    response,
                    error_kind: failed.then(|| kind.to_owned()),
                    scheduling: (flavour / 32 == 1).then_some(scheduling),
                    // Also set for a failed run, where it has no effect.
                    ends_session: ends.then(|| format!("enough of {which}")),
                });
            }
            Phase::Retrying { attempt, due, .. } if flavour % 4 != 3 => {
                self.now = self.now.max(due);
                let deadline = Deadline::Retry { call, attempt };
                self.observe(DeadlinePassed {
                    deadline,
                    due_us: due,
                });
            }
            Phase::Retrying { .. } => self.attach(flavour),
            Phase::Paused { .. } => {
                let name = if flavour % 8 == 7 {
                    "other".into()
                } else {
                    open.name
                };
                let says = |response, will_continue| Command::SupplyResponse {
                    call,
                    name: name.clone(),
                    response,
                    will_continue,
                    by: Actor::embedder("warehouse"),
                };
                self.command(says(response.clone(), flavour % 8 == 3));
                // A second result: the same, another one, or more news, before or after the final
                // one.
                match which % 8 {
                    0 => self.command(says(response, false)),
                    1 => self.command(says(Json::empty_object(), false)),
                    2 => self.command(says(Json::empty_object(), true)),
                    3 => self.command(says(response, true)),
                    _ => {}
                }
            }
            Phase::AwaitingVerdict if flavour % 8 == 7 => self.attach(which),
            Phase::AwaitingVerdict => {
                let failed = flavour % 8 == 3;
                self.observe(HookAnswered {
                    hook: Hook::ConfirmWhen,
                    call,
                    of: None,
                    response: None,
                    failure: failed.then(|| "it panicked".to_owned()),
                    gated: (!failed).then_some(flavour.is_multiple_of(2)),
                    by: None,
                });
            }
            Phase::AwaitingHook => self.observe(HookAnswered {
                hook: Hook::OnToolCall,
                call,
                of: None,
                response: flavour.is_multiple_of(3).then_some(response),
                failure: (flavour % 3 == 1).then(|| "it panicked".to_owned()),
                gated: None,
                by: None,
            }),
            // A call that the agent does not wait for, or a reply to an earlier start.
            Phase::AwaitingCalls { .. } if flavour % 8 == 3 => {
                self.observe(called_by(call, NAMES[usize::from(which) % NAMES.len()]));
            }
            Phase::AwaitingCalls { .. } if flavour % 8 == 5 => {
                self.observe(asked(call, open.attempts));
                self.observe(replied(call, open.attempts, 1));
            }
            Phase::AwaitingCalls { open: 1.., .. } => self.call(which, flavour),
            // These phases wait for a runner, or for an equal call that runs. All other phases end
            // within a step.
            Phase::AwaitingCalls { open: 0, .. }
            | Phase::Ready { .. }
            | Phase::InDoubt { .. }
            | Phase::Asking { .. } => self.attach(flavour),
            Phase::Received
            | Phase::Refused { .. }
            | Phase::Gated
            | Phase::Withdrawn
            | Phase::Approved { .. }
            | Phase::Unanswered { .. }
            | Phase::Denied { .. }
            | Phase::Permitted { .. }
            | Phase::Returned { .. }
            | Phase::Supplied { .. }
            | Phase::Found { .. }
            | Phase::TimedOut { .. } => {
                panic!("{:?} outlived its step\n{:?}", open.phase, self.recording)
            }
        }
    }

    /// The agent asks its model. The model replies with its calls, or cannot be reached.
    fn agent_turn(&mut self, call: Seq, attempt: u32, which: u8, flavour: u8) {
        if flavour % 16 == 6 {
            return self.observe(ToolReturned {
                call,
                attempt,
                failed: true,
                response: Json::of(&json!({"error": "busy"})),
                error_kind: Some("llm_unavailable".into()),
                scheduling: None,
                ends_session: None,
            });
        }
        self.observe(asked(call, attempt));
        if flavour % 16 == 2 {
            return;
        }
        let calls = usize::from(which / 4 % 4).min(3);
        self.observe(replied(call, attempt, calls));
        if calls == 0 && flavour % 8 != 1 {
            self.observe(ToolReturned {
                call,
                attempt,
                failed: flavour % 8 == 4,
                response: Json::of(&json!({"output": "done"})),
                error_kind: None,
                scheduling: None,
                ends_session: None,
            });
        }
        for made in 0..calls {
            let name = NAMES[(usize::from(which) + made) % NAMES.len()];
            let name = if flavour % 32 == 8 { "nothing" } else { name };
            self.observe(called_by(call, name));
        }
    }

    fn send(&mut self, which: u8) {
        let mut responses: Vec<Seq> = owed(&self.session)
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::SendResponse { response, .. } => Some(response),
                Effect::RunTool { .. }
                | Effect::AskHook { .. }
                | Effect::AskConfirmation { .. }
                | Effect::SendInstruction { .. }
                | Effect::CloseSession { .. }
                | Effect::Connect
                | Effect::ArmTimer { .. } => None,
            })
            .collect();
        if which % 4 == 3 {
            responses.truncate(1);
        }
        let epoch = self.session.connection.unwrap_or(Seq(0));
        if which % 16 == 15 {
            responses = (1..=self.session.head.0).map(Seq).collect();
        }
        self.observe(ResponsesSent { epoch, responses });
    }

    /// The process dies. Another process records that, attaches sooner or later, and has the same
    /// or other tools.
    fn crash(&mut self, which: u8) {
        if let Some(epoch) = self.session.connection {
            let reason = "the process that held the connection is gone".into();
            self.observe(Disconnected {
                epoch,
                code: None,
                reason,
            });
        }
        if self.session.runner.is_some() {
            self.observe(RunnerDetached {
                reason: "the process that could run tools is gone".into(),
                not_begun: Vec::new(),
            });
        }
        if !which.is_multiple_of(4) {
            self.attach(which / 4);
        }
    }

    fn attach(&mut self, which: u8) {
        let tools = self.tools[usize::from(which) % self.tools.len()].clone();
        let attached = tools.attached("support", self.session.library_mut());
        let runner = self.session.head.next();
        self.recording.tools.insert(runner, tools);
        self.observe(attached);
    }

    /// Changes the catalog of the runner, if there is one.
    fn change_tools(&mut self, which: u8) {
        let tools = self.tools[usize::from(which) % self.tools.len()].clone();
        let changed = tools.taken_over(self.session.library_mut());
        let gates = self.session.terms.gates.clone();
        let at = self.session.head.next();
        self.recording.tools.insert(at, tools);
        self.observe(changed);
        // The gates are those of the attachment, whatever the tools were made with.
        assert_eq!(self.session.terms.gates, gates);
    }

    /// Renews the attachment with rules that know idempotency keys, as the engine does before the
    /// first call with a key.
    fn raise_rules(&mut self) {
        if self.session.rules >= RULES_OF_KEYS {
            return;
        }
        let tools = Toolbox::in_force(&self.session);
        let attached = tools.attached("support", self.session.library_mut());
        let at = self.session.head.next();
        self.recording.tools.insert(at, tools);
        self.observe(RunnerAttached {
            goes_on: true,
            rules: RULES_OF_KEYS,
            ..attached
        });
    }

    /// Detaches the runner. Some running calls may be reported as not begun, or a start that does
    /// not exist.
    fn detach(&mut self, which: u8, flavour: u8) {
        let runs = self.session.calls.iter().filter_map(|(seq, call)| {
            let Phase::Running { attempt, .. } = call.phase else {
                return None;
            };
            let (call, attempt) = (*seq, attempt + u32::from(flavour % 8 == 7));
            Some(Start { call, attempt })
        });
        let some = if flavour.is_multiple_of(2) {
            0
        } else {
            1 + usize::from(which % 4)
        };
        let not_begun = runs.take(some).collect();
        let reason = "shutdown".into();
        self.observe(RunnerDetached { reason, not_begun });
    }

    /// Opens a connection. Its setup has the current instruction, none, or another one.
    fn connect(&mut self, which: u8) {
        let (model, endpoint) = ("models/test".into(), "ws://127.0.0.1:1".into());
        let stay = self.session.phase.as_ref().map(|stay| stay.entered);
        let phase = match which % 4 {
            0 | 1 => stay,
            2 => None,
            _ => Some(Seq(u64::from(which))),
        };
        let mut capabilities = Capabilities::default();
        capabilities.will_continue = which < 128;
        self.observe(Connected {
            model,
            endpoint,
            phase,
            capabilities: (!which.is_multiple_of(3)).then_some(capabilities),
            non_blocking: Vec::new(),
            resumed: self
                .session
                .resumption
                .as_ref()
                .map(|it| it.fingerprint.clone())
                .filter(|_| which & 16 == 0),
        });
    }

    fn disconnect(&mut self, flavour: u8) {
        let live = self.session.connection.unwrap_or(Seq(0));
        let epoch = if flavour % 4 == 3 {
            Seq(u64::from(flavour))
        } else {
            live
        };
        let reason = "gone".into();
        self.observe(Disconnected {
            epoch,
            code: None,
            reason,
        });
    }

    /// The model cancels one or two calls: open, ended, or unknown.
    fn cancel_by_model(&mut self, which: u8, flavour: u8) {
        let known: Vec<String> = self
            .recording
            .facts
            .iter()
            .filter_map(|fact| match observed(fact) {
                Some(Observation::FunctionCallReceived(it)) => it.id.clone(),
                _ => None,
            })
            .collect();
        let mut ids = vec!["never".to_owned()];
        if flavour % 8 != 7 && !known.is_empty() {
            // The latest calls are the most likely to be open.
            let back = usize::from(which % 4).min(known.len() - 1);
            ids = known[known.len() - 1 - back..].to_vec();
            ids.truncate(1 + usize::from(flavour % 2));
        }
        let live = self.session.connection.unwrap_or(Seq(0));
        let epoch = if flavour % 16 == 6 {
            Seq(u64::from(which))
        } else {
            live
        };
        self.observe(CallCancellationReceived { epoch, ids });
    }

    fn cancel(&mut self, which: u8) {
        let call = Seq(u64::from(which) % (self.session.head.0 + 2));
        let open = self.session.calls.keys().nth(usize::from(which % 4));
        let call = open.copied().unwrap_or(call);
        let by = Actor::embedder("ops");
        self.command(Command::CancelCall {
            call,
            reason: None,
            by,
        });
    }

    /// Reports about another attempt or call, or records a deadline that nothing waits for.
    fn misreport(&mut self, which: u8, flavour: u8) {
        let head = self.session.head.0;
        let open = self.session.calls.keys().nth(usize::from(which % 4));
        let call = open.copied().unwrap_or(Seq(u64::from(which) % (head + 3)));
        let attempt = u32::from(flavour % 4);
        let response = Json::of(&json!({"wrong": which}));
        // An older request about the call is the one most easily confused with the open one.
        let asked = self.session.requests.iter();
        let asked = asked
            .filter(|(_, request)| request.call == call)
            .map(|(seq, _)| *seq);
        let anywhere = Seq(u64::from(which) % (head + 3));
        let (due_us, request) = (self.now, asked.min().unwrap_or(anywhere));
        match flavour / 4 % 9 {
            6 => self.observe(ToolYielded {
                call,
                attempt,
                runner: None,
                response,
            }),
            7 if which.is_multiple_of(2) => self.observe(DeadlinePassed {
                deadline: Deadline::Acknowledgement { call },
                due_us,
            }),
            7 => self.observe(DeadlinePassed {
                deadline: Deadline::Retry { call, attempt },
                due_us,
            }),
            8 => {
                let author = Author::Tool { call, attempt };
                self.observe(written(author, [("a", json!("stale"))]));
            }
            0 => self.observe(ToolReturned {
                call,
                attempt,
                failed: false,
                response,
                error_kind: None,
                scheduling: None,
                ends_session: None,
            }),
            1 if which.is_multiple_of(2) => self.observe(ToolPaused {
                call,
                attempt,
                interim: Some(response.clone()),
                state: Some(response),
            }),
            1 => self.observe(ToolAsked {
                call,
                attempt,
                hint: "stale".to_owned(),
                payload_schema: None,
                state: response,
                expires_after_ms: None,
                in_place: which % 4 == 1,
            }),
            2 => self.observe(DeadlinePassed {
                deadline: Deadline::Run { call, attempt },
                due_us,
            }),
            3 => self.observe(DeadlinePassed {
                deadline: Deadline::Confirmation { call, request },
                due_us,
            }),
            _ => {
                let (name, by) = ("pay".into(), Actor::embedder("stranger"));
                self.command(Command::SupplyResponse {
                    call,
                    name,
                    response,
                    will_continue: which.is_multiple_of(2),
                    by,
                });
            }
        }
    }

    /// Answers any request of the session, or an unknown one.
    fn answer_again(&mut self, which: u8, flavour: u8) {
        let known = self.session.requests.len() + 1;
        let request = self.session.requests.keys().nth(usize::from(which) % known);
        let request = request.copied().unwrap_or(Seq(u64::from(which)));
        let by = if flavour.is_multiple_of(3) {
            "bob"
        } else {
            "eve"
        };
        if flavour % 8 == 5 {
            return self.answer_malformed(request);
        }
        let mut answer = answer_to(request, flavour.is_multiple_of(2), None, by);
        if let Command::AnswerConfirmation {
            answer: Ok(answer), ..
        } = &mut answer
        {
            let args = json!({"n": which % 3});
            answer.args = (flavour / 2).is_multiple_of(4).then(|| args.clone());
            answer.allow_for = self.bound(which, flavour);
            answer.found = (flavour / 8).is_multiple_of(4).then(|| match which % 3 {
                0 => Finding::failed("the bank refused it"),
                1 => Finding::done(&json!("no object")),
                _ => Finding::done(&args),
            });
        }
        self.command(said_by(answer, person(which / 2)));
    }

    /// The bound of a leave that an answer gives. Some are none, and some have passed.
    fn bound(&self, which: u8, flavour: u8) -> Option<AllowFor> {
        match flavour / 16 % 8 {
            0..=2 => Some(AllowFor::Count(u32::from(which % 4))),
            3 | 4 => Some(AllowFor::Until(
                self.now.after_ms(u64::from(which % 32) * 2),
            )),
            _ => None,
        }
    }

    /// Revokes a leave of the session, or an unknown one.
    fn revoke(&mut self, which: u8, flavour: u8) {
        let known = self.session.leaves.len() + 1;
        let leave = self.session.leaves.keys().nth(usize::from(which) % known);
        let leave = leave.copied().unwrap_or(Seq(u64::from(which)));
        let by = person(which / 4);
        if self.wild && flavour.is_multiple_of(3) {
            let (reason, rules) = (None, 2);
            return self.observe(LeaveRevoked {
                leave,
                by,
                reason,
                rules,
            });
        }
        let reason = Some("enough".to_owned());
        let revoke = Command::RevokeLeave { leave, reason, by };
        if which.is_multiple_of(2) {
            self.command(revoke.clone());
        }
        self.command(revoke);
    }

    /// Answers with a text that is neither an approval nor a denial.
    fn answer_malformed(&mut self, request: Seq) {
        let problem = "expected a boolean, found \"yes\"".to_owned();
        self.command(Command::AnswerConfirmation {
            request,
            answer: Err(UnfitAnswer::Malformed { problem }),
            by: Actor::embedder("mallory"),
        });
    }

    fn chatter(&mut self, which: u8, epoch: Seq) {
        match which % 10 {
            9 => self.observe(ToolEventEmitted {
                call: epoch,
                attempt: 1,
                name: "escalated".into(),
                data: Json::empty_object(),
            }),
            0 => self.observe(GoAwayReceived {
                epoch,
                time_left: Some("10s".into()),
            }),
            1 => self.observe(ResumptionHandleReceived {
                epoch,
                resumable: true,
                fingerprint: (which % 4 != 3).then(|| format!("h{which}")),
                expires_at_us: None,
            }),
            2 => self.observe(ModelOutputReceived {
                epoch,
                text: "hm".into(),
            }),
            3 => self.observe(TranscriptReceived {
                epoch,
                speaker: Speaker::User,
                text: "well".into(),
            }),
            4 => self.observe(UserTextSent {
                epoch,
                text: "go on".into(),
            }),
            5 => self.observe(TurnCompleted {
                epoch,
                reason: None,
            }),
            6 => self.observe(TurnInterrupted { epoch }),
            7 => self.observe(UsageReported {
                epoch,
                usage: Json::of(&json!({"n": 1})),
            }),
            _ => self.observe(FrameRejected {
                epoch,
                problem: "no message".into(),
            }),
        }
    }

    /// Closes the session, which is rare. In a wild world, records what `admit` would reject.
    fn close_or_intrude(&mut self, which: u8, flavour: u8) {
        let (by, call) = (
            Actor::embedder("ops"),
            Seq(u64::from(which) % (self.session.head.0 + 3)),
        );
        let request = self.session.requests.keys().nth(usize::from(which) % 4);
        let request = request.copied().unwrap_or(call);
        let closing = self.session.closing.clone();
        match (flavour % 8, closing) {
            (0..=3, Some(Closing { reason, by, .. })) if !self.session.closed => {
                self.observe(SessionClosed { reason, by });
                return;
            }
            _ => {}
        }
        match flavour % 8 {
            0 | 1 => self.command(Command::CloseSession {
                reason: "done".into(),
                by,
            }),
            2 if self.wild => self.observe(ApprovalGiven {
                request,
                reason: None,
                payload: None,
                edited_args: which.is_multiple_of(5).then(Json::empty_object),
                extra: None,
                allow_for: self.bound(which, flavour),
                by: person(which / 8),
            }),
            3 if self.wild => self.observe(ConfirmationAnswered {
                request,
                confirmed: which.is_multiple_of(2),
                reason: None,
                payload: None,
                edited_args: which.is_multiple_of(3).then(Json::empty_object),
                extra: None,
                found: which
                    .is_multiple_of(5)
                    .then(|| Finding::failed("the bank refused it")),
                allow_for: self.bound(which, flavour),
                by: person(which / 8),
            }),
            4 if self.wild => {
                self.observe(ResponseSupplied {
                    call,
                    response: Json::empty_object(),
                    will_continue: which.is_multiple_of(2),
                    by,
                });
            }
            5 if self.wild => self.observe(OperatorCancelled {
                call,
                reason: None,
                by,
                response: None,
            }),
            6 if !which.is_multiple_of(3) => self.reconcile(which, by),
            7 if self.wild && which % 4 == 1 => self.claim_wildly(which / 4, flavour / 8),
            7 if self.wild && which.is_multiple_of(2) => self.observe(OutcomeFound {
                attempt: None,
                call,
                tool: "pay".into(),
                found: Finding::failed("the bank refused it"),
                by,
            }),
            6 if self.wild => self.observe(AnswerRefused {
                request,
                refusal: "malformed".into(),
                by,
                last_recorded: false,
            }),
            _ => self.call(which, flavour),
        }
    }

    /// Reports the outcome of a call with an unknown one, or of another ended call.
    fn reconcile(&mut self, which: u8, by: Actor) {
        let mut unknown = self.session.settled.iter();
        let unknown = unknown.find(|(_, it)| it.outcome == Outcome::Unknown);
        let ended = self.session.settled.keys().nth(usize::from(which) % 5);
        let call = unknown.map(|(call, _)| call).or(ended);
        let found = match which % 2 {
            0 => Finding::failed("the bank refused it"),
            _ => Finding::done(&json!({"receipt": which})),
        };
        self.command(Command::ReconcileOutcome {
            call: call.copied().unwrap_or(Seq(1)),
            name: "pay".into(),
            found,
            by,
        });
    }

    /// Pauses the session or a tool by command, or observes a pause of the journal. Either may take
    /// running starts back, as an engine does with those that wait for a slot.
    fn pause(&mut self, which: u8, flavour: u8) {
        let by = Actor::embedder("ops");
        let scope = match flavour % 8 {
            0 | 1 => PauseScope::Session,
            2 | 3 => PauseScope::Tool(NAMES[usize::from(which) % NAMES.len()].into()),
            4 => PauseScope::Tool([CLERK, "nothing"][usize::from(which % 2)].into()),
            5 => PauseScope::Agent("support".into()),
            _ => PauseScope::Everything,
        };
        let reason = which.is_multiple_of(2).then(|| "wrong prices".to_owned());
        let tool = match &scope {
            PauseScope::Tool(tool) => Some(tool.clone()),
            PauseScope::Session | PauseScope::Agent(_) | PauseScope::Everything => None,
        };
        if !scope.is_of_journal() && flavour < 128 {
            return self.command(Command::Pause(PauseCommand { tool, reason, by }));
        }
        let runs = self.session.calls.iter().filter_map(|(seq, call)| {
            let Phase::Running { attempt, .. } = call.phase else {
                return None;
            };
            // A tool that asked its model has begun.
            let begun = call.agent.is_some();
            (!begun).then_some(Start {
                call: *seq,
                attempt,
            })
        });
        let not_begun = runs.take(usize::from(flavour / 8 % 3)).collect();
        self.observe(Paused {
            journal_record: scope.is_of_journal().then_some(Seq(u64::from(flavour))),
            scope,
            reason,
            by,
            not_begun,
            rules: RULES_OF_PAUSES,
        });
    }

    /// Ends a pause in force, or rarely one that is not.
    fn unpause(&mut self, which: u8, flavour: u8) {
        let (by, reason) = (Actor::embedder("ops"), None);
        let scopes = self.session.pauses.iter();
        let scope = scopes
            .map(|it| it.scope.clone())
            .nth(usize::from(which % 2));
        let scope = scope.unwrap_or(PauseScope::Session);
        if !scope.is_of_journal() {
            let tool = match scope {
                PauseScope::Tool(tool) => Some(tool),
                PauseScope::Session | PauseScope::Agent(_) | PauseScope::Everything => None,
            };
            return self.command(Command::Unpause(PauseCommand { tool, reason, by }));
        }
        self.observe(Unpaused {
            journal_record: Some(Seq(u64::from(flavour))),
            scope,
            reason,
            by,
            rules: RULES_OF_PAUSES,
        });
    }

    fn last_epoch(&self) -> Option<Seq> {
        let connected = |fact: &&Fact| matches!(observed(fact), Some(Observation::Connected(_)));
        self.recording
            .facts
            .iter()
            .rev()
            .find(connected)
            .map(|fact| fact.seq)
    }
}

fn asked(call: Seq, attempt: u32) -> LlmAsked {
    LlmAsked {
        call,
        attempt,
        turn: 1,
        of: CLERK.into(),
        model: "scripted".into(),
        request_sha256: ObjectHash::of(b"{}"),
    }
}

fn replied(call: Seq, attempt: u32, calls: usize) -> LlmReplied {
    let text = (calls == 0).then(|| "done".to_owned());
    let signature = None;
    LlmReplied {
        call,
        attempt,
        turn: 1,
        parts: vec![LlmPart { text, signature }; calls.max(1)],
        usage: None,
    }
}
