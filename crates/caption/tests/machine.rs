//! Nodes, weights, journal and lock against a temporary tree.

mod common;
#[path = "common/tree.rs"]
mod tree;

use common::share;
use cxlab_caption::actuator::{Actuator, ControlFile, Interleave};
use cxlab_caption::error::Error;
use cxlab_caption::journal::Journal;
use cxlab_caption::lock::Lock;
use cxlab_caption::root::Root;
use cxlab_caption::topology::{NodeSet, Topology};
use proptest::prelude::*;
use tree::{Tree, WEIGHTS};

fn detect(tree: &Tree) -> Topology {
    Topology::detect(&Root::at(tree.path()), None, None).unwrap()
}

#[test]
fn a_node_without_processors_is_cxl() {
    let tree = Tree::new("auto");
    assert_eq!(detect(&tree).to_string(), "DDR node0; CXL node1");
    tree.put("sys/devices/system/node/has_memory", "0-3");
    tree.put("sys/devices/system/node/has_cpu", "0-1");
    assert_eq!(detect(&tree).to_string(), "DDR node0, node1; CXL node2, node3");
    // node2 is HBM: the user says so, and it is neither.
    let named =
        Topology::detect(&Root::at(tree.path()), Some("0".parse().unwrap()), Some("3".parse().unwrap())).unwrap();
    assert_eq!(named.to_string(), "DDR node0; CXL node3");
}

#[test]
fn a_machine_that_cannot_be_steered_is_refused() {
    let tree = Tree::new("auto");
    let refused = |ddr: Option<&str>, cxl: Option<&str>| {
        let parse = |nodes: Option<&str>| nodes.map(|n| n.parse::<NodeSet>().unwrap());
        Topology::detect(&Root::at(tree.path()), parse(ddr), parse(cxl)).unwrap_err().to_string()
    };
    assert!(refused(None, Some("7")).contains("CAP031: node7 has no memory here. Nodes with memory: node0, node1"));
    assert!(refused(Some("0-1"), Some("1")).contains("node1 is named as DDR and as CXL"));
    tree.put("sys/devices/system/node/has_cpu", "0-1");
    assert!(refused(None, None).contains("none looks like CXL"));
    tree.put("sys/devices/system/node/has_memory", "0");
    assert!(refused(None, None).contains("CAP030: this machine has one memory node (node0)"));
}

/// 9.1 % is 10:1. Every write is there, and the old values come back in an order that ends with the flag.
#[test]
fn weights_are_written_and_both_names_of_the_flag_are_kept() {
    for auto in ["auto", "__auto_type"] {
        let tree = Tree::new(auto);
        let mut interleave = Interleave::new(&Root::at(tree.path()), detect(&tree), false).unwrap();
        let kept: Vec<String> = interleave.current().unwrap().iter().map(|a| a.to_string()).collect();
        assert!(
            kept[0].ends_with("node0 <- 9")
                && kept[1].ends_with("node1 <- 2")
                && kept[2].ends_with(&format!("{auto} <- true"))
        );
        let applied = interleave.apply(share(1.0 / 11.0)).unwrap();
        assert_eq!((tree.weights().as_str(), applied.placement.as_str()), ("10:1", "10:1"));
        assert_eq!(applied.writes.len(), 2);
        // The same again writes nothing.
        assert!(interleave.apply(share(1.0 / 11.0)).unwrap().writes.is_empty());
    }
}

/// sysfs has no 0 %: 255:1 is 1/256, and what was asked for is not claimed.
#[test]
fn the_ends_say_what_they_are() {
    let tree = Tree::new("auto");
    let mut actuator = Actuator::Interleave(Interleave::new(&Root::at(tree.path()), detect(&tree), false).unwrap());
    assert_eq!(actuator.apply(share(0.0)).unwrap().share, share(1.0 / 256.0));
    assert_eq!(tree.weights(), "255:1");
    assert_eq!(actuator.apply(share(1.0)).unwrap().share, share(255.0 / 256.0));
    assert_eq!(tree.weights(), "1:255");
}

#[test]
fn an_old_kernel_is_named() {
    let tree = Tree::new("auto");
    std::fs::remove_dir_all(tree.path().join(WEIGHTS)).unwrap();
    tree.put("proc/sys/kernel/osrelease", "6.1.0-25-amd64");
    let message = Interleave::new(&Root::at(tree.path()), detect(&tree), false).unwrap_err().to_string();
    assert!(message.contains("CAP033") && message.contains("Linux 6.9") && message.ends_with("this is 6.1.0-25-amd64"));
}

