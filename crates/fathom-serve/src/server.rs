//! Accepts connections, checks requests, and sends answers.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderValue, IF_NONE_MATCH, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::{Method, Response, StatusCode};
use tokio::sync::Semaphore;

use crate::access::{self, Rate};
use crate::answer::{Answer, HEADERS, HTML, TEXT};
use crate::html::{Frame, Html, page};
use crate::io::{Sent, Socket, TokioTimer};
use crate::live::Live;
use crate::request::{self, Request};
use crate::routes::{self, Found};
use crate::workers::Workers;
use crate::{Opener, SHORTEST_TOKEN, ServeError, Settings, assets, disturbance, webhook};

/// Connections at once; others wait.
const CONNECTIONS: usize = 512;
/// How long a client may take for the head of a request. Also the longest time between two requests.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long a client may take for a form.
const FORM_TIME: Duration = Duration::from_secs(5);
/// The longest login form and the longest other one, in bytes.
const FORM_SIZE: (usize, usize) = (4096, 32 << 10);
/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// The longest head of a request, in bytes, and its most headers.
const HEAD_SIZE: (usize, usize) = (16 << 10, 64);
/// Requests of one address a second, and at once.
const RATE: (f64, f64) = (500.0, 1000.0);
/// Wrong tokens of one address a second, and at once.
const GUESSES: (f64, f64) = (0.2, 10.0);
/// How often the server looks for its end.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long answers that are being made may take after the end.
const LAST_WAIT: Duration = Duration::from_secs(2);

pub(crate) struct Shared {
    pub settings: Arc<Settings>,
    pub workers: Workers,
    live: Live,
    rate: Rate,
    guesses: Rate,
    port: u16,
    in_flight: AtomicUsize,
}

/// Answers requests on `listener` until `stop` returns true, then finishes what it has begun.
///
/// # Errors
/// When a setting is not usable, or the system refuses a thread or a socket.
pub fn serve(
    listener: TcpListener,
    settings: Settings,
    open: Box<Opener>,
    stop: &dyn Fn() -> bool,
) -> Result<(), ServeError> {
    let secrets = [&settings.token, &settings.session, &settings.form_secret];
    if secrets.iter().any(|secret| secret.len() < SHORTEST_TOKEN) {
        return Err(ServeError::Setting(format!(
            "a token needs at least {SHORTEST_TOKEN} characters"
        )));
    }
    let address = listener
        .local_addr()
        .unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)));
    let refused = |source| ServeError::Io { address, source };
    listener.set_nonblocking(true).map_err(refused)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(refused)?;
    let (settings, open): (_, Arc<Opener>) = (Arc::new(settings), open.into());
    let has_ended = Arc::new(AtomicBool::new(false));
    webhook::start(open.clone(), &settings, has_ended.clone()).map_err(refused)?;
    let disturbance =
        disturbance::watch(open.clone(), &settings, has_ended.clone()).map_err(refused)?;
    let shared = Arc::new(Shared {
        workers: Workers::start(&open, &settings, &disturbance).map_err(refused)?,
        settings,
        live: Live::default(),
        rate: Rate::new(RATE.0, RATE.1),
        guesses: Rate::new(GUESSES.0, GUESSES.1),
        port: address.port(),
        in_flight: AtomicUsize::new(0),
    });
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(refused)?;
        accept(&listener, &shared, stop).await;
        drop(listener);
        has_ended.store(true, SeqCst);
        let end = Instant::now() + LAST_WAIT;
        while shared.in_flight.load(SeqCst) > 0 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    })
}

async fn accept(listener: &tokio::net::TcpListener, shared: &Arc<Shared>, stop: &dyn Fn() -> bool) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    while !stop() {
        let Ok(slot) = tokio::time::timeout(PATIENCE, slots.clone().acquire_owned()).await else {
            continue;
        };
        match tokio::time::timeout(PATIENCE, listener.accept()).await {
            Ok(Ok((tcp, peer))) => {
                let shared = shared.clone();
                tokio::spawn(async move {
                    connection(shared, tcp, peer.ip()).await;
                    drop(slot);
                });
            }
            // Too many open files, for example: others will be closed.
            Ok(Err(_)) => tokio::time::sleep(PATIENCE).await,
            Err(_) => {}
        }
    }
}

