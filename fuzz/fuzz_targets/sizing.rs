#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fathom_fuzz::within_a_second(fathom_fuzz::sizing, bytes));
