//! Messages to other programs: a run ended, a figure got worse.
//!
//! One thread looks into the store once a second; each receiver has a thread of its own, so that a slow one delays nobody.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use fathom_analyse::TREND_METHOD;
use fathom_model::{RunId, RunState};
use fathom_report::run_value;
use fathom_store::{ListFilter, ListedRun, SeriesFilter};
use fathom_tls::TlsError;
use serde_json::{Value, json};

use crate::answer::{Answer, JSON};
use crate::pages::fact;
use crate::pages::trends::{MOST_VALUES, Series, more_is_better, series};
use crate::request::address;
use crate::{Library, Opener, Settings, Webhook};

/// Time between two looks into the store.
const LOOK: Duration = Duration::from_secs(1);
/// New runs of one look.
const MOST_RUNS: u32 = 200;
/// Messages that wait for a receiver; further ones are lost, and it is said.
const QUEUE: usize = 256;
/// How long an attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Waits between attempts.
const WAITS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
];
/// A change point moves by up to this many runs when later runs are known.
const MOVES: usize = 3;

/// What is sent.
#[derive(Clone, Debug)]
struct Message {
    event: &'static str,
    /// What it is about, for the message when it is lost.
    about: String,
    body: Arc<str>,
}

impl Message {
    fn new(event: &'static str, about: &str, mut content: Value) -> Message {
        content["fathom_webhook"] = 1.into();
        content["event"] = event.into();
        Message {
            event,
            about: about.to_owned(),
            body: content.to_string().into(),
        }
    }
}

/// Starts the threads. They end some time after `stop` is set.
pub(crate) fn start(
    open: Arc<Opener>,
    settings: &Arc<Settings>,
    stop: Arc<AtomicBool>,
) -> std::io::Result<()> {
    if settings.webhooks.is_empty() {
        return Ok(());
    }
    let mut queues = Vec::new();
    for hook in &settings.webhooks {
        let (queue, messages) = sync_channel(QUEUE);
        let (hook, settings) = (hook.clone(), settings.clone());
        let place = hook.place();
        std::thread::Builder::new()
            .name("webhook".into())
            .spawn(move || deliver(&hook, &messages, settings.version, settings.note))?;
        queues.push((place, queue));
    }
    // Before the first request is answered: whatever ends later is reported.
    let known = open().and_then(|mut library| Known::of(&mut *library));
    let settings = settings.clone();
    std::thread::Builder::new()
        .name("webhook-look".into())
        .spawn(move || look(&*open, &settings, &queues, &stop, known.ok()))?;
    Ok(())
}

type Queues = [(String, SyncSender<Message>)];

fn look(
    open: &Opener,
    settings: &Settings,
    queues: &Queues,
    stop: &AtomicBool,
    mut known: Option<Known>,
) {
    let mut library: Option<Box<dyn Library>> = None;
    let mut last_problem = String::new();
    while !stop.load(Relaxed) {
        let looked = match &mut library {
            Some(library) => match &mut known {
                Some(known) => news(&mut **library, known),
                None => Known::of(&mut **library).map(|now| {
                    known = Some(now);
                    Vec::new()
                }),
            },
            None => open().map(|opened| {
                library = Some(opened);
                Vec::new()
            }),
        };
        match looked {
            Ok(messages) => {
                last_problem.clear();
                for message in messages {
                    hand_over(queues, &message, settings.note);
                }
            }
            Err(problem) => {
                // Opened again: a server that was restarted has another connection.
                library = None;
                if problem != last_problem {
                    (settings.note)(&format!("webhooks: {problem}"));
                    last_problem = problem;
                }
            }
        }
        std::thread::sleep(LOOK);
    }
}

fn hand_over(queues: &Queues, message: &Message, note: fn(&str)) {
    for (place, queue) in queues {
        if let Err(TrySendError::Full(_)) = queue.try_send(message.clone()) {
            note(&format!(
                "webhook {place}: {} of {} is lost: {QUEUE} messages wait already",
                message.event, message.about
            ));
        }
    }
}

/// The runs that were seen.
struct Known {
    newest: Option<RunId>,
    running: Vec<RunId>,
}

impl Known {
    /// Those that are in the store now. What ended before is not reported.
    fn of(library: &mut dyn Library) -> Result<Known, String> {
        let newest = list(library, &ListFilter::default())?;
        let running = list(
            library,
            &ListFilter {
                state: "running".to_owned(),
                limit: MOST_RUNS,
                ..ListFilter::default()
            },
        )?;
        Ok(Known {
            newest: newest.first().map(|listed| listed.run.id),
            running: running
                .iter()
                .filter(|listed| !library.is_dead(&listed.run))
                .map(|listed| listed.run.id)
                .collect(),
        })
    }
}