async fn connection(shared: Arc<Shared>, tcp: tokio::net::TcpStream, peer: IpAddr) {
    let _ = tcp.set_nodelay(true);
    let tls = match &shared.settings.tls {
        // A handshake costs more than a request does.
        Some(_) if !shared.rate.take(peer, Instant::now()) => return,
        Some(identity) => match identity.connection() {
            Ok(connection) => Some(connection),
            Err(_) => return,
        },
        None => None,
    };
    let begun = async {
        if tls.is_some() && answer_plain_http(&tcp).await {
            return None;
        }
        let mut socket = Socket::new(tcp, tls);
        socket.handshake().await.ok().map(|()| socket)
    };
    let Ok(Some(socket)) = tokio::time::timeout(HEAD_TIME, begun).await else {
        return;
    };
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let shared = shared.clone();
        async move {
            shared.in_flight.fetch_add(1, SeqCst);
            let (parts, body) = request.into_parts();
            let response = respond(&shared, peer, &parts, body).await;
            shared.in_flight.fetch_sub(1, SeqCst);
            Ok::<_, Infallible>(response)
        }
    });
    // An error ends the connection; there is nobody to report it to.
    let _ = http1::Builder::new()
        .timer(TokioTimer)
        .header_read_timeout(HEAD_TIME)
        .max_headers(HEAD_SIZE.1)
        .max_buf_size(HEAD_SIZE.0)
        .half_close(false)
        .serve_connection(socket, service)
        .await;
}

/// Whether a client sends HTTP without TLS. It gets an answer with the reason.
async fn answer_plain_http(tcp: &tokio::net::TcpStream) -> bool {
    let mut first = [0];
    // A message of TLS does not begin with a letter.
    if !matches!(tcp.peek(&mut first).await, Ok(1)) || !first[0].is_ascii_alphabetic() {
        return false;
    }
    // Unread bytes would end the connection before the answer is read.
    let _ = tcp.try_read(&mut [0; 4096]);
    let _ = tcp.try_write(
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis server uses TLS: the address begins with https://\n",
    );
    true
}

async fn respond(
    shared: &Arc<Shared>,
    peer: IpAddr,
    parts: &Parts,
    body: Incoming,
) -> Response<Sent> {
    let is_api = parts.uri.path().starts_with("/api/");
    let answer = match checked(shared, peer, parts, is_api) {
        Ok(request) => match admitted(shared, peer, parts, request, body).await {
            // Closed after a form, so that nothing in the rest of its body is taken for a request.
            Reply::Answer(answer) if parts.method == Method::POST => {
                answer.with_header("connection", "close")
            }
            Reply::Answer(answer) => answer,
            Reply::Events(events) => return events,
        },
        Err((status, reason)) => {
            let answer = Answer::problem(status, reason, is_api).with_header("connection", "close");
            if status == 405 {
                answer.with_header("allow", "GET, HEAD")
            } else {
                answer
            }
        }
    };
    finish(answer, parts)
}

enum Reply {
    Answer(Answer),
    Events(Response<Sent>),
}

/// Checks that need no secret.
fn checked(
    shared: &Shared,
    peer: IpAddr,
    parts: &Parts,
    is_api: bool,
) -> Result<Request, (u16, &'static str)> {
    if !shared.rate.take(peer, Instant::now()) {
        return Err((
            429,
            "Too many requests from this address; try again in a second.",
        ));
    }
    if !access::is_known_host(&parts.headers, &shared.settings) {
        return Err((
            403,
            "The Host header is not a name of this server; start it with --host NAME if it is reached by that name.",
        ));
    }
    // A target with a scheme is for a proxy.
    if parts.uri.authority().is_some() {
        return Err((400, "the address is malformed"));
    }
    let is_form = match parts.uri.path() {
        "/login" => true,
        "/start" => shared.settings.starter.is_some(),
        _ => false,
    };
    match parts.method {
        Method::GET | Method::HEAD => {}
        Method::POST if is_form => {}
        _ => return Err((405, "Only GET and HEAD: nothing can be changed here.")),
    }
    let lengths: Vec<&HeaderValue> = parts.headers.get_all(CONTENT_LENGTH).iter().collect();
    let has_encoding = parts.headers.contains_key(TRANSFER_ENCODING);
    let has_body = has_encoding || lengths.iter().any(|length| length.as_bytes() != b"0");
    if lengths.len() > 1 || has_encoding && !lengths.is_empty() {
        return Err((400, "the length of the body is ambiguous"));
    }
    if has_body && parts.method != Method::POST {
        return Err((413, "This request must not have a body."));
    }
    let target = parts
        .uri
        .path_and_query()
        .map_or("/", hyper::http::uri::PathAndQuery::as_str);
    let _ = is_api;
    Request::parse(target)
}

