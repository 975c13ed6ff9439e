//! `machine`: where memo runs.

use clap::Args;
use cxlab_memo::host::{Host, Node, Tree, caveats};
use cxlab_memo::isa::Isa;
use cxlab_memo::report::json;
use cxlab_memo::tsc::Tsc;
use cxlab_memo::{Result, list};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show this machine as memo sees it, and what makes figures unreliable here
#[derive(Args)]
pub struct Machine {
    /// Write it as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Machine {
    pub fn execute(self) -> Result<ExitCode> {
        let host = Host::read(&Tree::real())?;
        let tsc = Tsc::calibrate()?;
        let caveats = caveats(&host, &tsc, None);
        if let Some(path) = &self.json {
            let all = serde_json::json!({ "host": &host, "tsc": tsc, "caveats": &caveats });
            json::write_whole(path, format!("{all:#}\n").as_bytes())?;
        }
        println!("machine      {}", host.machine());
        println!("kernel       {}", host.kernel);
        println!("hypervisor   {}", host.hypervisor.as_deref().unwrap_or("none"));
        let cache = host.processor.last_level_cache.map_or("unknown".into(), |c| c.to_string());
        println!(
            "CPUs         {} online, last-level cache {cache}, SMT {}",
            host.processor.online,
            said(host.processor.smt)
        );
        println!("accesses     {}", Isa::detect().map_or_else(|e| e.to_string(), |isa| isa.to_string()));
        println!("clock        {:.6} GHz within {:.0} ppm, invariant: {}", tsc.hz / 1e9, tsc.spread_ppm, tsc.invariant);
        let governors = host.processor.governors.join(", ");
        println!("governors    {}", if governors.is_empty() { "none visible" } else { &governors });
        println!("turbo        {}", said(host.processor.turbo));
        println!("prefetchers  {}", prefetchers(&host));
        println!("huge pages   {}", host.transparent_huge_pages.as_deref().unwrap_or("unknown"));
        host.nodes.iter().for_each(print_node);
        if !caveats.is_empty() {
            println!("\nWhat makes figures unreliable here:");
            caveats.iter().for_each(|caveat| println!("  - {caveat}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn said(flag: Option<bool>) -> &'static str {
    match flag {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    }
}

fn prefetchers(host: &Host) -> String {
    let Some(all) = &host.prefetchers else { return "unknown".into() };
    all.iter().map(|p| format!("{} {}", p.name, said(Some(p.enabled)))).collect::<Vec<_>>().join(", ")
}

fn print_node(node: &Node) {
    let cpus = if node.cpus.is_empty() { "none".into() } else { list::write(&node.cpus) };
    let tier = node.tier.map_or("unknown".into(), |t| t.to_string());
    let distances: Vec<String> = node.distances.iter().map(u64::to_string).collect();
    let distances = distances.join(" ");
    println!(
        "node {:<7} CPUs {cpus}, {} ({} free), tier {tier}, distances {distances}",
        node.id, node.memory, node.free
    );
    for access in &node.hmat {
        let figure = |value: Option<u64>, unit| value.map_or("unknown".into(), |v| format!("{v} {unit}"));
        println!(
            "             HMAT access class {}: read {} {}, write {} {}",
            access.class,
            figure(access.read_latency_ns, "ns"),
            figure(access.read_bandwidth_mb_s, "MB/s"),
            figure(access.write_latency_ns, "ns"),
            figure(access.write_bandwidth_mb_s, "MB/s")
        );
    }
}
