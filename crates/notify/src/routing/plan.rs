//! The routes as one sink sees them.

use recount::session::Timestamp;
use serde::{Deserialize, Serialize};

use super::filter::{Filter, Names};
use super::route::Route;
use crate::values::{Occasion, SinkName};

/// The routes as one sink sees them.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    sink: SinkName,
    routes: Vec<Route>,
}

/// The times of a request at which it is sent again if it still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dues {
    pub(crate) reminder: Option<Timestamp>,
    pub(crate) escalation: Option<Timestamp>,
}

/// The requests that a route sends to a sink again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watched {
    /// [`Occasion::Reminder`] or [`Occasion::Escalated`].
    occasion: Occasion,
    filter: Filter,
}

impl Watched {
    pub(crate) fn covers(&self, occasion: Occasion, names: &Names) -> bool {
        self.occasion == occasion && self.filter.matches(names)
    }
}

impl Plan {
    pub(crate) fn new(sink: SinkName, routes: &[Route]) -> Plan {
        let routes = routes.iter().filter(|it| it.names(&sink));
        Plan {
            routes: routes.cloned().collect(),
            sink,
        }
    }

    /// True if an occasion at a time is sent to the sink.
    pub(crate) fn wants(&self, occasion: Occasion, names: &Names, at: Timestamp) -> bool {
        self.routes.iter().any(|it| {
            let is_listed = it.occasions.contains(&occasion)
                || (occasion == Occasion::InDoubt && it.occasions.contains(&Occasion::Asked));
            is_listed && it.filter.matches(names) && it.sends_to(&self.sink, at)
        })
    }

    /// True if a route of the sink is about the call, at any hour.
    pub(crate) fn is_about(&self, names: &Names) -> bool {
        self.routes.iter().any(|it| it.filter.matches(names))
    }

    /// True if a request may be sent to the sink again.
    pub(crate) fn has_timers(&self) -> bool {
        let has = |it: &Route| it.remind_before.is_some() || it.escalation.is_some();
        self.routes.iter().any(has)
    }

    /// The requests that are sent to the sink again.
    pub(crate) fn watched(&self) -> Vec<Watched> {
        let mut watched = Vec::new();
        for route in &self.routes {
            let mut add = |occasion| {
                let filter = route.filter.clone();
                watched.push(Watched { occasion, filter });
            };
            let mut sinks = route.sinks.iter().chain(&route.quiet);
            if route.remind_before.is_some() && sinks.any(|it| *it == self.sink) {
                add(Occasion::Reminder);
            }
            let escalation = route.escalation.as_ref();
            if escalation.is_some_and(|it| it.to.contains(&self.sink)) {
                add(Occasion::Escalated);
            }
        }
        watched
    }

    /// The times at which a request is sent to the sink again. Of several routes, the first counts.
    pub(crate) fn dues(&self, names: &Names, asked: Timestamp, expires: Option<Timestamp>) -> Dues {
        let mut dues = Dues::default();
        for route in self.routes.iter().filter(|it| it.filter.matches(names)) {
            let before = route.remind_before.and_then(|before| {
                let ms = u64::try_from(before.as_millis()).unwrap_or(u64::MAX);
                // A request whose whole time is shorter needs no reminder: it was just asked.
                Some(expires?.before_ms(ms)).filter(|due| *due > asked)
            });
            let before = before.filter(|due| route.sends_to(&self.sink, *due));
            dues.reminder = earlier(dues.reminder, before);
            let escalation = route.escalation.as_ref();
            let escalation = escalation.filter(|it| it.to.contains(&self.sink));
            let after = escalation.map(|it| asked.after(it.after));
            dues.escalation = earlier(dues.escalation, after);
        }
        dues
    }
}

impl Route {
    /// True if the route names the sink, at any hour.
    fn names(&self, sink: &SinkName) -> bool {
        let escalation = self.escalation.iter().flat_map(|it| &it.to);
        let mut all = self.sinks.iter().chain(&self.quiet).chain(escalation);
        all.any(|it| it == sink)
    }

    /// True if the route sends to the sink at this time.
    fn sends_to(&self, sink: &SinkName, at: Timestamp) -> bool {
        let is_open = self.hours.as_ref().is_none_or(|it| it.contain(at));
        match is_open {
            true => self.sinks.contains(sink),
            false => self.quiet.contains(sink),
        }
    }
}

/// The earlier of two times that may be missing.
fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::routing::{Days, Escalation, Filter, Hours, Pattern};
    use crate::values::Zone;

    fn name(text: &str) -> SinkName {
        text.parse().unwrap()
    }

    fn names(tool: &str) -> Names {
        Names {
            tool: Some(tool.to_owned()),
            ..Names::default()
        }
    }

    fn route(to: &str) -> Route {
        Route {
            sinks: vec![name(to)],
            occasions: BTreeSet::from([Occasion::Asked]),
            filter: Filter {
                tools: vec![Pattern::new("pay")],
                ..Filter::default()
            },
            ..Route::default()
        }
    }

    const fn hour(hours: i64) -> Timestamp {
        Timestamp(hours * 3_600_000_000)
    }

    #[test]
    fn route_sends_its_occasions_of_its_calls() {
        let plan = Plan::new(name("a"), &[route("a"), route("b")]);
        assert!(plan.wants(Occasion::Asked, &names("pay"), hour(9)));
        assert!(plan.wants(Occasion::InDoubt, &names("pay"), hour(9)));
        assert!(!plan.wants(Occasion::Decided, &names("pay"), hour(9)));
        assert!(!plan.wants(Occasion::Asked, &names("look"), hour(9)));
        let other = Plan::new(name("c"), &[route("a")]);
        assert!(!other.wants(Occasion::Asked, &names("pay"), hour(9)));
    }

    #[test]
    fn quiet_hours_have_another_sink() {
        let hours = Hours::new("08:00-18:00", Days::every(), Zone::Utc).unwrap();
        let route = Route {
            hours: Some(hours),
            quiet: vec![name("night")],
            ..route("day")
        };
        let wants = |sink: &str, at| {
            let plan = Plan::new(name(sink), std::slice::from_ref(&route));
            plan.wants(Occasion::Asked, &names("pay"), at)
        };
        assert!(wants("day", hour(9)) && !wants("night", hour(9)));
        assert!(!wants("day", hour(19)) && wants("night", hour(19)));
    }

    #[test]
    fn earliest_due_of_several_routes_counts() {
        let minutes = |it: u64| Duration::from_secs(60 * it);
        let with = |before: u64, after: u64| Route {
            remind_before: Some(minutes(before)),
            escalation: Some(Escalation {
                after: minutes(after),
                to: vec![name("boss")],
            }),
            ..route("a")
        };
        let routes = [with(30, 20), with(60, 10)];
        let pay = names("pay");
        let plan = Plan::new(name("a"), &routes);
        let dues = plan.dues(&pay, hour(0), Some(hour(2)));
        assert_eq!((dues.reminder, dues.escalation), (Some(hour(1)), None));
        // A reminder before the question would follow it at once.
        assert_eq!(plan.dues(&pay, hour(1), Some(hour(1))), Dues::default());
        let plan = Plan::new(name("boss"), &routes);
        let dues = plan.dues(&pay, hour(0), None);
        let ten_minutes = Some(Timestamp(600_000_000));
        assert_eq!((dues.reminder, dues.escalation), (None, ten_minutes));
        assert_eq!(plan.dues(&names("look"), hour(0), None), Dues::default());
    }
}
