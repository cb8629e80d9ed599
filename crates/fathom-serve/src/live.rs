//! Server-sent events of a running run. However many watch it, the store is read once a second.

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
    /// The last answer for each run, and when it was made.
    last: Arc<Mutex<HashMap<String, (Instant, Bytes)>>>,
}

impl Default for Live {
    fn default() -> Live {
        Live {
            slots: Arc::new(Semaphore::new(STREAMS)),
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
        let (shared, last) = (shared.clone(), self.last.clone());
        tokio::spawn(async move {
            let end = Instant::now() + LONGEST;
            while Instant::now() < end {
                let figures = figures(&shared, &last, &run).await;
                let is_running = figures.windows(BUSY.len()).any(|part| part == BUSY);
                let name = if is_running { "figures" } else { "end" };
                let event = format!(
                    "event: {name}\ndata: {}\n\n",
                    String::from_utf8_lossy(&figures).trim_end()
                );
                // A client that does not read holds no more than two events.
                let sent =
                    tokio::time::timeout(Duration::from_secs(20), sender.send(event.into())).await;
                if !is_running || !matches!(sent, Ok(Ok(()))) {
                    break;
                }
                tokio::time::sleep(PERIOD).await;
            }
            drop(slot);
        });
        Ok(event_stream(events))
    }
}

/// A part of the document of a run that is measured.
const BUSY: &[u8] = b"\"state\":\"running\"";

/// The document of `/api/v1/live/RUN`, at most a second old.
async fn figures(
    shared: &Shared,
    last: &Mutex<HashMap<String, (Instant, Bytes)>>,
    run: &str,
) -> Bytes {
    // Whoever comes second waits here for the answer to the first.
    let mut last = last.lock().await;
    if let Some((made, figures)) = last.get(run)
        && made.elapsed() < PERIOD * 9 / 10
    {
        return figures.clone();
    }
    let target = format!("/api/v1/live/{run}");
    let request = Request::parse(&target).unwrap_or_default();
    let mut figures = Bytes::from_static(b"{}");
    if let Found::Route(route, request) = routes::find(&request)
        && let Some(answer) = shared.workers.ask(route, request, target)
        && let Ok(answer) = answer.await
    {
        figures = answer.body.into();
    }
    last.retain(|_, (made, _)| made.elapsed() < PERIOD * 10);
    last.insert(run.to_owned(), (Instant::now(), figures.clone()));
    figures
}
