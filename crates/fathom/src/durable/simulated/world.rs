//! A simulated host: its files, its clock, and the way to the recorder.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fathom_durable::wire::{NONCE, Token};
use fathom_hosts::Clock;
use fathom_tls::Trust;
use rustix::io::Errno;

use super::clock::HostClock;
use super::journal::Name;
use super::volume::Volume;
use super::wire::{Network, pair};
use crate::durable::log_file::SharedLog;
use crate::durable::record::serve;
use crate::durable::recorder::MAX_SILENCE_TIME;
use crate::durable::world::{Creates, Description, Entry, FileSystem, How, OpenFile, Wire, World};
use crate::print::eprint_line;

/// Time to connect, as on Linux.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// One boot of a host.
pub struct SimWorld {
    pub clock: Arc<HostClock>,
    pub files: SimFiles,
    /// The number of this boot.
    pub boot: u32,
    /// The state of the random numbers, which all boots share.
    pub random: Arc<AtomicU64>,
    /// What the devices of a directory are called.
    pub devices: BTreeMap<PathBuf, String>,
    /// What results call the machine.
    pub machine: String,
    /// The other host; the recorder itself has none.
    pub recorder: Option<Arc<RecorderHost>>,
}

/// The host of the recorder, which keeps its power.
pub struct RecorderHost {
    pub world: Arc<SimWorld>,
    pub log: Arc<SharedLog>,
    pub token: Token,
    pub network: Network,
}

impl World for SimWorld {
    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn files(&self) -> &dyn FileSystem {
        &self.files
    }

    /// SplitMix64.
    fn random(&self) -> Result<[u8; NONCE], String> {
        let mut bytes = [0; NONCE];
        for eight in bytes.chunks_mut(8) {
            let step = 0x9e37_79b9_7f4a_7c15_u64;
            let z = self.random.fetch_add(step, Ordering::Relaxed);
            let z = z.wrapping_add(step);
            let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            eight.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes());
        }
        Ok(bytes)
    }

    fn boot(&self) -> Result<String, String> {
        Ok(format!("simulated boot {}", self.boot))
    }

    fn connect(&self, host: &str, trust: Option<&Trust>) -> Result<Box<dyn Wire>, String> {
        let fail = |reason: &str| {
            format!(
                "cannot reach the recorder {host}: {reason}; start `fathom durable record` there and check the address"
            )
        };
        let recorder = self.recorder.as_ref().ok_or_else(|| fail("no network"))?;
        if trust.is_some() {
            return Err("a simulated connection has no TLS".to_owned());
        }
        // The request to connect, and the answer.
        let there = recorder.network.arrival(self.clock.time());
        let back = recorder.network.arrival(there);
        let limit = self.clock.time() + CONNECT_TIMEOUT;
        self.clock().sleep_until(back.min(limit));
        if back >= limit {
            return Err(fail("connection timed out"));
        }
        let clocks = [&self.clock, &recorder.world.clock];
        let [own, other] = pair(clocks, &recorder.network);
        own.set_read_timeout(Some(MAX_SILENCE_TIME))
            .map_err(|error| fail(&error.to_string()))?;
        let host = Arc::clone(recorder);
        let body = move || {
            let served = serve(&*host.world, Box::new(other), &host.token, &host.log);
            if let Err(error) = served {
                eprint_line!("fathom durable: recorder: {error}");
            }
        };
        let started = recorder.world.clock.spawn("recorder", Box::new(body));
        started.map_err(|error| fail(&error.to_string()))?;
        Ok(Box::new(own))
    }

    fn is_interrupted(&self) -> bool {
        fathom_linux::interrupts().load(Ordering::Relaxed) > 0
    }

    fn describe(&self, path: &Path) -> Description {
        let mount = self.files.mount_of(path).map(|(mount, _)| mount);
        let device = mount.and_then(|mount| self.devices.get(mount));
        Description {
            file_system: device.map_or_else(String::new, |name| format!("simulated on {name}")),
            devices: device.cloned().into_iter().collect(),
            host: "simulated".to_owned(),
            simulated: Some(self.machine.clone()),
        }
    }
}

/// The mounted file systems of a host.
pub struct SimFiles {
    pub clock: Arc<HostClock>,
    pub mounts: Vec<(PathBuf, Arc<Volume>)>,
}

impl SimFiles {
    fn mount_of(&self, path: &Path) -> Option<(&PathBuf, &Arc<Volume>)> {
        let mounts = self.mounts.iter().map(|(mount, volume)| (mount, volume));
        let mounts = mounts.filter(|(mount, _)| path.starts_with(mount));
        mounts.max_by_key(|(mount, _)| mount.as_os_str().len())
    }

    fn volume(&self, path: &Path) -> io::Result<&Arc<Volume>> {
        let found = self.mount_of(path);
        found
            .map(|(_, volume)| volume)
            .ok_or_else(|| error(Errno::NOENT))
    }

