//! The facts of `data/` are compiled in: a change there is a change here.

fn main() {
    println!("cargo::rerun-if-changed=../../data");
}