fn list(library: &mut dyn Library, filter: &ListFilter) -> Result<Vec<ListedRun>, String> {
    library
        .store()
        .list(filter)
        .map_err(|error| error.to_string())
}

/// A run as the store has it now; `None` when it was removed.
fn find_run(library: &mut dyn Library, run: RunId) -> Result<Option<ListedRun>, String> {
    let around = ListFilter {
        after: Some(RunId::new(run.get() - 1)),
        limit: 1,
        ..ListFilter::default()
    };
    let found = list(library, &around)?;
    Ok(found.into_iter().find(|listed| listed.run.id == run))
}

/// Messages about what ended since the last look.
fn news(library: &mut dyn Library, known: &mut Known) -> Result<Vec<Message>, String> {
    // The filter is a number that runs are above; without any run, all are.
    let mut found = list(
        library,
        &ListFilter {
            after: Some(known.newest.unwrap_or(RunId::new(0))),
            limit: MOST_RUNS,
            ..ListFilter::default()
        },
    )?;
    known.newest = found
        .iter()
        .map(|listed| listed.run.id)
        .max()
        .or(known.newest);
    for run in std::mem::take(&mut known.running) {
        found.extend(find_run(library, run)?);
    }
    let mut messages = Vec::new();
    for mut listed in found {
        let is_dead = library.is_dead(&listed.run);
        if listed.run.state == RunState::Running {
            if !is_dead {
                known.running.push(listed.run.id);
                continue;
            }
            // The run may have finished and its process ended after the store was read. Now that the process is gone, the store says
            // how it ended.
            let Some(last) = find_run(library, listed.run.id)? else {
                continue;
            };
            listed = last;
        }
        let name = listed.run.id.to_string();
        let mut run = run_value(&listed.run, is_dead);
        run["verdict"] = listed.verdict.as_str().into();
        messages.push(Message::new(
            "run.ended",
            &name,
            json!({ "run": run, "path": format!("/runs/{name}") }),
        ));
        messages.extend(regressions(library, &listed)?);
    }
    Ok(messages)
}

/// The regressions that a run confirms.
fn regressions(library: &mut dyn Library, listed: &ListedRun) -> Result<Vec<Message>, String> {
    let run = &listed.run;
    let device = fact(&run.experiment.facts, "device");
    let mut figures: Vec<String> = library
        .store()
        .figures(run.id)
        .map_err(|error| error.to_string())?
        .into_iter()
        .map(|point| point.figure)
        .collect();
    figures.sort_unstable();
    figures.dedup();
    let mut messages = Vec::new();
    for figure in figures {
        let filter = SeriesFilter {
            figure: figure.clone(),
            name: run.experiment.name.clone(),
            device: device.to_owned(),
            limit: MOST_VALUES,
        };
        let all = series(library.store(), &filter).map_err(|error| error.to_string())?;
        for one in all {
            let Some(before) = confirmed(&one, run.id, more_is_better(&figure)) else {
                continue;
            };
            let [.., old, new] = &one.levels[..] else {
                continue;
            };
            let query = [
                ("figure", figure.clone()),
                ("name", filter.name.clone()),
                ("device", filter.device.clone()),
                ("series", one.name.clone()),
            ];
            messages.push(Message::new(
                "figure.regressed",
                &format!("{figure} of {}", one.name),
                json!({
                    "figure": figure,
                    "series": one.name,
                    "run": run.id.to_string(),
                    "since": one.points[new.from].run.to_string(),
                    "last_before": before.to_string(),
                    "before": old.mean,
                    "after": new.mean,
                    "change": new.change,
                    "method": TREND_METHOD,
                    "path": address("/trends", &query),
                }),
            ));
        }
    }
    Ok(messages)
}

/// The last run before the regression that the series ends with, if the series without `run` does not have this regression yet.
fn confirmed(series: &Series, run: RunId, more_is_better: bool) -> Option<RunId> {
    let last = series
        .levels
        .last()
        .filter(|level| level.is_regression(more_is_better))?;
    let earlier: Vec<f64> = series
        .points
        .iter()
        .filter(|point| point.run < run)
        .map(|point| point.value)
        .collect();
    if earlier.len() == series.points.len() {
        return None;
    }
    let was_known = fathom_analyse::trend(&earlier).last().is_some_and(|level| {
        level.is_regression(more_is_better) && level.from.abs_diff(last.from) <= MOVES
    });
    let before = series.points.get(last.from.checked_sub(1)?)?;
    (!was_known).then_some(before.run)
}

