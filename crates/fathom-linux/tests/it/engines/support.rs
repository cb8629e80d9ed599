//! Runs an engine from a test.

use fathom_linux::{EngineFile, make_engine};
use fathom_load::{
    Completion, Engine, EngineError, EngineRequest, EngineUser, Op, OpenFile, Request, Wait,
};
use fathom_model::{EngineKind, EngineSettings, EngineSpec, Nanos};

pub const BUFFER: u32 = 16 << 10;

/// An engine kind with its settings and depth.
pub struct Case {
    pub kind: EngineKind,
    pub settings: EngineSettings,
    pub depth: u32,
}

struct EngineBody<F>(F);

impl<T, F: FnOnce(&mut dyn Engine, &'static str, Option<String>) -> T> EngineUser
    for EngineBody<F>
{
    type Output = T;
    fn run<E: Engine>(self, mut engine: E, name: &'static str, fallback: Option<String>) -> T {
        (self.0)(&mut engine, name, fallback)
    }
}

/// Runs `body` with an engine and its name, to be dropped by the test.
pub fn with_engine<T>(
    spec: &EngineSpec,
    depth: u32,
    files: Vec<(OpenFile, EngineFile)>,
    body: impl FnOnce(&mut dyn Engine, &'static str, Option<String>) -> T,
) -> Result<T, EngineError> {
    let (open, files): (Vec<_>, Vec<_>) = files.into_iter().unzip();
    make_engine(
        &EngineRequest {
            spec,
            depth,
            buffer_size: BUFFER,
            files: &open,
            huge_pages: true,
        },
        files,
        EngineBody(body),
    )
}

impl Case {
    pub fn new(kind: EngineKind, depth: u32) -> Self {
        Self {
            kind,
            settings: EngineSettings::default(),
            depth,
        }
    }

    pub fn set(mut self, set: impl FnOnce(&mut EngineSettings)) -> Self {
        set(&mut self.settings);
        self
    }

    /// Runs `body` with the engine. It is requested by name, so a fallback fails the test.
    pub fn run<T>(
        &self,
        file: (OpenFile, EngineFile),
        body: impl FnOnce(&mut dyn Engine) -> T,
    ) -> T {
        let spec = EngineSpec {
            kind: self.kind,
            named: true,
            settings: self.settings.clone(),
        };
        let result = with_engine(&spec, self.depth, vec![file], |engine, name, fallback| {
            assert_eq!((name, fallback), (self.kind.name(), None));
            body(engine)
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", self.kind.name()))
    }
}

pub fn request(slot: u32, op: Op, offset: u64, len: u32) -> Request {
    Request {
        slot,
        file: 0,
        op,
        len,
        offset,
        prio: 0,
    }
}

pub fn submit_all(engine: &mut dyn Engine, batch: &[Request]) {
    let mut sent = 0;
    while sent < batch.len() {
        sent += engine.submit(&batch[sent..]).unwrap();
    }
}

/// Reaps exactly `count` completions in as many calls as necessary.
pub fn reap(engine: &mut dyn Engine, count: u32) -> Vec<Completion> {
    let mut done = Vec::new();
    let started = std::time::Instant::now();
    while (done.len() as u32) < count {
        let left = count - done.len() as u32;
        engine
            .reap(
                Wait {
                    at_least: left,
                    at_most: left,
                    limit: None,
                },
                &mut done,
            )
            .unwrap();
        assert!(
            started.elapsed().as_secs() < 20,
            "{} of {count} completed",
            done.len()
        );
    }
    assert_eq!(done.len() as u32, count);
    done
}

/// One request and its result.
pub fn perform(engine: &mut dyn Engine, request: Request) -> i64 {
    submit_all(engine, &[request]);
    let done = reap(engine, 1);
    assert_eq!(done[0].slot, request.slot);
    done[0].result
}

pub fn limit(at_least: u32, at_most: u32, millis: u64) -> Wait {
    Wait {
        at_least,
        at_most,
        limit: Some(Nanos::from_millis(millis)),
    }
}

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct TestRng(pub u64);

impl TestRng {
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}
