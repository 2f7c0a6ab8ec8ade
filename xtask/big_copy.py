"""What `cargo xtask bench big_copy` measures: thirty million orders, 2 GiB of Parquet, into a Delta table, and DuckDB's copy of the same
file to Parquet, each in a limited memory. Both copies are compared with the file by another reader: rows, sums, and a digest of all values.

The work folder needs room for the file twice; what was made is removed at the end, but for `--keep`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Texts that hardly compress, so that a row takes some 70 bytes.
ROWS = """
SELECT i AS order_id,
       (i * 2654435761) % 4000037 AS customer_id,
       to_timestamp(1735689600 + (i * 7919) % 31536000) AS updated_at,
       ['open', 'paid', 'packed', 'shipped', 'returned'][((i * 31) % 5 + 1)::INTEGER] AS status,
       ['AT', 'BE', 'CH', 'CZ', 'DE', 'DK', 'ES', 'FI', 'FR'][((i * 13) % 9 + 1)::INTEGER] AS country,
       (1 + (i * 17) % 9) AS quantity,
       ((i * 104729) % 9999991) / 100.0::DOUBLE AS unit_price,
       CASE WHEN (i * 7) % 3 = 0 THEN (i % 40) / 100.0::DOUBLE END AS discount,
       CASE WHEN (i * 11) % 8 > 0 THEN 'ref ' || md5((i * 3)::VARCHAR) END AS note,
       substr(md5((i * 5)::VARCHAR), 1, 24) AS tracking
FROM range({n}) t(i)
"""

FLOW = """
name: copy
source: {{ format: parquet, path: {orders} }}
destination: {{ name: t, format: delta, path: {table}, load_type: append, write_options: {{ compression: snappy }} }}
limits: {{ load_memory_bytes: {memory} }}
"""

DIGEST = """
SELECT count(*), sum(order_id), sum(quantity), count(note), min(updated_at)::VARCHAR, max(updated_at)::VARCHAR,
       sum(hash(order_id, customer_id, epoch_us(updated_at), status, country, quantity, unit_price, discount, note, tracking)::HUGEINT)
FROM read_parquet({files})
"""

MIB = 1 << 20


def make(count, path):
    import duckdb

    whole = path.with_suffix(".part")
    duckdb.connect().execute(f"COPY ({ROWS.format(n=count)}) TO '{whole}' (FORMAT parquet, COMPRESSION snappy)")
    whole.rename(path)


def duckdb_copy(orders, copy, memory):
    import duckdb

    db = duckdb.connect()
    # Its own words for bytes; rows need not keep their order, which it cannot keep in so little memory with several threads.
    db.execute(f"SET memory_limit = '{memory}B'; SET preserve_insertion_order = false; SET temp_directory = '{copy}.tmp'")
    db.execute(f"COPY (FROM '{orders}') TO '{copy}' (FORMAT parquet, COMPRESSION snappy)")


def digest(files):
    import duckdb

    db = duckdb.connect()
    db.execute("SET threads = 2")
    return db.execute(DIGEST.format(files=[str(file) for file in files])).fetchall()[0]


def check(orders, *copies):
    """Each copy, a Parquet file or a Delta table, holds the rows of the file."""
    from deltalake import DeltaTable

    right = digest([orders])
    for copy in copies:
        files = DeltaTable(copy).file_uris() if Path(copy).is_dir() else [copy]
        found = digest(files)
        if found != right:
            sys.exit(f"{copy} is no copy: {found}, and {right} is right")
    print(f"  the same {right[0]:,} rows: sum of order_id {right[1]}, digest {right[-1]}")


class Limited:
    """A memory control group with a hard limit, where this machine lets us make one: what is in it is killed beyond."""

    def __init__(self, mib):
        root = Path("/sys/fs/cgroup")
        v1 = (root / "memory").is_dir()
        self.folder = (root / "memory" if v1 else root) / f"wasmhost-bench-{os.getpid()}"
        limit = "memory.limit_in_bytes" if v1 else "memory.max"
        try:
            self.folder.mkdir()
            (self.folder / limit).write_text(str(mib * MIB))
        except OSError as error:
            print(f"without a control group: {error}")
            self.folder = None

    def enter(self):
        if self.folder:
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        if self.folder:
            self.folder.rmdir()


def timed(command, mib):
    """Seconds of wall and CPU, and the peak resident memory in MiB, of a child in so much memory."""
    group = Limited(mib)
    begin = time.monotonic()
    child = subprocess.Popen(command, preexec_fn=group.enter)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    group.close()
    if status:
        sys.exit(f"{command} failed: {status}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure(wasmhost, work, args):
    work.mkdir(parents=True, exist_ok=True)
    orders = work / f"orders-{args.orders}.parquet"
    if not orders.exists():
        subprocess.run([sys.executable, __file__, "make", str(args.orders), str(orders)], check=True)
    size = orders.stat().st_size
    if shutil.disk_usage(work).free < 1.3 * size:
        sys.exit(f"{work} has no room for a copy of {size / MIB:,.0f} MiB")
    print(f"{args.orders:,} rows, {size / MIB:,.0f} MiB of Parquet; each process in a control group of {args.group_mib} MiB")
    memory = args.memory_mib * MIB
    table, copy = work / "table", work / "copy.parquet"
    file = work / "copy.yaml"
    file.write_text(FLOW.format(orders=orders, table=table, memory=memory))
    sides = {
        "wasmhost": (table, [str(wasmhost), "run", str(file), "--quiet"]),
        "duckdb": (copy, [sys.executable, __file__, "duckdb", str(orders), str(copy), str(memory)]),
    }
    print(f"{'':10}{'wall s':>8}{'CPU s':>8}{'MiB':>7}{'MiB/s':>8}{'Mrows/s':>9}")
    for side, (to, command) in sides.items():
        for _ in range(args.rounds):
            remove(to)
            # The file is in no cache that one side fills for the other.
            subprocess.run(["sync"], check=True)
            with orders.open("rb") as open_file:
                os.posix_fadvise(open_file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            wall, cpu, mib = timed(command, args.group_mib)
            print(f"{side:10}{wall:8.2f}{cpu:8.2f}{mib:7.0f}{size / MIB / wall:8.0f}{args.orders / wall / 1e6:9.2f}")
        subprocess.run([sys.executable, __file__, "check", str(orders), str(to)], check=True)
        remove(to)
    if not args.keep:
        remove(orders)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
        shutil.rmtree(f"{path}.tmp", ignore_errors=True)


def main():
    match sys.argv[1:]:
        case ["make", count, path]:
            make(int(count), Path(path))
        case ["duckdb", orders, copy, memory]:
            duckdb_copy(orders, copy, int(memory))
        case ["check", orders, *copies]:
            check(orders, *copies)
        case ["measure", wasmhost, work, *rest]:
            parser = argparse.ArgumentParser()
            parser.add_argument("--orders", type=int, default=30_000_000)
            parser.add_argument("--memory-mib", type=int, default=512, help="what each side may hold by its own account")
            parser.add_argument("--group-mib", type=int, default=512, help="what the kernel lets each process have")
            parser.add_argument("--rounds", type=int, default=1)
            parser.add_argument("--keep", action="store_true", help="leave the file for the next time")
            measure(Path(wasmhost), Path(work), parser.parse_args(rest))


if __name__ == "__main__":
    main()
