//! The reader of `[[sinks]]` and `[[routes]]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use super::super::document::Node;
use super::super::section::{Given, Section, instead_of};
use super::settings::{Hidden, SinkKind, SinkSettings};
use crate::config::Mistake;
use crate::config::mistake::Place;
use recount_notify::{
    Days, Detail, Escalation, Filter, Hours, Occasion, Patience, Pattern, Route, SinkName,
    Template, Zone,
};

/// The keys of a sink.
pub(in crate::config) const SINK: [&str; 20] = [
    "name",
    "kind",
    "url",
    "url_env",
    "url_file",
    "secret_env",
    "secret_file",
    "token_env",
    "token_file",
    "command",
    "allow_http",
    "markdown",
    "detail",
    "templates",
    "zone",
    "digest",
    "timeout",
    "attempts",
    "retry_first",
    "retry_longest",
];

/// The keys of a route.
pub(in crate::config) const ROUTE: [&str; 12] = [
    "sinks",
    "on",
    "tools",
    "agents",
    "labels",
    "hours",
    "days",
    "zone",
    "quiet_sinks",
    "remind_before",
    "escalate_after",
    "escalate_to",
];

/// A limit of a time, in words, too.
type Limit = (Duration, &'static str);

/// The limit of an attempt. A receiver that hangs holds back its sink for as long.
const TIMEOUT_MAX: Limit = (Duration::from_secs(600), "10 minutes");

/// The limit of a wait between attempts.
const RETRY_MAX: Limit = (Duration::from_secs(86_400), "a day");

/// The limit of the times of reminders and escalations.
const REPEAT_MAX: Limit = (Duration::from_secs(366 * 86_400), "366 days");

/// The limit of a template, in bytes. Slack cuts messages after 40,000 characters.
const TEMPLATE_BYTES_MAX: usize = 8_000;

/// The occasions of a route that lists none.
const USUAL: [Occasion; 2] = [Occasion::Asked, Occasion::InDoubt];

/// A route, with the places of the sinks that it names.
#[derive(Clone, Debug)]
pub(crate) struct RouteSettings {
    pub(crate) route: Route,
    /// The place of the route.
    pub(super) place: Place,
    pub(super) named: Vec<Given<String>>,
    pub(super) tools: Vec<Given<String>>,
    pub(super) agents: Vec<Given<String>>,
}

/// Reads `[[sinks]]`. Each name stands for one sink.
pub(in crate::config) fn sinks(file: &Section<'_>) -> Vec<SinkSettings> {
    let mut names = BTreeSet::new();
    let mut sinks: Vec<SinkSettings> = Vec::new();
    for section in file.sections("sinks") {
        let Some(sink) = sink(&section) else { continue };
        if !names.insert(sink.name.value.clone()) {
            let name = &sink.name;
            let what = format!(
                "expected a name of its own, found {:?} again",
                name.value.as_str()
            );
            section.object(name.mistake(what));
            continue;
        }
        sinks.push(sink);
    }
    sinks
}

/// Reads `[[routes]]`.
pub(in crate::config) fn routes(file: &Section<'_>) -> Vec<RouteSettings> {
    file.sections("routes").iter().map(route).collect()
}

/// The mistakes of routes to sinks that do not exist.
pub(in crate::config) fn unknown_sinks(
    sinks: &[SinkSettings],
    routes: &[RouteSettings],
) -> Vec<Mistake> {
    let known: Vec<&str> = sinks.iter().map(|it| it.name.value.as_str()).collect();
    let named = routes.iter().flat_map(|it| &it.named);
    let unknown = named.filter(|it| !known.contains(&it.value.as_str()));
    let mistakes = unknown.map(|it| {
        let instead = instead_of(&it.value, &known);
        it.mistake(format!("there is no sink {:?}; {instead}", it.value))
    });
    mistakes.collect()
}

fn sink(section: &Section<'_>) -> Option<SinkSettings> {
    section.only(&SINK);
    let detail = parsed::<Detail>(section, "detail").map(|it| it.value);
    let detail = detail.unwrap_or_default();
    let name = section.required("name", parsed::<SinkName>(section, "name"));
    let kind = section.value("kind", "webhook, slack, ntfy or command", kind_of);
    let kind = section.required("kind", kind);
    let command = command(section);
    let sink = SinkSettings {
        url: hidden(section, "url", ["url", "url_env", "url_file"]),
        secret: hidden(section, "secret", ["", "secret_env", "secret_file"]),
        token: hidden(section, "token", ["", "token_env", "token_file"]),
        command,
        allow_http: section.flag("allow_http").is_some_and(|it| it.value),
        markdown: section.flag("markdown"),
        detail,
        templates: templates(section, detail),
        zone: zone(section),
        digest: parsed(section, "digest").map(|it| it.value),
        timeout: at_most(section, "timeout", TIMEOUT_MAX),
        attempts: section.number("attempts", 1).map(|it| it.value),
        retry_first: at_most(section, "retry_first", RETRY_MAX),
        retry_longest: at_most(section, "retry_longest", RETRY_MAX),
        name: name?,
        kind: kind?,
    };
    check_keys(section, &sink);
    let usual = Patience::default();
    let first = sink.retry_first.unwrap_or(usual.first);
    if first > sink.retry_longest.unwrap_or(usual.longest) {
        let field = section.field_of("retry_first");
        let what = "expected a time of at most retry_longest";
        section.object(section.place.mistake(&field, what));
    }
    Some(sink)
}

/// A time that is longer than 0 and at most as long as a limit.
fn at_most(section: &Section<'_>, key: &str, (longest, words): Limit) -> Option<Duration> {
    let given = section.positive(key)?;
    if given.value > longest {
        section.object(given.mistake(format!("expected a time of at most {words}")));
    }
    Some(given.value)
}

fn kind_of(node: &Node) -> Option<SinkKind> {
    let text = node.text()?;
    SinkKind::ALL.into_iter().find(|it| it.as_str() == text)
}

/// Reports keys that mean nothing for the kind. Missing ones are reported when the sink is made.
fn check_keys(section: &Section<'_>, sink: &SinkSettings) {
    let kind = sink.kind.value;
    let has: &[&str] = match kind {
        SinkKind::Webhook => &["url", "secret"],
        SinkKind::Slack => &["url"],
        SinkKind::Ntfy => &["url", "token"],
        SinkKind::Command => &["command"],
    };
    let what = format!("a sink of kind {} has no such key", kind.as_str());
    let hidden = [
        ("url", &sink.url),
        ("secret", &sink.secret),
        ("token", &sink.token),
    ];
    for (key, given) in hidden {
        if let Some(given) = given.as_ref().filter(|_| !has.contains(&key)) {
            section.object(given.mistake(what.clone()));
        }
    }
    if let Some(command) = sink.command.as_ref().filter(|_| !has.contains(&"command")) {
        section.object(command.mistake(what.clone()));
    }
    if let Some(markdown) = sink.markdown.as_ref().filter(|_| kind != SinkKind::Slack) {
        section.object(markdown.mistake(what));
    }
}

/// The value of one of three keys: in the file, in a variable, in a file of its own.
fn hidden(section: &Section<'_>, what: &str, [here, variable, file]: [&str; 3]) -> Option<Hidden> {
    let here = Some(here).filter(|it| !it.is_empty());
    let here = here.and_then(|it| section.text(it)).map(Hidden::Here);
    let variable = section.text(variable).map(Hidden::Variable);
    let file = section.path(file).map(Hidden::File);
    let mut given = [here, variable, file].into_iter().flatten();
    let first = given.next();
    for further in given {
        let expected = format!("expected one key for the {what}, found several");
        section.object(further.mistake(expected));
    }
    first
}

fn command(section: &Section<'_>) -> Option<Given<Vec<String>>> {
    let words = section.some_texts("command", "a program and its arguments")?;
    let given = section.node("command")?;
    let words: Vec<String> = words.into_iter().map(|it| it.value).collect();
    Some(given.map(|_| words)).filter(|it| !it.value.is_empty())
}

fn templates(section: &Section<'_>, detail: Detail) -> BTreeMap<Occasion, Template> {
    let mut templates = BTreeMap::new();
    let Some(table) = section.section("templates") else {
        return templates;
    };
    table.only(&Occasion::ALL.map(Occasion::as_str));
    for occasion in Occasion::ALL {
        let Some(text) = table.text(occasion.as_str()) else {
            continue;
        };
        if text.value.len() > TEMPLATE_BYTES_MAX {
            let found = text.value.len();
            let what = format!("expected at most {TEMPLATE_BYTES_MAX} bytes, found {found}");
            section.object(text.mistake(what));
            continue;
        }
        match Template::parse(&text.value, occasion, detail) {
            Ok(template) => drop(templates.insert(occasion, template)),
            Err(error) => section.object(text.mistake(error.to_string())),
        }
    }
    templates
}

fn route(section: &Section<'_>) -> RouteSettings {
    section.only(&ROUTE);
    let mut named = section.texts("sinks");
    let sinks = names(&named);
    if !section.table.contains_key("sinks") {
        let field = section.field_of("sinks");
        section.object(
            section
                .place
                .mistake(&field, "expected names of sinks, found none"),
        );
    }
    let quiet = section.texts("quiet_sinks");
    let (hours, quiet_names) = (hours(section), names(&quiet));
    if hours.is_some() != section.table.contains_key("quiet_sinks") {
        // Without them, requests at night would reach no approver by mistake.
        let what = "expected hours and quiet_sinks together; quiet_sinks = [] sends nothing";
        let field = section.field_of("hours");
        section.object(section.place.mistake(&field, what));
    }
    named.extend(quiet);
    let (tools, agents) = (patterns(section, "tools"), patterns(section, "agents"));
    let all = |it: &[Given<String>]| it.iter().map(|it| Pattern::new(&it.value)).collect();
    let filter = Filter {
        tools: all(&tools),
        agents: all(&agents),
        labels: labels(section),
    };
    let escalation = escalation(section, &mut named);
    let remind_before = at_most(section, "remind_before", REPEAT_MAX);
    RouteSettings {
        route: Route {
            sinks,
            occasions: occasions(section),
            filter,
            hours,
            quiet: quiet_names,
            remind_before,
            escalation,
        },
        place: section.place.clone(),
        named,
        tools,
        agents,
    }
}

fn occasions(section: &Section<'_>) -> BTreeSet<Occasion> {
    if section.node("on").is_none() {
        return USUAL.into();
    }
    let expected = Occasion::LISTED.map(Occasion::as_str);
    let mut occasions = BTreeSet::new();
    for given in section.texts("on") {
        let found = given.value.parse::<Occasion>().ok();
        match found.filter(|it| Occasion::LISTED.contains(it)) {
            Some(occasion) => drop(occasions.insert(occasion)),
            None => {
                let expected = expected.join(", ");
                let what = format!("expected one of {expected}, found {:?}", given.value);
                section.object(given.mistake(what));
            }
        }
    }
    occasions
}

fn hours(section: &Section<'_>) -> Option<Hours> {
    let days = match section.some_texts("days", "days such as mon") {
        Some(days) => {
            let words = days.iter().map(|it| it.value.as_str());
            let all = Days::of(words);
            if let (Err(error), Some(first)) = (&all, days.first()) {
                section.object(first.mistake(error.to_string()));
            }
            all.unwrap_or_else(|_| Days::every())
        }
        None => Days::every(),
    };
    let zone = zone(section);
    let Some(text) = section.text("hours") else {
        if let Some(days) = section.node("days") {
            section.object(days.mistake("expected hours, to which the days belong"));
        }
        return None;
    };
    let hours = Hours::new(&text.value, days, zone);
    hours
        .map_err(|error| section.object(text.mistake(error.to_string())))
        .ok()
}

fn escalation(section: &Section<'_>, named: &mut Vec<Given<String>>) -> Option<Escalation> {
    let after = at_most(section, "escalate_after", REPEAT_MAX);
    let to = section.some_texts("escalate_to", "names of sinks");
    if after.is_some() != to.is_some() {
        let what = "expected escalate_after and escalate_to together";
        let field = section.field_of("escalate_after");
        section.object(section.place.mistake(&field, what));
    }
    let to = to?;
    let escalation = Escalation {
        after: after?,
        to: names(&to),
    };
    named.extend(to);
    Some(escalation)
}

fn labels(section: &Section<'_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    if let Some(table) = section.section("labels") {
        for key in table.table.keys() {
            labels.extend(table.text(key).map(|it| (key.clone(), it.value)));
        }
    }
    labels
}

