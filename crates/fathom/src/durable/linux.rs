//! This host: the system calls of the test.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fathom_durable::wire::NONCE;
use fathom_hosts::{Clock, system_clock};
use fathom_linux::inspect_target;
use fathom_model::DeviceFacts;
use fathom_tls::{Stream, Trust};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use crate::durable::recorder::MAX_SILENCE_TIME;
use crate::durable::world::{Creates, Description, Entry, FileSystem, How, OpenFile, Wire, World};

/// Time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// This host.
pub struct Linux {
    clock: Arc<dyn Clock>,
}

impl Linux {
    pub fn world() -> Arc<dyn World> {
        Arc::new(Linux {
            clock: system_clock(),
        })
    }
}

impl World for Linux {
    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn files(&self) -> &dyn FileSystem {
        &Files
    }

    fn random(&self) -> Result<[u8; NONCE], String> {
        random()
    }

    fn boot(&self) -> Result<String, String> {
        const FILE: &str = "/proc/sys/kernel/random/boot_id";
        std::fs::read_to_string(FILE)
            .map(|text| text.trim().to_owned())
            .map_err(|error| {
                format!("cannot read {FILE}, which shows whether the machine restarted: {error}")
            })
    }

    fn connect(&self, host: &str, trust: Option<&Trust>) -> Result<Box<dyn Wire>, String> {
        let fail = |error: &dyn std::fmt::Display| {
            format!(
                "cannot reach the recorder {host}: {error}; start `fathom durable record` there and check the address"
            )
        };
        let addresses = host.to_socket_addrs().map_err(|error| fail(&error))?;
        let mut last = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => return open(stream, host, trust),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or_else(|| fail(&"no address"), |error| fail(&error)))
    }

    fn is_interrupted(&self) -> bool {
        fathom_linux::interrupts().load(Ordering::Relaxed) > 0
    }

    fn describe(&self, path: &Path) -> Description {
        let target = inspect_target(path);
        let file_system = target.file_system.map_or_else(String::new, |facts| {
            format!("{} on {} ({})", facts.kind, facts.source, facts.options)
        });
        let devices = target.devices.iter();
        let devices = devices.map(|device| describe(&device.before));
        let kernel = |name: &str| {
            std::fs::read_to_string(format!("/proc/sys/kernel/{name}"))
                .map_or_else(|_| String::new(), |text| text.trim().to_owned())
        };
        Description {
            file_system,
            devices: devices.collect(),
            host: format!(
                "{}, {} {}",
                kernel("hostname"),
                kernel("ostype"),
                kernel("osrelease")
            ),
            simulated: None,
        }
    }
}

/// Random bytes of the kernel.
pub fn random() -> Result<[u8; NONCE], String> {
    let mut bytes = [0; NONCE];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| format!("cannot read random numbers from /dev/urandom: {error}"))?;
    Ok(bytes)
}

/// A connection that was made, with TLS if there is somebody to trust.
fn open(tcp: TcpStream, host: &str, trust: Option<&Trust>) -> Result<Box<dyn Wire>, String> {
    tcp.set_nodelay(true)
        .and_then(|()| tcp.set_read_timeout(Some(MAX_SILENCE_TIME)))
        .and_then(|()| tcp.set_write_timeout(Some(MAX_SILENCE_TIME)))
        .map_err(|error| format!("recorder {host}: {error}"))?;
    let Some(trust) = trust else {
        return Ok(Box::new(Stream::plain(tcp)));
    };
    let stream = Stream::client(tcp, trust).map_err(|error| {
        if trust.has_name() {
            format!("recorder {host}: {error}; compare --tls-ca and the name in --recorder with its certificate")
        } else {
            format!(
                "recorder {host}: {error}; compare --tls-fingerprint with what `fathom durable record --tls` printed"
            )
        }
    })?;
    Ok(Box::new(stream))
}

impl Wire for Stream {
    fn copy(&self) -> io::Result<Box<dyn Wire>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        Stream::set_read_timeout(self, time)
    }

    fn finish(&mut self) -> io::Result<()> {
        Stream::finish(self)
    }

    /// Whether the peer has another address than this machine has towards it.
    fn is_to_other_host(&self) -> bool {
        self.addresses()
            .is_ok_and(|(local, peer)| peer.ip() != local.ip())
    }
}

/// Name, identity and hypervisor of a device.
fn describe(device: &DeviceFacts) -> String {
    let identity = &device.identity;
    let parts = [
        identity.vendor.as_deref().map(str::to_owned),
        identity.model.as_deref().map(str::to_owned),
        identity
            .serial
            .as_ref()
            .map(|text| format!("serial {text}")),
        identity
            .firmware
            .as_ref()
            .map(|text| format!("firmware {text}")),
        device
            .hypervisor
            .as_ref()
            .map(|name| format!("provided by {name}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        device.name.clone()
    } else {
        format!("{}: {}", device.name, parts.join(", "))
    }
}

/// The files of this host.
struct Files;

impl FileSystem for Files {
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        std::fs::metadata(path).map(|facts| entry_of(facts.file_type()))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<(String, Entry)>> {
        let entries = std::fs::read_dir(directory)?;
        let entries = entries.map(|entry| {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Ok((name, entry_of(entry.file_type()?)))
        });
        entries.collect()
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o755).create(path)
    }

    fn open_directory(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(File::open(path)?))
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn OpenFile>> {
        if how.from_media {
            return open_to_read(path).map(|file| Box::new(file) as Box<dyn OpenFile>);
        }
        if how.read_only {
            return Ok(Box::new(File::open(path)?));
        }
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, how.direct);
        flags.set(fathom_linux::O_DSYNC, how.dsync);
        flags.set(OFlags::NOFOLLOW, how.creates != Creates::IfMissing);
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .mode(0o644)
            .custom_flags(flags.bits().cast_signed());
        match how.creates {
            Creates::No => {}
            Creates::New => {
                options.create_new(true);
            }
            Creates::IfMissing => {
                options.create(true);
            }
        }
        let file = options.open(path)?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn is_same(&self, a: &Path, b: &Path) -> bool {
        let device = |path: &Path| {
            let path = std::path::absolute(path).ok()?;
            path.ancestors()
                .find_map(|path| Some(std::fs::metadata(path).ok()?.dev()))
        };
        device(a) == device(b)
    }
}

fn entry_of(kind: std::fs::FileType) -> Entry {
    if kind.is_dir() {
        Entry::Directory
    } else if kind.is_file() {
        Entry::File
    } else {
        Entry::Other
    }
}

/// Direct I/O where the file system has it; otherwise the page cache is dropped first.
fn open_to_read(path: &Path) -> io::Result<File> {
    let open = |flags: OFlags| {
        OpenOptions::new()
            .read(true)
            .custom_flags((flags | OFlags::NOFOLLOW).bits().cast_signed())
            .open(path)
    };
    match open(OFlags::DIRECT) {
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            let file = open(OFlags::empty())?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
            Ok(file)
        }
        file => file,
    }
}

impl OpenFile for File {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    /// Short writes continue.
    fn write_durable_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let slices = [IoSlice::new(bytes)];
            match rustix::io::pwritev2(self, &slices, offset, ReadWriteFlags::DSYNC) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn sync_all(&self) -> io::Result<()> {
        File::sync_all(self)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(
            self,
            FallocateFlags::empty(),
            0,
            bytes,
        )?)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        File::set_len(self, bytes)
    }

    fn len(&self) -> io::Result<Option<u64>> {
        let facts = self.metadata()?;
        Ok(facts.is_file().then_some(facts.len()))
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        File::try_lock(self)
    }
}
