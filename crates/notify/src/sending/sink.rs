//! A sink: its target and the messages that it takes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::secrets::{Bearer, SigningSecret};
use super::url::Url;
use crate::message::{Markup, Template};
use crate::routing::TimeOfDay;
use crate::values::{Detail, Occasion, SinkName, Zone};

/// A sink of notifications.
#[derive(Clone, Debug)]
pub struct Sink {
    /// The name. The file with its place has this name, too.
    pub name: SinkName,
    /// The target.
    pub target: Target,
    /// The part of a call that messages contain.
    pub detail: Detail,
    /// The texts, by their occasions. The others have a default text.
    pub templates: BTreeMap<Occasion, Template>,
    /// The zone of the times in texts, and of the digest.
    pub zone: Zone,
    /// The time of day of the digest. `None`: no digest.
    pub digest: Option<TimeOfDay>,
    /// The maximum time of an attempt.
    pub timeout: Duration,
    /// The further attempts after a failure.
    pub patience: Patience,
}

/// The target of a sink.
#[derive(Clone, Debug)]
pub enum Target {
    /// A receiver of JSON, signed by Standard Webhooks.
    Webhook {
        /// The receiver.
        url: Url,
        /// The secret of the signatures.
        secret: SigningSecret,
    },
    /// An incoming webhook of Slack, or of a service that takes the same JSON.
    Slack {
        /// The webhook.
        url: Url,
        /// The way in which the service reads texts.
        markup: Markup,
    },
    /// A topic of ntfy.
    Ntfy {
        /// The topic, such as `https://ntfy.sh/topic`.
        url: Url,
        /// The token of the publisher, if the topic needs one.
        token: Option<Bearer>,
    },
    /// A program that gets the JSON on its standard input. No shell is involved.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
}

/// The attempts to deliver a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The maximum number of attempts. After the last one, the message is a dead letter.
    pub attempts: u32,
    /// The wait after the first failure. Each further failure doubles it.
    pub first: Duration,
    /// The maximum wait.
    pub longest: Duration,
}

impl Default for Patience {
    /// 100 attempts with waits from one second to five minutes, about eight hours in total.
    fn default() -> Patience {
        Patience {
            attempts: 100,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(300),
        }
    }
}

impl Sink {
    /// A sink with the default settings.
    ///
    /// ```
    /// use recount_notify::{Markup, Sink, Target};
    /// let url = "https://hooks.slack.com/services/…".parse()?;
    /// let target = Target::Slack { url, markup: Markup::Slack };
    /// let sink = Sink::new("ops".parse()?, target);
    /// assert_eq!(sink.patience.attempts, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(name: SinkName, target: Target) -> Sink {
        Sink {
            name,
            target,
            detail: Detail::default(),
            templates: BTreeMap::new(),
            zone: Zone::default(),
            digest: None,
            timeout: Duration::from_secs(10),
            patience: Patience::default(),
        }
    }
}

impl Target {
    /// The word for its kind in settings: `webhook`, `slack`, `ntfy` or `command`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Target::Webhook { .. } => "webhook",
            Target::Slack { .. } => "slack",
            Target::Ntfy { .. } => "ntfy",
            Target::Command { .. } => "command",
        }
    }
}

impl Patience {
    /// The wait after a number of failures: between half of the nominal wait and all of it, so that
    /// many senders do not come back at the same time.
    pub(crate) fn wait(self, failures: u32, entropy: u64) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let nominal = self.first.saturating_mul(doubled).min(self.longest);
        let half = nominal / 2;
        let range = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
        nominal - half + Duration::from_micros(entropy % range.saturating_add(1).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let patience = Patience {
            attempts: 9,
            first: Duration::from_secs(2),
            longest: Duration::from_secs(9),
        };
        for (failures, nominal) in [(1, 2), (2, 4), (3, 8), (4, 9), (40, 9)] {
            let nominal = Duration::from_secs(nominal);
            for entropy in [0, 1, 12_345_678_901, u64::MAX] {
                let wait = patience.wait(failures, entropy);
                assert!(
                    wait >= nominal / 2 && wait <= nominal,
                    "{failures} {wait:?}"
                );
            }
        }
        assert_ne!(patience.wait(3, 5), patience.wait(3, 77_777));
    }
}
