//! Scripts and style, each at an address that changes with its content, so that a browser fetches it once.

use std::sync::OnceLock;

use crate::answer::Answer;

struct Asset {
    name: &'static str,
    kind: &'static str,
    /// `/assets/HASH/name`.
    address: String,
    content: String,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

fn all() -> &'static [Asset] {
    static ALL: OnceLock<Vec<Asset>> = OnceLock::new();
    ALL.get_or_init(|| {
        let made = fathom_chart::assets();
        let style = made.style + include_str!("site.css");
        [
            ("style.css", STYLE, style),
            ("site.js", SCRIPT, include_str!("site.js").to_owned()),
            ("live.js", SCRIPT, include_str!("live.js").to_owned()),
            ("charts.js", SCRIPT, made.script),
            ("echarts.js", SCRIPT, made.echarts),
        ]
        .into_iter()
        .map(|(name, kind, content)| {
            let tag = Answer::new(kind, content.as_bytes()).entity_tag();
            let hash: String = tag.chars().filter(char::is_ascii_alphanumeric).collect();
            Asset {
                name,
                kind,
                address: format!("/assets/{hash}/{name}"),
                content,
            }
        })
        .collect()
    })
}

/// Address of an asset by its name.
pub(crate) fn address_of(name: &str) -> &'static str {
    let asset = all().iter().find(|asset| asset.name == name);
    &asset.expect("an asset of this program").address
}

/// The asset at an address.
pub(crate) fn asset(address: &str) -> Option<Answer> {
    let asset = all().iter().find(|asset| asset.address == address)?;
    let mut answer = Answer::new(asset.kind, asset.content.as_bytes());
    answer.is_immutable = true;
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_found_only_at_its_own_address() {
        let address = address_of("style.css");
        assert!(
            asset(address).is_some_and(|answer| answer.is_immutable && !answer.body.is_empty())
        );
        for other in [
            "/assets/style.css",
            "/assets/0/style.css",
            "/assets/../Cargo.toml",
        ] {
            assert_eq!(asset(other), None);
        }
    }
}
