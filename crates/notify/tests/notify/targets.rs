//! The kinds of targets.

use std::fs;
use std::time::Duration;

use recount::engine::SystemClock;
use recount_notify::{Detail, Markup, Occasion, Sink, Target, Template, Undelivered, send_test};

use crate::receiver::{Receiver, within};
use crate::world::{SECRET, World, route, webhook};

const ASKED: &[Occasion] = &[Occasion::Asked];

fn sink(name: &str, target: Target) -> Sink {
    let mut sink = Sink::new(name.parse().unwrap(), target);
    sink.detail = Detail::Arguments;
    let text = "*{tool}* {arguments} {link}";
    let template = Template::parse(text, Occasion::Asked, Detail::Arguments).unwrap();
    sink.templates.insert(Occasion::Asked, template);
    sink
}

fn slack(url: recount_notify::Url, markup: Markup) -> Target {
    Target::Slack { url, markup }
}

#[tokio::test]
async fn markdown_gets_values_without_marks_and_its_link() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let url = receiver.url.parse().unwrap();
    let sinks = vec![sink("chat", slack(url, Markup::Markdown))];
    let mut settings = world.settings(sinks, vec![route("chat", ASKED)]);
    settings.links = Some("https://a_b.example".to_owned());
    let _notifier = world.notify(settings).await;
    world.ask("refund").await;
    let text = receiver.next().await.json()["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.starts_with("*refund* {\"note\":\"＜b＞"), "{text}");
    assert!(text.contains(" https://a_b.example/sessions/"), "{text}");
}

#[tokio::test]
async fn slack_gets_an_escaped_text() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let url = format!("{}/services/T0/B0/x", receiver.url)
        .parse()
        .unwrap();
    let sinks = vec![sink("chat", slack(url, Markup::Slack))];
    let _notifier = world
        .notify(world.settings(sinks, vec![route("chat", ASKED)]))
        .await;
    world.ask("refund").await;
    let message = receiver.next().await;
    assert_eq!(message.path, "/services/T0/B0/x");
    let text = message.json()["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("*refund* {\"note\":"), "{text}");
    assert!(
        text.contains("&lt;b&gt;\\u{202e}") && !text.contains("<b>"),
        "{text}"
    );
}

#[tokio::test]
async fn ntfy_gets_topic_link_and_token() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let target = Target::Ntfy {
        url: format!("{}/ops-1", receiver.url).parse().unwrap(),
        token: Some("tk_1".parse().unwrap()),
    };
    let sinks = vec![sink("phone", target)];
    let _notifier = world
        .notify(world.settings(sinks, vec![route("phone", ASKED)]))
        .await;
    world.ask("refund").await;
    let message = receiver.next().await;
    assert_eq!(
        (message.path.as_str(), &message.headers["authorization"]),
        ("/", &"Bearer tk_1".parse().unwrap())
    );
    let json = message.json();
    assert_eq!(json["topic"], "ops-1");
    assert!(
        json["click"]
            .as_str()
            .unwrap()
            .starts_with("https://recount.example/sessions/")
    );
    assert!(json["message"].as_str().unwrap().starts_with("*refund*"));
}