    /// Whether a file system is mounted there or below.
    fn is_above_mount(&self, path: &Path) -> bool {
        self.mounts.iter().any(|(mount, _)| mount.starts_with(path))
    }

    fn is_mount(&self, path: &Path) -> bool {
        self.mounts.iter().any(|(mount, _)| mount == path)
    }

    /// The volume of a new name, whose directory exists.
    fn volume_of_new(&self, path: &Path) -> io::Result<&Arc<Volume>> {
        let parent = path.parent().ok_or_else(|| error(Errno::EXIST))?;
        match self.entry(parent)? {
            Entry::Directory if !self.is_mount(path) => self.volume(parent),
            Entry::Directory => Err(error(Errno::EXIST)),
            _ => Err(error(Errno::NOTDIR)),
        }
    }

    fn opened(&self, volume: &Arc<Volume>, file: Option<u64>, how: How) -> Box<dyn OpenFile> {
        Box::new(SimFile {
            clock: Arc::clone(&self.clock),
            volume: Arc::clone(volume),
            file,
            dsync: how.dsync,
            is_locked: AtomicBool::new(false),
        })
    }
}

fn entry_of(name: Name) -> Entry {
    match name {
        Name::Directory => Entry::Directory,
        Name::File(_) => Entry::File,
    }
}

fn error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.raw_os_error())
}

impl FileSystem for SimFiles {
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        if self.is_above_mount(path) {
            return Ok(Entry::Directory);
        }
        Ok(entry_of(self.volume(path)?.entry(path)?))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<(String, Entry)>> {
        self.entry(directory)?;
        let found = self.volume(directory)?.list(directory).into_iter();
        Ok(found.map(|(name, kind)| (name, entry_of(kind))).collect())
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        if self.is_mount(path) {
            return Err(error(Errno::EXIST));
        }
        self.volume_of_new(path)?.create_directory(path)
    }

    fn open_directory(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        self.entry(path)?;
        match self.volume(path) {
            Ok(volume) => Ok(self.opened(volume, None, How::default())),
            // It is on the disk of the system, which is not simulated.
            Err(_) => Ok(Box::new(RootDirectory)),
        }
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn OpenFile>> {
        let existing = self.volume(path)?.entry(path);
        match (existing, how.creates) {
            (Ok(Name::File(file)), Creates::No | Creates::IfMissing) => {
                Ok(self.opened(self.volume(path)?, Some(file), how))
            }
            (Ok(Name::Directory), _) => Err(error(Errno::ISDIR)),
            (Ok(Name::File(_)), Creates::New) => Err(error(Errno::EXIST)),
            (Err(missing), Creates::No) => Err(missing),
            (Err(_), _) => {
                let volume = self.volume_of_new(path)?;
                let file = volume.create_file(path)?;
                Ok(self.opened(volume, Some(file), how))
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.volume(from)?.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.volume(path)?.remove(path, false)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.volume(path)?.remove(path, true)
    }

    fn is_same(&self, a: &Path, b: &Path) -> bool {
        let mount = |path| self.mount_of(path).map(|(mount, _)| mount);
        mount(a) == mount(b)
    }
}

/// An open file, or an open directory.
struct SimFile {
    clock: Arc<HostClock>,
    volume: Arc<Volume>,
    file: Option<u64>,
    dsync: bool,
    is_locked: AtomicBool,
}

impl SimFile {
    fn number(&self) -> io::Result<u64> {
        self.file.ok_or_else(|| error(Errno::ISDIR))
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.filter(|_| self.is_locked.load(Ordering::Relaxed)) {
            self.volume.unlock_file(file);
        }
    }
}

impl OpenFile for SimFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let file = self.number()?;
        self.volume.write(file, bytes, offset)?;
        if self.dsync {
            self.volume.sync(&*self.clock, file)?;
        }
        Ok(())
    }

    fn write_durable_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let file = self.number()?;
        self.volume.write_forced(&*self.clock, file, bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let file = self.number()?;
        self.volume.read(&*self.clock, file, buffer, offset)
    }

    fn sync_all(&self) -> io::Result<()> {
        match self.file {
            Some(file) => self.volume.sync(&*self.clock, file),
            None => self.volume.sync_names(&*self.clock),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.volume.allocate(self.number()?, bytes)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.volume.set_size(self.number()?, bytes)
    }

    fn len(&self) -> io::Result<Option<u64>> {
        Ok(self.file.map(|file| self.volume.size(file)))
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        let file = self.number().map_err(TryLockError::Error)?;
        if !self.volume.lock_file(file) {
            return Err(TryLockError::WouldBlock);
        }
        self.is_locked.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// A directory above the file systems, in which nothing changes.
struct RootDirectory;

impl OpenFile for RootDirectory {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(error(Errno::ISDIR))
    }

    fn write_durable_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(error(Errno::ISDIR))
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(error(Errno::ISDIR))
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, _: u64) -> io::Result<()> {
        Err(error(Errno::ISDIR))
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(error(Errno::ISDIR))
    }

    fn len(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        Ok(())
    }
}
