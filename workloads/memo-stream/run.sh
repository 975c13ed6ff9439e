. "$WORKLOAD_FOLDER/../memo_client/memo.sh"
memo stream --size "${array_mib}MiB" --repeats 2
