//! Threads that answer requests from the store. The thread of the sockets never waits for a database.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_store::StoreError;
use tokio::sync::oneshot;

use crate::answer::{Answer, Problem};
use crate::disturbance::Disturbance;
use crate::request::Request;
use crate::routes::{self, Route};
use crate::{Library, Opener, Settings};

/// Requests that wait; others are refused.
const QUEUE: usize = 128;
/// Threads: one may analyse a long run while the other lists.
const THREADS: usize = 2;
/// An answer is used again for this long while the store has not changed. The state of a killed run changes without the store.
const FRESH: Duration = Duration::from_secs(2);
/// Answers that are kept, and their bytes together.
const KEPT: (usize, usize) = (64, 16 << 20);

/// A request with the way back.
struct Job {
    route: &'static Route,
    request: Request,
    target: String,
    reply: oneshot::Sender<Answer>,
}

/// The queue of the threads. They end when it is dropped.
pub(crate) struct Workers {
    queue: SyncSender<Job>,
}

/// What handlers work with.
pub(crate) struct Site {
    pub library: Box<dyn Library>,
    pub settings: Arc<Settings>,
    pub disturbance: Arc<Disturbance>,
    /// The change mark of the store at the request that is being answered.
    mark: Option<i64>,
    /// The number of runs, with the mark that the store had then, and when it was counted.
    counted: Option<(Option<i64>, Instant, u64)>,
}

impl Site {
    /// How many runs the store has. Counting them reads an index of all: it is done again only after a change, or after two seconds.
    pub fn count(&mut self) -> Result<u64, StoreError> {
        let now = Instant::now();
        if let Some((mark, made, count)) = self.counted
            && mark == self.mark
            && now.duration_since(made) < FRESH
        {
            return Ok(count);
        }
        let count = self.library.store().count()?;
        self.counted = Some((self.mark, now, count));
        Ok(count)
    }
}

impl Workers {
    /// Starts the threads.
    pub fn start(
        open: &Arc<Opener>,
        settings: &Arc<Settings>,
        disturbance: &Arc<Disturbance>,
    ) -> std::io::Result<Workers> {
        let (queue, jobs) = sync_channel(QUEUE);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..THREADS {
            let (jobs, open, settings) = (jobs.clone(), open.clone(), settings.clone());
            let disturbance = disturbance.clone();
            std::thread::Builder::new()
                .name(format!("serve-{number}"))
                .spawn(move || work(&jobs, &*open, &settings, &disturbance))?;
        }
        Ok(Workers { queue })
    }

    /// Hands a request to a thread; `None` when too many wait.
    pub fn ask(
        &self,
        route: &'static Route,
        request: Request,
        target: String,
    ) -> Option<oneshot::Receiver<Answer>> {
        let (reply, answer) = oneshot::channel();
        match self.queue.try_send(Job {
            route,
            request,
            target,
            reply,
        }) {
            Ok(()) => Some(answer),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => None,
        }
    }
}

fn work(
    jobs: &Mutex<Receiver<Job>>,
    open: &Opener,
    settings: &Arc<Settings>,
    disturbance: &Arc<Disturbance>,
) {
    let mut site: Option<Site> = None;
    let mut kept = Kept::default();
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // The client is gone, or has waited too long.
        if job.reply.is_closed() {
            continue;
        }
        let is_api = routes::is_api(&job.request);
        if site.is_none() {
            match open() {
                Ok(library) => {
                    site = Some(Site {
                        library,
                        settings: settings.clone(),
                        disturbance: disturbance.clone(),
                        mark: None,
                        counted: None,
                    });
                }
                Err(reason) => {
                    let _ = job.reply.send(Answer::problem(503, &reason, is_api));
                    continue;
                }
            }
        }
        let Some(open_site) = &mut site else { continue };
        // A defect in a handler must not end the server.
        let answered = catch_unwind(AssertUnwindSafe(|| answer(open_site, &job, &mut kept)));
        let answer = answered.unwrap_or_else(|_| {
            site = None;
            kept = Kept::default();
            Answer::problem(
                500,
                "The server failed to answer; this is a defect of fathom.",
                is_api,
            )
        });
        let _ = job.reply.send(answer);
    }
}

fn answer(site: &mut Site, job: &Job, kept: &mut Kept) -> Answer {
    let now = Instant::now();
    let mark = site.library.store().change_mark().unwrap_or_default();
    site.mark = mark;
    if !job.request.is_post
        && let Some(answer) = kept.get(&job.target, mark, now)
    {
        return answer;
    }
    match (job.route.act)(site, &job.request) {
        Ok(answer) => {
            let mut headers = answer.headers.iter();
            if !job.request.is_post && !headers.any(|(name, _)| *name == "cache-control") {
                kept.put(&job.target, mark, now, &answer);
            }
            answer
        }
        Err(problem) => {
            if let Problem::Failed(_) = problem {
                kept.all.clear();
            }
            problem.answer(routes::is_api(&job.request))
        }
    }
}

/// The last answers.
#[derive(Default)]
struct Kept {
    all: VecDeque<(String, Option<i64>, Instant, Answer)>,
}

impl Kept {
    fn get(&self, target: &str, mark: Option<i64>, now: Instant) -> Option<Answer> {
        let found = self.all.iter().find(|(known, ..)| known == target)?;
        let (_, then, made, answer) = found;
        (*then == mark && now.duration_since(*made) < FRESH).then(|| answer.clone())
    }

    fn put(&mut self, target: &str, mark: Option<i64>, now: Instant, answer: &Answer) {
        self.all.retain(|(known, ..)| known != target);
        self.all
            .push_back((target.to_owned(), mark, now, answer.clone()));
        let bytes = |all: &VecDeque<(String, Option<i64>, Instant, Answer)>| -> usize {
            all.iter().map(|(.., answer)| answer.body.len()).sum()
        };
        while self.all.len() > KEPT.0 || bytes(&self.all) > KEPT.1 {
            self.all.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::TEXT;

    #[test]
    fn an_answer_is_used_again_until_the_store_changes() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        let answer = Answer::new(TEXT, "a");
        kept.put("/", Some(1), now, &answer);
        assert_eq!(kept.get("/", Some(1), now), Some(answer));
        assert_eq!(kept.get("/", Some(2), now), None);
        assert_eq!(kept.get("/other", Some(1), now), None);
        assert_eq!(kept.get("/", Some(1), now + FRESH), None);
    }

    #[test]
    fn kept_answers_are_bounded() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        for number in 0..1000 {
            kept.put(
                &number.to_string(),
                None,
                now,
                &Answer::new(TEXT, vec![0; 1 << 20]),
            );
        }
        assert!(kept.all.len() <= 16, "{}", kept.all.len());
    }
}
