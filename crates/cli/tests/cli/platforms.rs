//! The program finds a service through the environment, as the vendor's libraries do, and prints no
//! secret.

use std::fs;

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;

use crate::door::{Door, receive};

const KEY: &str = "test-key";
const EPHEMERAL: &str = "auth_tokens/test-token";
const TOKEN: &str = "ya29.test-token";
const MODEL: &str = "gemini-live-test";

/// The program connects to each platform by the variables of the environment.
#[tokio::test]
async fn the_program_reaches_each_platform() {
    const VERTEX: (&str, &str) = ("GOOGLE_GENAI_USE_VERTEXAI", "true");
    let of_google_ai = |version: &str| {
        format!("/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent")
    };
    let of_vertex =
        "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent".to_owned();
    type Case<'a> = (
        &'a [(&'a str, &'a str)],
        &'a [&'a str],
        String,
        (&'a str, &'a str),
        &'a str,
    );
    let cases: [Case<'_>; 4] = [
        (
            &[("GEMINI_API_KEY", KEY)],
            &[],
            of_google_ai("v1beta"),
            ("x-goog-api-key", KEY),
            "models/gemini-live-test",
        ),
        (
            &[("GOOGLE_API_KEY", EPHEMERAL)],
            &["--api-version", "v1"],
            of_google_ai("v1") + "Constrained",
            ("authorization", "Token auth_tokens/test-token"),
            "models/gemini-live-test",
        ),
        (
            &[
                VERTEX,
                ("GOOGLE_CLOUD_PROJECT", "p"),
                ("GOOGLE_CLOUD_LOCATION", "us-central1"),
                ("GOOGLE_ACCESS_TOKEN", TOKEN),
            ],
            &[],
            of_vertex.clone(),
            ("authorization", "Bearer ya29.test-token"),
            "projects/p/locations/us-central1/publishers/google/models/gemini-live-test",
        ),
        (
            &[VERTEX, ("GOOGLE_API_KEY", KEY)],
            &[],
            of_vertex,
            ("x-goog-api-key", KEY),
            "publishers/google/models/gemini-live-test",
        ),
    ];
    for (variables, arguments, path, (header, value), model) in cases {
        let door = Door::open().await;
        let base = door.host.replace("ws://", "http://");
        let journal = tempfile::tempdir().unwrap();
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_recount"));
        let tools = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/tools/support.toml"
        );
        program
            .args(["run", "--tools", tools, "--text", "Hello", "--model", MODEL])
            .arg("--journal")
            .arg(journal.path().join("journal"))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs(variables.iter().copied())
            .env("GOOGLE_GEMINI_BASE_URL", &base)
            .env("GOOGLE_VERTEX_BASE_URL", &base)
            .stdin(std::process::Stdio::null());
        let service = async {
            let (asked, mut socket) = door.let_in().await;
            let setup = receive(&mut socket).await;
            let done =
                r#"{"serverContent":{"modelTurn":{"parts":[{"text":"Hi"}]},"turnComplete":true}}"#;
            socket
                .send(Message::binary(r#"{"setupComplete":{}}"#))
                .await
                .unwrap();
            receive(&mut socket).await;
            socket.send(Message::binary(done)).await.unwrap();
            while let Some(Ok(_)) = socket.next().await {}
            (asked, setup)
        };
        let running = tokio::task::spawn_blocking(move || program.output().unwrap());
        let ((asked, setup), output) = tokio::join!(service, running);
        let output = output.unwrap();
        let told = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{told}");
        assert!(
            told.contains("Hi") && !told.contains("test-key") && !told.contains("test-token"),
            "{told}"
        );
        assert_eq!(asked.path, path);
        assert_eq!(asked.headers[header], value);
        assert_eq!(setup["setup"]["model"], model);
        let secrets = [KEY, EPHEMERAL, TOKEN];
        for entry in walk(journal.path()) {
            let bytes = fs::read(&entry).unwrap();
            let stands = |secret: &str| {
                bytes
                    .windows(secret.len())
                    .any(|it| it == secret.as_bytes())
            };
            assert!(!secrets.into_iter().any(stands), "{}", entry.display());
        }
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
