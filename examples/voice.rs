//! A conversation by voice: audio in, a picture, audio out, and a search while the model speaks.
//!
//! `voice URL question.pcm` sends the audio of the file (16 bits, one channel, 16 kHz; without a
//! file, a second of silence) and writes the answer to `answer.pcm` (24 kHz). First run
//! `recount simulate --script fixtures/scripts/voice.jsonl`.

use std::fs;
use std::io::Write;

use recount::engine::LiveEvent;
use recount::prelude::*;
use recount::session::Speaker;

/// The bytes of 20 ms of audio.
const PIECE: usize = 640;

/// The smallest PNG: one white pixel.
const PICTURE: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55\
    \0\0\0\nIDATx\x9cc\xf8\x0f\0\x01\x01\x01\0\xb18\xf6\x14\0\0\0\0IEND\xaeB`\x82";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or("ws://127.0.0.1:8787".into());
    let question = match arguments.next() {
        Some(file) => fs::read(file)?,
        None => vec![0; 50 * PIECE],
    };
    let search = T::simple("search", "Searches the catalogue", |_| async {
        Ok(json!({ "found": "a white pixel, size 1 by 1" }))
    });
    let live = Live::builder()
        .model("gemini-3.8-live-native-audio")
        .instruction("You help in a shop of pictures.")
        .voice("Kore")
        .transcription()
        .manual_activity()
        .tools(search)
        .tool_background_with_scheduling("search", FunctionResponseScheduling::Interrupt)
        .journal("./voice-journal")
        .connect_to(url)
        .await?;
    let mut heard = live.listen();
    live.activity_start().await?;
    live.send_video("image/png", PICTURE).await?;
    for piece in question.chunks(PIECE) {
        live.send_audio(piece).await?;
    }
    live.activity_end().await?;
    let mut answer = fs::File::create("answer.pcm")?;
    let mut turns = 0;
    // There are two turns: the model's direct answer, and its answer to the search result.
    while turns < 2 {
        match heard.next().await {
            Some(LiveEvent::Audio { data, .. }) => answer.write_all(&data)?,
            Some(LiveEvent::Transcript { speaker, text }) => match speaker {
                Speaker::User => println!("you:   {text}"),
                Speaker::Model => println!("model: {text}"),
            },
            Some(LiveEvent::TurnComplete) => turns += 1,
            Some(LiveEvent::Lost { reason, .. }) => println!("(the line broke: {reason})"),
            Some(_) => {}
            None => break,
        }
    }
    println!("{} bytes of sound in answer.pcm", answer.metadata()?.len());
    Ok(())
}