#[cfg(unix)]
#[tokio::test]
async fn command_gets_json_and_no_secrets() {
    let world = World::new().await;
    let out = world.directory.path().join("out");
    let script = format!(
        "env > {0}.env; cat > {0}.part; mv {0}.part {0}",
        out.display()
    );
    let target = Target::Command {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script],
    };
    let sinks = vec![sink("run", target)];
    let notifier = world
        .notify(world.settings(sinks, vec![route("run", ASKED)]))
        .await;
    world.ask("refund").await;
    within(async {
        while notifier.sinks().await.unwrap()[0].delivered == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    assert_eq!(
        (&json["type"], &json["data"]["tool"]),
        (&"recount.asked".into(), &"refund".into())
    );
    let environment = fs::read_to_string(out.with_extension("env")).unwrap();
    assert!(environment.contains(&format!(
        "RECOUNT_NOTIFICATION_ID={}",
        json["data"]["id"].as_str().unwrap()
    )));
    assert!(!environment.contains("CARGO"), "{environment}");
}

#[cfg(unix)]
#[tokio::test]
async fn failing_and_endless_commands_are_no_delivery() {
    let run = |script: &str| Target::Command {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
    };
    let mut endless = sink("run", run("exec sleep 1000"));
    endless.timeout = Duration::from_millis(50);
    let failed = within(send_test(&sink("run", run("exit 3")), &SystemClock)).await;
    assert!(
        matches!(failed, Err(Undelivered::Failed { .. })),
        "{failed:?}"
    );
    // Another message may be fine, so this one holds back no other.
    let killed = within(send_test(&endless, &SystemClock)).await;
    assert!(
        matches!(killed, Err(Undelivered::Failed { .. })),
        "{killed:?}"
    );
    let missing = sink(
        "run",
        Target::Command {
            program: "/nowhere/program".to_owned(),
            arguments: Vec::new(),
        },
    );
    let missing = within(send_test(&missing, &SystemClock)).await;
    assert!(
        matches!(missing, Err(Undelivered::Unavailable { .. })),
        "{missing:?}"
    );
    // A program may not read its input.
    assert_eq!(
        within(send_test(&sink("run", run("exit 0")), &SystemClock)).await,
        Ok(())
    );
}

/// A program that starts another one, which holds the writing end of a named pipe. The pipe ends
/// once both are killed.
#[cfg(unix)]
fn family(world: &World) -> (Sink, std::path::PathBuf) {
    let pipe = world.directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let script = format!("sleep 1000 > {0} & wait", pipe.display());
    let target = Target::Command {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script],
    };
    (sink("run", target), pipe)
}

/// Opens the pipe, which waits for the programs, and reads it to its end.
#[cfg(unix)]
fn opened_and_ended(
    pipe: std::path::PathBuf,
) -> (
    tokio::sync::oneshot::Receiver<()>,
    tokio::task::JoinHandle<()>,
) {
    let (open, opened) = tokio::sync::oneshot::channel();
    let ended = tokio::task::spawn_blocking(move || {
        let mut file = fs::File::open(pipe).unwrap();
        let _ = open.send(());
        std::io::copy(&mut file, &mut std::io::sink()).unwrap();
    });
    (opened, ended)
}

#[cfg(unix)]
#[tokio::test]
async fn late_command_is_killed_with_its_descendants() {
    let world = World::new().await;
    let (mut sink, pipe) = family(&world);
    sink.timeout = Duration::from_secs(1);
    let (opened, ended) = opened_and_ended(pipe);
    let killed = within(send_test(&sink, &SystemClock)).await;
    assert!(killed.is_err());
    within(opened).await.unwrap();
    within(ended).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn stop_kills_a_command_with_its_descendants() {
    let world = World::new().await;
    let (mut sink, pipe) = family(&world);
    sink.timeout = Duration::from_secs(1_000);
    let (opened, ended) = opened_and_ended(pipe);
    let settings = world.settings(vec![sink], vec![route("run", ASKED)]);
    let notifier = world.notify(settings).await;
    world.ask("refund").await;
    within(opened).await.unwrap();
    within(notifier.stop(Duration::ZERO)).await;
    within(ended).await.unwrap();
}

#[tokio::test]
async fn test_message_is_signed_and_names_no_call() {
    let mut receiver = Receiver::start().await;
    let sink = webhook("ops", &receiver);
    assert_eq!(within(send_test(&sink, &SystemClock)).await, Ok(()));
    let message = receiver.next().await;
    assert_eq!(message.kind(), "recount.test");
    let signature = message.headers["webhook-signature"].to_str().unwrap();
    assert!(
        signature.starts_with("v1,") && signature.len() == 47,
        "{signature}"
    );
    receiver.answer(302, None);
    let redirected = within(send_test(&sink, &SystemClock)).await;
    assert!(
        matches!(redirected, Err(Undelivered::Refused { .. })),
        "{redirected:?}"
    );
}

#[tokio::test]
async fn no_secret_is_shown() {
    let receiver = Receiver::start().await;
    let mut sink = webhook("ops", &receiver);
    let shown = format!("{sink:?}");
    let secret = SECRET.strip_prefix("whsec_").unwrap();
    assert!(!shown.contains(secret), "{shown}");
    let url = "http://127.0.0.1:1/s3cret-path?x=s3cret-query"
        .parse()
        .unwrap();
    sink.target = slack(url, Markup::Slack);
    let error = within(send_test(&sink, &SystemClock)).await.unwrap_err();
    let shown = format!("{sink:?} {error} {error:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}
