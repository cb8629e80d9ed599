//! Help, version and shell completions.

use fathom_cli::{CompletionsArgs, HelpArgs, VersionArgs};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print, print_bytes};

/// `fathom help`.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: HelpArgs| match args.topic.as_deref() {
        None => Ok(program()),
        Some("compatibility") => Ok(print(&fathom_plan::compatibility())),
        Some(topic) => match fathom_cli::commands()
            .iter()
            .find(|spec| spec.name == topic)
        {
            Some(spec) => Ok(print(&fathom_cli::command_help(spec.name))),
            None => Err(no_topic(topic)),
        },
    })
}

fn no_topic(topic: &str) -> String {
    let names = fathom_cli::commands().iter().map(|spec| spec.name);
    let advice = match fathom_plan::closest(topic, names.chain(["compatibility"])) {
        Some(name) => format!("did you mean '{name}'?"),
        None => "`fathom help` lists the commands".to_owned(),
    };
    format!("no help for '{}': {advice}", topic.escape_debug())
}

/// `fathom --help`.
pub fn program() -> Outcome {
    print(&fathom_cli::program_help())
}

/// The help of `run`.
pub fn run() -> Outcome {
    print(&fathom_cli::command_help("run"))
}

/// Without arguments the help goes to standard error, and the exit code is that of a refused command.
pub fn no_arguments() -> Outcome {
    eprint_line!("{}", fathom_cli::program_help().trim_end());
    Outcome::Refused
}

/// `fathom version`.
pub fn version_command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: VersionArgs| Ok(version(args.verbose)))
}

/// Prints the version, with `verbose` also how this program was built.
pub fn version(verbose: bool) -> Outcome {
    let version = concat!("fathom ", env!("CARGO_PKG_VERSION"), "\n");
    if verbose {
        print(&format!("{version}{}", build_facts()))
    } else {
        print(version)
    }
}

/// The commit, the features and the build, one fact per line.
fn build_facts() -> String {
    let features = feature_facts(&[
        ("charts", cfg!(feature = "charts")),
        ("postgres", cfg!(feature = "postgres")),
        ("serve", cfg!(feature = "serve")),
        ("store", cfg!(feature = "store")),
        ("watch", cfg!(feature = "watch")),
    ]);
    let linking = if cfg!(target_feature = "crt-static") {
        "static"
    } else {
        "dynamic"
    };
    format!(
        "commit: {}\n{features}build: {}, {}, {linking}\ncompiler: {}\n",
        env!("FATHOM_BUILD_COMMIT"),
        env!("FATHOM_BUILD_PROFILE"),
        env!("FATHOM_BUILD_TARGET"),
        env!("FATHOM_BUILD_COMPILER"),
    )
}

/// The features of this build, and how to get those that it does not have.
fn feature_facts(features: &[(&str, bool)]) -> String {
    let with = |is_on: bool| -> Vec<&str> {
        let all = features.iter().filter(|(_, on)| *on == is_on);
        all.map(|(name, _)| *name).collect()
    };
    let (present, missing) = (with(true), with(false));
    let mut text = if present.is_empty() {
        "features: none\n".to_owned()
    } else {
        format!("features: {}\n", present.join(" "))
    };
    if !missing.is_empty() {
        text += &format!(
            "missing features: {}; build fathom with `cargo build --features {}`\n",
            missing.join(" "),
            missing.join(",")
        );
    }
    text
}

/// `fathom completions`.
pub fn completions(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: CompletionsArgs| {
        Ok(print_bytes(&fathom_cli::complete(args.shell)))
    })
}

/// A command that does not exist.
pub fn unknown(name: &str) -> Outcome {
    let is_file = std::path::Path::new(name).is_file();
    eprint_line!("fathom: {}", fathom_cli::unknown_command(name, is_file));
    Outcome::Refused
}

#[cfg(test)]
mod tests {
    use super::feature_facts;

    /// Regression 0595: `version --verbose` did not name the features that a build does not have.
    #[test]
    fn missing_features_are_named() {
        assert_eq!(
            feature_facts(&[("charts", true), ("store", true)]),
            "features: charts store\n"
        );
        assert_eq!(
            feature_facts(&[("charts", false), ("store", true), ("watch", false)]),
            "features: store\nmissing features: charts watch; build fathom with `cargo build --features charts,watch`\n"
        );
        assert!(feature_facts(&[("charts", false)]).starts_with("features: none\n"));
    }
}
