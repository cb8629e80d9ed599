//! All known links with their rates.

use fathom_model::HostLink;
use serde_json::json;

/// The links as a table.
#[must_use]
pub fn links_text() -> String {
    let mut text = format!(
        "{:9} {:24} {:>9}  {:23} {:>9}\n",
        "--link", "link", "Gbit/s", "coding", "MB/s"
    );
    for link in HostLink::all() {
        text += &format!(
            "{:9} {:24} {:>9.3}  {:23} {:>9.0}\n",
            link.name(),
            link.to_string(),
            link.line_gbit(),
            link.coding(),
            link.usable() / 1e6
        );
    }
    text + "\nGbit/s: on the line, one direction. MB/s: usable after coding; packets and commands take some percent of it.\n"
}

/// The links as a list of objects.
#[must_use]
pub fn links_json() -> String {
    let link = |link: &HostLink| {
        json!({
            "name": link.name(),
            "link": link.to_string(),
            "line_gbit_s": link.line_gbit(),
            "coding": link.coding(),
            "usable_bytes_s": link.usable(),
        })
    };
    let all: Vec<_> = HostLink::all().iter().map(link).collect();
    format!("{:#}\n", serde_json::Value::Array(all))
}
