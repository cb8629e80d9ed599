//! The threads of a run. All of them are coroutines of one thread of the operating system; the coordinator, which calls
//! [`fathom_load::run`], resumes the others while it waits.

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fathom_load::{
    Clock, EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError, LayOut, NullEngine,
    RunningThread, Scratch, THREAD_STACK_SIZE, ThreadBody,
};
use fathom_model::{Bytes, DiskCounters, Nanos, Numa, SyncMode, Usage};

use super::engine::{FileOnDisk, SimEngine};
use super::machine::Machine;
use super::world::{COORDINATOR, World};
use crate::device::SimRequest;
use crate::machine::{Extent, Node};

const EOPNOTSUPP: i32 = 95;
/// How long the threads that an aborted run has abandoned have to end, seconds. They notice it within one.
const MAX_LAST_SECONDS: usize = 100;
const SECOND: u64 = 1_000_000_000;

/// The coroutines of a run, by the numbers of their threads. One that runs or has ended is not here.
type Coroutines = RefCell<Vec<Option<Coroutine<(), (), ()>>>>;

/// The simulated machine as one thread of a run sees it.
#[derive(Clone)]
pub(super) struct SimThread<'y> {
    machine: Arc<Machine>,
    world: Rc<World>,
    coroutines: Rc<Coroutines>,
    number: usize,
    /// Gives the turn back to the coordinator; the coordinator has none.
    yielder: Option<&'y Yielder<(), ()>>,
}

/// A thread takes its host in an [`Arc`], as it does on a machine whose threads share it.
#[expect(
    clippy::arc_with_non_send_sync,
    reason = "the load takes every host in an Arc; coroutines stay in their thread"
)]
pub(super) fn share(thread: SimThread<'_>) -> Arc<SimThread<'_>> {
    Arc::new(thread)
}

impl SimThread<'static> {
    /// The coordinator of a new run.
    ///
    /// # Errors
    /// While the machine carries out another run.
    pub fn begin_run(machine: Arc<Machine>) -> Result<Self, HostError> {
        let at = machine.shared.as_ref().map_or(0, |time| time.now().get());
        let world = World::begin_run(Arc::clone(&machine.now), machine.take_state()?, at);
        Ok(SimThread {
            machine,
            world: Rc::new(world),
            coroutines: Rc::default(),
            number: COORDINATOR,
            yielder: None,
        })
    }

    pub fn machine(&self) -> Arc<Machine> {
        Arc::clone(&self.machine)
    }

    /// Ends the threads that the run has abandoned, and the run.
    pub fn end_run(&self) {
        for _ in 0..MAX_LAST_SECONDS {
            if !self.world.give_up() {
                break;
            }
            let at = self.world.now() + SECOND;
            self.clock().sleep_until(Nanos::new(at));
        }
        let left = std::mem::take(&mut *self.coroutines.borrow_mut());
        drop(left);
        self.let_others_catch_up();
        self.machine.keep_state(self.world.end_run());
    }

    /// The wall clock, nanoseconds since 1970.
    pub fn unix_now_ns(&self) -> u64 {
        self.world.unix_now_ns()
    }

    /// Waits until the time that this machine shares with others is its own: what it does now, they see now.
    pub fn let_others_catch_up(&self) {
        self.machine.let_others_catch_up();
    }

    /// Waits until the time of this machine is the shared one, which has gone on while the coordinator waited for others.
    pub fn catch_up(&self) {
        let shared = self.machine.shared.as_ref().map(|time| time.now());
        if let Some(at) = shared.filter(|at| at.get() > self.world.now()) {
            self.clock().sleep_until(at);
        }
    }
}

