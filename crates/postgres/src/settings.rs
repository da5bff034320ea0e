//! The settings of a server under which an acknowledged append may vanish.

use recount_journal::Error;
use tokio_postgres::Client;

use crate::error::failed;

/// The settings that count, with the values under which nothing is lost.
const SETTINGS: [(&str, &[&str]); 3] = [
    ("fsync", &["on"]),
    ("full_page_writes", &["on"]),
    (
        "synchronous_commit",
        &["on", "remote_apply", "remote_write"],
    ),
];

/// Returns the settings that may lose acknowledged appends, as `name = value`.
///
/// `synchronous_commit = local` is safe on a server without synchronous standbys. With them, a
/// standby that is promoted may lack what was acknowledged.
pub(crate) async fn lossy(client: &Client) -> Result<Vec<String>, Error> {
    let names: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
    let select = "SELECT name, setting, current_setting('synchronous_standby_names') = '' \
                  FROM pg_settings WHERE name = ANY($1) ORDER BY name";
    let rows = client.query(select, &[&names]).await;
    let rows = rows.map_err(failed("read the settings"))?;
    let mut lossy = Vec::new();
    for row in rows {
        let (name, value, alone): (String, String, bool) = (row.get(0), row.get(1), row.get(2));
        let safe = SETTINGS.iter().any(|(known, values)| {
            *known == name && (values.contains(&value.as_str()) || (alone && value == "local"))
        });
        if !safe {
            lossy.push(format!("{name} = {value}"));
        }
    }
    Ok(lossy)
}
