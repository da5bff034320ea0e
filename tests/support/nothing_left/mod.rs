//! Letting everything happen that happens by itself, and showing that nothing goes on after it.

/// Lets everything happen that happens by itself.
pub(crate) async fn settle() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

/// The test is the only task that lives.
pub(crate) fn assert_nothing_is_left() {
    let alive = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert_eq!(alive, 0, "tasks were left behind");
}
