//! The frame of the page: its head, its style, the list of its sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use recount_journal::Hash;

/// A section of the page.
pub(in crate::report) struct Section {
    /// The place in the page, to which `docs/clauses.toml` refers.
    pub(in crate::report) id: &'static str,
    /// The heading.
    pub(in crate::report) title: &'static str,
    /// The content.
    pub(in crate::report) body: Markup,
}

/// The policy of the page: no script, no picture, no request.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The whole page. `root` is at the top of each printed page, so that loose sheets belong together.
pub(in crate::report) fn document(
    title: &str,
    root: Hash,
    cover: &Markup,
    sections: &[Section],
) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (recount_telling::one_line(title)) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(on_sheets(root))) }
            }
            body {
                header id="about" { (cover) }
                nav aria-label="Sections" {
                    h2 { "Sections" }
                    ol {
                        @for section in sections {
                            li { a href={ "#" (section.id) } { (section.title) } }
                        }
                    }
                }
                main {
                    @for (index, section) in sections.iter().enumerate() {
                        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } { (index + 1) ". " (section.title) }
                            (section.body)
                        }
                    }
                }
            }
        }
    }
}

/// The top and the bottom of printed pages. A hash has digits alone, so it is safe in a style.
fn on_sheets(root: Hash) -> String {
    let root = root.to_string();
    let start = root.get(..16).unwrap_or(&root);
    format!(
        "@page{{@top-left{{content:\"Evidence report, root {start}…\";font-size:8pt}}\
         @bottom-right{{content:counter(page) \" / \" counter(pages);font-size:8pt}}}}\n"
    )
}
