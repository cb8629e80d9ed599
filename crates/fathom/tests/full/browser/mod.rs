//! Chromium under the control of a test: its DevTools protocol over two pipes, <https://chromedevtools.github.io/devtools-protocol/>.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use fathom_testkit::Scratch;
use serde_json::{Value, json};

/// How long the browser may take for anything: a page of a busy machine takes seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page. It has one font, that of the pages, so that pictures are the same on every machine.
pub struct Browser {
    child: Child,
    commands: File,
    messages: Receiver<Value>,
    session: String,
    next: u64,
    /// Messages about the page that came while an answer was waited for.
    events: Vec<Value>,
}

impl Browser {
    /// Starts the first of the usual browsers that is installed; `None` if there is none, or it does not work.
    pub fn start(scratch: &Scratch) -> Option<Browser> {
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(|name| {
                Command::new(name)
                    .arg("--version")
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .is_ok_and(|status| status.success())
            })?;
        let place = |name: &str| scratch.path().join(name);
        fonts(&place("fonts"));
        let (to, from) = (place("to-browser"), place("from-browser"));
        let made = Command::new("mkfifo").args([&to, &from]).status();
        assert!(made.is_ok_and(|made| made.success()), "two pipes");
        // Open for both, so that neither side waits for the other one.
        let open = |path: &Path| {
            let file = OpenOptions::new().read(true).write(true).open(path);
            file.expect("a pipe")
        };
        let (commands, answers) = (open(&to), open(&from));
        let child = Command::new("sh")
            .args(["-c", "exec 3<\"$1\" 4>\"$2\"; shift 2; exec \"$@\"", "sh"])
            .args([&to, &from])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
                "--font-render-hinting=none",
                "--remote-debugging-pipe",
                // Whatever is asked of another host fails.
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ])
            .arg(format!("--user-data-dir={}", place("profile").display()))
            .arg("about:blank")
            .env("FONTCONFIG_FILE", place("fonts").join("fonts.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut answers = BufReader::new(answers);
            let mut message = Vec::new();
            while matches!(answers.read_until(0, &mut message), Ok(1..)) {
                message.pop();
                let parsed = serde_json::from_slice(&message).unwrap_or_default();
                if sender.send(parsed).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Browser {
            child,
            commands,
            messages,
            session: String::new(),
            next: 0,
            events: Vec::new(),
        };
        browser.ask("Browser.getVersion", &json!({})).ok()?;
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = browser.call(
            "Target.attachToTarget",
            &json!({ "targetId": target["targetId"], "flatten": true }),
        );
        attached["sessionId"]
            .as_str()
            .expect("a session")
            .clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Carries out a command of the protocol.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.ask(method, parameters)
            .unwrap_or_else(|problem| panic!("{method}: {problem}"))
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, String> {
        self.next += 1;
        let mut command = json!({ "id": self.next, "method": method, "params": parameters });
        if !self.session.is_empty() {
            command["sessionId"] = self.session.as_str().into();
        }
        self.commands
            .write_all(format!("{command}\0").as_bytes())
            .map_err(|error| error.to_string())?;
        loop {
            let message = self.message()?;
            if message["id"] != self.next {
                self.events.push(message);
            } else if message["error"].is_object() {
                return Err(message["error"].to_string());
            } else {
                return Ok(message["result"].clone());
            }
        }
    }

    fn message(&mut self) -> Result<Value, String> {
        self.messages
            .recv_timeout(PATIENCE)
            .map_err(|_| "the browser does not answer".to_owned())
    }

    /// Opens an address, and waits until the page and what it asked for is there and drawn. Returns the messages about it.
    pub fn visit(&mut self, address: &str) -> Vec<Value> {
        self.open(address);
        self.wait_for_load();
        self.wait_for_frames();
        std::mem::take(&mut self.events)
    }

    /// Opens an address.
    pub fn open(&mut self, address: &str) {
        self.events.clear();
        let opened = self.call("Page.navigate", &json!({ "url": address }));
        assert!(opened["errorText"].is_null(), "{address}: {opened}");
    }

    /// Waits until a page is loaded, counted from the last call of this or of [`Browser::visit`] on.
    pub fn wait_for_load(&mut self) {
        let mut seen = 0;
        loop {
            let found = self.events[seen..]
                .iter()
                .position(|event| event["method"] == "Page.loadEventFired");
            if let Some(at) = found {
                // What is loaded next is another event.
                self.events[seen + at]["method"] = "seen".into();
                return;
            }
            seen = self.events.len();
            let event = self.message().expect("the page is loaded");
            self.events.push(event);
        }
    }

    /// Waits until the page was painted twice: with everything that its scripts have changed until now.
    pub fn wait_for_frames(&mut self) {
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))",
        );
    }

    /// The value of an expression of JavaScript; that of a promise when it is kept.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let found = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }),
        );
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// Makes the page as wide and as high as this, in a light or a dark system.
    pub fn look(&mut self, width: u32, height: u32, dark: bool) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 }),
        );
        let value = if dark { "dark" } else { "light" };
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] }),
        );
    }

    /// The first screen of the page as PNG, at a scale.
    pub fn picture(&mut self, width: u32, height: u32, scale: f64) -> Vec<u8> {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": scale });
        let taken = self.call(
            "Page.captureScreenshot",
            &json!({ "format": "png", "clip": clip }),
        );
        BASE64
            .decode(taken["data"].as_str().expect("a picture"))
            .expect("base64")
    }

    /// How two pictures differ: the share of squares of 8 by 8 points whose mean brightness differs by more than a 25th, of those that are
    /// not background in both. 1 when they have different sizes. The page must be blank: its policy would refuse pictures from elsewhere.
    pub fn difference(&mut self, one: &[u8], other: &[u8]) -> f64 {
        let load = |bytes: &[u8]| {
            format!(
                "fetch('data:image/png;base64,{}').then(r => r.blob()).then(createImageBitmap)",
                BASE64.encode(bytes)
            )
        };
        let script = format!(
            "Promise.all([{}, {}]).then(all => {{
                const [w, h] = [all[0].width, all[0].height];
                if (w !== all[1].width || h !== all[1].height) return 1;
                const cells = all.map(picture => {{
                    const context = new OffscreenCanvas(w, h).getContext('2d');
                    context.drawImage(picture, 0, 0);
                    const data = context.getImageData(0, 0, w, h).data, sums = {{}};
                    for (let y = 0; y < h - h % 8; y++) for (let x = 0; x < w - w % 8; x++) {{
                        const at = 4 * (y * w + x), cell = (y >> 3) * 1000 + (x >> 3);
                        sums[cell] = (sums[cell] || 0) + (data[at] + data[at + 1] + data[at + 2]) / 3 / 64;
                    }}
                    return sums;
                }});
                const places = Object.keys(cells[0]), counts = {{}};
                places.forEach(place => {{ const at = Math.round(cells[0][place]); counts[at] = (counts[at] || 0) + 1; }});
                const back = Object.keys(counts).reduce((one, other) => counts[other] > counts[one] ? other : one);
                const used = places.filter(place => cells.some(all => Math.abs(all[place] - back) > 3));
                return used.filter(place => Math.abs(cells[0][place] - cells[1][place]) > 10.2).length / Math.max(1, used.length);
            }})",
            load(one),
            load(other)
        );
        self.evaluate(&script).as_f64().expect("a share")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The pages end with it, and with them what writes to the profile.
        let _ = self.ask("Browser.close", &json!({}));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory with the font that the pages name first, and with no other.
fn fonts(directory: &Path) {
    std::fs::create_dir(directory).expect("a directory");
    for (name, bytes) in [
        ("regular.ttf", notosans::REGULAR_TTF),
        ("bold.ttf", notosans::BOLD_TTF),
    ] {
        std::fs::write(directory.join(name), bytes).expect("a font");
    }
    let place = directory.display();
    std::fs::write(
        directory.join("fonts.conf"),
        format!("<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig><dir>{place}</dir><cachedir>{place}/cache</cachedir></fontconfig>\n"),
    )
    .expect("a file");
}