fn deliver(hook: &Webhook, messages: &Receiver<Message>, version: &str, note: fn(&str)) {
    while let Ok(message) = messages.recv() {
        if let Err((attempts, problem)) = delivered(hook, &message, version, PATIENCE, &WAITS) {
            note(&format!(
                "webhook {}: {} of {} is lost after {attempts} attempts: {problem}",
                hook.place(),
                message.event,
                message.about
            ));
        }
    }
}

/// Sends a message until it is accepted. An error has the number of attempts and the last problem.
fn delivered(
    hook: &Webhook,
    message: &Message,
    version: &str,
    patience: Duration,
    waits: &[Duration],
) -> Result<(), (usize, String)> {
    let request = request(hook, message, version);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let problem = match post(hook, &request, patience) {
            Ok(200..=299) => return Ok(()),
            // The same message would be refused again.
            Ok(status @ 400..=499) if ![408, 425, 429].contains(&status) => {
                return Err((
                    attempt,
                    format!("the receiver refused it with status {status}"),
                ));
            }
            Ok(status) => format!("the receiver answered with status {status}"),
            Err(problem) => problem,
        };
        let Some(wait) = waits.get(attempt - 1) else {
            return Err((attempt, problem));
        };
        std::thread::sleep(*wait);
    }
}

fn request(hook: &Webhook, message: &Message, version: &str) -> Vec<u8> {
    let body = message.body.as_bytes();
    // The same for each attempt, so that a receiver can drop what it has already.
    let delivery: String = Answer::new(JSON, body)
        .entity_tag()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let signature = hook.key.as_ref().map_or(String::new(), |(key, hmac)| {
        let sum = hmac(key.as_bytes(), body);
        let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("X-Fathom-Signature: sha256={hex}\r\n")
    });
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: fathom/{version}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         X-Fathom-Event: {}\r\nX-Fathom-Delivery: {delivery}\r\n{signature}Connection: close\r\n\r\n",
        hook.path,
        hook.host,
        body.len(),
        message.event
    );
    [head.as_bytes(), body].concat()
}

/// Sends a request within `patience` and reads the status of the answer.
fn post(hook: &Webhook, request: &[u8], patience: Duration) -> Result<u16, String> {
    let end = Instant::now() + patience;
    let text = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
            format!("no answer within {} s", patience.as_secs_f32())
        }
        _ => error.to_string(),
    };
    let left = || {
        let left = end.saturating_duration_since(Instant::now());
        // Zero would mean without limit.
        Some(left.max(Duration::from_millis(1)))
    };
    let addresses = hook.host.as_str().to_socket_addrs().map_err(text)?;
    let mut stream = Err("the name has no address".to_owned());
    for address in addresses {
        stream = TcpStream::connect_timeout(&address, left().unwrap_or_default()).map_err(text);
        if stream.is_ok() {
            break;
        }
    }
    let mut tcp = Limited { tcp: stream?, end };
    let answer = match &hook.trust {
        Some(trust) => {
            let mut sealed = trust.over(tcp).map_err(|error| match error {
                TlsError::Io(error) => text(error),
                refused @ TlsError::Refused(_) => refused.to_string(),
            })?;
            exchange(&mut sealed, request)
        }
        None => exchange(&mut tcp, request),
    };
    let answer = answer.map_err(text)?;
    if answer.is_empty() {
        return Err("the receiver closed the connection without an answer".to_owned());
    }
    let status = answer
        .strip_prefix(b"HTTP/1.")
        .and_then(|rest| std::str::from_utf8(rest.get(2..5)?).ok())
        .and_then(|status| status.parse().ok());
    status.ok_or_else(|| "the answer is not HTTP".to_owned())
}

/// Sends a request, and reads the status of the answer: `HTTP/1.1 200`. Less when the receiver closes the connection.
fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut answer = Vec::new();
    let mut part = [0; 512];
    while answer.len() < 12 {
        match stream.read(&mut part)? {
            0 => break,
            read => answer.extend_from_slice(&part[..read]),
        }
    }
    Ok(answer)
}

/// A connection with an end: a receiver that sends a byte at a time has no longer than another.
struct Limited {
    tcp: TcpStream,
    end: Instant,
}