#[test]
fn the_journal_puts_back_what_it_holds_and_goes() {
    let tree = Tree::new("auto");
    let mut interleave = Interleave::new(&Root::at(tree.path()), detect(&tree), false).unwrap();
    std::fs::create_dir_all(tree.journal().parent().unwrap()).unwrap();
    Journal::new(interleave.current().unwrap()).save(&tree.journal()).unwrap();
    interleave.apply(share(0.5)).unwrap();
    tree.put(format!("{WEIGHTS}/auto"), "false");
    assert_eq!(tree.weights(), "1:1");
    assert!(Journal::restore(&tree.journal()).unwrap().is_some());
    assert_eq!((tree.weights(), tree.read(format!("{WEIGHTS}/auto"))), ("9:2".into(), "true".into()));
    assert!(!tree.journal().exists());
    assert!(Journal::restore(&tree.journal()).unwrap().is_none(), "nothing is left to restore");
}

/// A node that went away must not keep the others from coming back, and the journal stays for the person.
#[test]
fn a_restore_that_fails_keeps_the_journal() {
    let tree = Tree::new("auto");
    let mut interleave = Interleave::new(&Root::at(tree.path()), detect(&tree), false).unwrap();
    std::fs::create_dir_all(tree.journal().parent().unwrap()).unwrap();
    Journal::new(interleave.current().unwrap()).save(&tree.journal()).unwrap();
    interleave.apply(share(0.5)).unwrap();
    std::fs::remove_file(tree.path().join(WEIGHTS).join("node0")).unwrap();
    assert!(Journal::restore(&tree.journal()).unwrap_err().to_string().contains("node0"));
    assert_eq!(tree.read(format!("{WEIGHTS}/node1")), "2");
    assert!(tree.journal().exists());
}

#[test]
fn a_broken_journal_is_refused() {
    let tree = Tree::new("auto");
    for wrong in ["", "{}", r#"{"format":"other","process":1,"attributes":[]}"#] {
        tree.put("run/cxlab-caption/journal.json", wrong);
        assert!(Journal::restore(&tree.journal()).unwrap_err().to_string().contains("CAP041"));
    }
}

#[test]
fn a_second_lock_names_the_first() {
    let tree = Tree::new("auto");
    let first = Lock::take(&Root::at(tree.path())).unwrap();
    let refused = Lock::take(&Root::at(tree.path())).unwrap_err();
    assert!(matches!(&refused, Error::Locked { holder, .. } if *holder == std::process::id().to_string()), "{refused}");
    drop(first);
    Lock::take(&Root::at(tree.path())).unwrap();
}

#[test]
fn a_control_file_has_one_writer() {
    let tree = Tree::new("auto");
    let path = tree.path().join("control");
    let mut first = ControlFile::open(&path, &detect(&tree), false).unwrap();
    assert_eq!(first.apply(share(0.25)).unwrap().share, share(0.25));
    assert!(ControlFile::open(&path, &detect(&tree), false).unwrap_err().to_string().contains("CAP040"));
    // "CAPTION1", an even sequence, node0, node1, 250000 millionths.
    let words: Vec<u64> =
        std::fs::read(&path).unwrap().chunks(8).take(5).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
    assert_eq!((words[0].to_le_bytes(), words[1] % 2, &words[2..]), (*b"CAPTION1", 0, &[1, 2, 250_000][..]));
    drop(first);
    assert_eq!(std::fs::read(&path).unwrap()[16..40], [0; 24], "on exit the application is let go");
}

proptest! {
    /// The kernel's list format, there and back.
    #[test]
    fn node_lists(nodes in proptest::collection::btree_set(0..1024u32, 0..20)) {
        let text = nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let parsed: NodeSet = text.parse().unwrap();
        prop_assert_eq!(parsed.iter().collect::<Vec<_>>(), nodes.iter().copied().collect::<Vec<_>>());
        let bits = parsed.mask().iter().map(|word| word.count_ones()).sum::<u32>();
        prop_assert_eq!(bits as usize, nodes.len());
    }

    #[test]
    fn no_text_makes_a_node_list_panic(text in ".*") {
        let _ = text.parse::<NodeSet>();
    }
}

#[test]
fn ranges_of_nodes() {
    let nodes: NodeSet = "0-2,5\n".parse().unwrap();
    assert_eq!(nodes.iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
    assert_eq!(nodes.mask(), [0b10_0111]);
    for wrong in ["2-1", "x", "1-", "-1", "4294967295", "0-4294967295"] {
        assert!(wrong.parse::<NodeSet>().is_err(), "{wrong} was taken");
    }
}
