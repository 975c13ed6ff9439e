//! A program for the shim's tests: allocates, and prints how many KiB of its address space lie under each policy.
//!
//! `allocate large KIB` makes one request. `allocate follow KIB` makes one, waits for a line on standard input, and makes
//! another. `allocate small KIB` makes requests of 64 KiB and touches them.

use std::collections::BTreeMap;
use std::hint::black_box;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let kib: usize = arguments[2].parse().expect("KiB");
    let mut kept = Vec::new();
    match arguments[1].as_str() {
        "large" => kept.push(request(kib)),
        "follow" => {
            kept.push(request(kib));
            println!("{:?}", policies());
            std::io::stdin().read_line(&mut String::new()).expect("a line");
            kept.push(request(kib));
        }
        "small" => kept.extend((0..kib / 64).map(|_| vec![1; 64 << 10])),
        other => panic!("{other}: not large, follow or small"),
    }
    println!("{:?}", policies());
    black_box(kept);
}

/// Untouched: a zeroed vector is a calloc.
fn request(kib: usize) -> Vec<u8> {
    vec![0; kib << 10]
}

/// Policy to KiB of address space, from numa_maps (policies) and maps (sizes).
fn policies() -> BTreeMap<String, usize> {
    let sizes: BTreeMap<String, usize> =
        std::fs::read_to_string("/proc/self/maps").expect("maps").lines().map(size).collect();
    let mut kib = BTreeMap::new();
    for line in std::fs::read_to_string("/proc/self/numa_maps").expect("numa_maps").lines() {
        let (start, rest) = line.split_once(' ').expect("an address");
        let end = rest.find(" anon=").or(rest.find(" file=")).or(rest.find(" heap")).unwrap_or(rest.len());
        let start = start.trim_start_matches('0').to_string();
        *kib.entry(rest[..end].trim().to_string()).or_default() += sizes.get(&start).copied().unwrap_or(0);
    }
    kib
}

fn size(line: &str) -> (String, usize) {
    let (start, rest) = line.split_once('-').expect("a range");
    let end = rest.split(' ').next().expect("its end");
    let parse = |text| usize::from_str_radix(text, 16).expect("hexadecimal");
    (start.trim_start_matches('0').to_string(), (parse(end) - parse(start)) >> 10)
}