impl SimThread<'_> {
    /// Lets other threads run until the turn of this one.
    fn switch(&self) {
        match self.yielder {
            Some(yielder) => yielder.suspend(()),
            None => self.run_others(),
        }
    }

    /// Resumes the threads whose turn it is until it is that of the coordinator.
    fn run_others(&self) {
        while let Some(next) = self.world.next_thread() {
            if next == COORDINATOR {
                return;
            }
            let coroutine = self.coroutines.borrow_mut()[next].take();
            let Some(mut coroutine) = coroutine else {
                continue;
            };
            if let CoroutineResult::Yield(()) = coroutine.resume(()) {
                self.coroutines.borrow_mut()[next] = Some(coroutine);
            }
        }
    }

    /// The disks keep what is written from now on.
    pub fn keep_contents(&self) {
        self.world.keep_contents();
    }

    pub fn keeps_contents(&self) -> bool {
        self.world.keeps_contents()
    }

    /// The place of a file, which may be new or grow.
    fn place(&self, path: &Path, size: u64, writes: bool) -> Result<Extent, HostError> {
        let before = self.extent_of(path);
        let place = self.machine.place(path, size, writes)?;
        if !place.whole {
            self.world.place_changed(before, Some(place));
        }
        Ok(place)
    }

    /// Where a file is, if there is one.
    fn extent_of(&self, path: &Path) -> Option<Extent> {
        match self.machine.files().node(path) {
            Node::File(file) => Some(file.extent),
            _ => None,
        }
    }

    /// Spends the CPU time of `ios` I/Os.
    pub fn compute(&self, ios: usize) {
        self.world.compute(self.number, ios, || self.switch());
    }

    /// See [`World::submit`].
    pub fn submit<'b>(&self, requests: impl Iterator<Item = (usize, SimRequest, &'b [u8])>) {
        self.world.submit(self.number, requests);
    }

    /// See [`World::reap`].
    pub fn reap(
        &self,
        wait: (usize, usize, u64),
        each: impl FnMut(u32, bool, Option<Vec<u8>>),
    ) -> bool {
        self.world.reap(self.number, wait, || self.switch(), each)
    }
}

/// The clock of the simulated machine.
#[derive(Clone)]
pub(super) struct VirtualClock<'y>(SimThread<'y>);

impl Clock for VirtualClock<'_> {
    const IS_VIRTUAL: bool = true;

    #[inline]
    fn now(&self) -> Nanos {
        Nanos::new(self.0.world.now())
    }

    fn sleep_until(&self, at: Nanos) {
        let thread = &self.0;
        let world = &thread.world;
        world.sleep_until(thread.number, at.get(), || thread.switch());
    }

    fn wait_for_others(&self, at: Nanos) {
        let thread = &self.0;
        let world = &thread.world;
        world.wait_for_others(thread.number, at.get(), || thread.switch());
    }

    fn wake_others(&self) {
        self.0.world.wake_others();
    }
}

/// Tells the world that a thread has ended, also by a panic.
struct EndOfThread {
    world: Rc<World>,
    number: usize,
}

impl Drop for EndOfThread {
    fn drop(&mut self) {
        self.world.end_thread(self.number);
    }
}

struct SimThreadHandle {
    world: Rc<World>,
    number: usize,
}

impl RunningThread for SimThreadHandle {
    fn is_finished(&self) -> bool {
        self.world.has_ended(self.number)
    }
}

impl<'y> Host for SimThread<'y> {
    type Clock = VirtualClock<'y>;

    fn spawn(
        self: &Arc<Self>,
        _: &str,
        body: impl ThreadBody,
    ) -> io::Result<Box<dyn RunningThread>> {
        let stack = DefaultStack::new(THREAD_STACK_SIZE)?;
        let number = self.world.start_thread();
        let (machine, world) = (Arc::clone(&self.machine), Rc::clone(&self.world));
        let coroutines = Rc::clone(&self.coroutines);
        let run = move |yielder: &Yielder<(), ()>, ()| {
            let end = EndOfThread {
                world: Rc::clone(&world),
                number,
            };
            let thread = share(SimThread {
                machine,
                world,
                coroutines,
                number,
                yielder: Some(yielder),
            });
            // The coordinator reports a thread that ended without a result.
            let _ = catch_unwind(AssertUnwindSafe(|| body.run(&thread)));
            drop(end);
        };
        let mut coroutines = self.coroutines.borrow_mut();
        coroutines.resize_with(number + 1, || None);
        coroutines[number] = Some(Coroutine::with_stack(stack, run));
        Ok(Box::new(SimThreadHandle {
            world: Rc::clone(&self.world),
            number,
        }))
    }

