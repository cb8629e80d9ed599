//! A Ceph cluster of one monitor and one OSD that keeps its objects in memory, on loopback.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use fathom_testkit::Scratch;

/// Ended when it is dropped.
pub struct Cluster {
    scratch: Scratch,
    monitor: Child,
    osd: Child,
}

/// Whether the programs of a cluster and its client are installed.
pub fn is_installed() -> bool {
    ["ceph-mon", "ceph-osd", "monmaptool", "ceph", "rbd"]
        .into_iter()
        .all(|name| {
            Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok()
        })
}

impl Cluster {
    /// Starts a cluster with the pool `pool`.
    pub fn start() -> Cluster {
        let scratch = Scratch::new().expect("a directory");
        let directory = scratch.path();
        for name in ["mon", "osd", "run"] {
            std::fs::create_dir(directory.join(name)).expect("a directory");
        }
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let fsid = std::fs::read_to_string("/proc/sys/kernel/random/uuid").expect("a uuid");
        let fsid = fsid.trim();
        let shown = directory.display();
        let configuration = format!(
            "[global]\nfsid = {fsid}\nmon host = [v2:127.0.0.1:{port}]\n\
             auth cluster required = none\nauth service required = none\nauth client required = none\n\
             public addr = 127.0.0.1\nmon allow pool size one = true\n\
             osd pool default size = 1\nosd pool default min size = 1\nosd crush chooseleaf type = 0\n\
             osd pool default pg autoscale mode = off\n\
             osd objectstore = memstore\nmemstore device bytes = 1073741824\nosd memory target = 939524096\n\
             mon data = {shown}/mon\nosd data = {shown}/osd\nrun dir = {shown}/run\ncrash dir = {shown}/run\n\
             admin socket = {shown}/run/$name.asok\npid file =\nlog file = {shown}/$name.log\n"
        );
        let path = directory.join("ceph.conf");
        std::fs::write(&path, configuration).expect("a configuration");
        let map = directory.join("monmap").display().to_string();
        let call = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let output = Command::new(words[0])
                .args(&words[1..])
                .env("CEPH_CONF", &path)
                .output()
                .expect("starts");
            assert!(output.status.success(), "{line}: {output:?}");
        };
        call(&format!(
            "monmaptool --create --fsid {fsid} --addv a [v2:127.0.0.1:{port}] {map}"
        ));
        call(&format!("ceph-mon --mkfs -i a --monmap {map}"));
        let monitor = daemon("ceph-mon", "a", &path);
        call("ceph --connect-timeout 30 osd create");
        call("ceph-osd -i 0 --mkfs");
        let osd = daemon("ceph-osd", "0", &path);
        let cluster = Cluster {
            scratch,
            monitor,
            osd,
        };
        call("ceph --connect-timeout 30 osd pool create pool 8");
        cluster
    }

    pub fn configuration(&self) -> PathBuf {
        self.scratch.join("ceph.conf")
    }

    /// Creates an empty image in the pool, and returns the options of a job that use it.
    pub fn create_image(&self, name: &str, size: &str) -> String {
        let output = self.rbd(&["create", "--size", size, &format!("pool/{name}")]);
        assert!(output.status.success(), "{output:?}");
        format!("--ioengine=rbd --clientname=admin --pool=pool --rbdname={name}")
    }

    /// All bytes of an image, as rbd(8) exports them.
    pub fn contents(&self, name: &str) -> Vec<u8> {
        let output = self.rbd(&["export", "--no-progress", &format!("pool/{name}"), "-"]);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    pub fn rbd(&self, arguments: &[&str]) -> Output {
        Command::new("rbd")
            .args(arguments)
            .env("CEPH_CONF", self.configuration())
            .output()
            .expect("rbd starts")
    }

    /// Ends the OSD: I/O on images hangs from now on.
    pub fn end_osd(&mut self) {
        end(&mut self.osd);
    }
}

/// A daemon in the foreground, which is a child of the test.
fn daemon(program: &str, id: &str, configuration: &Path) -> Child {
    Command::new(program)
        .args(["-f", "-i", id])
        .env("CEPH_CONF", configuration)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

fn end(daemon: &mut Child) {
    let _ = daemon.kill();
    let _ = daemon.wait();
}

impl Drop for Cluster {
    fn drop(&mut self) {
        end(&mut self.osd);
        end(&mut self.monitor);
    }
}
