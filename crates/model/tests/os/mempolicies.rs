//! Mempolicies: where first touches put pages (Linux, numa_memory_policy.rst).

use cxlab_model::apps::AppSpec;
use cxlab_model::os::{Mempolicy, Share};
use cxlab_model::study::{Session, StudySpec};

use super::system::{bind, capacity, process, study, weighted};

fn resident(mempolicy: Mempolicy, dram: u32, pages: u32) -> Vec<u64> {
    let process = process(AppSpec::Embedding {}, 1, pages, mempolicy);
    let spec = StudySpec { capacity: capacity(dram, 5000), ..study(vec![process]) };
    Session::new(&spec).unwrap_or_else(|error| panic!("{error}")).system().os().resident(0)
}

#[test]
fn pages_go_where_the_mempolicy_says() {
    let interleave = Mempolicy::Interleave { nodes: vec!["dram".into(), "cxl".into()] };
    assert_eq!(resident(Mempolicy::FirstTouch, 5000, 1000), [1000, 0]);
    assert_eq!(resident(bind("cxl"), 5000, 1000), [0, 1000]);
    assert_eq!(resident(Mempolicy::Preferred { node: "cxl".into() }, 5000, 1000), [0, 1000]);
    assert_eq!(resident(interleave, 5000, 1000), [500, 500]);
    assert_eq!(resident(weighted(3, 1), 5000, 1000), [750, 250]);
}

#[test]
fn what_does_not_fit_falls_back_to_the_other_node_above_the_least_watermark() {
    // 400 frames, of which 8 (one gap) stay free.
    assert_eq!(resident(Mempolicy::FirstTouch, 400, 1000), [392, 608]);
    assert_eq!(resident(weighted(1, 1), 400, 1000), [392, 608]);
}

#[test]
fn a_wrong_mempolicy_says_what_is_valid() {
    let share = |node: &str, weight| Share { node: node.into(), weight };
    for (mempolicy, wanted) in [
        (bind("remote"), "no node `remote` with pages; valid: dram, cxl"),
        (Mempolicy::Weighted { weights: vec![share("dram", 0)] }, "weight 0; valid: 1 to 255"),
        (Mempolicy::Weighted { weights: vec![share("dram", 1), share("dram", 1)] }, "one twice"),
        (Mempolicy::Interleave { nodes: vec![] }, "names no node"),
    ] {
        let spec = study(vec![process(AppSpec::Embedding {}, 1, 100, mempolicy)]);
        let message = Session::new(&spec).map(drop).unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
}
