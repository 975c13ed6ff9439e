#!/bin/sh
# A server without clients: loads its values, says that it is ready, serves three rounds, then waits for ever.
loaded=0
while [ $loaded -lt 2000 ]; do loaded=$((loaded + 1)); done
echo "loaded $loaded values"
echo "ready"
for round in 1 2 3; do
    served=0
    while [ $served -lt 500 ]; do served=$((served + 1)); done
    echo "round $round done"
done
sleep 1000
