//! The notifications of `[[sinks]]` and `[[routes]]`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{Config, Hidden, Mistake, SinkKind, SinkSettings};
use crate::failures::Failure;
use crate::serve::secret_file::private_text;
use recount::engine::{Engine, SystemClock};
use recount_notify::{
    Markup, Notifier, Patience, RemovedSink, Settings, Sink, SinkName, Target, Url,
};

/// The time for the messages that are being sent at the end. What is not sent by then is sent after
/// the next start.
const LAST_MESSAGES: Duration = Duration::from_secs(2);

/// The suffix of the directory beside the journal with the files of the sinks.
const DIRECTORY: &str = ".sinks";

/// The mistakes of the sinks, also in the files that they name.
pub(in crate::serve) fn mistakes(config: &Config) -> Vec<Mistake> {
    sinks(config).err().unwrap_or_default()
}

/// The mistakes that only `recount check` reports: files of sinks that cannot be used, with which
/// the others run.
pub(in crate::serve) fn unusable_files(config: &Config) -> Vec<Mistake> {
    let directory = directory(&config.local());
    let Ok(settings) = settings(config, String::new(), directory) else {
        return Vec::new();
    };
    let unusable = settings.unusable_files();
    let given = |name: &SinkName| {
        let mut sinks = config.settings.sinks.iter();
        sinks.find(|it| it.name.value == *name)
    };
    let mistakes = unusable.into_iter().filter_map(|(name, reason)| {
        let given = given(&name)?;
        Some(
            given
                .name
                .mistake(format!("the sink would not run: {reason}")),
        )
    });
    mistakes.collect()
}

/// The notifications of a running service. Their links and files stay those of the start.
#[derive(Clone)]
pub(in crate::serve) struct Notifications {
    notifier: Notifier,
    links: String,
    directory: PathBuf,
}

impl Notifications {
    /// Starts the sinks. `url` is that of the service, if no other one is public.
    pub(in crate::serve) async fn start(
        config: &Config,
        engine: &Engine,
        url: String,
    ) -> Result<Notifications, Failure> {
        let public = config.settings.access.public_url.as_ref();
        let links = public.map_or(url, |it| it.value.clone());
        let directory = directory(&config.local());
        let settings = settings(config, links.clone(), directory.clone());
        let settings =
            settings.map_err(|mistakes| crate::config::wrong(config.name(), &mistakes))?;
        let ledger = engine.ledger().clone();
        let notifier = Notifier::start(ledger, SystemClock::shared(), settings).await;
        let notifier =
            notifier.map_err(|error| Failure::new("notifications", error.to_string()))?;
        Ok(Notifications {
            notifier,
            links,
            directory,
        })
    }

    pub(in crate::serve) fn notifier(&self) -> &Notifier {
        &self.notifier
    }

    /// Takes the sinks and the routes anew. If one has a mistake, the earlier ones stay. Returns
    /// notes about sinks that are gone.
    pub(in crate::serve) async fn reload(
        &self,
        config: &Config,
    ) -> Result<Vec<String>, Vec<String>> {
        let settings = settings(config, self.links.clone(), self.directory.clone());
        let in_words = |it: Vec<Mistake>| it.iter().map(Mistake::to_string).collect::<Vec<_>>();
        let settings = settings.map_err(in_words)?;
        let replaced = self.notifier.replace(settings).await;
        let removed = replaced.map_err(|error| vec![format!("sinks: {error}")])?;
        Ok(removed.iter().map(gone).collect())
    }

    /// Ends the sinks.
    pub(in crate::serve) async fn stop(&self) {
        self.notifier.stop(LAST_MESSAGES).await;
    }
}

/// The note about a sink that the configuration does not have any more.
fn gone(sink: &RemovedSink) -> String {
    let (name, messages) = (&sink.name, sink.queued + sink.dead_letters);
    let file = sink.file.display();
    format!(
        "without the sink {name:?}, which has not delivered {messages} messages (a sink of this \
         name sends them, as long as there is {file})"
    )
}

fn settings(config: &Config, links: String, directory: PathBuf) -> Result<Settings, Vec<Mistake>> {
    let routes = config.settings.routes.iter();
    Ok(Settings {
        sinks: sinks(config)?,
        routes: routes.map(|it| it.route.clone()).collect(),
        links: Some(links),
        directory,
    })
}

/// The directory with the files of the sinks: beside the journal, which takes no other files.
fn directory(journal: &Path) -> PathBuf {
    // A path such as `..` has no name of its own.
    let named = match journal.file_name() {
        Some(_) => journal.to_owned(),
        None => journal
            .canonicalize()
            .unwrap_or_else(|_| journal.to_owned()),
    };
    let mut name = named.file_name().unwrap_or_default().to_owned();
    name.push(DIRECTORY);
    named.with_file_name(name)
}

