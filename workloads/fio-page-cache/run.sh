# One fio fills the page cache as far as its reads go. A second one draws the same blocks, which hit, and then `reads` more:
# those are measured. fio's --randseed does not change what its Zipfian law draws.
cd "$(mktemp -d)" || exit 1
job="--name=job --filename=$WORKLOAD_DISK/file --readonly --rw=randread --ioengine=psync --bs=${block_kib}k
    --size=${file_mib}m --io_size=$((64 * file_mib))m --random_distribution=zipf:$theta --norandommap --invalidate=0
    --fadvise_hint=$advice --thread --randseed=$((seed + 1)) --clocksource=clock_gettime --disable_slat=1"
fio $job --number_ios="$primed" > primed.out || { cat primed.out >&2; exit 1; }
fio $job --number_ios="$((primed + reads))" --write_lat_log=job \
    --exec_prerun="$WORKLOAD_BUILD/program begin" --exec_postrun="$WORKLOAD_BUILD/program end" \
    > measured.out || { cat measured.out >&2; exit 1; }
# fio's own percentiles are of bins of 1.6 %; these are of each read. A read of the drive takes 85 us and more.
tail -n "$reads" job_clat.1.log | sort -n -t, -k2 | awk -F', *' -v reads="$reads" '
    { latency[NR] = $2; sum += $2; hits += $2 < 80000 }
    function rank(percent, at) { at = NR * percent / 100; at = at > int(at) ? int(at) + 1 : at; return latency[at] / 1000 }
    END {
        if (NR != reads) { print "fio logged " NR " of " reads " reads" > "/dev/stderr"; exit 1 }
        print "measure latency_p50", rank(50)
        print "measure latency_p99", rank(99)
        print "measure latency_mean", sum / NR / 1000
        print "measure hits", 100 * hits / NR
    }'