async fn admitted(
    shared: &Arc<Shared>,
    peer: IpAddr,
    parts: &Parts,
    request: Request,
    body: Incoming,
) -> Reply {
    let path = parts.uri.path();
    let is_api = routes::is_api(&request);
    if let Some(asset) = assets::asset(path) {
        return Reply::Answer(asset);
    }
    if path == "/healthz" {
        return Reply::Answer(Answer::new(TEXT, "ok\n"));
    }
    let now = Instant::now();
    if path == "/login" && parts.method == Method::POST {
        return Reply::Answer(login(shared, peer, parts, body).await);
    }
    let given = request.get("token");
    if !access::is_logged_in(&parts.headers, peer, shared.port, &shared.settings) {
        let is_guess = !given.is_empty() || access::is_guess(&parts.headers);
        if is_guess && !shared.guesses.has(peer, now) {
            return Reply::Answer(too_many_guesses(is_api));
        }
        if given.is_empty() || !access::is_same(given, &shared.settings.token) {
            if is_guess {
                shared.guesses.take(peer, now);
            }
            return Reply::Answer(login_page(is_api, is_guess));
        }
        if is_api || path == "/metrics" {
            // A program sends the token with each request, as a header: addresses are logged.
            return Reply::Answer(Answer::problem(
                401,
                "Send the token as `Authorization: Bearer TOKEN`.",
                true,
            ));
        }
    }
    if !given.is_empty() {
        return Reply::Answer(if access::is_same(given, &shared.settings.token) {
            welcome(shared, &request)
        } else {
            login_page(is_api, true)
        });
    }
    if parts.method == Method::POST {
        return Reply::Answer(sent_form(shared, parts, body).await);
    }
    match routes::find(&request) {
        Found::Nothing => Reply::Answer(Answer::problem(404, "There is no such page.", is_api)),
        Found::Events => shared
            .live
            .events(shared, &request)
            .map_or_else(Reply::Answer, Reply::Events),
        Found::Route(route, request) => {
            let target = parts
                .uri
                .path_and_query()
                .map_or(String::new(), ToString::to_string);
            Reply::Answer(ask(shared, route, request, target, is_api).await)
        }
    }
}

async fn ask(
    shared: &Shared,
    route: &'static routes::Route,
    request: Request,
    target: String,
    is_api: bool,
) -> Answer {
    let busy = || {
        Answer::problem(
            503,
            "The server is busy; try again in a few seconds.",
            is_api,
        )
        .with_header("retry-after", "5")
    };
    let Some(answer) = shared.workers.ask(route, request, target) else {
        return busy();
    };
    match tokio::time::timeout(ANSWER_TIME, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) | Err(_) => busy(),
    }
}

/// A form that starts something. It must come from a page of this server, and have its secret, which the handler checks.
async fn sent_form(shared: &Shared, parts: &Parts, body: Incoming) -> Answer {
    if !access::is_own_form(&parts.headers) {
        return Answer::problem(403, "The form was sent by another site.", false);
    }
    let form = match form_of(body, FORM_SIZE.1).await {
        Ok(form) => form,
        Err(answer) => return answer,
    };
    let path = parts.uri.path().trim_start_matches('/');
    let Some(request) = Request::form(path, &String::from_utf8_lossy(&form)) else {
        return Answer::problem(400, "The form is malformed.", false);
    };
    match routes::find(&request) {
        Found::Route(route, request) => ask(shared, route, request, String::new(), false).await,
        _ => Answer::problem(404, "There is no such page.", false),
    }
}

/// The body of a form, within its time and its size.
async fn form_of(body: Incoming, most: usize) -> Result<Vec<u8>, Answer> {
    match tokio::time::timeout(FORM_TIME, read(body, most)).await {
        Ok(Some(form)) => Ok(form),
        Ok(None) => Err(Answer::problem(413, "The form is too large.", false)),
        Err(_) => Err(Answer::problem(408, "The form took too long.", false)),
    }
}

fn too_many_guesses(is_api: bool) -> Answer {
    Answer::problem(429, "Too many wrong tokens; wait a minute.", is_api)
        .with_header("retry-after", "60")
}

/// Sets the cookie and continues without the token in the address. The cookie is sent only to requests that start on this
/// site, so the page continues by itself: a redirect still counts as a request of the site with the link.
fn welcome(shared: &Shared, request: &Request) -> Answer {
    let path = format!(
        "/{}",
        request
            .path
            .iter()
            .map(|part| request::encode(part))
            .collect::<Vec<_>>()
            .join("/")
    );
    let rest: Vec<(&str, String)> = request
        .query
        .iter()
        .filter(|(name, _)| name != "token")
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    // `//host` would be an address of another site.
    let next = request::address(&format!("/{}", path.trim_start_matches('/')), &rest);
    let mut html = Html::default();
    html.raw("<p>Logged in. <a")
        .attribute("href", &next)
        .raw(">Continue</a></p>");
    let text = page(
        &Frame {
            title: "Logged in",
            is_bare: true,
            ..Frame::default()
        },
        &html,
    );
    Answer::new(HTML, text)
        .with_header("set-cookie", cookie(shared))
        .with_header("refresh", format!("0; url={next}"))
        .with_header("cache-control", "no-store")
}

