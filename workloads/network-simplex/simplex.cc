/* Minimum-cost flow by the network simplex of LEMON: each thread solves a problem of its own, as copies of SPEC's rate do.
 *
 *   simplex NODES ARCS SEED SOLVES     prints the time of SOLVES solutions
 *
 * A problem is a ring of dear arcs, so that it can be solved, and random arcs with a cost and a capacity. Half of the nodes
 * send what the other half takes. The program checks what proves a flow to be the cheapest: nodes keep nothing, no arc
 * carries more than it may, and an arc that would save is full, one that would cost is empty (complementary slackness).
 * OMP_NUM_THREADS threads. Source: R. Ahuja, T. Magnanti, J. Orlin, Network Flows (1993), chapters 9 and 11. */
#include "cxlab/marker.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>
#include <omp.h>

using Graph = lemon::SmartDigraph;
using Simplex = lemon::NetworkSimplex<Graph, int, int64_t>;

/* Laws of the numbers that a problem is drawn from. */
constexpr int DEAREST = 1000, WIDEST = 100, MOST_SENT = 40;

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
class Draws {
  public:
    explicit Draws(uint64_t seed) : state(seed) {}
    int below(int bound) {
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<int>(((z ^ (z >> 31)) >> 33) % static_cast<uint64_t>(bound));
    }

  private:
    uint64_t state;
};

struct Problem {
    Graph graph;
    Graph::ArcMap<int> capacity, cost_of;
    Graph::NodeMap<int> supply;

    Problem(int nodes, int arcs, uint64_t seed) : capacity(graph), cost_of(graph), supply(graph, 0) {
        Draws draws(seed);
        std::vector<Graph::Node> all;
        graph.reserveNode(nodes);
        graph.reserveArc(arcs);
        for (int place = 0; place < nodes; place++)
            all.push_back(graph.addNode());
        const int total = nodes * MOST_SENT;
        for (int place = 0; place < nodes; place++)
            join(all[place], all[(place + 1) % nodes], total, DEAREST * 10);
        for (int number = nodes; number < arcs; number++)
            join_at_random(all, draws);
        for (int place = 0; place < nodes / 2; place++) {
            const int sent = 1 + draws.below(MOST_SENT);
            supply[all[place]] += sent;
            supply[all[nodes / 2 + draws.below(nodes / 2)]] -= sent;
        }
    }

    void join_at_random(const std::vector<Graph::Node> &all, Draws &draws) {
        const int nodes = static_cast<int>(all.size());
        const int from = draws.below(nodes), to = draws.below(nodes);
        const int wide = 1 + draws.below(WIDEST), cost = 1 + draws.below(DEAREST);
        join(all[from], all[to], wide, cost);
    }

    void join(Graph::Node from, Graph::Node to, int wide, int cost) {
        const Graph::Arc arc = graph.addArc(from, to);
        capacity[arc] = wide;
        cost_of[arc] = cost;
    }

    bool proves(const Simplex &simplex) const {
        Graph::NodeMap<int64_t> left(graph, 0);
        for (Graph::ArcIt arc(graph); arc != lemon::INVALID; ++arc) {
            const int flow = simplex.flow(arc);
            const Graph::Node from = graph.source(arc), to = graph.target(arc);
            const int64_t reduced = cost_of[arc] + simplex.potential(from) - simplex.potential(to);
            if (flow < 0 || flow > capacity[arc] || (reduced > 0 && flow != 0) || (reduced < 0 && flow != capacity[arc]))
                return false;
            left[from] += flow;
            left[to] -= flow;
        }
        for (Graph::NodeIt node(graph); node != lemon::INVALID; ++node)
            if (left[node] != supply[node])
                return false;
        return true;
    }
};

static double seconds() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

int main(int argc, char **argv) {
    const int nodes = argc == 5 ? std::atoi(argv[1]) : 0, arcs = argc == 5 ? std::atoi(argv[2]) : 0;
    const long solves = argc == 5 ? std::atol(argv[4]) : 0;
    if (nodes < 4 || nodes > 10'000'000 || arcs < nodes || solves < 1) {
        std::fputs("simplex: NODES ARCS SEED SOLVES; 4 to 10,000,000 nodes, and no fewer arcs than nodes\n", stderr);
        return 2;
    }
    const int threads = omp_get_max_threads();
    std::vector<Problem *> problems(threads);
    std::vector<Simplex *> solvers(threads);
    std::vector<char> right(threads, 0);
#pragma omp parallel
    {
        const int own = omp_get_thread_num();
        const uint64_t seed = std::strtoull(argv[3], nullptr, 0) * 1000 + static_cast<uint64_t>(own);
        Problem *problem = problems[own] = new Problem(nodes, arcs, seed);
        solvers[own] = new Simplex(problem->graph);
        solvers[own]->upperMap(problem->capacity).costMap(problem->cost_of).supplyMap(problem->supply);
    }
    CXLAB_REGION_BEGIN;
    const double begun = seconds();
#pragma omp parallel
    {
        const int own = omp_get_thread_num();
        bool solved = true;
        for (long number = 0; number < solves; number++)
            solved = solvers[own]->run() == Simplex::OPTIMAL && solved;
        right[own] = solved;
    }
    const double taken = seconds() - begun;
    CXLAB_REGION_END;
    int64_t cost = 0;
    for (int own = 0; own < threads; own++) {
        if (!right[own] || !problems[own]->proves(*solvers[own])) {
            std::fputs("simplex: the flow is not the cheapest\n", stderr);
            return 1;
        }
        cost += solvers[own]->totalCost();
    }
    std::printf("# cost %lld\n", static_cast<long long>(cost));
    std::printf("measure time_per_solution %.9g\n", taken / static_cast<double>(solves) * 1e3);
    std::printf("measure solutions_per_second %.9g\n", static_cast<double>(threads * solves) / taken);
    return 0;
}
