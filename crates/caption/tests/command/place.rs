//! `place`: one program at a static share.

use crate::harness::{caption, has_weighted_interleave, is_restored, kill, run_to_end};
use crate::tree::{Tree, WEIGHTS};

#[test]
fn place_runs_a_program_on_the_ddr_nodes_and_gives_its_exit_code_on() {
    let tree = Tree::new("auto");
    let (output, text) =
        run_to_end(&tree, &["place", "1:0", "--", "sh", "-c", "grep -c ' bind:0 ' /proc/self/numa_maps >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert!(text.trim().parse::<u32>().unwrap() > 0, "no mapping is bound: {text}");
    let (output, _) = run_to_end(&tree, &["place", "1:0", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(128 + 9));
    assert!(is_restored(&tree), "no weight was touched");
}

/// On a kernel with mode 6 the program runs at 3:1; on an older one the refusal names it. Either way the weights come back.
#[test]
fn place_sets_weights_for_the_time_of_the_program() {
    let tree = Tree::new("auto");
    let node0 = tree.path().join(WEIGHTS).join("node0");
    let script = format!("cat {}; grep -c 'weighted interleave' /proc/self/numa_maps", node0.display());
    let (output, text) = run_to_end(&tree, &["place", "25%", "--", "sh", "-c", &script]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if has_weighted_interleave() {
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "3", "{said} {text}");
        assert!(lines[1].parse::<u32>().unwrap() > 0);
    } else {
        assert!(text.contains("CAP034") && text.contains("Linux 6.9"), "{text}");
    }
    assert!(is_restored(&tree));
}

/// SIGTERM is the program's to answer; the weights come back when it has.
#[test]
fn place_passes_sigterm_on() {
    let tree = Tree::new("auto");
    let mut child = caption(
        &tree,
        &["place", "1:0", "--", "sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done"],
    )
    .spawn()
    .unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    kill(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(3));
}
