//! `--audit`: reads of one size, to show what the device gets of them.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::OFlags;

/// Reads of an audit: enough to see every way in which they are split.
const READS: u64 = 1_000;
/// The alignment of memory that every device accepts.
const ALIGNMENT: usize = 4096;
/// Largest size of a read.
const LARGEST: u64 = 64 << 20;

/// The reading thread.
pub struct Audit {
    thread: JoinHandle<Result<u64, String>>,
    done: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    /// The thread ends when this is dropped: a thread has a known process only while it lives.
    alive: mpsc::Sender<()>,
}

impl Audit {
    /// Whether `path` can be read in this way.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check(path: Option<&Path>, size: u64) -> Result<(), String> {
        let path = path.ok_or("--audit needs a device or a file to read")?;
        if size == 0 || size > LARGEST || !size.is_multiple_of(512) {
            return Err("--audit: a multiple of 512 bytes, at most 64m".to_owned());
        }
        let metadata =
            fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !metadata.is_file() && !metadata.file_type().is_block_device() {
            return Err(format!(
                "--audit reads a device or a file; {} is a directory",
                path.display()
            ));
        }
        Ok(())
    }

    /// Starts to read `path` from its start, with direct I/O of `size` bytes.
    ///
    /// # Errors
    /// If it cannot be opened for direct I/O.
    pub fn start(path: &Path, size: u64) -> Result<Self, String> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(path)
            .map_err(|error| format!("--audit: {}: {error}", path.display()))?;
        let (done, stop) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (finished, stopped) = (Arc::clone(&done), Arc::clone(&stop));
        let name = path.display().to_string();
        let (alive, until_dropped) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || {
                let result = read(&file, size as usize, &stopped)
                    .map_err(|error| format!("--audit: {name}: {error}"));
                finished.store(true, Ordering::Release);
                let _ = until_dropped.recv();
                result
            })
            .map_err(|error| format!("--audit: cannot start a thread: {error}"))?;
        Ok(Self {
            thread,
            done,
            stop,
            alive,
        })
    }

    /// Whether all reads are done.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Ends the reads.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        while !self.is_done() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the thread, after all events of its reads have been read, and returns how many reads there were.
    ///
    /// # Errors
    /// If a read failed, or the target is smaller than one read.
    pub fn finish(self) -> Result<u64, String> {
        self.stop.store(true, Ordering::Release);
        drop(self.alive);
        match self.thread.join() {
            Ok(Ok(0)) => Err("--audit: the target is smaller than one read".to_owned()),
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn read(file: &fs::File, size: usize, stop: &AtomicBool) -> std::io::Result<u64> {
    let mut memory = vec![0; size + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[start..start + size];
    let (mut reads, mut offset) = (0, 0);
    while reads < READS && !stop.load(Ordering::Acquire) {
        match file.read_at(buffer, offset) {
            Ok(bytes) if bytes == size => {
                reads += 1;
                offset += size as u64;
            }
            // The end: again from the start.
            Ok(_) if offset > 0 => offset = 0,
            Ok(_) => break,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reads)
}
