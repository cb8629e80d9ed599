//! The fault device, mounted while its guard exists.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fuser::{Config, MountOption, Session, SessionACL};
use rustix::mount::{UnmountFlags, unmount};

use crate::core::{Core, Latency};
use crate::fusefs::FaultFs;
use crate::scratch::Scratch;

/// Threads that receive requests.
const SERVER_THREADS: usize = 2;

/// The options of a fault device.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// Size in bytes.
    pub size: u64,
    /// Name of the file that represents the device.
    pub name: String,
    /// Existing empty directory to mount on; `None` creates and removes one.
    pub mountpoint: Option<PathBuf>,
    /// Initial latency of operations.
    pub latency: Latency,
    /// Maximum number of operations in the log.
    pub log_limit: usize,
}

impl Default for DeviceOptions {
    /// 64 MiB, named `device`, without latency.
    fn default() -> Self {
        DeviceOptions {
            size: 64 << 20,
            name: "device".into(),
            mountpoint: None,
            latency: Latency::default(),
            log_limit: 1 << 20,
        }
    }
}

/// A mounted fault device; dropping it unmounts and waits until the mount is gone.
///
/// It dereferences to its [`Core`], which arms faults, takes snapshots and keeps the log.
#[derive(Debug)]
pub struct FaultDevice {
    core: Arc<Core>,
    mountpoint: PathBuf,
    name: String,
    server: Option<JoinHandle<io::Result<()>>>,
    _own_directory: Option<Scratch>,
}

impl FaultDevice {
    /// Mounts a device.
    ///
    /// # Errors
    /// If the directory is not empty or is already a mount point, if FUSE is missing or refused, or
    /// if the kernel cannot run direct I/O asynchronously.
    pub fn mount(options: DeviceOptions) -> io::Result<Self> {
        Self::mount_after(options, |_| Ok(()))
    }

    /// As [`FaultDevice::mount`], after `prepare`, so that no operation precedes what it sets.
    ///
    /// # Errors
    /// Those of [`FaultDevice::mount`] and of `prepare`.
    pub fn mount_after(
        options: DeviceOptions,
        prepare: impl FnOnce(&Core) -> io::Result<()>,
    ) -> io::Result<Self> {
        let own = options
            .mountpoint
            .is_none()
            .then(Scratch::new)
            .transpose()?;
        let given = options.mountpoint.clone();
        let mountpoint = given.or_else(|| own.as_ref().map(|s| s.path().to_owned()));
        let mountpoint = mountpoint
            .expect("either given or created")
            .canonicalize()?;
        refuse_unusable(&mountpoint)?;
        let core = Arc::new(Core::new(to_usize(options.size)?, options.log_limit));
        core.set_latency(options.latency);
        prepare(&core)?;
        let fs = FaultFs::new(core.clone(), options.name.clone())?;
        let session = Session::new(fs, &mountpoint, &config())?;
        let server = std::thread::Builder::new().name("fault-device".into());
        let server = Some(server.spawn(move || session.run())?);
        Ok(FaultDevice {
            core,
            mountpoint,
            name: options.name,
            server,
            _own_directory: own,
        })
    }

    /// The path of the device file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.mountpoint.join(&self.name)
    }

    /// The directory on which it is mounted.
    #[must_use]
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// The file to which other processes write commands; reading it returns the counters.
    #[must_use]
    pub fn control_path(&self) -> PathBuf {
        self.mountpoint.join("control")
    }

    /// The file from which other processes read the operation log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.mountpoint.join("log")
    }

    /// Whether something else has unmounted it.
    pub fn is_unmounted(&self) -> bool {
        self.server.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Unmounts now and reports an error.
    ///
    /// # Errors
    /// If it is busy for five seconds; it is then detached and disappears with its last user.
    pub fn unmount(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(server) = self.server.take() else {
            return Ok(());
        };
        self.core.clear_faults();
        if !server.is_finished() {
            unmount_with_retries(&self.mountpoint)?;
        }
        let ended = server
            .join()
            .map_err(|_| io::Error::other("the fault device panicked"))?;
        ended.map_err(|e| io::Error::new(e.kind(), format!("the fault device ended with: {e}")))
    }
}

impl std::ops::Deref for FaultDevice {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Drop for FaultDevice {
    fn drop(&mut self) {
        // `unmount` reports errors; a drop at least detaches the mount.
        let _ = self.close();
    }
}

fn to_usize(size: u64) -> io::Result<usize> {
    usize::try_from(size).map_err(|_| io::Error::other("the device does not fit into memory"))
}

fn config() -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("fathom-fault-device".into()),
        MountOption::NoDev,
    ];
    // Only root may allow access to others without a change of /etc/fuse.conf.
    let is_root = rustix::process::geteuid().is_root();
    config.acl = if is_root {
        SessionACL::All
    } else {
        SessionACL::Owner
    };
    // None of them waits for a request, and the library fills a buffer of 16 MiB for each.
    config.n_threads = Some(SERVER_THREADS);
    config.clone_fd = true;
    config
}

/// The library unmounts by path again when it ends; on a directory that is already a mount point,
/// that would unmount the file system below this one.
fn refuse_unusable(mountpoint: &Path) -> io::Result<()> {
    let why = if is_mount(mountpoint)? {
        "is already a mount point"
    } else if std::fs::read_dir(mountpoint)?.next().is_some() {
        "is not empty"
    } else {
        return Ok(());
    };
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("{} {why}; use an empty directory", mountpoint.display()),
    ))
}

/// Whether a file system is mounted on `path` (absolute, no symbolic links).
pub(crate) fn is_mount(path: &Path) -> io::Result<bool> {
    let table = std::fs::read_to_string("/proc/self/mountinfo")?;
    let path = path.to_string_lossy().replace(' ', "\\040");
    Ok(table
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(path.as_str())))
}

/// Unmounts, with retries while a request of an exited process keeps the mount busy.
pub(crate) fn unmount_with_retries(mountpoint: &Path) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match unmount_once(mountpoint) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(e) => return Err(detach(mountpoint, &e)),
            Ok(()) => return Ok(()),
        }
    }
}

fn unmount_once(mountpoint: &Path) -> io::Result<()> {
    match unmount(mountpoint, UnmountFlags::empty()) {
        Err(rustix::io::Errno::PERM) => fusermount(mountpoint),
        done => Ok(done?),
    }
}

fn fusermount(mountpoint: &Path) -> io::Result<()> {
    let output = Command::new("fusermount3")
        .arg("-u")
        .arg(mountpoint)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else if text.contains("busy") {
        Err(io::ErrorKind::ResourceBusy.into())
    } else {
        Err(io::Error::other(text.into_owned()))
    }
}

fn detach(mountpoint: &Path, why: &io::Error) -> io::Error {
    // Best effort: the error below is reported.
    let _ = unmount(mountpoint, UnmountFlags::DETACH);
    let path = mountpoint.display();
    io::Error::new(
        why.kind(),
        format!("cannot unmount {path}: {why}; detached it instead"),
    )
}
