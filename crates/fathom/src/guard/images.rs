//! Images of a Ceph cluster as targets: what they contain, and whether a plan may overwrite them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fathom_device::DestroyCode;
use fathom_linux::{ImageFacts, examine_image};
use fathom_load::TargetAccess;
use fathom_model::format::size as size_text;
use fathom_model::{Bytes, Plan};

/// The images of a plan, by their names as targets.
pub type Images = BTreeMap<PathBuf, ImageFacts>;

/// Examines each image of `plan` once.
///
/// # Errors
/// Every image that cannot be examined.
pub fn examine_images(plan: &Plan) -> Result<Images, Vec<String>> {
    let mut images = Images::new();
    let mut failed = BTreeSet::new();
    for image in plan
        .jobs
        .iter()
        .filter_map(|job| job.engine.settings.rbd.as_ref())
    {
        let target = PathBuf::from(image.target());
        if images.contains_key(&target) {
            continue;
        }
        match examine_image(image) {
            Ok(facts) => drop(images.insert(target, facts)),
            Err(error) => drop(failed.insert(error.to_string())),
        }
    }
    if failed.is_empty() {
        Ok(images)
    } else {
        Err(failed.into_iter().collect())
    }
}

/// Whether this access is allowed: an image that contains data is only written with its code.
///
/// # Errors
/// Why not, and the code.
pub fn judge_image(
    access: &TargetAccess,
    facts: &ImageFacts,
    codes: &[DestroyCode],
) -> Result<(), String> {
    let target = access.path.display();
    if access.range.1 > facts.size {
        return Err(format!(
            "{target}: the job ends at byte {}, the image at {}; reduce size= or offset=",
            access.range.1, facts.size
        ));
    }
    let code = code(facts);
    if !(access.writes || access.trims) || facts.used == 0 || codes.contains(&code) {
        return Ok(());
    }
    Err(format!(
        "{target}: the image contains data ({} of {} are in use), which the job would overwrite; only read from it, name an \
         empty image, or, if all of its data may be destroyed, add --destroy={code}",
        size_text(Bytes::new(facts.used)),
        size_text(Bytes::new(facts.size)),
    ))
}

/// What the job would do to an image, for `--dry-run`.
pub fn describe_image(access: &TargetAccess, facts: &ImageFacts) -> String {
    let verbs: Vec<&str> = [
        (access.reads, "read"),
        (access.writes, "overwrite"),
        (access.trims, "discard"),
    ]
    .into_iter()
    .filter_map(|(does, word)| does.then_some(word))
    .collect();
    let (start, end) = access.range;
    format!(
        "{}: image of {} in a Ceph cluster, {} in use\n  would {} bytes {start} to {end} ({})\n",
        access.path.display(),
        size_text(Bytes::new(facts.size)),
        size_text(Bytes::new(facts.used)),
        verbs.join(", "),
        size_text(Bytes::new(end - start)),
    )
}

fn code(facts: &ImageFacts) -> DestroyCode {
    let (cluster, image) = &facts.identity;
    DestroyCode::of_image((cluster, image), facts.size, facts.used, &facts.samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(used: u64) -> ImageFacts {
        ImageFacts {
            size: 1 << 30,
            used,
            identity: ("cluster".to_owned(), "image".to_owned()),
            samples: [7; 32],
        }
    }

    fn access(writes: bool, end: u64) -> TargetAccess {
        TargetAccess {
            path: PathBuf::from("rbd:pool/image"),
            range: (0, end),
            reads: !writes,
            writes,
            trims: false,
            size: 0,
        }
    }

    #[test]
    fn data_is_overwritten_only_with_the_code_of_its_present_state() {
        let used = facts(4 << 20);
        assert_eq!(judge_image(&access(true, 4096), &facts(0), &[]), Ok(()));
        assert_eq!(judge_image(&access(false, 4096), &used, &[]), Ok(()));
        let refusal = judge_image(&access(true, 4096), &used, &[]).expect_err("it has data");
        assert!(refusal.contains("4 MiB of 1 GiB"), "{refusal}");
        let (_, code) = refusal.rsplit_once("--destroy=").expect("names the code");
        let code: DestroyCode = code.parse().expect("a code");
        assert_eq!(judge_image(&access(true, 4096), &used, &[code]), Ok(()));
        let changed = facts(8 << 20);
        assert!(judge_image(&access(true, 4096), &changed, &[code]).is_err());
    }

    #[test]
    fn nothing_is_accessed_past_the_end() {
        let refusal = judge_image(&access(false, (1 << 30) + 1), &facts(0), &[]);
        assert!(refusal.is_err_and(|text| text.contains("the image at 1073741824")));
    }
}
