//! `cxlab-marker begin` and `cxlab-marker end`: detail begins or ends here, for scripts.
//!
//! Outside of CXLab the program does nothing. A region holds the end of the first call and the start of the second.
//! Each is some ten thousand instructions, of the kernel's `exec` for the most part.

use std::process::ExitCode;

use cxlab_marker::{REGION_BEGIN, REGION_END, marker};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("begin"), None) => marker::<REGION_BEGIN>(),
        (Some("end"), None) => marker::<REGION_END>(),
        (given, _) => {
            eprintln!("cxlab-marker: `{}` is no marker; valid: begin, end", given.unwrap_or(""));
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
