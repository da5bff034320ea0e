//! The checks of routes that reach no one, and of sinks that get nothing.

use recount_notify::SinkName;

use super::reading::RouteSettings;
use super::settings::{SinkKind, SinkSettings};
use crate::config::Mistake;
use crate::config::agents::{LoadedAgent, is_program};
use crate::config::section::{Given, instead_of};
use crate::config::settings::Settings;

/// Reports routes that send nothing, and sinks without a route or without their program.
///
/// The service runs with them, so only `recount check` reports them.
pub(crate) fn silent_routes(settings: &Settings, agents: &[LoadedAgent]) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for route in &settings.routes {
        mistakes.extend(empty(route, &settings.sinks));
        // Without agents, the service follows those of other programs, which are not known here.
        if !settings.agents.is_empty() {
            mistakes.extend(unknown_names(route, settings, agents));
        }
    }
    for sink in &settings.sinks {
        mistakes.extend(unrouted(sink, &settings.routes));
        mistakes.extend(without_program(sink));
    }
    mistakes
}

/// The mistake of a route without sinks, or without occasions.
fn empty(route: &RouteSettings, sinks: &[SinkSettings]) -> Option<Mistake> {
    let of = |field: &str, what: &str| Some(route.place.mistake(&format!("routes.{field}"), what));
    if route.named.is_empty() {
        return of("sinks", "expected a sink: this route sends nothing");
    }
    let given = &route.route;
    let repeats = given.remind_before.is_some() || given.escalation.is_some();
    let has_digest = |name: &SinkName| {
        let mut sinks = sinks.iter().filter(|it| it.digest.is_some());
        sinks.any(|it| it.name.value == *name)
    };
    // A digest counts the requests of the routes of its sink.
    let is_counted = given.sinks.iter().chain(&given.quiet).any(has_digest);
    match given.occasions.is_empty() && !repeats && !is_counted {
        true => of("on", "expected an occasion: this route sends nothing"),
        false => None,
    }
}

/// The mistakes of names without `*` that no agent has.
fn unknown_names(
    route: &RouteSettings,
    settings: &Settings,
    agents: &[LoadedAgent],
) -> Vec<Mistake> {
    let known: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
    let mut mistakes = unknown(&route.agents, &known, "there is no agent");
    let is_about = |it: &&LoadedAgent| {
        let patterns = &route.route.filter.agents;
        patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(&it.name))
    };
    let about: Vec<&LoadedAgent> = agents.iter().filter(is_about).collect();
    // The tools of an agent with MCP servers are not known here.
    let is_known = |it: &&LoadedAgent| {
        let own = settings.agents.get(&it.name);
        it.is_whole && own.is_some_and(|own| own.mcp.is_empty())
    };
    if !about.is_empty() && about.iter().all(is_known) {
        let tools: Vec<&str> = about.iter().flat_map(|it| it.tool_names()).collect();
        let what = "no agent of this route has a tool";
        mistakes.extend(unknown(&route.tools, &tools, what));
    }
    mistakes
}

fn unknown(given: &[Given<String>], known: &[&str], what: &str) -> Vec<Mistake> {
    let names = given.iter().filter(|it| !it.value.contains('*'));
    let unknown = names.filter(|it| !known.contains(&it.value.as_str()));
    let mistakes = unknown.map(|it| {
        let instead = instead_of(&it.value, known);
        it.mistake(format!("{what} {:?}; {instead}", it.value))
    });
    mistakes.collect()
}

/// The mistake of a sink that no route names.
fn unrouted(sink: &SinkSettings, routes: &[RouteSettings]) -> Option<Mistake> {
    let name = sink.name.value.as_str();
    let mut named = routes.iter().flat_map(|it| &it.named);
    match named.any(|it| it.value == name) {
        true => None,
        false => Some(
            sink.name
                .mistake("expected a route to this sink, found none"),
        ),
    }
}

/// The mistake of a sink whose program cannot be started.
fn without_program(sink: &SinkSettings) -> Option<Mistake> {
    let command = sink.command.as_ref();
    let command = command.filter(|_| sink.kind.value == SinkKind::Command)?;
    let program = command.value.first()?;
    match is_program(program) {
        true => None,
        false => {
            let what = format!("expected an executable program, found none at {program:?}");
            Some(command.mistake(what))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::reading;

    fn mistakes(text: &str) -> Vec<String> {
        let (settings, mistakes) = reading::read(text, Path::new("recount.toml"));
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let (agents, _) = crate::config::load(&settings);
        let found = silent_routes(&settings, &agents);
        found.iter().map(ToString::to_string).collect()
    }

    const SINK: &str = "[[sinks]]\nname = \"ops\"\nkind = \"slack\"\nurl_env = \"SLACK\"\n";

    #[test]
    fn routes_and_sinks_without_effect_are_found() {
        for (text, expected) in [
            ("[[routes]]\nsinks = []\n", "routes.sinks: expected a sink"),
            (
                "[[routes]]\nsinks = [\"ops\"]\non = []\n",
                "routes.on: expected an occasion",
            ),
            ("", "recount.toml:2:8: sinks.name: expected a route"),
            (
                "[[sinks]]\nname = \"run\"\nkind = \"command\"\ncommand = [\"/etc\"]\n\
                 [[routes]]\nsinks = [\"run\", \"ops\"]\n",
                "found none at \"/etc\"",
            ),
            (
                "[[routes]]\nsinks = [\"ops\"]\nagents = [\"suport\"]\n\
                 [agents.support]\nmodel = \"none\"\n",
                "there is no agent \"suport\"; ",
            ),
        ] {
            let found = mistakes(&format!("{SINK}{text}"));
            assert!(
                found.iter().any(|it| it.contains(expected)),
                "{expected}: {found:?}"
            );
        }
    }

    #[test]
    fn routes_with_an_effect_are_sound() {
        for text in [
            "[[routes]]\nsinks = [\"ops\"]\ntools = [\"refund\"]\n",
            "[[routes]]\nsinks = []\nhours = \"08:00-18:00\"\nquiet_sinks = [\"ops\"]\n",
            "[[routes]]\nsinks = [\"ops\"]\non = []\nremind_before = \"5m\"\n",
            "digest = \"08:00\"\n[[routes]]\nsinks = [\"ops\"]\non = []\n",
            "[[routes]]\nsinks = [\"ops\"]\nagents = [\"sup*\"]\n\
             [agents.support]\nmodel = \"none\"\n",
        ] {
            let found = mistakes(&format!("{SINK}{text}"));
            assert!(found.is_empty(), "{text}: {found:?}");
        }
    }
}
