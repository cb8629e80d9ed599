//! The hosts on which agents are started over ssh.

use std::collections::BTreeMap;

use crate::check_name;

/// A host that ssh reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshHost {
    /// The destination for ssh: `web1`, `user@web1`, `ssh://user@web1:2222`.
    pub destination: String,
    /// The name of its agent.
    pub name: String,
    /// The labels of its agent.
    pub labels: BTreeMap<String, String>,
}

impl SshHost {
    /// The hosts of a file: one in a line, and labels behind it; `#` begins a comment.
    ///
    /// ```
    /// use fathom_hosts::SshHost;
    ///
    /// let hosts = SshHost::read_file("# the web servers\nweb1 rack=3\nroot@10.0.0.2 name=web2 # new\n").expect("hosts");
    /// assert_eq!((hosts[0].name.as_str(), hosts[0].labels["rack"].as_str()), ("web1", "3"));
    /// assert_eq!((hosts[1].name.as_str(), hosts[1].destination.as_str()), ("web2", "root@10.0.0.2"));
    /// ```
    ///
    /// # Errors
    /// The line, and what is wrong with it.
    pub fn read_file(text: &str) -> Result<Vec<SshHost>, String> {
        let mut hosts = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(destination) = words.next() else {
                continue;
            };
            hosts.push(
                SshHost::new(destination, words)
                    .map_err(|error| format!("line {}: {error}", number + 1))?,
            );
        }
        distinct(hosts)
    }

    /// The hosts of a list such as `web1,root@web2`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_list(text: &str) -> Result<Vec<SshHost>, String> {
        let hosts = text
            .split(',')
            .map(|destination| SshHost::new(destination.trim(), std::iter::empty()))
            .collect::<Result<_, _>>()?;
        distinct(hosts)
    }

    fn new<'a>(
        destination: &str,
        labels: impl Iterator<Item = &'a str>,
    ) -> Result<SshHost, String> {
        let is_valid = |c: char| c.is_ascii_graphic() && !"'\"\\`$;&|<>(){}*?!,".contains(c);
        if destination.is_empty()
            || destination.starts_with('-')
            || !destination.chars().all(is_valid)
        {
            return Err(format!(
                "'{}' is not a destination of ssh such as web1 or user@10.0.0.1",
                destination.escape_debug()
            ));
        }
        let mut labels = labels
            .map(|label| match label.split_once('=') {
                Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                    Ok((key.to_owned(), value.to_owned()))
                }
                _ => Err(format!(
                    "'{}' is not KEY=VALUE; write one host in each line",
                    label.escape_debug()
                )),
            })
            .collect::<Result<BTreeMap<_, _>, String>>()?;
        let name = labels
            .remove("name")
            .unwrap_or_else(|| name_of(destination));
        check_name(&name).map_err(|error| {
            format!("{error}; give the host a name: {destination} name=NAME, in a file")
        })?;
        Ok(SshHost {
            destination: destination.to_owned(),
            name,
            labels,
        })
    }
}

/// The host of a destination, with the characters that the name of an agent may have.
fn name_of(destination: &str) -> String {
    let (is_url, rest) = match destination.strip_prefix("ssh://") {
        Some(rest) => (true, rest.trim_end_matches('/')),
        None => (false, destination),
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, _)) => host,
        None if is_url => host.split(':').next().unwrap_or(host),
        None => host,
    };
    host.replace([':', '%'], "-")
}

fn distinct(hosts: Vec<SshHost>) -> Result<Vec<SshHost>, String> {
    if hosts.is_empty() {
        return Err("no host: write one in each line".to_owned());
    }
    for (at, host) in hosts.iter().enumerate() {
        if hosts[..at].iter().any(|other| other.name == host.name) {
            return Err(format!(
                "two hosts have the name {}: write {} name=NAME, in a file",
                host.name, host.destination
            ));
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_host_of_the_destination() {
        for (destination, name) in [
            ("web1", "web1"),
            ("root@web1.example.com", "web1.example.com"),
            ("ssh://me@10.0.0.1:2222", "10.0.0.1"),
            ("ssh://[fe80::1]:22/", "fe80--1"),
            ("me@fe80::1%eth0", "fe80--1-eth0"),
        ] {
            let hosts = SshHost::read_list(destination).expect("a host");
            assert_eq!(hosts[0].name, name);
        }
    }

    /// An option of ssh in the place of a destination could run a command on this host.
    #[test]
    fn what_is_no_destination_is_refused() {
        for text in [
            "",
            "web1,,web2",
            "-oProxyCommand=id",
            "web1;id",
            "$(id)",
            "web1,web1",
            "a b",
        ] {
            assert!(SshHost::read_list(text).is_err(), "{text}");
        }
        for (text, named) in [
            ("# nothing\n\n", "no host"),
            ("a\nb c\n", "line 2"),
            ("a rack=\n", "KEY=VALUE"),
            ("a name=all\n", "all"),
            ("x@a\ny@a\n", "name=NAME"),
        ] {
            let error = SshHost::read_file(text).expect_err("not valid");
            assert!(error.contains(named), "{error}");
        }
    }
}
