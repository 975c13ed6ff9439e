//! The old weights come back, whatever ends the controller; a second one is locked out.

use crate::harness::{eventually, is_alive, is_restored, kill, run_to_end, start};
use crate::tree::Tree;

#[test]
fn signals_that_ask_end_it_and_the_old_weights_are_back() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let tree = Tree::new("auto");
        let controller = start(&tree);
        let guardian = controller.guardian;
        controller.signal(signal);
        let (code, text) = controller.end();
        assert_eq!(code, Some(0), "{text}");
        assert!(is_restored(&tree) && text.contains("the old weights are restored"), "{text}");
        assert!(!is_alive(guardian), "the guardian outlives its controller");
    }
}

#[test]
fn after_kill_9_the_guardian_restores() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    let guardian = controller.guardian;
    controller.signal(libc::SIGKILL);
    assert!(eventually(|| is_restored(&tree)), "weights are {}", tree.weights());
    assert!(eventually(|| !is_alive(guardian)), "the guardian stays behind");
    let (_, text) = controller.end();
    assert!(text.contains("ended without restoring; restored"), "{text}");
}

/// ctrl-C goes to the whole foreground group, a nervous one again and again: the guardian must not be hit.
#[test]
fn the_guardian_is_in_a_group_of_its_own_and_swallows_signals() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    // SAFETY: asks for the group of a process that this test started.
    let group = unsafe { libc::getpgid(controller.guardian as i32) };
    assert_eq!(group, controller.guardian as i32);
    let swallows = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", controller.guardian)).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
        let caught = u64::from_str_radix(caught, 16).unwrap();
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].iter().all(|s| caught & (1 << (s - 1)) != 0)
    };
    assert!(eventually(swallows));
    kill(controller.guardian, libc::SIGTERM);
    controller.signal(libc::SIGKILL);
    assert!(eventually(|| is_restored(&tree)));
}

#[test]
fn after_both_are_killed_the_next_start_restores() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    kill(controller.guardian, libc::SIGKILL);
    controller.signal(libc::SIGKILL);
    controller.end();
    assert!(tree.journal().exists() && tree.weights() == "10:1");
    let next = start(&tree);
    next.signal(libc::SIGINT);
    let (code, text) = next.end();
    assert_eq!(code, Some(0));
    assert!(text.contains("had ended without restoring the weights; restored"), "{text}");
    assert!(
        is_restored(&tree),
        "the next one must not take the crashed one's weights for the old ones: {}",
        tree.weights()
    );
}

#[test]
fn after_both_are_killed_restore_restores() {
    let tree = Tree::new("auto");
    let controller = start(&tree);
    kill(controller.guardian, libc::SIGKILL);
    controller.signal(libc::SIGKILL);
    controller.end();
    let (output, _) = run_to_end(&tree, &["restore"]);
    assert!(output.status.success() && is_restored(&tree));
    let (output, _) = run_to_end(&tree, &["restore"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing to restore\n");
}

#[test]
fn a_second_controller_is_refused_and_touches_nothing() {
    let tree = Tree::new("auto");
    let first = start(&tree);
    for second in [&["run", "--stream", "-"][..], &["place", "3:1", "--", "true"], &["restore"]] {
        let (output, text) = run_to_end(&tree, second);
        assert_eq!(output.status.code(), Some(1));
        assert!(text.contains("CAP040") && text.contains(&format!("process {}", first.child.id())), "{text}");
        assert_eq!(tree.weights(), "10:1");
    }
    first.signal(libc::SIGINT);
    first.end();
    assert!(is_restored(&tree));
}
