# Defines `memo COMMAND OPTION...`: it measures the node that the run is bound to, and prints the measures of its JSON.
policy=$(awk 'NR == 1 { print $2 }' /proc/self/numa_maps)
case $policy in
    bind:*[!0-9]* | *interleave*)
        echo "memo measures one node, and the policy is $policy: give --membind NODE" >&2
        exit 2
        ;;
    bind:*) node="--node ${policy#bind:}" ;;
    *) node= ;;
esac
memo() {
    json=$(mktemp) || exit 1
    command=$1
    shift
    "$WORKLOAD_TOOLS/cxlab-memo" "$command" --roi $node --seed "$((seed + 1))" --json "$json" "$@" >&2 || exit 1
    "$WORKLOAD_PYTHON" "$WORKLOAD_FOLDER/../memo_client/measures.py" "$command" "$json" || exit 1
}
