"""The Python half of recipes_test.cc: `recipes.py HOST CASES` holds recipes against transformers.

CASES has one JSON object a line: config (fields of the family), source (the program as Python), inputs
(name, dtype, shape, fill), wrt. The program and the library's module, with the same parameters, must
give the same bits: outputs and gradients, in eager mode.
"""

import json
import sys

import torch
import transformers

sys.path.insert(0, sys.argv[1])
import fills  # noqa: E402
from execute import load  # noqa: E402

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

_DATA = ("input_ids", "position_ids", "inv_freq", "labels")
_MODULES = {
    "input_norm": "input_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    **{f"{name}_proj": f"self_attn.{name}_proj" for name in "qkvo"},
    **{f"{name}_proj": f"mlp.{name}_proj" for name in ("gate", "up", "down")},
}


def parameter(name: str) -> str:
    """The module's name of a recipe's parameter."""
    ends = {
        "embed_tokens_weight": "model.embed_tokens.weight",
        "lm_head_weight": "lm_head.weight",
        "final_norm_weight": "model.norm.weight",
    }
    if name in ends:
        return ends[name]
    layer, rest = name.split("_", 1)
    module, kind = rest.rsplit("_", 1)
    return f"model.layers.{layer.removeprefix('layer')}.{_MODULES[module]}.{kind}"


def qwen2(config: dict, inv_freq: torch.Tensor) -> torch.nn.Module:
    same = (
        "vocab_size hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim "
        "intermediate_size max_position_embeddings tie_word_embeddings rms_norm_eps"
    )
    pad = config["pad_token_id"]
    module = transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(
            **{name: config[name] for name in same.split()},
            rope_parameters={"rope_type": "default", "rope_theta": config["rope_theta"]},
            pad_token_id=None if pad < 0 else pad,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation="sdpa",
            use_cache=False,
        )
    )
    rotary = module.model.rotary_emb
    kept = rotary.inv_freq.clone()
    module = module.to(getattr(torch, config["dtype"]))
    if not config["cast_buffers"]:
        rotary.inv_freq = kept
    assert torch.equal(rotary.inv_freq, inv_freq), "inv_freq"
    return module


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))


def check(case: dict, number: int) -> None:
    config = case["config"]
    tensors = {
        spec["name"]: fills.generate(spec["fill"], getattr(torch, spec["dtype"]), spec["shape"])
        for spec in case["inputs"]
    }
    module = qwen2(config, tensors["inv_freq"])
    parameters = {parameter(name): name for name in tensors if name not in _DATA}
    assert parameters.keys() == dict(module.named_parameters()).keys()
    for name, value in module.named_parameters():
        value.data.copy_(tensors[parameters[name]])
    inputs = {name: value.clone().requires_grad_(name in case["wrt"]) for name, value in tensors.items()}
    outputs = load(case["source"], f"recipe_{number}")(*inputs.values())
    data = {name: tensors[name] for name in _DATA if name in tensors and name != "inv_freq"}
    result = module(**data, use_cache=False)
    wanted = [result.loss, result.logits] if config["labels"] else [result.logits]
    for index, (mine, theirs) in enumerate(zip(outputs, wanted, strict=True)):
        assert same(mine, theirs), f"output {index}"
    if case["wrt"]:
        cotangent = torch.ones_like(outputs[0])
        mine = torch.autograd.grad(outputs[0], [inputs[name] for name in case["wrt"]], cotangent)
        wanted[0].backward(cotangent)
        gradients = {parameters[n]: p.grad for n, p in module.named_parameters()}
        for name, gradient in zip(case["wrt"], mine):
            assert same(gradient, gradients[name]), f"gradient of {name}"


with open(sys.argv[2]) as lines:
    for number, line in enumerate(lines):
        case = json.loads(line)
        try:
            check(case, number)
        except Exception:
            print(case["config"], file=sys.stderr)
            raise
    print(number + 1)
