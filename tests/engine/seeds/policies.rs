//! The blocks about policies.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use recount::prelude::*;

use super::stage::{Stage, dispatcher};

#[test]
fn a_tool_policy_has_the_four_fields() {
    let policy = ToolPolicy {
        timeout: Some(Duration::from_secs(10)),
        cache: true,
        ..ToolPolicy::gate("Sure?")
    };
    let (timeout, cache): (Option<Duration>, bool) = (policy.timeout, policy.cache);
    let (confirm, confirm_message): (bool, Option<String>) =
        (policy.confirm, policy.confirm_message);
    assert_eq!((timeout, cache), (Some(Duration::from_secs(10)), true));
    assert_eq!((confirm, confirm_message.as_deref()), (true, Some("Sure?")));
}

#[tokio::test]
async fn a_tool_that_takes_too_long_ends_with_a_timeout() {
    async fn call_search_api(_args: Value) -> Result<Value, ToolError> {
        pending().await
    }

    let builder = Live::builder().with_tools(
        T::timeout(
            T::simple(
                "search_kb",
                "Search the knowledge base",
                |args| async move {
                    // potentially slow call
                    Ok(call_search_api(args).await?)
                },
            ),
            Duration::from_secs(10),
        ) | T::google_search(),
    );

    let stage = Stage::set(builder, &[("search_kb", json!({}))]).await;
    stage.play_and_wait(Duration::from_secs(10)).await;
    assert_eq!(stage.answer("c1")["kind"], "timeout");
}

