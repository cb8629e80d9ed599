//! The table of routes: which handler answers a path, and what the OpenAPI document says about it.

use crate::answer::{Answer, Problem};
use crate::request::Request;
use crate::workers::Site;
use crate::{api, metrics, openapi, pages};

/// A parameter of the query.
pub(crate) struct Parameter {
    pub name: &'static str,
    pub about: &'static str,
    pub is_number: bool,
}

/// One row of the table.
pub(crate) struct Route {
    /// Parts in braces match one part of a path.
    pub path: &'static str,
    pub about: &'static str,
    pub parameters: &'static [Parameter],
    /// Media types of its answers.
    pub kinds: &'static [&'static str],
    pub act: fn(&mut Site, &Request) -> Result<Answer, Problem>,
}

const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        about,
        is_number: false,
    }
}

const fn number(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        about,
        is_number: true,
    }
}

const FORMAT: Parameter = text("format", "json or csv");
const LIST: &[Parameter] = &[
    text(
        "q",
        "texts that the name, the kind or a fact contains, separated by spaces",
    ),
    text("kind", "the command that started the run"),
    text("state", "running, finished or stopped"),
    text(
        "verdict",
        "valid, degraded or invalid: the worst of the cells",
    ),
    text("device", "a text that the device contains"),
    text(
        "label",
        "labels that the run has, as NAME=VALUE, separated by commas",
    ),
    text("before", "only older runs than this one"),
    text("after", "only newer runs than this one"),
    number("limit", "at most this many runs, 1 to 500"),
    FORMAT,
];
const ONE: &[Parameter] = &[FORMAT];
const DEVICES: &[Parameter] = &[
    text(
        "device",
        "name of a device: its results against its data sheet instead of the list",
    ),
    FORMAT,
];
const SEVERAL: &[Parameter] = &[
    text(
        "runs",
        "names of runs, separated by commas; the first is compared with each other one",
    ),
    text(
        "group",
        "runs that are compared as one: their names, or labels that they have, separated by commas; can be repeated, in place of runs",
    ),
    text("name", "name of the runs that groups of labels contain"),
    FORMAT,
];
const TREND: &[Parameter] = &[
    text("figure", "name of a figure, such as `read iops`"),
    text("name", "name of the runs"),
    text("device", "a text that the device contains"),
    text(
        "series",
        "one series alone: the name of its runs, with the axes of its cell",
    ),
    FORMAT,
];
const JSON_CSV: &[&str] = &["application/json", "text/csv"];
const HTML: &[&str] = &["text/html"];

/// All routes but assets, logins, events and `/healthz`, which need no store.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        path: "/",
        about: "The runs",
        parameters: LIST,
        kinds: HTML,
        act: pages::runs::page,
    },
    Route {
        path: "/runs/{run}",
        about: "A run or a cell",
        parameters: &[],
        kinds: HTML,
        act: pages::run::page,
    },
    Route {
        path: "/compare",
        about: "Runs or groups of them side by side",
        parameters: SEVERAL,
        kinds: HTML,
        act: pages::compare::page,
    },
    Route {
        path: "/trends",
        about: "A figure over time",
        parameters: TREND,
        kinds: HTML,
        act: pages::trends::page,
    },
    Route {
        path: "/devices",
        about: "Devices with results",
        parameters: DEVICES,
        kinds: HTML,
        act: pages::devices::page,
    },
    Route {
        path: "/experiments",
        about: "Sweeps, searches and suites",
        parameters: &[],
        kinds: HTML,
        act: pages::experiments::page,
    },
    Route {
        path: "/live",
        about: "Runs that are being measured",
        parameters: &[],
        kinds: HTML,
        act: pages::live::list,
    },
    Route {
        path: "/live/{run}",
        about: "A run while it is measured",
        parameters: &[],
        kinds: HTML,
        act: pages::live::page,
    },
    Route {
        path: "/start",
        about: "A run to start on a path of --allow-run; its forms are sent here by POST",
        parameters: &[],
        kinds: HTML,
        act: pages::start::page,
    },
    Route {
        path: "/api/v1/runs",
        about: "The runs, the newest first",
        parameters: LIST,
        kinds: JSON_CSV,
        act: api::runs,
    },
    Route {
        path: "/api/v1/runs/{run}",
        about: "A run with its cells, figures and findings",
        parameters: ONE,
        kinds: JSON_CSV,
        act: api::run,
    },
    Route {
        path: "/api/v1/runs/{run}/figures",
        about: "The figures of a run",
        parameters: ONE,
        kinds: JSON_CSV,
        act: api::figures,
    },
    Route {
        path: "/api/v1/runs/{run}/findings",
        about: "The findings of a run, with their explanations",
        parameters: ONE,
        kinds: JSON_CSV,
        act: api::findings,
    },
    Route {
        path: "/api/v1/compare",
        about: "The comparison of runs or groups of them",
        parameters: SEVERAL,
        kinds: JSON_CSV,
        act: api::compare,
    },
    Route {
        path: "/api/v1/trends",
        about: "A figure over time with its change points",
        parameters: TREND,
        kinds: JSON_CSV,
        act: api::trends,
    },
    Route {
        path: "/api/v1/devices",
        about: "Devices with their numbers of runs, or one against its data sheet",
        parameters: DEVICES,
        kinds: JSON_CSV,
        act: api::devices,
    },
    Route {
        path: "/api/v1/live/{run}",
        about: "What is measured now, once",
        parameters: &[],
        kinds: &["application/json"],
        act: api::live,
    },
    Route {
        path: "/api/v1/openapi.json",
        about: "This document",
        parameters: &[],
        kinds: &["application/json"],
        act: openapi::document,
    },
    Route {
        path: "/metrics",
        about: "The newest figures of each job and device as OpenMetrics",
        parameters: &[],
        kinds: &["application/openmetrics-text"],
        act: metrics::metrics,
    },
];

