//! Prepares the chart script where charts are built in.

#[cfg(feature = "draw")]
#[path = "build/script.rs"]
mod script;

fn main() {
    #[cfg(feature = "draw")]
    script::main();
}
