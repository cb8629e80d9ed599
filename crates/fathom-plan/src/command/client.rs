//! The hosts of fio's `--client`.

/// The port of `fio --server` where none is given.
const DEFAULT_PORT: u16 = 8765;

/// The hosts of one `--client`, each with its port. fio knows one host in the forms `HOST`, `HOST,PORT`, `ip:HOST` and
/// `ip6:HOST`; several are separated by commas.
///
/// # Errors
/// What the text cannot mean, and what to write.
///
/// ```
/// let hosts = fathom_plan::client_hosts("ip:web1,4444,web2").expect("two hosts");
/// assert_eq!(hosts, [("web1".to_owned(), 4444), ("web2".to_owned(), 8765)]);
/// ```
pub fn client_hosts(text: &str) -> Result<Vec<(String, u16)>, String> {
    if text.starts_with("sock:") {
        return Err(
            "a socket of fio is not a host: give the name of an agent, as in --client=web1"
                .to_owned(),
        );
    }
    let mut hosts: Vec<(String, u16)> = Vec::new();
    let mut may_have_port = false;
    for part in text.split(',').map(str::trim) {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match hosts.last_mut() {
            Some(last) if may_have_port && is_number => {
                last.1 = part
                    .parse()
                    .map_err(|_| format!("{part} is not a port: use 1 to 65535, or no port"))?;
                may_have_port = false;
            }
            _ => {
                let prefixes = ["ip:", "ip4:", "ip6:"];
                let name = prefixes
                    .iter()
                    .find_map(|prefix| part.strip_prefix(prefix))
                    .unwrap_or(part);
                if name.is_empty() {
                    return Err("it names no host: write --client=HOST".to_owned());
                }
                hosts.push((name.to_owned(), DEFAULT_PORT));
                may_have_port = true;
            }
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forms of fio(1), CLIENT / SERVER.
    #[test]
    fn the_forms_of_fio_name_a_host_and_a_port() {
        let one = |host: &str, port| Ok(vec![(host.to_owned(), port)]);
        assert_eq!(client_hosts("web1"), one("web1", 8765));
        assert_eq!(client_hosts("1.2.3.4,4444"), one("1.2.3.4", 4444));
        assert_eq!(client_hosts("ip:hostname,4444"), one("hostname", 4444));
        assert_eq!(client_hosts("ip4:hostname"), one("hostname", 8765));
        assert_eq!(client_hosts("ip6:::1,4444"), one("::1", 4444));
    }

    #[test]
    fn what_names_no_host_is_refused() {
        for text in ["", ",4444", "ip:", "a,,b", "a,70000", "sock:/tmp/fio.sock"] {
            assert!(client_hosts(text).is_err(), "{text}");
        }
    }
}
