"""Workloads that figures run, and the types of what they measure: a list with a value for each seed.

The names are those of each workload.toml. mypy finds a name that the type does not have. Reading finds a type
that differs from its workload.toml. A figure of another workload can hold a `Program` of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

#: A value for each seed.
Seeds: TypeAlias = list[float]
#: Measures of a workload whose rows name them, as those of validation/points.toml do.
ByName: TypeAlias = dict[str, Seeds]
M = TypeVar("M")


@dataclass(frozen=True)
class Program(Generic[M]):
    """A workload by its name, and the type of its measures."""

    name: str
    measures: type[M]


class RedisYcsb(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of redis-ycsb: operations a second, shares of memory [%], latency of an operation [us]."""

    throughput: Seeds
    spilled: Seeds
    away: Seeds
    latency_mean: Seeds
    latency_p50: Seeds
    latency_p99: Seeds


class RocksdbYcsb(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of rocksdb-ycsb: operations a second, lookups that miss [%], latency of an operation [us]."""

    throughput: Seeds
    misses: Seeds
    latency_mean: Seeds
    latency_p50: Seeds
    latency_p99: Seeds


class Embedding(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of embedding: queries a second, rows gathered [GB/s], the slowest thread's time [us]."""

    throughput: Seeds
    gathered: Seeds
    slowest_thread: Seeds


class LlamaDecode(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of llama-decode: tokens a second, what is read [GB/s], error of a log-probability."""

    tokens_per_second: Seeds
    read: Seeds
    error: Seeds


class Euler(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of euler: simulated time of a step [ms], cells a second."""

    time_per_step: Seeds
    cells_per_second: Seeds


class SocialNetwork(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of social-network: requests a second, the stores' memory [MiB], latency of a request [us]."""

    throughput: Seeds
    stores: Seeds
    latency_mean: Seeds
    latency_p50: Seeds
    latency_p99: Seeds


class FioPageCache(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of fio-page-cache: latency of a read [us], share of reads that the page cache answers [%]."""

    latency_p50: Seeds
    latency_p99: Seeds
    latency_mean: Seeds
    hits: Seeds


class DuckdbTpchDrive(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of duckdb-tpch-drive: times [ms], what the drive read [MB], memory [MB]."""

    total: Seeds
    geometric_mean: Seeds
    read: Seeds
    requests: Seeds
    footprint: Seeds


class PostgresqlTpch(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of postgresql-tpch: times [ms], what the drive read and what memory held [MB]."""

    elapsed: Seeds
    total: Seeds
    geometric_mean: Seeds
    read: Seeds
    requests: Seeds
    held: Seeds


class DuckdbTpchSpilled(Struct, frozen=True, forbid_unknown_fields=True):
    """Measures of duckdb-tpch-spilled: times [ms], memory and traffic of the drive [MB], pages [%]."""

    total: Seeds
    geometric_mean: Seeds
    working_set: Seeds
    read: Seeds
    written: Seeds
    away: Seeds


REDIS_YCSB = Program("redis-ycsb", RedisYcsb)
ROCKSDB_YCSB = Program("rocksdb-ycsb", RocksdbYcsb)
EMBEDDING = Program("embedding", Embedding)
LLAMA_DECODE = Program("llama-decode", LlamaDecode)
EULER = Program("euler", Euler)
SOCIAL_NETWORK = Program("social-network", SocialNetwork)
FIO_PAGE_CACHE = Program("fio-page-cache", FioPageCache)
DUCKDB_TPCH = Program("duckdb-tpch", ByName)
DUCKDB_TPCH_DRIVE = Program("duckdb-tpch-drive", DuckdbTpchDrive)
DUCKDB_TPCH_SPILLED = Program("duckdb-tpch-spilled", DuckdbTpchSpilled)
POSTGRESQL_TPCH = Program("postgresql-tpch", PostgresqlTpch)
LIBLINEAR_SVM = Program("liblinear-svm", ByName)
MEMO_LATENCY = Program("memo-latency", ByName)
MEMO_LOADED_LATENCY = Program("memo-loaded-latency", ByName)
MEMO_INSTRUCTIONS = Program("memo-instructions", ByName)
MEMO_STREAM = Program("memo-stream", ByName)
