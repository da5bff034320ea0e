//! The page: the filters, the summary, and each chart with its table.

use axum::response::Response;
use maud::{Markup, html};
use recount_telling::count;

use super::chart::{Column, Labels, Marks, Part, Stack, columns, legend, ranges, stacks};
use super::chosen::{Chosen, Range, Span};
use super::numbers::{Ends, Group, Numbers};
use super::reading::{Counted, RECORDS_MAX};
use super::tables::{both, ends, folded, groups, on_axis, share, steps, table, time};
use crate::access::Role;
use crate::pages::frame::{Frame, Page, moment};
use crate::problems::Problem;
use crate::requests::Params;
use crate::routes::Caller;

/// The number of tools and of approvers that the page shows.
const NAMES_MAX: usize = 20;

/// The ends of a request, with the class of their colour.
const ENDS: [(&str, &str); 6] = [
    ("good", "Allowed"),
    ("bad", "Denied"),
    ("mark", "Settled"),
    ("ask", "Expired"),
    ("far", "Allowed without an answer"),
    ("quiet", "Withdrawn"),
];

/// Shows the figures. Needs the role viewer in some sessions.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    params: Params,
) -> Result<Response, Problem> {
    caller.expect_somewhere(Role::Viewer)?;
    caller.shows_every_session();
    let chosen = Chosen::of(&params)?;
    // A report is long work, so it counts as a stream.
    let _place = caller.service.streams.take("streams")?;
    let span = Span::of(chosen.range, caller.service.access.now());
    let counted = Counted::of(&caller, &chosen, span).await?;
    let numbers = Numbers::of(&counted.asked, span);
    let body = html! {
        (filters(&chosen))
        (basis(&counted, span))
        (summary(&numbers))
        @if numbers.asked == 0 && numbers.ends.all() == 0 && numbers.open_now == 0 {
            section.card { p { "No approval was asked for in this time." } }
        } @else {
            (decisions(&numbers, chosen.range))
            (outcomes(&numbers.ends))
            (open(&numbers, chosen.range))
            (by_tool(&numbers))
            (by_approver(&numbers))
        }
    };
    Ok(frame.page(Page::new("Figures", body)))
}

fn filters(chosen: &Chosen) -> Markup {
    let text = |name: &str, label: &str, value: &str| {
        html! {
            div {
                label for={ "filter-" (name) } { (label) }
                input id={ "filter-" (name) } name=(name) value=(value) autocomplete="off";
            }
        }
    };
    html! {
        form.filters method="get" role="search" aria-label="Choose the figures" {
            div {
                label for="filter-range" { "Range" }
                select id="filter-range" name="range" {
                    @for range in Range::ALL {
                        option value=(range.as_str()) selected[range == chosen.range] {
                            (range.name())
                        }
                    }
                }
            }
            (text("agent", "Agent", &chosen.agent))
            (text("tool", "Tool", &chosen.tool))
            (text("label", "Label (NAME:VALUE)", &chosen.label))
            button { "Show" }
            @if chosen.is_narrow() {
                a href={ "figures?range=" (chosen.range.as_str()) } { "Every agent and tool" }
            }
        }
    }
}

/// The requests that were counted, and those that were left out.
fn basis(counted: &Counted, span: Span) -> Markup {
    html! {
        p.quiet {
            "From " (moment(span.from)) " to " (moment(span.now)) ". Read: "
            (count(counted.sessions, "session")) " that changed in this time, with "
            (count(counted.records, "record")) ", and every open request."
        }
        @if counted.left_out > 0 {
            p.banner.ask {
                "Left out: " (count(counted.left_out, "session")) ", because one page reads at "
                "most " (RECORDS_MAX) " records. Of their requests, only the open ones are "
                "counted. Choose a shorter range or an agent."
            }
        }
        @if counted.is_cut {
            p.banner.ask { "More requests are open than one page counts." }
        }
        @if counted.unread > 0 {
            p.banner.ask {
                "Left out: " (count(counted.unread, "session")) " that cannot be read here: sealed "
                "without a key, erased, or damaged."
            }
        }
    }
}

fn summary(numbers: &Numbers) -> Markup {
    let [median, p95] = both(&numbers.times);
    let ends = &numbers.ends;
    let facts = [
        (numbers.asked.to_string(), "asked"),
        (numbers.open_now.to_string(), "open now"),
        (median, "median to a decision"),
        (p95, "95th percentile"),
        (share(ends.expired, ends.all()), "expired"),
    ];
    html! {
        ul.tally {
            @for (number, of) in &facts { li { strong { (number) } " " (of) } }
        }
    }
}

fn decisions(numbers: &Numbers, range: Range) -> Markup {
    let all: Vec<Marks> = numbers
        .steps
        .iter()
        .map(|step| Marks {
            time: on_axis(step.start, range.step_hours()),
            times: step.times.median().zip(step.times.p95()),
        })
        .collect();
    let [median, p95] = both(&numbers.times);
    let about = format!(
        "Median and 95th percentile for each of {} intervals. Over the whole range: median \
         {median}, 95th percentile {p95}, {}.",
        all.len(),
        count(numbers.times.number(), "decision"),
    );
    let labels = Labels {
        id: "decisions",
        title: "Time from the request to the decision",
        about: &about,
    };
    let rows = steps(&numbers.steps, |step| {
        let [median, p95] = both(&step.times);
        vec![step.times.number().to_string(), median, p95]
    });
    html! {
        section.card {
            h2 { "Time to a decision" }
            (legend(&[("main", "Median"), ("far", "95th percentile")]))
            (ranges(labels, &all))
            p.quiet { "Answers of people. Times in the chart are UTC, its scale is logarithmic." }
            (folded(
                "Times to a decision",
                &["From", "Decisions", "Median", "95th percentile"],
                rows,
            ))
        }
    }
}

