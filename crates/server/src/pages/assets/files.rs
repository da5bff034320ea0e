//! The style sheet, the script and the icon. Their paths have a hash of their content, so browsers
//! keep them.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use recount_telling::timeline_svg::STYLE as STYLE_OF_TIMELINES;
use sha2::{Digest, Sha256};

use crate::problems::{Code, Problem};
use crate::requests::InPath;

/// The number of hexadecimal digits of a hash in a path.
const HASH_DIGITS: usize = 16;

/// A file that pages load.
struct Asset {
    /// The name in the path, with the hash.
    name: String,
    kind: &'static str,
    content: Cow<'static, str>,
}

static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::of("page", "css", "text/css", style_sheet()));

static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::of(
        "page",
        "js",
        "text/javascript",
        include_str!("page.js").into(),
    )
});

static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::of(
        "icon",
        "svg",
        "image/svg+xml",
        include_str!("icon.svg").into(),
    )
});

impl Asset {
    fn of(name: &str, ending: &str, kind: &'static str, content: Cow<'static, str>) -> Asset {
        let hash = Sha256::digest(content.as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let hash = hex.get(..HASH_DIGITS).unwrap_or_default();
        Asset {
            name: format!("{name}-{hash}.{ending}"),
            kind,
            content,
        }
    }

    fn path(&self) -> String {
        format!("assets/{}", self.name)
    }
}

/// The style of the pages, with that of the timelines in their colours.
fn style_sheet() -> Cow<'static, str> {
    format!("{}{}", include_str!("page.css"), STYLE_OF_TIMELINES).into()
}

/// The path of the style sheet below the mount.
pub(crate) fn style() -> String {
    STYLE.path()
}

/// The path of the script below the mount.
pub(crate) fn script() -> String {
    SCRIPT.path()
}

/// The path of the icon below the mount.
pub(crate) fn icon() -> String {
    ICON.path()
}

/// Returns a file. A path of another version does not exist.
pub(crate) async fn get(InPath(name): InPath<String>) -> Result<Response, Problem> {
    let all: [&Asset; 3] = [&STYLE, &SCRIPT, &ICON];
    let found = all.into_iter().find(|it| it.name == name);
    let found = found.ok_or_else(|| Problem::new(Code::NotFound, "there is no such file"))?;
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(found.kind)),
        (header::CACHE_CONTROL, forever),
    ];
    Ok((headers, &*found.content).into_response())
}
