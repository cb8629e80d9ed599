//! The OpenAPI 3.1 document, from the table of routes.

use serde_json::{Map, Value, json};

use crate::answer::{Answer, JSON, Problem};
use crate::request::Request;
use crate::routes::{ROUTES, RUN, Route};
use crate::workers::Site;

pub(crate) fn document(site: &mut Site, _: &Request) -> Result<Answer, Problem> {
    Ok(Answer::new(
        JSON,
        format!("{:#}\n", openapi(site.settings.version)),
    ))
}

/// The document for a version of the program.
fn openapi(version: &str) -> Value {
    let mut paths: Map<String, Value> = ROUTES
        .iter()
        .map(|route| (route.path.to_owned(), json!({ "get": operation(route) })))
        .collect();
    paths.insert(
        "/api/v1/live/{run}/events".to_owned(),
        json!({ "get": {
            "operationId": "get_api_v1_live_run_events",
            "summary": "What is measured now, once a second until the run ends",
            "parameters": [run_parameter()],
            "responses": responses(&["text/event-stream"]),
        } }),
    );
    paths.insert(
        "/healthz".to_owned(),
        json!({ "get": { "operationId": "get_healthz", "summary": "Whether the server answers; needs no token", "security": [],
                 "responses": { "200": { "description": "It does", "content": { "text/plain": {} } } } } }),
    );
    json!({
        "openapi": "3.1.0",
        "info": { "title": "fathom", "version": version, "description": "Results of a fathom store. No operation changes the store. Figures are in SI units without prefix." },
        "security": [{ "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "The token of the printed address" },
                "session": { "type": "apiKey", "in": "cookie", "name": "fathom-PORT", "description": "Set by the printed address" },
            },
            "schemas": {
                "Problem": { "type": "object", "required": ["error", "status"], "properties": { "error": { "type": "string" }, "status": { "type": "integer" } } },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let id: String = route
        .path
        .chars()
        .filter(|c| !"{}".contains(*c))
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let mut parameters: Vec<Value> = route
        .parameters
        .iter()
        .map(|one| {
            let kind = if one.is_number { "integer" } else { "string" };
            json!({ "name": one.name, "in": "query", "required": false, "description": one.about, "schema": { "type": kind } })
        })
        .collect();
    if route.path.contains(RUN) {
        parameters.insert(0, run_parameter());
    }
    let mut responses = responses(route.kinds);
    if route.path == "/live/{run}" {
        responses["303"] = json!({ "description": "The run has ended: to its report" });
    }
    json!({
        "operationId": format!("get{}", if id == "_" { "_runs_page" } else { &id }),
        "summary": route.about,
        "parameters": parameters,
        "responses": responses,
    })
}

fn run_parameter() -> Value {
    json!({ "name": "run", "in": "path", "required": true, "description": "r12, r12.3 for one cell, or latest",
            "schema": { "type": "string", "pattern": "^(r[1-9][0-9]*|latest)(\\.[1-9][0-9]*)?$" } })
}

fn responses(kinds: &[&str]) -> Value {
    let content: Map<String, Value> = kinds
        .iter()
        .map(|kind| ((*kind).to_owned(), json!({})))
        .collect();
    let problem = |about: &str| json!({ "description": about, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Problem" } } } });
    json!({
        "200": { "description": "The answer", "content": content, "headers": { "ETag": { "schema": { "type": "string" } } } },
        "304": { "description": "The content has the ETag of If-None-Match" },
        "400": problem("A parameter is wrong"),
        "401": problem("The token is missing or wrong"),
        "404": problem("There is no such run"),
        "429": problem("Too many requests"),
        "503": problem("The server is busy"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The rules of <https://spec.openapis.org/oas/v3.1.0> that a document of this kind can break.
    #[test]
    fn the_document_has_every_route_and_is_valid() {
        let document = openapi("1");
        assert_eq!(document["openapi"], "3.1.0");
        let paths = document["paths"].as_object().expect("paths");
        for route in ROUTES {
            assert!(paths.contains_key(route.path), "{}", route.path);
        }
        let mut ids = HashSet::new();
        for (path, item) in paths {
            let operation = &item["get"];
            assert!(
                ids.insert(operation["operationId"].as_str().expect("an id")),
                "{path}"
            );
            let responses = operation["responses"].as_object().expect("responses");
            assert!(
                responses
                    .values()
                    .all(|response| response["description"].is_string()),
                "{path}"
            );
            let empty = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&empty);
            let named: Vec<&str> = parameters
                .iter()
                .filter(|one| one["in"] == "path")
                .filter_map(|one| one["name"].as_str())
                .collect();
            let templated: Vec<&str> = path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            assert_eq!(named, templated, "{path}");
            let unique: HashSet<(&str, &str)> = parameters
                .iter()
                .map(|one| {
                    (
                        one["name"].as_str().unwrap_or_default(),
                        one["in"].as_str().unwrap_or_default(),
                    )
                })
                .collect();
            assert_eq!(unique.len(), parameters.len(), "{path}");
            assert!(
                parameters
                    .iter()
                    .all(|one| one["schema"]["type"].is_string()),
                "{path}"
            );
        }
        for schemes in document["security"].as_array().expect("security") {
            for name in schemes.as_object().expect("an object").keys() {
                assert!(
                    document["components"]["securitySchemes"][name].is_object(),
                    "{name}"
                );
            }
        }
    }
}