#[tokio::test]
async fn equal_calls_run_once_in_any_key_order_and_errors_not_cached() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    async fn call_weather_api(city: &Value) -> Result<Value, ToolError> {
        RUNS.fetch_add(1, Ordering::SeqCst);
        match city.as_str() {
            Some("Atlantis") => Err(ToolError::ExecutionFailed("no such city".into())),
            Some(_) | None => Ok(json!({"city": city, "celsius": 22})),
        }
    }

    // Weather results cached for the lifetime of the session
    let builder = Live::builder().with_tools(T::cached(T::simple(
        "get_weather",
        "Get weather for a city",
        |args| async move { Ok(call_weather_api(&args["city"]).await?) },
    )));

    let paris = |keys: &str| ("get_weather", serde_json::from_str(keys).unwrap());
    let calls = [
        paris(r#"{"city": "Paris", "days": 1}"#),
        paris(r#"{"days": 1, "city": "Paris"}"#),
        ("get_weather", json!({"city": "Atlantis"})),
        ("get_weather", json!({"city": "Atlantis"})),
    ];
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    assert_eq!(stage.answer("c1"), json!({"city": "Paris", "celsius": 22}));
    assert_eq!(stage.answer("c2"), stage.answer("c1"));
    assert_eq!(stage.answer("c4")["error"], "no such city");
    assert_eq!(RUNS.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn gate_without_approver_is_waived_on_record() {
    async fn do_send_email(args: Value) -> Result<Value, ToolError> {
        Ok(json!({"sent": args["to"]}))
    }
    let tool = || {
        T::confirm(
            T::simple(
                "send_email",
                "Send an email to the customer",
                |args| async move { Ok(do_send_email(args).await?) },
            ),
            "This will send an email to the customer. Are you sure?",
        )
    };

    let builder = Live::builder().with_tools(T::confirm(
        T::simple(
            "send_email",
            "Send an email to the customer",
            |args| async move { Ok(do_send_email(args).await?) },
        ),
        "This will send an email to the customer. Are you sure?",
    ));

    assert!(tool().tools()[0].requires_confirmation());
    let stage = Stage::set(builder, &[("send_email", json!({"to": "ada"}))]).await;
    stage.play().await;
    assert_eq!(stage.answer("c1"), json!({"sent": "ada"}));
    assert_eq!(stage.count("gate_waived").await, 1);
}

#[tokio::test]
async fn call_denied_by_provider_does_not_run_and_is_cancelled() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    async fn approved_by_operator(tool_name: &str, args: &Value) -> bool {
        assert_eq!(tool_name, "send_email");
        args["to"] == "ada"
    }
    let send_email_tool = T::simple("send_email", "Sends an email", |_| async {
        RUNS.fetch_add(1, Ordering::SeqCst);
        Ok(json!({"sent": true}))
    });
    let in_a_pipeline = send_email_tool.clone();

    let builder = Live::builder()
        .with_tools(T::confirm(send_email_tool, "Send this email?"))
        // Any async closure `Fn(ConfirmationRequest) -> impl Future<Output = ToolConfirmation>`
        // works, or implement the `ConfirmationProvider` trait.
        .confirmation_provider(Arc::new(|req: ConfirmationRequest| async move {
            if approved_by_operator(&req.tool_name, &req.args).await {
                ToolConfirmation::confirmed()
            } else {
                ToolConfirmation::denied("operator rejected the action")
            }
        }));

    let email = |to: &str| ("send_email", json!({ "to": to }));
    let stage = Stage::set(builder, &[email("ada"), email("eve")]).await;
    stage.play().await;
    assert_eq!(stage.answer("c1"), json!({"sent": true}));
    let denied = stage.answer("c2");
    assert!(
        denied["error"]
            .to_string()
            .contains("operator rejected the action"),
        "{denied}"
    );
    assert_eq!(RUNS.load(Ordering::SeqCst), 1);

    // The same gate in a text pipeline.
    let tools = dispatcher(T::confirm(in_a_pipeline, "Send this email?"));
    let allowing = tools
        .clone()
        .with_confirmation_provider(StaticConfirmation::allow_all());
    let mut denying = tools;
    denying.set_confirmation_provider(StaticConfirmation::deny_all("reason"));
    let sent = allowing.call_function("send_email", json!({})).await;
    assert_eq!(sent, Ok(json!({"sent": true})));
    let denied = denying.call_function("send_email", json!({})).await;
    assert!(
        matches!(&denied, Err(ToolError::Cancelled(told)) if told.contains("reason")),
        "{denied:?}"
    );
    assert_eq!(RUNS.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn policies_and_execution_modes_compose_on_one_tool() {
    static FETCHED: AtomicUsize = AtomicUsize::new(0);
    async fn fetch_price(ticker: &Value) -> Result<Value, ToolError> {
        FETCHED.fetch_add(1, Ordering::SeqCst);
        Ok(json!({"ticker": ticker, "price": 42}))
    }
    async fn do_cancel(order: &Value) -> Result<Value, ToolError> {
        Ok(json!({ "cancelled": order }))
    }

    let builder = Live::builder()
        .with_tools(
            // 10-second timeout + in-session cache
            T::cached(T::timeout(
                T::simple("get_stock_price", "Get a stock price", |args| async move {
                    Ok(fetch_price(&args["ticker"]).await?)
                }),
                Duration::from_secs(10),
            ))
            // confirmation required on dangerous action
            | T::confirm(
                T::simple("cancel_order", "Cancel an order", |args| async move {
                    Ok(do_cancel(&args["order_id"]).await?)
                }),
                "Cancel this order — are you sure?",
            )
            | T::google_search(),
        )
        .tool_background("get_stock_price"); // also run it in background

    let price = ("get_stock_price", json!({"ticker": "RCNT"}));
    let stage = Stage::set(builder, &[price.clone(), price]).await;
    let session = stage.live.session().await.unwrap();
    let policy = session.terms.policies.of("get_stock_price");
    assert!(policy.cache && policy.background.is_some());
    assert_eq!(policy.timeout, Some(Duration::from_secs(10)));
    assert!(session.terms.policies.of("cancel_order").confirm);
    stage.play().await;
    assert_eq!(FETCHED.load(Ordering::SeqCst), 1);
    let told = |id: &str| stage.answers(id).last().unwrap().0.to_string();
    assert!(told("c1").contains("42") && told("c2").contains("42"));
}

#[tokio::test]
async fn a_timeout_a_cache_and_a_gate_stand_side_by_side() {
    async fn search(_args: Value) -> Result<Value, ToolError> {
        pending().await
    }
    static FETCHED: AtomicUsize = AtomicUsize::new(0);
    async fn fetch_rate(_args: Value) -> Result<Value, ToolError> {
        FETCHED.fetch_add(1, Ordering::SeqCst);
        Ok(json!({"rate": 1.1}))
    }
    async fn send(_args: Value) -> Result<Value, ToolError> {
        Ok(json!({"sent": true}))
    }

    let builder = Live::builder().with_tools(
        // 10-second timeout on a slow tool
        T::timeout(
            T::simple("search_kb", "Search the knowledge base", |args| async move {
                Ok(search(args).await?)
            }),
            Duration::from_secs(10),
        )
        // In-session result cache
        | T::cached(
            T::simple("get_rate", "Get exchange rate", |args| async move {
                Ok(fetch_rate(args).await?)
            })
        )
        // Confirmation flag (recorded; see note in tool-policies.md)
        | T::confirm(
            T::simple("send_email", "Send email to customer", |args| async move {
                Ok(send(args).await?)
            }),
            "This will send a real email — are you sure?",
        ),
    );

    let calls = ["search_kb", "get_rate", "get_rate", "send_email"].map(|name| (name, json!({})));
    let builder = builder.confirmation_provider(StaticConfirmation::deny_all("not now"));
    let stage = Stage::set(builder, &calls).await;
    stage.play_and_wait(Duration::from_secs(10)).await;
    assert_eq!(stage.answer("c1")["kind"], "timeout");
    assert_eq!(stage.answer("c3"), json!({"rate": 1.1}));
    assert_eq!(FETCHED.load(Ordering::SeqCst), 1);
    assert!(stage.answer("c4").to_string().contains("not now"));
}
