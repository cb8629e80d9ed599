//! The fault device mounted for as long as its guard lives.

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

/// How a fault device is made.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// Size in bytes.
    pub size: u64,
    /// Name of the one file that is the device.
    pub name: String,
    /// Existing empty directory to mount on; `None` makes and removes one.
    pub mountpoint: Option<PathBuf>,
    /// Requests served at the same time: at least the deepest queue of the test.
    pub threads: u16,
    /// How long operations take at first.
    pub latency: Latency,
    /// Operations the log keeps at most.
    pub log_limit: usize,
}

impl Default for DeviceOptions {
    /// 64 MiB, named `device`, as deep as 64 requests, without latency.
    fn default() -> Self {
        DeviceOptions {
            size: 64 << 20,
            name: "device".into(),
            mountpoint: None,
            threads: 64,
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
    /// When the directory is not empty or already a mount, when FUSE is missing or refused, or
    /// when the kernel cannot run direct I/O asynchronously.
    pub fn mount(options: DeviceOptions) -> io::Result<Self> {
        let own = options
            .mountpoint
            .is_none()
            .then(Scratch::new)
            .transpose()?;
        let given = options.mountpoint.clone();
        let mountpoint = given.or_else(|| own.as_ref().map(|s| s.path().to_owned()));
        let mountpoint = mountpoint.expect("either given or made").canonicalize()?;
        refuse_unusable(&mountpoint)?;
        let core = Arc::new(Core::new(to_usize(options.size)?, options.log_limit));
        core.set_latency(options.latency);
        let fs = FaultFs::new(core.clone(), options.name.clone(), options.threads.max(1));
        let session = Session::new(fs, &mountpoint, &config(options.threads.max(1)))?;
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

    /// The file that is the device.
    pub fn path(&self) -> PathBuf {
        self.mountpoint.join(&self.name)
    }

    /// The directory it is mounted on.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// The file to which other processes write commands; reading it gives the counters.
    pub fn control_path(&self) -> PathBuf {
        self.mountpoint.join("control")
    }

    /// The file from which other processes read the operation log.
    pub fn log_path(&self) -> PathBuf {
        self.mountpoint.join("log")
    }

    /// Whether somebody else has unmounted it.
    pub fn is_unmounted(&self) -> bool {
        self.server.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Unmounts now and says why when that fails.
    ///
    /// # Errors
    /// When it stays busy for five seconds; it is then detached and goes with its last user.
    pub fn unmount(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(server) = self.server.take() else {
            return Ok(());
        };
        self.core.clear_faults();
        if !server.is_finished() {
            unmount_patiently(&self.mountpoint)?;
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
        // `unmount` reports errors; in a drop the mount is at least detached.
        let _ = self.close();
    }
}

fn to_usize(size: u64) -> io::Result<usize> {
    usize::try_from(size).map_err(|_| io::Error::other("the device does not fit into memory"))
}

fn config(threads: u16) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("fathom-fault-device".into()),
        MountOption::NoDev,
    ];
    // Only root may let others in without a change of /etc/fuse.conf.
    let is_root = rustix::process::geteuid().is_root();
    config.acl = if is_root {
        SessionACL::All
    } else {
        SessionACL::Owner
    };
    // One more than the queue, so that the control file answers while the device is full.
    config.n_threads = Some(usize::from(threads) + 1);
    config.clone_fd = true;
    config
}

/// The library unmounts by path once more when it ends; on a directory that is a mount already
/// that would take away what lies below ours.
fn refuse_unusable(mountpoint: &Path) -> io::Result<()> {
    let why = if is_mount(mountpoint)? {
        "is a mount already"
    } else if std::fs::read_dir(mountpoint)?.next().is_some() {
        "is not empty"
    } else {
        return Ok(());
    };
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("{} {why}; give an empty directory", mountpoint.display()),
    ))
}

/// Whether something is mounted on `path` (absolute, no symbolic links).
pub(crate) fn is_mount(path: &Path) -> io::Result<bool> {
    let table = std::fs::read_to_string("/proc/self/mountinfo")?;
    let path = path.to_string_lossy().replace(' ', "\\040");
    Ok(table
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(path.as_str())))
}

/// Unmounts, trying again while a request of an exited process keeps the mount busy.
pub(crate) fn unmount_patiently(mountpoint: &Path) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match unmount_once(mountpoint) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(e) => return Err(give_up(mountpoint, &e)),
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

fn give_up(mountpoint: &Path, why: &io::Error) -> io::Error {
    // Best effort: the error below is the news.
    let _ = unmount(mountpoint, UnmountFlags::DETACH);
    let place = mountpoint.display();
    io::Error::new(
        why.kind(),
        format!("cannot unmount {place}: {why}; detached it instead"),
    )
}
