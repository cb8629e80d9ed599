//! A request as handlers see it, from the text of a request target.

/// A request that was admitted. All texts are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The parts of the path, decoded.
    pub path: Vec<String>,
    /// Names and values of the query, decoded, in order.
    pub query: Vec<(String, String)>,
    /// It is a form of this server; the query has its fields.
    pub is_post: bool,
}

/// The longest request target, in bytes.
const LONGEST: usize = 4096;
/// More parameters than any form of the pages has.
const MOST_PARAMETERS: usize = 64;

impl Request {
    /// Reads a request target in origin form, `/path?query`.
    ///
    /// # Errors
    /// Status and reason.
    pub fn parse(target: &str) -> Result<Request, (u16, &'static str)> {
        if target.len() > LONGEST {
            return Err((414, "the address is too long"));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let bad = (400, "the address is malformed");
        let path = path.strip_prefix('/').ok_or(bad)?;
        let parts = path
            .split('/')
            .map(|part| decode(part, false, false))
            .collect::<Option<Vec<String>>>()
            .ok_or(bad)?;
        let pairs: Vec<(String, String)> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(pair)
            .collect::<Option<_>>()
            .ok_or(bad)?;
        if pairs.len() > MOST_PARAMETERS {
            return Err((400, "the address has too many parameters"));
        }
        Ok(Request {
            path: parts,
            query: pairs,
            is_post: false,
        })
    }

    /// Reads a form. Its values may have several lines.
    pub fn form(path: &str, body: &str) -> Option<Request> {
        let pairs = body.split('&').filter(|pair| !pair.is_empty());
        let field = |pair: &str| {
            let (name, value) = pair.split_once('=')?;
            Some((decode(name, true, false)?, decode(value, true, true)?))
        };
        let query: Vec<_> = pairs
            .take(MOST_PARAMETERS)
            .map(field)
            .collect::<Option<_>>()?;
        Some(Request {
            path: vec![path.to_owned()],
            query,
            is_post: true,
        })
    }

    /// The last value of a parameter; empty without one.
    pub fn get(&self, name: &str) -> &str {
        let found = self.query.iter().rev().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.trim())
    }

    /// All values of a parameter, each also a list with commas.
    pub fn all(&self, name: &str) -> Vec<String> {
        let values = self.query.iter().filter(|(key, _)| key == name);
        values
            .flat_map(|(_, value)| value.split(','))
            .map(str::trim)
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// `name=value` of a query or a form.
pub(crate) fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Some((decode(name, true, false)?, decode(value, true, false)?))
}

/// Decodes percent signs, in a form also `+`. `None` for what is malformed, not UTF-8, or has control characters; with
/// `has_lines`, line ends are allowed.
fn decode(text: &str, is_form: bool, has_lines: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                (high * 16 + low) as u8
            }
            b'+' if is_form => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| {
        let mut all = text.chars();
        !all.any(|c| c.is_control() && !(has_lines && matches!(c, '\r' | '\n')))
    })
}

/// Encodes a text as a part of an address.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

/// `path?name=value&...` without empty values.
pub(crate) fn address(path: &str, query: &[(&str, String)]) -> String {
    let pairs: Vec<String> = query
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect();
    if pairs.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", pairs.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_decoded_once() {
        let request = Request::parse("/runs/r1%2e2?q=a+b%26c&q=%2526&empty=").expect("a request");
        assert_eq!(request.path, ["runs", "r1.2"]);
        assert_eq!(request.get("q"), "%26");
        assert_eq!(request.all("q"), ["a b&c", "%26"]);
        assert_eq!((request.get("empty"), request.get("none")), ("", ""));
        assert_eq!(
            address("/", &[("q", "a b&c=%".into()), ("kind", String::new())]),
            "/?q=a%20b%26c%3D%25"
        );
    }

    #[test]
    fn forms_have_lines() {
        let form =
            Request::form("start", "act=check&job=%5Ba%5D%0D%0Arw%3Dread+x").expect("a form");
        assert!(form.is_post);
        assert_eq!(
            (form.get("act"), form.get("job")),
            ("check", "[a]\r\nrw=read x")
        );
        for wrong in ["job=%00", "jo%0Ab=1", "job", "job=%1b", "job=%ff"] {
            assert_eq!(Request::form("start", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn malformed_targets_are_refused() {
        for target in [
            "*",
            "http://other/",
            "runs",
            "/%",
            "/%2",
            "/%zz",
            "/%00",
            "/%ff%fe",
            "/?q=%0d%0aSet-Cookie:x",
            "/?q=%",
        ] {
            assert_eq!(
                Request::parse(target).map_err(|(status, _)| status),
                Err(400),
                "{target}"
            );
        }
        let long = format!("/?q={}", "a".repeat(LONGEST));
        assert_eq!(
            Request::parse(&long).map_err(|(status, _)| status),
            Err(414)
        );
        let many = format!("/?{}", "a=1&".repeat(MOST_PARAMETERS + 1));
        assert_eq!(
            Request::parse(&many).map_err(|(status, _)| status),
            Err(400)
        );
    }
}
