"""What feedback is worth: executions until a fault is met, by libFuzzer from an empty corpus and with
everything drawn afresh each time. Prints the tables of docs/libfuzzer.md: values of generated kernels
with real faults, and with --cases whole cases under eager@cpp with planted ones.

    .venv/bin/python tests/kernels/trials.py --ulpfuzz build/ulpfuzz [--trials 10] [--runs 50000]
    .venv/bin/python tests/kernels/trials.py --cases --runs 600
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

# The program, and the kinds of faults that are passed over because they hide the one that is meant.
PROGRAMS = {
    "asinh": "",
    "erf": "",
    "remainder": "",
    "floor-divide": "nan-mismatch",
    "asinh-of-exp": "",
    "erf-of-difference": "",
    "atanh-of-product": "",
}
FAULTS = ["relu-plus-one", "ties-last", "saturate", "no-correction"]
CASES = {"libFuzzer": "", "drawn": "drawn"}
VALUES = {"libFuzzer": "", "normal": "normal", "bits": "bits"}


def kernels_of(ulpfuzz: Path, program: str, store: str) -> Path:
    """The folder of the program's kernels."""
    case = f"fuzz/targets/programs/{program}.json"
    command = [ulpfuzz, "fuzz", "--kernels", "--case", case, "--each", "1s", "--keep"]
    command += ["--no-reduce", "--seed", "1", "--store", f"{store}/{program}", "--json"]
    subprocess.run(command, check=False, capture_output=True)
    folder = Path(store, program, "kernels", "1-0")
    if not (folder / "kernels.so").exists():
        raise SystemExit(f"{program}: no kernels were made")
    return folder


def trial(fuzzer: Path, variables: dict[str, str], seed: int, runs: int) -> int | None:
    """Executions until it stopped; None where it did not."""
    environment = os.environ | variables | {"ASAN_OPTIONS": "detect_leaks=0"}
    with tempfile.TemporaryDirectory() as artifacts:
        command = [fuzzer, f"-runs={runs}", f"-seed={seed}", "-handle_fpe=0", "-timeout=600"]
        command += ["-print_final_stats=1", f"-artifact_prefix={artifacts}/"]
        command += ["-max_len=65536" if "ULPFUZZ_SYSTEMS" in variables else "-max_len=512"]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if ended.returncode == 0:
        return None
    found = re.search(r"number_of_executed_units: (\d+)", ended.stderr)
    if found is None or "ulpfuzz: " not in ended.stderr:
        raise SystemExit(ended.stderr[-2000:])
    return int(found[1])


def described(counts: list[int | None], runs: int) -> str:
    met = [n for n in counts if n is not None]
    median = statistics.median_high([runs + 1 if n is None else n for n in counts])
    return f"{len(met)} of {len(counts)}, " + (f"> {runs}" if median > runs else f"{median}")


def row(name: str, settings: list[dict[str, str]], fuzzer: Path, trials: int, runs: int) -> None:
    cells = []
    for variables in settings:
        counts = [trial(fuzzer, variables, seed, runs) for seed in range(1, trials + 1)]
        cells.append(described(counts, runs))
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def heading(first: str, columns: dict[str, str]) -> None:
    print(f"| {first} | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ulpfuzz", type=Path, default=Path("build/ulpfuzz"))
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--runs", type=int, default=50000)
    parser.add_argument("--only", default="", help="part of names")
    parser.add_argument("--cases", action="store_true")
    o = parser.parse_args()
    build = o.ulpfuzz.absolute().parent
    if o.cases:
        heading("fault", CASES)
        for fault in FAULTS:
            system = {"ULPFUZZ_SYSTEMS": f"eager@cpp[fault={fault}]"}
            settings = [system | {"ULPFUZZ_CASES": cases} for cases in CASES.values()]
            if o.only in fault:
                row(fault, settings, build / "fuzz_case", o.trials, o.runs)
        return
    heading("program", VALUES)
    with tempfile.TemporaryDirectory() as store:
        for program, passed in PROGRAMS.items():
            if o.only not in program:
                continue
            kernels = {"ULPFUZZ_KERNEL": str(kernels_of(o.ulpfuzz.absolute(), program, store))}
            settings = [
                kernels | {"ULPFUZZ_PASS": passed, "ULPFUZZ_VALUES": values}
                for values in VALUES.values()
            ]
            row(program, settings, build / "fuzz_kernel", o.trials, o.runs)


if __name__ == "__main__":
    main()