    fn clock(&self) -> VirtualClock<'y> {
        VirtualClock(self.clone())
    }

    fn begin_load(&self, _: Nanos) {
        self.world.begin_load();
    }

    fn lay_out(
        &self,
        file: &LayOut,
        _: &AtomicBool,
        _: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
        let wanted = file.size.get();
        let place = self.place(&file.path, wanted, file.writes)?;
        Ok(FileFacts {
            size: Bytes::new(place.size),
            alignment: 1,
            block_device: place.whole,
            created: false,
            laid_out: Bytes::ZERO,
        })
    }

    fn keeps_data(&self) -> bool {
        self.world.keeps_contents()
    }

    fn size_now(&self, path: &Path) -> Result<Bytes, HostError> {
        self.machine.size_now(path).map(Bytes::new)
    }

    fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        let files = request.files.iter().map(|file| {
            let place = self.place(&file.path, file.range.1, false)?;
            Ok(FileOnDisk {
                disk: place.disk,
                base: place.base,
                range: file.range,
                durable: file.sync != SyncMode::None,
            })
        });
        let files: Result<Vec<FileOnDisk>, HostError> = files.collect();
        let files = files.map_err(|HostError { errno, what }| EngineError { errno, what })?;
        let engine = SimEngine::new(self.clone(), request, files)?;
        Ok(user.run(engine, request.spec.kind.name(), None))
    }

    fn with_noop<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        let engine = NullEngine::new(request.depth, request.buffer_size, &[])?;
        Ok(user.run(engine, "null", None))
    }

    fn finish(&self, path: &Path, _: bool, unlink: bool) -> Result<(), HostError> {
        let before = self.extent_of(path);
        if unlink && self.machine.files().remove(path) {
            self.world.place_changed(before, None);
        }
        Ok(())
    }

    /// The file keeps its place, and is zeros.
    fn empty_file(&self, path: &Path) -> Result<(), HostError> {
        let files = self.machine.files();
        if let Node::File(file) = files.node(path)
            && !file.foreign
        {
            self.world.place_changed(Some(file.extent), None);
        }
        Ok(())
    }

    fn save_output(&self, name: &str, bytes: &[u8]) -> Result<(), HostError> {
        self.machine.real_files().save(name, bytes)
    }

    fn bind_cpus(&self, _: &[u32], _: Option<i32>) -> Result<(), HostError> {
        Ok(())
    }

    fn set_io_priority(&self, _: u16) -> Result<(), HostError> {
        Ok(())
    }

    fn bind_numa(&self, _: &Numa) -> Result<(), HostError> {
        Ok(())
    }

    fn command(&self, line: &str, _: &Path) -> Result<(), HostError> {
        Err(HostError {
            errno: EOPNOTSUPP,
            what: format!("no commands run beside a simulation: {line}"),
        })
    }

    fn thread_id(&self) -> u32 {
        1
    }

    fn usage(&self) -> Usage {
        let (busy, waited) = self.world.usage(self.number);
        Usage {
            user: Nanos::new(busy),
            waited: Nanos::new(waited),
            ..Usage::default()
        }
    }

    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.machine.real_files().read(path)
    }

    fn scratch(&self) -> io::Result<Box<dyn Scratch>> {
        Ok(Box::new(io::Cursor::new(Vec::new())))
    }

    fn disks(&self, _: &[PathBuf]) -> Vec<(String, DiskCounters)> {
        self.world.disk_counters()
    }
}
