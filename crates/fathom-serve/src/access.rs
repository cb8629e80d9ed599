//! Who may send requests: the Host header, tokens and cookies, and how often.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE, HOST};

use crate::Settings;

/// Whether two secrets are equal, in a time that depends on their lengths only.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let differences = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

/// Whether the Host header names this server. An address is always right: a name of another site that DNS points here, as in
/// DNS rebinding, is not an address.
pub(crate) fn is_known_host(headers: &HeaderMap, settings: &Settings) -> bool {
    let mut all = headers.get_all(HOST).iter();
    let (Some(one), None) = (all.next(), all.next()) else {
        return false;
    };
    let Ok(host) = one.to_str() else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if is_port(port) => {
                return address.parse::<std::net::Ipv6Addr>().is_ok();
            }
            _ => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) if is_port(&host[name.len()..]) && !port.is_empty() => name,
            Some(_) => return false,
            None => host,
        },
    };
    name.parse::<std::net::Ipv4Addr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || settings
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
}

/// Empty, or `:` and a number.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Name of the cookie. Cookies ignore ports, so servers on several ports have names of their own.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("fathom-{port}")
}

/// Whether the request has the cookie, the bearer token, or the header of the reverse proxy.
pub(crate) fn is_logged_in(
    headers: &HeaderMap,
    peer: IpAddr,
    port: u16,
    settings: &Settings,
) -> bool {
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    if bearer.is_some_and(|token| is_same(token.trim(), &settings.token)) {
        return true;
    }
    let name = cookie_name(port);
    let has_cookie = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .any(|(key, value)| key == name && is_same(value, &settings.session));
    let by_proxy = settings.proxy_header.as_ref().is_some_and(|name| {
        peer.is_loopback()
            && headers
                .get(name.as_str())
                .is_some_and(|user| !user.is_empty())
    });
    has_cookie || by_proxy
}

/// Whether the request was sent with something that should have been a secret.
pub(crate) fn is_guess(headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION)
}

/// Whether a form was sent by a page of this server: other sites must not log a browser in.
pub(crate) fn is_own_form(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let origin = match (text("origin"), text("host")) {
        (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, of)| of == host),
        (Some(_), None) => false,
        (None, _) => true,
    };
    site && origin
}

/// A bucket of tokens for each address: <https://en.wikipedia.org/wiki/Token_bucket>.
pub(crate) struct Rate {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<IpAddr, (f64, Instant)>>,
}

/// Addresses that are remembered. The buckets of others are full.
const MOST_ADDRESSES: usize = 4096;

impl Rate {
    pub fn new(per_second: f64, burst: f64) -> Rate {
        Rate {
            per_second,
            burst,
            buckets: Mutex::new(HashMap::new()),
        }
    }

    /// Takes one token of the address at `now`; `false` if there is none.
    pub fn take(&self, peer: IpAddr, now: Instant) -> bool {
        let mut buckets = self
            .buckets
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if buckets.len() >= MOST_ADDRESSES && !buckets.contains_key(&peer) {
            let full = Duration::from_secs_f64(self.burst / self.per_second);
            buckets.retain(|_, (_, last)| now.duration_since(*last) < full);
            if buckets.len() >= MOST_ADDRESSES {
                return false;
            }
        }
        let (tokens, last) = buckets.entry(peer).or_insert((self.burst, now));
        *tokens =
            (*tokens + now.duration_since(*last).as_secs_f64() * self.per_second).min(self.burst);
        *last = now;
        let has = *tokens >= 1.0;
        if has {
            *tokens -= 1.0;
        }
        has
    }

