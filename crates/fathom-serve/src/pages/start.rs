//! Runs that are started from the page, on the paths of `--allow-run` only: the job is written, then shown with what the guard
//! says, then started. Each step is a form with a secret that other sites do not know.

use super::answer as page_of;
use crate::answer::{Answer, Problem};
use crate::html::{Frame, Html};
use crate::job::job_file;
use crate::request::Request;
use crate::workers::Site;
use crate::{Starter, access};

/// What a form begins with.
const EXAMPLE: &str = "[reads]\nrw=randread\nbs=4k\niodepth=32\nioengine=io_uring\ndirect=1\nruntime=30\ntime_based\n";

pub(crate) fn page(site: &mut Site, request: &Request) -> Result<Answer, Problem> {
    let Some(starter) = site.settings.starter.clone() else {
        return Err(Problem::Missing(
            "Runs cannot be started here: `fathom serve --allow-run PATH` allows them on a path."
                .to_owned(),
        ));
    };
    let secret = site.settings.form_secret.clone();
    if !request.is_post {
        return Ok(form(&*starter, &secret, 0, EXAMPLE, ""));
    }
    if !access::is_same(request.get("secret"), &secret) {
        return Err(Problem::Forbidden(
            "The form is not one of this server's, or the server was started again since: load the page again."
                .to_owned(),
        ));
    }
    match request.get("act") {
        "check" => {
            let job = request.get("job").to_owned();
            let place = request.get("path").parse().unwrap_or(usize::MAX);
            let Some(path) = starter.paths().get(place).cloned() else {
                return Err(Problem::Bad(
                    "path: the number of an allowed path".to_owned(),
                ));
            };
            let checked =
                job_file(&job, &path).and_then(|file| Ok((starter.check(place, &file)?, file)));
            Ok(match checked {
                Ok((checked, file)) => confirmation(&secret, &file, &checked.key, &checked.text),
                Err(problem) => form(&*starter, &secret, place, &job, &problem).with_status(422),
            })
        }
        "start" => {
            starter.start(request.get("key")).map_err(Problem::Bad)?;
            Ok(see_other("/live"))
        }
        "stop" => {
            starter.stop().map_err(Problem::Bad)?;
            Ok(see_other("/start"))
        }
        _ => Err(Problem::Bad("act: check, start or stop".to_owned())),
    }
}

fn see_other(path: &str) -> Answer {
    Answer::new(crate::answer::HTML, "")
        .with_status(303)
        .with_header("location", path)
}

fn begin(html: &mut Html, secret: &str, act: &str) {
    html.raw("<form method=post action=\"/start\"><input type=hidden name=secret")
        .attribute("value", secret)
        .raw("><input type=hidden name=act")
        .attribute("value", act)
        .raw(">");
}

fn form(starter: &dyn Starter, secret: &str, place: usize, job: &str, problem: &str) -> Answer {
    let mut html = Html::default();
    html.raw("<h1>Start a run</h1>");
    if starter.is_running() {
        html.raw("<p role=status>A run that was started here is in progress: ")
            .link("/live", &[], "live figures")
            .raw(".</p>");
        begin(&mut html, secret, "stop");
        html.raw("<button class=do>End it now</button></form>");
    }
    if !problem.is_empty() {
        html.raw("<pre role=alert class=invalid>")
            .text(problem)
            .raw("</pre>");
    }
    begin(&mut html, secret, "check");
    html.raw("<p><label>On <select name=path>");
    for (number, path) in starter.paths().iter().enumerate() {
        html.raw("<option").attribute("value", &number.to_string());
        if number == place {
            html.raw(" selected");
        }
        html.raw(">").text(path).raw("</option>");
    }
    html.raw("</select></label></p><p><label class=job>Job file<textarea name=job rows=12 spellcheck=false>")
        .text(job)
        .raw("</textarea></label></p><p class=note>Only options of the load; the path is set by the choice above. A write that would destroy data can be confirmed on the command line only. Nothing is started yet.</p>\
              <p><button class=do>Check it</button></p></form>");
    answer(&html)
}

fn confirmation(secret: &str, file: &str, key: &str, text: &str) -> Answer {
    let mut html = Html::default();
    html.raw("<h1>Start this run?</h1><h2>The job file</h2><pre>")
        .text(file)
        .raw("</pre><h2>What it will do</h2><pre>")
        .text(text)
        .raw("</pre>");
    begin(&mut html, secret, "start");
    html.raw("<input type=hidden name=key")
        .attribute("value", key)
        .raw("><p><button class=do>Start it</button> ")
        .link("/start", &[], "Change it")
        .raw("</p></form>");
    answer(&html)
}

fn answer(html: &Html) -> Answer {
    let frame = Frame {
        title: "Start a run",
        current: "/live",
        ..Frame::default()
    };
    // Of this moment, with a secret: it is not kept.
    page_of(&frame, html).with_header("cache-control", "no-store")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CheckedJob;

    #[derive(Debug)]
    struct OnePath(Vec<String>);

    impl Starter for OnePath {
        fn paths(&self) -> &[String] {
            &self.0
        }
        fn check(&self, _: usize, _: &str) -> Result<CheckedJob, String> {
            Err("nothing is checked".to_owned())
        }
        fn start(&self, _: &str) -> Result<(), String> {
            Err("nothing is started".to_owned())
        }
        fn stop(&self) -> Result<(), String> {
            Ok(())
        }
        fn is_running(&self) -> bool {
            true
        }
    }

    /// The pages have the secret of the forms and the key of a job, which no cache may keep (RFC 9111, 5.2.2.5).
    #[test]
    fn pages_with_a_secret_are_not_stored() {
        let starter = OnePath(vec!["/data".to_owned()]);
        for page in [
            form(&starter, "a-secret", 0, EXAMPLE, ""),
            form(&starter, "a-secret", 0, EXAMPLE, "a mistake").with_status(422),
            confirmation("a-secret", "[reads]", "a-secret key", "reads of /data"),
        ] {
            let body = String::from_utf8_lossy(&page.body).into_owned();
            assert!(body.contains("value=\"a-secret\""), "{body}");
            let stored = ("cache-control", "no-store".to_owned());
            assert!(page.headers.contains(&stored), "{:?}", page.headers);
        }
    }
}