fn patterns(section: &Section<'_>, key: &str) -> Vec<Given<String>> {
    let texts = section.some_texts(key, "names, or no key for all of them");
    texts.unwrap_or_default()
}

/// The names that have the form of one. The others name no sink, which is reported.
fn names(given: &[Given<String>]) -> Vec<SinkName> {
    given
        .iter()
        .filter_map(|it| it.value.parse().ok())
        .collect()
}

fn zone(section: &Section<'_>) -> Zone {
    let zone = parsed(section, "zone").map(|it| it.value);
    zone.unwrap_or_default()
}

/// The value of a text in its own form.
fn parsed<T: FromStr<Err: Display>>(section: &Section<'_>, key: &str) -> Option<Given<T>> {
    let text = section.text(key)?;
    match text.value.parse() {
        Ok(value) => Some(text.map(|_| value)),
        Err(error) => {
            section.object(text.mistake(error.to_string()));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::reading;

    fn mistakes(text: &str) -> Vec<String> {
        let (_, mistakes) = reading::read(text, Path::new("recount.toml"));
        mistakes.iter().map(ToString::to_string).collect()
    }

    const SINK: &str = "[[sinks]]\nname = \"ops\"\nkind = \"slack\"\nurl_env = \"SLACK\"\n";

    #[test]
    fn whole_configuration_of_notifications_is_read() {
        let text = format!(
            "{SINK}markdown = true\ndetail = \"arguments\"\nzone = \"+02:00\"\ndigest = \"08:00\"\n\
             timeout = \"3s\"\nattempts = 5\nretry_first = \"1s\"\nretry_longest = \"1m\"\n\
             [sinks.templates]\nasked = \"{{tool}} wartet: {{arguments}}\"\n\
             [[sinks]]\nname = \"hook\"\nkind = \"webhook\"\nurl = \"https://a\"\n\
             secret_file = \"s\"\nallow_http = true\n\
             [[sinks]]\nname = \"phone\"\nkind = \"ntfy\"\nurl = \"https://n/t\"\n\
             token_env = \"N\"\n\
             [[sinks]]\nname = \"run\"\nkind = \"command\"\ncommand = [\"say\", \"x\"]\n\
             [[routes]]\nsinks = [\"ops\", \"hook\"]\non = [\"asked\", \"settled\"]\n\
             tools = [\"pay*\"]\nagents = [\"support\"]\nlabels = {{ tenant = \"acme\" }}\n\
             hours = \"08:00-18:00\"\ndays = [\"mon\"]\nzone = \"local\"\n\
             quiet_sinks = [\"phone\"]\nremind_before = \"10m\"\n\
             escalate_after = \"15m\"\nescalate_to = [\"run\"]\n"
        );
        let found = mistakes(&text);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn mistakes_have_their_lines() {
        for (text, expected) in [
            (
                "[[routes]]\nsinks = [\"opps\"]\n",
                "recount.toml:6:10: routes.sinks: there is no sink",
            ),
            (
                "[[routes]]\nsinks = [\"ops\"]\non = [\"reminder\"]\n",
                "recount.toml:7:7: routes.on:",
            ),
            (
                "[sinks.templates]\nasked = \"{tol}\"\n",
                "recount.toml:6:9: sinks.templates.asked:",
            ),
            (
                "[sinks.templates]\nasked = \"{hint}\"\n",
                "recount.toml:6:9: sinks.templates.asked:",
            ),
            (
                "[sinks.templates]\naskd = \"x\"\n",
                "recount.toml:6:1: sinks.templates.askd:",
            ),
            (
                "detail = \"all\"\n",
                "recount.toml:5:10: sinks.detail: expected one of none, names",
            ),
            ("zone = \"mars\"\n", "recount.toml:5:8: sinks.zone:"),
            (
                "timeout = \"100d\"\n",
                "recount.toml:5:11: sinks.timeout: expected a time of at most 10 minutes",
            ),
            (
                "retry_first = \"10m\"\n",
                "sinks.retry_first: expected a time of at most retry",
            ),
            (
                "[[routes]]\nsinks = [\"ops\"]\nremind_before = \"9999d\"\n",
                "routes.remind_before: expected a time of at most 366 days",
            ),
            (
                "url = \"https://a\"\n",
                "expected one key for the url, found several",
            ),
            (
                "secret_env = \"S\"\n",
                "recount.toml:5:14: sinks.secret_env: a sink of kind slack",
            ),
            (
                SINK,
                "recount.toml:6:8: sinks.name: expected a name of its own",
            ),
            (
                "[[routes]]\nsinks = []\nhours = \"08:00-18:00\"\n",
                "hours and quiet_sinks together",
            ),
            (
                "[[routes]]\nsinks = []\nescalate_after = \"1m\"\n",
                "escalate_to together",
            ),
            (
                "[[routes]]\nsinks = []\ndays = [\"mon\"]\n",
                "expected hours, to which the days",
            ),
            (
                "[[routes]]\n",
                "routes.sinks: expected names of sinks, found none",
            ),
        ] {
            let found = mistakes(&format!("{SINK}{text}"));
            assert!(
                found.iter().any(|it| it.contains(expected)),
                "{expected}: {found:?}"
            );
        }
    }
}
