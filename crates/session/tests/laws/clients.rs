//! Clients that run calls: claims, renewals, ends, and results in time, late and stale.

use super::*;

const CLAIMS: [&str; 3] = ["w1", "w2", "w3"];

impl World {
    /// A request of a client about one of the calls that clients run, often for a wrong start or
    /// under a wrong id.
    pub(super) fn client(&mut self, which: u8, flavour: u8) {
        let open = self.session.calls.iter();
        let at_client = |name: &str| {
            let declared = self.session.terms.catalog.get(name);
            declared.is_some_and(|it| it.kind.runs_at_client())
        };
        let open = open.filter(|(_, call)| call.claim.is_some() || at_client(&call.name));
        let known: Vec<(Seq, Option<Claim>, u32)> = open
            .map(|(seq, call)| (*seq, call.claim.as_deref().cloned(), call.attempts))
            .collect();
        let picked = known.get(usize::from(which) % known.len().max(1));
        let ended = self.session.settled.iter().rev();
        let mut ended = ended.filter(|(_, it)| it.outcome == Outcome::Unknown);
        let (call, claim, attempts) = match (picked, ended.next()) {
            (Some((call, claim, attempts)), None) => (*call, claim.clone(), *attempts),
            (Some((call, claim, attempts)), Some(_)) if flavour % 4 != 3 => {
                (*call, claim.clone(), *attempts)
            }
            (_, Some((call, settled))) => (*call, None, settled.attempts),
            (None, None) => return self.call(which, flavour),
        };
        let own = claim.as_ref().map(|it| it.claim.clone());
        let id = own.filter(|_| which % 16 != 7);
        let id = id.unwrap_or_else(|| CLAIMS[usize::from(which / 4) % CLAIMS.len()].to_owned());
        let held = claim.is_some_and(|it| it.state == ClaimState::Held);
        let action = self.request(held, which, flavour);
        let next = u32::from(matches!(action, ClaimAction::Claim { .. }));
        let older = u32::from(which % 32 == 21);
        let command = ClaimCommand {
            call,
            attempt: (which % 5 != 4).then_some((attempts + next).saturating_sub(older)),
            claim: id,
            by: Actor::embedder(if which % 32 == 13 {
                "mallory"
            } else {
                "warehouse"
            }),
            action,
        };
        self.command(Command::Claim(command.clone()));
        // A second client claims the same start at the same moment.
        if next == 1 && which.is_multiple_of(4) {
            let claim = "rival".to_owned();
            self.command(Command::Claim(ClaimCommand { claim, ..command }));
        }
    }

    /// Claims the call if clients run it. Otherwise the call waits for a runner.
    pub(super) fn client_or_attach(&mut self, call: Seq, which: u8, flavour: u8) {
        let open = self.session.calls.get(&call);
        let declared = open.and_then(|it| self.session.terms.catalog.get(&it.name));
        if !declared.is_some_and(|it| it.kind.runs_at_client()) {
            return self.attach(flavour);
        }
        self.command(Command::Claim(ClaimCommand {
            call,
            attempt: None,
            claim: CLAIMS[usize::from(which) % CLAIMS.len()].to_owned(),
            by: Actor::embedder("warehouse"),
            action: ClaimAction::Claim {
                until_us: self.now.after_ms(2 + u64::from(which % 8) * 4),
            },
        }));
    }

    fn request(&self, held: bool, which: u8, flavour: u8) -> ClaimAction {
        let response = Json::of(&json!({"done": which}));
        let until_us = self.now.after_ms(2 + u64::from(which % 8) * 4);
        match (held, flavour / 4 % 8) {
            (false, 0..=5) => ClaimAction::Claim { until_us },
            (true, 0) => ClaimAction::Claim { until_us },
            (true, 1 | 2) => ClaimAction::Renew { until_us },
            (_, 3) => ClaimAction::End {
                reason: None,
                not_begun: which.is_multiple_of(2),
            },
            (true, 4) => ClaimAction::Yield { response },
            (true, 5) => ClaimAction::Report {
                name: PROGRESS_EVENT.to_owned(),
                data: response,
            },
            _ => ClaimAction::Return {
                name: "pay".to_owned(),
                response,
                failed: which.is_multiple_of(3).then(|| "no paper".to_owned()),
            },
        }
    }

    /// Lets the lease of a client pass, or one that does not exist.
    pub(super) fn lease_passes(&mut self, which: u8, flavour: u8) {
        let held = self.session.calls.iter();
        let held = held.filter_map(|(seq, call)| Some((*seq, call.held_claim()?.clone())));
        let held: Vec<(Seq, Claim)> = held.collect();
        let Some((call, claim)) = held.get(usize::from(which) % held.len().max(1)) else {
            return self.client(which, flavour);
        };
        let early = flavour.is_multiple_of(4);
        if !early {
            self.now = self.now.max(claim.until);
        }
        self.observe(DeadlinePassed {
            deadline: Deadline::Lease {
                call: *call,
                attempt: claim.attempt - u32::from(flavour % 16 == 9),
            },
            due_us: claim.until,
        });
    }

    /// Records of claims that `admit` would reject.
    pub(super) fn claim_wildly(&mut self, which: u8, flavour: u8) {
        let open = self.session.calls.keys().nth(usize::from(which % 4));
        let call = open.copied().unwrap_or(Seq(u64::from(which)));
        let (attempt, by) = (u32::from(flavour % 3), Actor::embedder("mallory"));
        let (claim, until_us) = ("w1".to_owned(), self.now.after_ms(9));
        match flavour % 4 {
            0 => self.observe(CallClaimed {
                call,
                attempt,
                claim,
                by,
                until_us,
                rules: 2,
            }),
            1 => self.observe(LeaseRenewed {
                call,
                attempt,
                claim,
                by,
                until_us,
                rules: 2,
            }),
            2 => self.observe(ClaimEnded {
                call,
                attempt,
                claim,
                reason: None,
                not_begun: which.is_multiple_of(2),
                by,
                rules: 2,
            }),
            _ => self.observe(OutcomeFound {
                call,
                tool: "pay".into(),
                found: Finding::failed("no paper"),
                by,
                attempt: Some(attempt),
            }),
        }
    }
}
