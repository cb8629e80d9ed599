//! Addresses of PostgreSQL servers. They may contain a password, which no message repeats.

/// Schemes of addresses.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Schemes of addresses of NATS servers.
const LOGIN_SCHEMES: [&str; 2] = ["nats://", "tls://"];
/// Parameters of an address that the driver knows; it would ignore others, and a misspelt `sslmode` would leave TLS unchecked.
#[cfg(feature = "sqlite")]
const PARAMETERS: [&str; 12] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

/// Whether `text` is the address of a server.
#[cfg(feature = "sqlite")]
pub(crate) fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// `text` without the passwords of addresses of servers in it, for messages, lists and stored command lines.
///
/// ```
/// let line = fathom_store::without_password("--store=postgres://ann:secret@db.example/results");
/// assert_eq!(line, "--store=postgres://ann@db.example/results");
/// assert_eq!(fathom_store::without_password("--nats=nats://token@10.0.0.1"), "--nats=nats://10.0.0.1");
/// ```
#[must_use]
pub fn without_password(text: &str) -> String {
    if let Some(without) = without_login(text) {
        return without;
    }
    let start = SCHEMES
        .iter()
        .filter_map(|scheme| text.find(scheme).map(|at| at + scheme.len()))
        .min();
    let Some(start) = start else {
        return text.to_owned();
    };
    let (before, rest) = text.split_at(start);
    // A password may contain characters that end the user's name elsewhere, so everything up to the last @ counts. One in the
    // parameters belongs to them.
    let (main, parameters) = match rest.rfind('@') {
        Some(at) => match rest[at..].find('?') {
            Some(mark) => rest.split_at(at + mark),
            None => (rest, ""),
        },
        None => rest.split_at(rest.find('?').unwrap_or(rest.len())),
    };
    let main = match main.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(user, _)| user);
            format!("{user}@{host}")
        }
        None => main.to_owned(),
    };
    let kept: Vec<&str> = parameters
        .trim_start_matches('?')
        .split('&')
        .filter(|parameter| {
            !parameter.is_empty() && !parameter.to_ascii_lowercase().starts_with("password=")
        })
        .collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    format!("{before}{main}{mark}{}", kept.join("&"))
}

/// The same for the address of a message server, `None` without one: what is before its `@` may be a token, so nothing of it stays.
fn without_login(text: &str) -> Option<String> {
    let start = LOGIN_SCHEMES
        .iter()
        .filter_map(|scheme| text.find(scheme).map(|at| at + scheme.len()))
        .min()?;
    let (before, rest) = text.split_at(start);
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    Some(format!("{before}{host}"))
}

/// The address for the driver, with a name by which the server lists the connection.
#[cfg(feature = "sqlite")]
pub(crate) fn driver_address(address: &str) -> Result<String, String> {
    let parameters = address
        .split_once('?')
        .map_or("", |(_, parameters)| parameters);
    let mut named = false;
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        let name = parameter.split('=').next().unwrap_or_default();
        if !PARAMETERS.contains(&name) && !name.starts_with("options[") {
            return Err(format!(
                "unknown parameter '{}' in the address; known are {}",
                name.escape_debug(),
                PARAMETERS.join(", ")
            ));
        }
        named |= name == "application_name";
    }
    if named {
        return Ok(address.to_owned());
    }
    let mark = if address.contains('?') { '&' } else { '?' };
    Ok(format!("{address}{mark}application_name=fathom"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 1442: the command line of a stored run over hosts contained the login of `--nats`.
    #[test]
    fn passwords_are_removed() {
        for (text, expected) in [
            ("--nats=nats://me:secret@h:1", "--nats=nats://h:1"),
            ("tls://token@[::1]", "tls://[::1]"),
            ("nats://h", "nats://h"),
            ("postgres://a:b@h/d", "postgres://a@h/d"),
            ("postgres://a@h/d", "postgres://a@h/d"),
            ("postgres:///d", "postgres:///d"),
            ("postgresql://a:b@c@h:5/d?x=1", "postgresql://a@h:5/d?x=1"),
            ("postgres://a:b/c?d#@h/d", "postgres://a@h/d"),
            (
                "--store=postgres:///d?user=a&password=b&sslmode=require",
                "--store=postgres:///d?user=a&sslmode=require",
            ),
            ("postgres:///d?PASSWORD=b", "postgres:///d"),
            ("/a:b@c", "/a:b@c"),
            ("", ""),
        ] {
            assert_eq!(without_password(text), expected);
        }
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn unknown_parameters_are_refused() {
        assert_eq!(
            driver_address("postgres:///d?sslmode=require").as_deref(),
            Ok("postgres:///d?sslmode=require&application_name=fathom")
        );
        assert_eq!(
            driver_address("postgres:///d?application_name=x").as_deref(),
            Ok("postgres:///d?application_name=x")
        );
        let refused = driver_address("postgres:///d?sslmod=require").expect_err("a misspelt name");
        assert!(refused.contains("'sslmod'") && refused.contains("sslmode"));
    }
}