/// Name of the parameter that a part in braces becomes.
pub(crate) const RUN: &str = "{run}";

/// What a path leads to.
pub(crate) enum Found {
    Nothing,
    /// A stream of events.
    Events,
    /// A handler, and the request with the part in braces as the parameter [`RUN`].
    Route(&'static Route, Request),
}

/// Whether a problem is answered in JSON.
pub(crate) fn is_api(request: &Request) -> bool {
    request.path.first().is_some_and(|part| part == "api")
}

/// Finds the route of a request.
pub(crate) fn find(request: &Request) -> Found {
    if let [api, version, live, run, events] = &request.path[..]
        && [api.as_str(), version, live, events] == ["api", "v1", "live", "events"]
    {
        return if pages::is_run(run) {
            Found::Events
        } else {
            Found::Nothing
        };
    }
    let is_match = |route: &Route| {
        let parts: Vec<&str> = route.path[1..].split('/').collect();
        parts.len() == request.path.len()
            && parts.iter().zip(&request.path).all(|(part, given)| {
                if *part == RUN {
                    pages::is_run(given)
                } else {
                    part == given
                }
            })
    };
    let Some(route) = ROUTES.iter().find(|route| is_match(route)) else {
        return Found::Nothing;
    };
    let mut request = request.clone();
    // A parameter of the query cannot have this name twice: the last one counts.
    if let Some(place) = route.path[1..].split('/').position(|part| part == RUN) {
        request
            .query
            .push((RUN.to_owned(), request.path[place].clone()));
    }
    Found::Route(route, request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route_of(target: &str) -> Option<(&'static str, String)> {
        match find(&Request::parse(target).expect("a target")) {
            Found::Route(route, request) => Some((route.path, request.get(RUN).to_owned())),
            Found::Events => Some(("events", String::new())),
            Found::Nothing => None,
        }
    }

    #[test]
    fn paths_lead_to_their_routes() {
        for (target, path, run) in [
            ("/", "/", ""),
            ("/?q=a", "/", ""),
            ("/runs/r12", "/runs/{run}", "r12"),
            ("/runs/r12.3?{run}=r1", "/runs/{run}", "r12.3"),
            (
                "/api/v1/runs/latest/findings",
                "/api/v1/runs/{run}/findings",
                "latest",
            ),
            ("/api/v1/live/r1/events", "events", ""),
        ] {
            assert_eq!(route_of(target), Some((path, run.to_owned())), "{target}");
        }
        for target in [
            "/runs",
            "/runs/",
            "/runs/r12/",
            "//",
            "/runs/..",
            "/runs/%2e%2e%2fetc%2fpasswd",
            "/api",
            "/api/v2/runs",
            "/runs/r12.x",
        ] {
            assert_eq!(route_of(target), None, "{target}");
        }
    }
}