fn sinks(config: &Config) -> Result<Vec<Sink>, Vec<Mistake>> {
    let (mut sinks, mut mistakes) = (Vec::new(), Vec::new());
    for given in &config.settings.sinks {
        match sink(given) {
            Ok(made) => sinks.push(made),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    match mistakes.is_empty() {
        true => Ok(sinks),
        false => Err(mistakes),
    }
}

/// Makes a sink, and reads its secrets.
pub(super) fn sink(given: &SinkSettings) -> Result<Sink, Mistake> {
    let target = match given.kind.value {
        SinkKind::Webhook => Target::Webhook {
            url: url(given)?,
            secret: read(needed(given, &given.secret, "secret_file")?)?,
        },
        SinkKind::Slack => Target::Slack {
            url: url(given)?,
            markup: match given.markdown.as_ref().is_some_and(|it| it.value) {
                true => Markup::Markdown,
                false => Markup::Slack,
            },
        },
        SinkKind::Ntfy => Target::Ntfy {
            url: topic(given)?,
            token: given.token.as_ref().map(read).transpose()?,
        },
        SinkKind::Command => command(given)?,
    };
    let mut sink = Sink::new(given.name.value.clone(), target);
    sink.detail = given.detail;
    sink.templates.clone_from(&given.templates);
    sink.zone.clone_from(&given.zone);
    sink.digest = given.digest;
    sink.timeout = given.timeout.unwrap_or(sink.timeout);
    let usual = sink.patience;
    sink.patience = Patience {
        attempts: given.attempts.unwrap_or(usual.attempts),
        first: given.retry_first.unwrap_or(usual.first),
        longest: given.retry_longest.unwrap_or(usual.longest),
    };
    Ok(sink)
}

fn command(given: &SinkSettings) -> Result<Target, Mistake> {
    let words = given.command.as_ref().map(|it| it.value.as_slice());
    match words {
        Some([program, arguments @ ..]) => Ok(Target::Command {
            program: program.clone(),
            arguments: arguments.to_vec(),
        }),
        Some([]) | None => Err(lacks(given, "command")),
    }
}

fn url(given: &SinkSettings) -> Result<Url, Mistake> {
    let hidden = needed(given, &given.url, "url")?;
    let url: Url = read(hidden)?;
    if !url.is_private() && !given.allow_http {
        let what = "expected an https URL, or allow_http = true for a private network";
        return Err(hidden.mistake(what));
    }
    Ok(url)
}

fn topic(given: &SinkSettings) -> Result<Url, Mistake> {
    let url = url(given)?;
    match url.has_topic() {
        true => Ok(url),
        false => {
            let hidden = needed(given, &given.url, "url")?;
            let what = "expected a URL without a query that ends with a topic, such as \
                        https://ntfy.sh/topic";
            Err(hidden.mistake(what))
        }
    }
}

fn needed<'s>(
    given: &SinkSettings,
    value: &'s Option<Hidden>,
    key: &str,
) -> Result<&'s Hidden, Mistake> {
    value.as_ref().ok_or_else(|| lacks(given, key))
}

/// The mistake of a sink without a key.
fn lacks(given: &SinkSettings, key: &str) -> Mistake {
    let kind = given.kind.value.as_str();
    given
        .kind
        .mistake(format!("a sink of kind {kind} needs the key {key}"))
}

/// Reads a value that may be a secret. No message quotes it.
fn read<T: std::str::FromStr<Err: std::fmt::Display>>(hidden: &Hidden) -> Result<T, Mistake> {
    let text = match hidden {
        Hidden::Here(given) => given.value.clone(),
        Hidden::Variable(variable) => {
            let text = std::env::var(&variable.value);
            text.map_err(|_| variable.mistake("expected a variable with text"))?
        }
        Hidden::File(file) => private_text(file, "post to the sink")?,
    };
    let value = text.trim().parse::<T>();
    value.map_err(|error| hidden.mistake(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_sinks_are_beside_the_journal() {
        for (journal, expected) in [
            ("j", "j.sinks"),
            ("a/j/", "a/j.sinks"),
            ("/var/lib/recount/journal", "/var/lib/recount/journal.sinks"),
        ] {
            assert_eq!(directory(Path::new(journal)), Path::new(expected));
        }
        let here = directory(Path::new("."));
        assert!(here.is_absolute(), "{here:?}");
    }
}