    /// Whether the address has a token at `now`, without taking it.
    pub fn has(&self, peer: IpAddr, now: Instant) -> bool {
        let buckets = self
            .buckets
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        buckets.get(&peer).is_none_or(|(tokens, last)| {
            tokens + now.duration_since(*last).as_secs_f64() * self.per_second >= 1.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn settings() -> Settings {
        Settings {
            token: "0123456789abcdef".into(),
            session: "fedcba9876543210".into(),
            hosts: vec!["bench.example".into()],
            tls: None,
            proxy_header: None,
            utc_offset_s: 0,
            version: "0",
            webhooks: Vec::new(),
            starter: None,
            form_secret: "0011223344556677".into(),
            note: |_| (),
            cpu_time: || Duration::ZERO,
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        map
    }

    #[test]
    fn only_names_of_this_server_are_hosts() {
        let known = |host: &str| is_known_host(&headers(&[("host", host)]), &settings());
        for host in [
            "127.0.0.1:8000",
            "localhost",
            "LOCALHOST:1",
            "[::1]:8000",
            "[::1]",
            "bench.example:443",
            "10.0.0.7",
        ] {
            assert!(known(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil.example:8000",
            "",
            "localhost:",
            "localhost:x",
            "localhost:80:80",
            "localhost@evil.example",
            "[::1",
            "[evil]",
            "[::1].evil.example",
            "bench.example.evil.example",
            "0x7f.1",
        ] {
            assert!(!known(host), "{host}");
        }
        assert!(!is_known_host(&headers(&[]), &settings()));
        assert!(!is_known_host(
            &headers(&[("host", "localhost"), ("host", "localhost")]),
            &settings()
        ));
    }

    #[test]
    fn a_login_needs_the_secret() {
        let local: IpAddr = [127, 0, 0, 1].into();
        let ok = |pairs: &[(&'static str, &str)], settings: &Settings| {
            is_logged_in(&headers(pairs), local, 80, settings)
        };
        let plain = settings();
        assert!(ok(&[("authorization", "Bearer 0123456789abcdef")], &plain));
        assert!(ok(&[("cookie", "a=b; fathom-80=fedcba9876543210")], &plain));
        for (name, value) in [
            ("authorization", "Bearer "),
            ("authorization", "Bearer 0123456789abcde"),
            ("authorization", "Bearer 0123456789abcdeff"),
            ("authorization", "Bearer fedcba9876543210"),
            ("authorization", "Basic 0123456789abcdef"),
            ("authorization", "0123456789abcdef"),
            ("cookie", "fathom-80="),
            ("cookie", "fathom-80=0123456789abcdef"),
            ("cookie", "fathom-81=fedcba9876543210"),
            ("x-forwarded-user", "root"),
        ] {
            assert!(!ok(&[(name, value)], &plain), "{name}: {value}");
        }
        let proxied = Settings {
            proxy_header: Some("x-forwarded-user".into()),
            ..settings()
        };
        assert!(ok(&[("x-forwarded-user", "ann")], &proxied));
        assert!(!ok(&[("x-forwarded-user", "")], &proxied));
        assert!(!is_logged_in(
            &headers(&[("x-forwarded-user", "ann")]),
            [10, 0, 0, 1].into(),
            80,
            &proxied
        ));
    }

    #[test]
    fn a_bucket_holds_its_burst_and_fills_at_its_rate() {
        let (rate, now, peer) = (
            Rate::new(2.0, 4.0),
            Instant::now(),
            IpAddr::from([10, 0, 0, 1]),
        );
        assert_eq!((0..9).filter(|_| rate.take(peer, now)).count(), 4);
        assert!(!rate.has(peer, now));
        let later = now + Duration::from_millis(1500);
        assert_eq!((0..9).filter(|_| rate.take(peer, later)).count(), 3);
        // Another address has its own.
        assert!(rate.take([10, 0, 0, 2].into(), now));
    }

    #[test]
    fn a_form_of_another_site_is_refused() {
        let own = |pairs: &[(&'static str, &str)]| is_own_form(&headers(pairs));
        assert!(own(&[
            ("host", "localhost:1"),
            ("origin", "http://localhost:1"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(own(&[("host", "localhost:1")]));
        assert!(!own(&[
            ("host", "localhost:1"),
            ("origin", "http://evil.example")
        ]));
        assert!(!own(&[("host", "localhost:1"), ("origin", "null")]));
        assert!(!own(&[
            ("host", "localhost:1"),
            ("sec-fetch-site", "cross-site")
        ]));
    }
}
