//! The services of the embedding program for its tools: clients, pools, settings.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Services of the embedding program by type, available to every tool of an agent.
///
/// They are registered with the agent (`Agent::service`, `Live::builder().service(…)`), or with a
/// dispatcher that runs its tools itself ([`with_service`](crate::ToolDispatcher::with_service)). A
/// trait is registered as `Arc<dyn Trait>`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use recount_tool::{T, ToolContext, ToolDispatcher, ToolError, TypedTool};
/// use serde_json::{Value, json};
///
/// struct Bank { name: String }
///
/// let which_bank = |_: Value, context: ToolContext| async move {
///     let bank = context.service::<Bank>().ok_or(ToolError::Other("there is no bank".into()))?;
///     Ok(json!({"bank": bank.name}))
/// };
/// let tool = TypedTool::with_context("which_bank", "Tells who keeps the money", which_bank);
///
/// let mut tools = ToolDispatcher::new().with_service(Bank { name: "First".into() });
/// tools.register(tool)?;
/// let called = tools.call_function("which_bank", json!({})).await;
/// assert_eq!(called, Ok(json!({"bank": "First"})));
/// # Ok::<(), recount_tool::RegistrationError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Services {
    /// `None` while empty, so that a call pays nothing.
    by_type: Option<Arc<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl Services {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Services {
        Services::default()
    }

    /// Adds a value, replacing one of the same type.
    ///
    /// ```
    /// use recount_tool::Services;
    ///
    /// let services = Services::new().with(7_u32).with("seven").with(8_u32);
    /// assert_eq!(services.get::<u32>().as_deref(), Some(&8));
    /// assert!(services.get::<String>().is_none());
    /// ```
    #[must_use]
    pub fn with<S: Any + Send + Sync>(mut self, service: S) -> Services {
        Arc::make_mut(self.by_type.get_or_insert_default())
            .insert(TypeId::of::<S>(), Arc::new(service));
        self
    }

    /// Returns the value of a type.
    #[must_use]
    pub fn get<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        let service = self.by_type.as_ref()?.get(&TypeId::of::<S>())?;
        service.clone().downcast().ok()
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("count", &self.by_type.as_ref().map_or(0, |it| it.len()))
            .finish()
    }
}
