"""Reductions as a user runs them, a line of a table each (docs/reducers.md).

    tests/reductions/run.py planted|known|minifier [--ulpfuzz build/ulpfuzz] [--only TEXT]

Exits 1 when one ends larger than it should.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import hosts

ROOT = Path(__file__).resolve().parents[2]
QWEN2, LLAMA, PHI3 = (f"corpus/{m}-tiny-bfloat16.json" for m in ("qwen2", "llama", "phi3"))

# A model, a fault planted into Inductor, and the most nodes that may be left.
PLANTED = [
    (QWEN2, "attn-scale=1.1", 1), (LLAMA, "attn-scale=1.1", 1), (PHI3, "attn-scale=1.1", 1),
    (QWEN2, "kv-interleave", 1), (LLAMA, "kv-interleave", 1),
    (QWEN2, "kv-swapped", 1), (PHI3, "kv-swapped", 1),
    (QWEN2, "rope-k-skipped", 4), (LLAMA, "rope-k-skipped", 4),
    (QWEN2, "rope-half-swapped", 2), (LLAMA, "rope-half-swapped", 2),
    (QWEN2, "rms-eps=0.1", 4), (LLAMA, "rms-eps=0.1", 4), (PHI3, "rms-eps=0.1", 4),
    (QWEN2, "gelu-for-silu", 1), (LLAMA, "gelu-for-silu", 1),
    (QWEN2, "grad-sign", 1), (LLAMA, "grad-zero", 1),
    (QWEN2, "scale=1.1", 1), (QWEN2, "causal-off-by-one", 1),
]

# A case of the corpus, the system that has the fault, and the nodes of the minimum found by hand.
KNOWN = [
    ("fft-rfft-stride", "inductor", 1), ("conv1d-unit-stride", "inductor@torch-2.9.1", 1),
    ("asinh-huge", "inductor", 1), ("atanh-tiny", "inductor", 1), ("erf-tiny", "inductor", 1),
    ("floor-division-near-integer", "inductor", 1), ("remainder-infinite-divisor", "inductor", 1),
    ("inplace-transposed-argmin", "inductor", 4), ("transposed-max-dim", "inductor", 2),
    ("channels-last-argmax", "inductor", 2), ("uint8-min", "inductor", 1),
    ("int32-min-divided-by-minus-one", "inductor", 1), ("attention-permuted-keys", "inductor", 5),
    ("zeros-like-strides", "inductor", 1),
]


def minimize(ulpfuzz: str, case: str, arguments: list[str], folder: Path) -> dict:
    command = [ulpfuzz, "minimize", case, "-o", str(folder), "--json", "--no-looks", "--jobs", "1", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return {"found": False, "error": done.stderr.strip()[-300:]}
    return json.loads(done.stdout)


def shape_of(folder: Path) -> str:
    program = json.loads((folder / "minimal.json").read_text())["program"]
    ops = ", ".join(n["op"].removeprefix("aten.").removesuffix(".default") for n in program["nodes"])
    shapes = " ".join(f"{i['dtype']}{i['shape']}" for i in program["inputs"])
    return f"`{ops}` of {shapes}"


def report(name: str, nodes: int, found: dict, most: int, folder: Path) -> bool:
    if not found["found"]:
        print(f"| {name} | {nodes} | not found {found.get('error', '')} | | | | |", flush=True)
        return False
    good = found["nodes"] <= most
    print(
        f"| {name} | {nodes} | {found['verdict']} | {found['nodes']}{'' if good else ' (!)'} "
        f"| {found['elements']} | {found['steps']} of {found['tried']} | {found['cpu_seconds']:.0f} "
        f"| {shape_of(folder)}{'' if found['reduced'] else ', cut short'} |",
        flush=True,
    )
    return good


def node_count(ulpfuzz: str, case: str) -> int:
    program = json.loads((ROOT / case).read_text()).get("program")
    return len(program["nodes"]) if program else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["planted", "known", "minifier"])
    parser.add_argument("--ulpfuzz", default="build/ulpfuzz")
    parser.add_argument("--only", default="")
    o = parser.parse_args()
    print("| what | nodes | verdict | left | elements | steps | CPU s | smallest |\n" + "| --- " * 8 + "|")
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        if o.what == "planted":
            for case, fault, most in PLANTED:
                name = f"{Path(case).stem} {fault}"
                if o.only not in name:
                    continue
                folder = work / name.replace(" ", "-")
                found = minimize(o.ulpfuzz, case, ["--fault", fault], folder)
                good &= report(name, 0, found, most, folder)
        if o.what == "known":
            host = hosts.transformer(60)
            for name, system, most in KNOWN:
                if o.only not in name:
                    continue
                hidden = hosts.hide(json.loads((ROOT / f"corpus/{name}.json").read_text()), host)
                (work / f"{name}.json").write_text(json.dumps(hidden))
                folder = work / name
                found = minimize(o.ulpfuzz, str(work / f"{name}.json"), ["--systems", system], folder)
                good &= report(name, len(hidden["program"]["nodes"]), found, most, folder)
        if o.what == "minifier":
            fault = "inductor[cpp.inject_relu_bug_TESTING_ONLY=accuracy]"
            for case in (hosts.linear_chain(105), hosts.transformer(253, relu=True)):
                nodes = len(case["program"]["nodes"])
                if o.only not in str(nodes):
                    continue
                file, folder = work / f"{nodes}.json", work / str(nodes)
                file.write_text(json.dumps(case))
                found = minimize(o.ulpfuzz, str(file), ["--systems", fault], folder)
                good &= report(f"relu in {nodes} nodes", nodes, found, 1, folder)
                peer = [sys.executable, str(Path(__file__).with_name("minifier.py")), str(file)]
                done = subprocess.run(peer, capture_output=True, text=True, check=False)
                print(done.stdout.strip() or done.stderr[-500:], flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