impl Limited {
    fn left(&self) -> std::io::Result<Option<Duration>> {
        match self.end.saturating_duration_since(Instant::now()) {
            // As a timeout, zero would mean without limit.
            Duration::ZERO => Err(std::io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.tcp.set_read_timeout(self.left()?)?;
        self.tcp.read(buffer)
    }
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.tcp.set_write_timeout(self.left()?)?;
        self.tcp.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use fathom_model::{CellContent, Comparison, Experiment, Report, Run, StoredCell};
    use fathom_store::Store;

    use super::*;
    use crate::SheetResults;

    struct Stored(Store);

    impl Library for Stored {
        fn store(&mut self) -> &mut Store {
            &mut self.0
        }
        fn report(&mut self, _: &[String]) -> Result<Report, String> {
            Err(String::new())
        }
        fn compare(&mut self, _: &[crate::Group]) -> Result<Comparison, String> {
            Err(String::new())
        }
        fn is_dead(&self, run: &Run) -> bool {
            if let Some(path) = run.experiment.name.strip_prefix("ends now: ")
                && run.state == RunState::Running
            {
                let mut store = Store::open(std::path::Path::new(path)).expect("a store");
                let ended = store.finish(run.id, RunState::Finished, 1);
                ended.expect("an end");
                return true;
            }
            run.experiment.name == "killed"
        }
        fn is_measured_here(&self, _: &Run) -> bool {
            false
        }
        fn sheet_name(&self, _: &str) -> Option<String> {
            None
        }
        fn sheet(&mut self, _: &str, _: &[String]) -> Result<Option<SheetResults>, String> {
            Ok(None)
        }
    }

    /// A run of the store with a figure.
    fn begin(library: &mut Stored, name: &str, iops: f64) -> RunId {
        let experiment = Experiment {
            kind: "run".into(),
            name: name.into(),
            planned: 1,
            ..Experiment::default()
        };
        let run = library.0.begin(&experiment).expect("a run");
        let cell = StoredCell {
            figures: vec![("read iops".into(), iops)],
            ..StoredCell::default()
        };
        let content = CellContent::Nothing;
        library.0.save_cell(run, &cell, &content).expect("a cell");
        run
    }

    fn add(library: &mut Stored, name: &str, iops: f64) {
        let run = begin(library, name, iops);
        let finished = library.0.finish(run, RunState::Finished, 1);
        finished.expect("an end");
    }

    #[test]
    fn news_are_what_ended_and_a_regression_once() {
        let scratch = fathom_testkit::Scratch::new().expect("a directory");
        let store = Store::open(&scratch.path().join("s.db")).expect("a store");
        let mut library = Stored(store);
        let mut known = Known::of(&mut library).expect("the store");
        let events = |library: &mut Stored, known: &mut Known| -> Vec<(&'static str, Value)> {
            let messages = news(library, known).expect("the store");
            let body = |one: Message| {
                let body = serde_json::from_str(&one.body).expect("JSON");
                (one.event, body)
            };
            messages.into_iter().map(body).collect()
        };
        // Twelve runs of 100,000 with a per mille of noise: each ends, nothing else.
        for number in 0..12 {
            let noise = [0.0, 100.0, -100.0, 50.0][number % 4];
            add(&mut library, "nightly", 100_000.0 + noise);
        }
        let first = events(&mut library, &mut known);
        assert_eq!(first.len(), 12, "{first:?}");
        assert!(first.iter().all(|(event, _)| *event == "run.ended"));
        assert_eq!(first[11].1["run"]["run"], "r12");
        // 12 % less: the third run confirms it, later ones do not repeat it.
        let mut regressed = Vec::new();
        for number in 13..=18 {
            add(&mut library, "nightly", 88_000.0 + f64::from(number));
            let all = events(&mut library, &mut known);
            regressed.extend(all.into_iter().filter(|(event, _)| *event != "run.ended"));
        }
        assert_eq!(regressed.len(), 1, "{regressed:?}");
        let (event, body) = &regressed[0];
        assert_eq!(*event, "figure.regressed");
        for (field, wanted) in [
            ("run", "r15"),
            ("since", "r13"),
            ("last_before", "r12"),
            ("figure", "read iops"),
            ("series", "nightly"),
        ] {
            assert_eq!(body[field], wanted, "{body}");
        }
        let change = body["change"].as_f64().expect("a change");
        assert!((change + 0.12).abs() < 0.001, "{body}");
        // A run is reported when it ends, not before; a killed one too, and once.
        let run = begin(&mut library, "one", 1.0);
        begin(&mut library, "killed", 1.0);
        let all = events(&mut library, &mut known);
        assert_eq!((all.len(), &all[0].1["run"]["name"]), (1, &json!("killed")));
        library
            .0
            .finish(run, RunState::Finished, 1)
            .expect("an end");
        let all = events(&mut library, &mut known);
        assert_eq!((all.len(), &all[0].1["run"]["name"]), (1, &json!("one")));
        assert_eq!(events(&mut library, &mut known), []);
    }

    /// Regression 1473: a run that finished, and whose process ended, after the store was read and before its process was looked for, was
    /// reported as killed.
    #[test]
    fn a_run_that_ends_during_the_look_is_finished() {
        let scratch = fathom_testkit::Scratch::new().expect("a directory");
        let path = scratch.path().join("s.db");
        let mut library = Stored(Store::open(&path).expect("a store"));
        let mut known = Known::of(&mut library).expect("the store");
        begin(&mut library, &format!("ends now: {}", path.display()), 1.0);
        let messages = news(&mut library, &mut known).expect("the store");
        let bodies = messages.iter().map(|one| serde_json::from_str(&one.body));
        let bodies: Vec<Value> = bodies.collect::<Result<_, _>>().expect("JSON");
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        assert_eq!(bodies[0]["run"]["state"], "finished", "{bodies:?}");
        assert_eq!(news(&mut library, &mut known).expect("the store").len(), 0);
    }

    /// Shows what it was called with.
    fn mac(key: &[u8], message: &[u8]) -> [u8; 32] {
        let mut sum = [0; 32];
        sum[..3].copy_from_slice(key);
        sum[31] = message.len() as u8;
        sum
    }

    fn none() -> Result<fathom_tls::Authorities, String> {
        Err("no authorities".to_owned())
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A receiver that answers each connection with the next of these texts, and holds it open without one.
    fn receiver(
        answers: Vec<Option<&'static str>>,
    ) -> (Webhook, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let hook = Webhook::parse(
            &format!("http://{address}/hook?a=b"),
            Some(("key".into(), mac)),
            &none,
        )
        .expect("an address");
        let thread = std::thread::spawn(move || {
            let mut requests = Vec::new();
            let mut held = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut request = Vec::new();
                let mut part = [0; 4096];
                while !request.ends_with(b"}") {
                    match stream.read(&mut part).expect("a request") {
                        0 => break,
                        read => request.extend_from_slice(&part[..read]),
                    }
                }
                requests.push(String::from_utf8(request).expect("text"));
                if let Some(answer) = answer {
                    stream.write_all(answer.as_bytes()).expect("an answer");
                } else {
                    held.push(stream);
                }
            }
            requests
        });
        (hook, thread)
    }

    fn message() -> Message {
        Message::new("run.ended", "r1", json!({ "path": "/runs/r1" }))
    }

    const SHORT: Duration = Duration::from_millis(300);

    #[test]
    fn a_message_is_sent_again_until_it_is_accepted() {
        // Fails, does not answer in time, closes without an answer, accepts.
        let (hook, thread) = receiver(vec![
            Some("HTTP/1.1 500 Internal Server Error\r\n\r\n"),
            None,
            Some(""),
            Some("HTTP/1.1 204 No Content\r\n\r\n"),
        ]);
        let waits = [Duration::from_millis(1); 3];
        assert_eq!(delivered(&hook, &message(), "1", SHORT, &waits), Ok(()));
        let requests = thread.join().expect("requests");
        assert_eq!(requests.len(), 4);
        assert!(requests.iter().all(|request| *request == requests[0]));
        let (head, body) = requests[0].split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("X-Fathom-Event: run.ended\r\n"), "{head}");
        let signature = format!("sha256={}", hex(&mac(b"key", body.as_bytes())));
        assert!(head.contains(&signature), "{head}");
        let body: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(
            (&body["fathom_webhook"], &body["event"], &body["path"]),
            (&json!(1), &json!("run.ended"), &json!("/runs/r1"))
        );
    }

    #[test]
    fn a_message_is_lost_after_the_last_attempt_or_a_refusal() {
        let error = "HTTP/1.1 503 Busy\r\n\r\n";
        let (hook, thread) = receiver(vec![Some(error), Some(error)]);
        let waits = [Duration::from_millis(1)];
        let (attempts, problem) =
            delivered(&hook, &message(), "1", SHORT, &waits).expect_err("lost");
        assert_eq!((attempts, problem.contains("503")), (2, true), "{problem}");
        thread.join().expect("requests");
        // Nobody listens there any more.
        let (attempts, _) = delivered(&hook, &message(), "1", SHORT, &waits).expect_err("lost");
        assert_eq!(attempts, 2);
        let (hook, thread) = receiver(vec![Some("HTTP/1.1 410 Gone\r\n\r\n")]);
        let (attempts, problem) =
            delivered(&hook, &message(), "1", SHORT, &waits).expect_err("lost");
        assert_eq!((attempts, problem.contains("410")), (1, true), "{problem}");
        thread.join().expect("requests");
    }

    #[test]
    fn a_receiver_that_answers_in_drops_has_no_longer() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            // Each byte comes within the time for one read; all of them do not.
            for byte in b"HTTP/1.1 200" {
                std::thread::sleep(Duration::from_millis(150));
                if stream.write_all(&[*byte]).is_err() {
                    break;
                }
            }
        });
        let hook = Webhook::parse(&format!("http://{address}/"), None, &none).expect("an address");
        let problem = post(&hook, b"POST", SHORT).expect_err("too slow");
        assert!(problem.contains("0.3 s"), "{problem}");
        thread.join().expect("it ends");
    }

    /// The certificate must be signed by an authority that is trusted, and be for the name in the address.
    #[test]
    fn a_receiver_with_tls_needs_a_trusted_certificate_for_its_name() {
        let made = fathom_tls::self_signed("localhost").expect("a certificate");
        let other = fathom_tls::self_signed("localhost").expect("a certificate");
        let identity = fathom_tls::Identity::new(made.certificate.as_bytes(), made.key.as_bytes())
            .expect("an identity");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let thread = std::thread::spawn(move || {
            let mut received = Vec::new();
            for _ in 0..3 {
                let (tcp, _) = listener.accept().expect("a connection");
                let Ok(mut stream) = fathom_tls::Stream::server(tcp, &identity) else {
                    continue;
                };
                let mut part = [0; 4096];
                // A client that refuses the certificate may say so after the handshake of this side.
                let Ok(read @ 1..) = stream.read(&mut part) else {
                    continue;
                };
                received.push(String::from_utf8_lossy(&part[..read]).into_owned());
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            }
            received
        });
        let sent = |host: &str, authority: &str| {
            let trusted = || {
                fathom_tls::Authorities::of_pem(authority.as_bytes())
                    .map_err(|error| error.to_string())
            };
            let hook = Webhook::parse(&format!("https://{host}:{port}/hook"), None, &trusted)
                .expect("an address");
            delivered(&hook, &message(), "1", Duration::from_secs(60), &[])
        };
        let (_, problem) = sent("localhost", &other.certificate).expect_err("another authority");
        assert!(problem.contains("not accepted"), "{problem}");
        let (_, problem) = sent("127.0.0.1", &made.certificate).expect_err("another name");
        assert!(problem.contains("another name"), "{problem}");
        assert_eq!(sent("localhost", &made.certificate), Ok(()));
        let received = thread.join().expect("requests");
        assert_eq!(received.len(), 1, "{received:?}");
        assert!(
            received[0].starts_with("POST /hook HTTP/1.1\r\n"),
            "{received:?}"
        );
    }

    #[test]
    fn addresses_of_receivers() {
        let host =
            |text: &str| Webhook::parse(text, None, &none).map(|hook| (hook.host, hook.path));
        for (text, host_, path) in [
            ("http://localhost:8000/a?b=c", "localhost:8000", "/a?b=c"),
            ("http://example.com", "example.com:80", "/"),
            ("http://[::1]:8000/x", "[::1]:8000", "/x"),
            ("http://[::1]/", "[::1]:80", "/"),
        ] {
            assert_eq!(
                host(text),
                Ok((host_.to_owned(), path.to_owned())),
                "{text}"
            );
        }
        for (text, wanted) in [
            ("https://example.com/", "no authorities"),
            ("ftp://example.com/", "http://"),
            ("http://", "http://"),
            ("http:///a", "http://"),
            ("http://user:pass@example.com/", "user"),
            ("http://example.com:x/", "port"),
            ("http://example.com/a b", "character"),
            ("http://example.com/\r\nX: y", "character"),
        ] {
            let problem = host(text).expect_err(text);
            assert!(problem.contains(wanted), "{text}: {problem}");
        }
    }
}