fn cookie(shared: &Shared) -> String {
    format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000{}",
        access::cookie_name(shared.port),
        shared.settings.session,
        if shared.settings.tls.is_some() {
            "; Secure"
        } else {
            ""
        }
    )
}

fn login_page(is_api: bool, was_wrong: bool) -> Answer {
    if is_api {
        return Answer::problem(
            401,
            "Send the token as `Authorization: Bearer TOKEN`.",
            true,
        )
        .with_header("www-authenticate", "Bearer");
    }
    let mut html = Html::default();
    html.raw("<div class=login><h1>fathom</h1>");
    if was_wrong {
        html.raw("<p role=alert><b>That token is wrong.</b></p>");
    }
    html.raw("<p>The address that <code>fathom serve</code> printed contains the token.</p><form method=post action=\"/login\">\
              <label>Token <input type=password name=token required autocomplete=current-password></label>\
              <button class=do>Log in</button></form></div>");
    let text = page(
        &Frame {
            title: "Login",
            is_bare: true,
            ..Frame::default()
        },
        &html,
    );
    Answer::new(HTML, text)
        .with_status(401)
        .with_header("www-authenticate", "Bearer")
}

async fn login(shared: &Shared, peer: IpAddr, parts: &Parts, body: Incoming) -> Answer {
    if !access::is_own_form(&parts.headers) {
        return Answer::problem(403, "The form was sent by another site.", false);
    }
    let now = Instant::now();
    if !shared.guesses.has(peer, now) {
        return too_many_guesses(false);
    }
    let form = match form_of(body, FORM_SIZE.0).await {
        Ok(form) => form,
        Err(answer) => return answer,
    };
    let token = String::from_utf8_lossy(&form)
        .split('&')
        .filter_map(request::pair)
        .find(|(name, _)| name == "token")
        .map_or(String::new(), |(_, token)| token);
    if access::is_same(token.trim(), &shared.settings.token) {
        return welcome(shared, &Request::default());
    }
    shared.guesses.take(peer, now);
    login_page(false, true)
}

/// The body, if it is small enough.
async fn read(mut body: Incoming, most: usize) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        all.extend_from_slice(frame.ok()?.data_ref().map_or(&[][..], |data| &data[..]));
        if all.len() > most {
            return None;
        }
    }
    Some(all)
}

/// The response: with the headers of every answer, and without a body that the client has already.
fn finish(answer: Answer, parts: &Parts) -> Response<Sent> {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in HEADERS {
        response = response.header(name, value);
    }
    let is_whole = answer.status == 200
        && !answer
            .headers
            .iter()
            .any(|(name, _)| *name == "cache-control");
    let mut is_known = false;
    if is_whole {
        let tag = answer.entity_tag();
        is_known = parts
            .headers
            .get(IF_NONE_MATCH)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|known| {
                known
                    .split(',')
                    .any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*")
            });
        response = response.header("etag", tag);
        let cache = if answer.is_immutable {
            "public, max-age=31536000, immutable"
        } else {
            "private, no-cache"
        };
        response = response.header("cache-control", cache);
    } else if answer.status != 200 {
        response = response.header("cache-control", "no-store");
    }
    for (name, value) in &answer.headers {
        // No control character comes this far: parameters with one are refused.
        if let Ok(value) = HeaderValue::from_str(value) {
            response = response.header(*name, value);
        }
    }
    let made = if is_known {
        response
            .status(StatusCode::NOT_MODIFIED)
            .body(Sent::Whole(None))
    } else {
        response
            .header("content-type", answer.kind)
            .body(Sent::Whole(Some(Bytes::from(answer.body))))
    };
    made.unwrap_or_else(|_| {
        let mut broken = Response::new(Sent::Whole(None));
        *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        broken
    })
}

/// The head of a stream of events.
pub(crate) fn event_stream(events: tokio::sync::mpsc::Receiver<Bytes>) -> Response<Sent> {
    let mut response = Response::new(Sent::Events(events));
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().insert(
        "content-type",
        HeaderValue::from_static("text/event-stream"),
    );
    response
        .headers_mut()
        .insert("cache-control", HeaderValue::from_static("no-store"));
    response
}
