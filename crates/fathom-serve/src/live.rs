//! Server-sent events of a running run. However many watch it, the store is read at most twice a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Response;
use hyper::body::Bytes;
use tokio::sync::mpsc::channel;
use tokio::sync::{Mutex, Semaphore};

use crate::answer::Answer;
use crate::io::Sent;
use crate::request::Request;
use crate::routes::{self, Found};
use crate::server::{Shared, event_stream};

/// Streams at once.
const STREAMS: usize = 128;
/// Time between two events.
const PERIOD: Duration = Duration::from_secs(1);
/// A stream ends after this time; a browser opens it again.
const LONGEST: Duration = Duration::from_secs(3600);

/// All streams.
pub(crate) struct Live {
    slots: Arc<Semaphore>,
    /// The streams send whole periods after it.
    start: Instant,
    last: Arc<Mutex<Events>>,
}

/// The last event of each run, and when it was made.
type Events = HashMap<String, (Instant, Event)>;

/// An event as it is sent to everyone who watches a run.
#[derive(Clone)]
struct Event {
    text: Bytes,
    /// Whether others will follow.
    is_running: bool,
}

impl Default for Live {
    fn default() -> Live {
        Live {
            slots: Arc::new(Semaphore::new(STREAMS)),
            start: Instant::now(),
            last: Arc::default(),
        }
    }
}

impl Live {
    /// Begins the stream of a run.
    pub fn events(
        &self,
        shared: &Arc<Shared>,
        request: &Request,
    ) -> Result<Response<Sent>, Answer> {
        let Ok(slot) = self.slots.clone().try_acquire_owned() else {
            return Err(Answer::problem(503, "Too many streams are open.", true)
                .with_header("retry-after", "10"));
        };
        let run = request.path.get(3).cloned().unwrap_or_default();
        let (sender, events) = channel::<Bytes>(2);
        let (shared, last, start) = (shared.clone(), self.last.clone(), self.start);
        tokio::spawn(async move {
            let end = Instant::now() + LONGEST;
            while Instant::now() < end {
                let event = newest(&shared, &last, &run).await;
                // A client that does not read holds no more than two events.
                let sent =
                    tokio::time::timeout(Duration::from_secs(20), sender.send(event.text)).await;
                if !event.is_running || !matches!(sent, Ok(Ok(()))) {
                    break;
                }
                tokio::time::sleep(until_next(start.elapsed())).await;
            }
            drop(slot);
        });
        Ok(event_stream(events))
    }
}

/// The time from one moment to the next whole period. All streams send at the same moments: one wake-up of the server serves every
/// viewer, where a hundred timers would wake it a hundred times a second beside a measurement.
fn until_next(elapsed: Duration) -> Duration {
    let past = elapsed.as_nanos() % PERIOD.as_nanos();
    PERIOD - Duration::from_nanos(past as u64)
}

/// A part of the document of a run that is measured.
const BUSY: &[u8] = b"\"state\":\"running\"";

/// An event with the document of `/api/v1/live/RUN`, at most half a second old. It is made once for all who watch the run at one moment;
/// a stream that begins between two moments has one of its own.
async fn newest(shared: &Shared, last: &Mutex<Events>, run: &str) -> Event {
    // Whoever comes second waits here for the answer to the first.
    let mut last = last.lock().await;
    if let Some((made, event)) = last.get(run)
        && made.elapsed() < PERIOD / 2
    {
        return event.clone();
    }
    let target = format!("/api/v1/live/{run}");
    let request = Request::parse(&target).unwrap_or_default();
    let mut figures = b"{}".to_vec();
    if let Found::Route(route, request) = routes::find(&request)
        && let Some(answer) = shared.workers.ask(route, request, target)
        && let Ok(answer) = answer.await
    {
        figures = answer.body;
    }
    let is_running = figures.windows(BUSY.len()).any(|part| part == BUSY);
    let name = if is_running { "figures" } else { "end" };
    let data = String::from_utf8_lossy(&figures);
    let event = Event {
        text: format!("event: {name}\ndata: {}\n\n", data.trim_end()).into(),
        is_running,
    };
    last.retain(|_, (made, _)| made.elapsed() < PERIOD * 10);
    last.insert(run.to_owned(), (Instant::now(), event.clone()));
    event
}
