//! What the embedding program hands its tools: clients, pools, settings.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Values of the embedding program, by type; every tool of an agent can get at them.
///
/// ```
/// use recount::tool::Services;
///
/// struct Bank { name: String }
///
/// let services = Services::new().with(Bank { name: "First".into() });
/// assert_eq!(services.get::<Bank>().map(|bank| bank.name.clone()).as_deref(), Some("First"));
/// assert!(services.get::<String>().is_none());
/// ```
#[derive(Clone, Default)]
pub struct Services {
    /// Absent while there are none, which costs a call nothing.
    by_type: Option<Arc<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl Services {
    /// None yet.
    #[must_use]
    pub fn new() -> Services {
        Services::default()
    }

    /// With a value more; one of the same type takes the place of the one before.
    #[must_use]
    pub fn with<S: Any + Send + Sync>(mut self, service: S) -> Services {
        Arc::make_mut(self.by_type.get_or_insert_default())
            .insert(TypeId::of::<S>(), Arc::new(service));
        self
    }

    /// The value of a type.
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
