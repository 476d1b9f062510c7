"""The Python half of fills_test.cc: `fills.py HOST EXPECTED` compares the host's fills to those given.

Both roads are taken: the host's own Python, and the library that ULPFUZZ_FILLS names.

EXPECTED holds one JSON object a line: fill, dtype, shape, salt, and the elements as C++ made them
(reals as hex bits of doubles, complex ones twice as many; integers as decimal text).
"""

import json
import struct
import sys

import torch

sys.path.insert(0, sys.argv[1])
import fills  # noqa: E402


def elements(tensor: torch.Tensor) -> list[str]:
    if tensor.dtype.is_complex:
        tensor = torch.view_as_real(tensor)
    if not tensor.dtype.is_floating_point:
        return [str(int(v)) for v in tensor.flatten().tolist()]
    nan = "7ff8000000000000"
    values = tensor.double().flatten().tolist()
    return [nan if v != v else struct.pack(">d", v).hex() for v in values]


assert fills._LIBRARY is not None, "ULPFUZZ_FILLS names no library"
count = 0
with open(sys.argv[2]) as lines:
    for line in lines:
        case = json.loads(line)
        dtype = getattr(torch, case["dtype"])
        for generate in (fills.generate_here, fills.generate):
            made = generate(case["fill"], dtype, case["shape"], int(case["salt"]))
            assert made.dtype == dtype and list(made.shape) == case["shape"], line
            for index, (got, want) in enumerate(zip(elements(made), case["elements"], strict=True)):
                assert got == want, f"element {index} is {got}, {want} in C++: {line[:300]}"
        count += 1
print(count)
