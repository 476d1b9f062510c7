"""What feedback is worth: executions until a fault of a generated kernel is met, by libFuzzer from an
empty corpus and by values drawn afresh each time. Prints the table of docs/libfuzzer.md.

    .venv/bin/python tests/kernels/trials.py --ulpfuzz build/ulpfuzz [--trials 10] [--runs 50000]
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


def trial(fuzzer: Path, folder: Path, passed: str, values: str, seed: int, runs: int) -> int | None:
    """Executions until it stopped; None where it did not."""
    environment = os.environ | {"ULPFUZZ_KERNEL": str(folder), "ULPFUZZ_PASS": passed}
    environment |= {"ASAN_OPTIONS": "detect_leaks=0"}
    if values:
        environment["ULPFUZZ_VALUES"] = values
    command = [fuzzer, f"-runs={runs}", f"-seed={seed}", "-handle_fpe=0", "-max_len=512"]
    command += ["-print_final_stats=1", f"-artifact_prefix={folder}/trial-"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if ended.returncode == 0:
        return None
    if "ulpfuzz: " not in ended.stderr:
        raise SystemExit(ended.stderr[-2000:])
    found = re.search(r"number_of_executed_units: (\d+)", ended.stderr)
    if found is None:
        raise SystemExit(ended.stderr[-2000:])
    return int(found[1])


def described(counts: list[int | None], runs: int) -> str:
    met = [n for n in counts if n is not None]
    median = statistics.median_high([runs + 1 if n is None else n for n in counts])
    return f"{len(met)} of {len(counts)}, " + (f"> {runs}" if median > runs else f"{median}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ulpfuzz", type=Path, default=Path("build/ulpfuzz"))
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--runs", type=int, default=50000)
    parser.add_argument("--only", default="", help="part of programs' names")
    o = parser.parse_args()
    print("| program | " + " | ".join(VALUES) + " |\n| --- |" + " --- |" * len(VALUES), flush=True)
    with tempfile.TemporaryDirectory() as store:
        for program, passed in PROGRAMS.items():
            if o.only not in program:
                continue
            folder = kernels_of(o.ulpfuzz.absolute(), program, store)
            cells = []
            for values in VALUES.values():
                fuzzer = o.ulpfuzz.absolute().parent / "fuzz_kernel"
                counts = [
                    trial(fuzzer, folder, passed, values, seed, o.runs)
                    for seed in range(1, o.trials + 1)
                ]
                cells.append(described(counts, o.runs))
            print(f"| {program} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
