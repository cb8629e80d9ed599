//! The write cache of a device, as the kernel and as the device sees it.

/// The kernel's view. See `queue/write_cache` in Documentation/ABI/stable/sysfs-block of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelCache {
    /// There is a volatile cache: the kernel sends flushes.
    WriteBack,
    /// No volatile cache: the kernel sends no flush.
    WriteThrough,
}

/// Both views of the write cache, so that a disagreement can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheFacts {
    /// The kernel's view.
    pub kernel: Option<KernelCache>,
    /// The kernel uses forced unit access in place of a flush.
    pub kernel_fua: Option<bool>,
    /// The device has a volatile cache.
    pub device_has: Option<bool>,
    /// The device's volatile cache is switched on.
    pub device_on: Option<bool>,
    /// The device supports forced unit access.
    pub device_fua: Option<bool>,
    /// Source of the device's view: `NVMe identify`, `ATA identify`, `SCSI mode page 8`, `virtio`, `scsi_disk`.
    pub source: Option<&'static str>,
}

impl CacheFacts {
    /// The kernel sends no flush although the device reports a volatile cache that is on.
    #[must_use]
    pub fn flushes_withheld(&self) -> bool {
        self.kernel == Some(KernelCache::WriteThrough) && self.device_on == Some(true)
    }
}
