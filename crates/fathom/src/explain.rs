//! `fathom explain`: what a finding means.

use crate::outcome::Outcome;

/// Explains the codes given, or lists all.
pub fn command(codes: &[String]) -> Outcome {
    if codes.is_empty() {
        for one in fathom_analyse::EXPLANATIONS {
            println!("{:22} {}", one.code, one.means);
        }
        return Outcome::Good;
    }
    let mut outcome = Outcome::Good;
    for code in codes {
        match fathom_analyse::explain(&code.to_uppercase()) {
            Some(one) => println!("{}\n  {}\n  Why it matters: {}\n  What to do: {}", one.code, one.means, one.matters, one.remedy),
            None => {
                eprintln!("fathom explain: there is no finding '{}'; `fathom explain` lists them", code.escape_debug());
                outcome = Outcome::Refused;
            }
        }
    }
    outcome
}