fn outcomes(all: &Ends) -> Markup {
    let stack = Stack {
        name: "All requests that ended".to_owned(),
        parts: parts(all),
    };
    let shares: Vec<String> = ENDS
        .iter()
        .zip(parts(all))
        .map(|((_, name), part)| format!("{name} {}", share(part.number, all.all())))
        .collect();
    let labels = Labels {
        id: "outcomes",
        title: "How requests ended",
        about: &shares.join(", "),
    };
    html! {
        section.card {
            h2 { "How requests ended" }
            (legend(&ENDS))
            (stacks(labels, &[stack]))
            (table("How requests ended", &["End", "Requests", "Share"], ends(all)))
            p.quiet {
                "Settled: the outcome of an interrupted call was found. A request that another one "
                "replaced is not counted."
            }
        }
    }
}

fn open(numbers: &Numbers, range: Range) -> Markup {
    let all: Vec<Column> = numbers
        .steps
        .iter()
        .map(|step| Column {
            time: on_axis(step.start, range.step_hours()),
            value: step.open,
        })
        .collect();
    let most = all.iter().map(|it| it.value).max().unwrap_or_default();
    let about = format!(
        "Open requests at the end of each of {} intervals: at most {most}, now {}.",
        all.len(),
        numbers.open_now
    );
    let labels = Labels {
        id: "open",
        title: "Open requests over time",
        about: &about,
    };
    let rows = steps(&numbers.steps, |step| {
        vec![step.asked.to_string(), step.open.to_string()]
    });
    html! {
        section.card {
            h2 { "Open requests" }
            (columns(labels, &all))
            p.quiet { "At the end of each interval, the last one now. Times in the chart are UTC." }
            (folded("Open requests over time", &["From", "Asked", "Open at the end"], rows))
        }
    }
}

fn by_tool(numbers: &Numbers) -> Markup {
    let heads = [
        "Tool",
        "Asked",
        "Allowed",
        "Denied",
        "Settled",
        "Expired",
        "Withdrawn",
        "Median",
        "95th percentile",
    ];
    let shown = || numbers.tools.iter().take(NAMES_MAX);
    let labels = Labels {
        id: "tools",
        title: "Ended requests by tool",
        about: "A bar for each tool, divided by how its requests ended.",
    };
    let rows = groups(shown(), |group| {
        let mut cells = vec![group.asked.to_string()];
        cells.extend(parts(&group.ends).iter().map(|it| it.number.to_string()));
        cells.extend(both(&group.times));
        cells
    });
    html! {
        section.card {
            h2 { "By tool" }
            @if numbers.tools.is_empty() { p.quiet { "No request was asked or ended." } }
            @else {
                (legend(&ENDS))
                (stacks(labels, &stacked(shown())))
                (table("Requests by tool", &heads, rows))
                (hidden(numbers.tools.len()))
            }
        }
    }
}

fn by_approver(numbers: &Numbers) -> Markup {
    let heads = [
        "Approver",
        "Allowed",
        "Denied",
        "Settled",
        "Median",
        "95th percentile",
    ];
    let shown = || numbers.approvers.iter().take(NAMES_MAX);
    let labels = Labels {
        id: "approvers",
        title: "Answers by approver",
        about: "A bar for each person or program that answered, divided by the answers.",
    };
    let rows = groups(shown(), |group| {
        let ends = &group.ends;
        let numbers = [ends.allowed, ends.denied, ends.settled];
        let mut cells: Vec<String> = numbers.iter().map(u64::to_string).collect();
        cells.extend([group.times.median(), group.times.p95()].map(time));
        cells
    });
    html! {
        section.card {
            h2 { "By approver" }
            @if numbers.approvers.is_empty() { p.quiet { "No request was answered." } }
            @else {
                (legend(&ENDS[..3]))
                (stacks(labels, &stacked(shown())))
                (table("Answers by approver", &heads, rows))
                (hidden(numbers.approvers.len()))
                p.quiet { "An approval counts for its approver, too, if others had to follow." }
            }
        }
    }
}

fn stacked<'g>(groups: impl Iterator<Item = &'g (String, Group)>) -> Vec<Stack> {
    let stack = |(name, group): &(String, Group)| Stack {
        name: match name.as_str() {
            "" => "unknown".to_owned(),
            name => name.to_owned(),
        },
        parts: parts(&group.ends),
    };
    // A tool without an ended request has no bar.
    let ended = groups.filter(|(_, group)| group.ends.all() > 0);
    ended.map(stack).collect()
}

/// The parts of a bar, in the order of [`ENDS`].
fn parts(ends: &Ends) -> Vec<Part> {
    let numbers = [
        ends.allowed,
        ends.denied,
        ends.settled,
        ends.expired,
        ends.unanswered,
        ends.withdrawn,
    ];
    let classes = ENDS.iter().map(|(class, _)| *class);
    classes
        .zip(numbers)
        .map(|(class, number)| Part { class, number })
        .collect()
}

fn hidden(names: usize) -> Markup {
    html! {
        @if let Some(hidden) = names.checked_sub(NAMES_MAX).filter(|it| *it > 0) {
            p.quiet { (hidden) " more are not shown." }
        }
    }
}
