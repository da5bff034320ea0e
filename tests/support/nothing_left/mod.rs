//! Helpers that let pending work finish, and assert that no task is left.

/// Yields until all tasks are idle.
pub(crate) async fn settle() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

/// Asserts that the test is the only live task.
pub(crate) fn assert_nothing_is_left() {
    let alive = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert_eq!(alive, 0, "tasks were left behind");
}
