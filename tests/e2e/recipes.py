"""The Python half of recipes_test.cc: `recipes.py HOST CASES` holds recipes against their libraries.

CASES has one JSON object a line: family, config (fields of the family), source (the program as
Python), inputs (name, dtype, shape, fill), wrt. The program and the library's module, with the same
parameters, must give the same bits: outputs and gradients, in eager mode. Prints a line a case: "same", or what differs.

One more family: a function from its config to a `Model`, and a line in `FAMILIES`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import litgpt
import torch
import transformers
from litgpt.utils import chunked_cross_entropy

sys.path.insert(0, sys.argv[1])
import fills  # noqa: E402
from execute import load  # noqa: E402

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

Tensors = dict[str, torch.Tensor]
Config = dict[str, Any]


@dataclass
class Model:
    """A library's module as a family configures it."""

    module: torch.nn.Module
    parameter: Callable[[str], str]  # the module's name of a recipe's parameter
    call: Callable[[Tensors], list[torch.Tensor]]  # the recipe's outputs
    data: tuple[str, ...]  # inputs of the recipe that are no parameters


def put(module: torch.nn.Module, name: str, ours: torch.Tensor, bound: torch.Tensor) -> None:
    """The recipe's buffer into the module, where it differs from its own within `bound`.

    Recipes have correctly rounded numbers. torch's vectorised pow and cos are an ulp off now and then.
    """
    own = getattr(module, name)
    kept = torch.finfo(ours.dtype)
    rounding = kept.eps * (own.abs() + kept.tiny)
    assert ours.shape == own.shape and ((ours.float() - own).abs() <= bound + rounding).all(), name
    setattr(module, name, ours.float())


def with_dtype(module: torch.nn.Module, config: Config) -> torch.nn.Module:
    """Of the config's dtype; buffers only if cast_buffers."""
    kept = dict(module.named_buffers())
    module = module.to(getattr(torch, config["dtype"]))
    for name, buffer in kept.items() if not config["cast_buffers"] else ():
        owner, _, last = name.rpartition(".")
        setattr(module.get_submodule(owner), last, buffer)
    return module


def renamed(name: str, ends: dict[str, str], layers: str, modules: dict[str, str]) -> str:
    """`layer3_X_weight` as `LAYERS.3.MODULES[X].weight`."""
    if name in ends:
        return ends[name]
    match = re.fullmatch(r"layer(\d+)_(\w+)_(weight|bias)", name)
    assert match, name
    return f"{layers}.{match[1]}.{modules[match[2]]}.{match[3]}"


def of_transformers(config: Config, tensors: Tensors, rope: dict[str, Any], kind: str, **own: Any) -> Model:
    same = (
        "vocab_size hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim "
        "intermediate_size max_position_embeddings tie_word_embeddings rms_norm_eps"
    )
    pad = config["pad_token_id"]
    module = getattr(transformers, f"{kind}ForCausalLM")(
        getattr(transformers, f"{kind}Config")(
            **{name: config[name] for name in same.split()},
            **own,
            rope_parameters=rope | {"rope_theta": config["rope_theta"]},
            pad_token_id=None if pad < 0 else pad,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation="sdpa",
            use_cache=False,
        )
    )
    rotary = module.model.rotary_emb
    put(rotary, "inv_freq", tensors["inv_freq"], 2**-21 * rotary.inv_freq)
    module = with_dtype(module, config)
    ends = {
        "embed_tokens_weight": "model.embed_tokens.weight",
        "lm_head_weight": "lm_head.weight",
        "final_norm_weight": "model.norm.weight",
    }
    modules = {
        "input_norm": "input_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        **{f"{name}_proj": f"self_attn.{name}_proj" for name in "qkvo"},
        **{f"{name}_proj": f"mlp.{name}_proj" for name in ("gate", "up", "down")},
    }
    data = ("input_ids", "position_ids", "labels")

    def call(given: Tensors) -> list[torch.Tensor]:
        result = module(**{name: given[name] for name in data if name in given}, use_cache=False)
        return [result.loss, result.logits] if config["labels"] else [result.logits]

    names = lambda name: renamed(name, ends, "model.layers", modules)  # noqa: E731
    return Model(module, names, call, (*data, "inv_freq"))


def qwen2(config: Config, tensors: Tensors) -> Model:
    return of_transformers(config, tensors, {"rope_type": "default"}, "Qwen2")


def llama(config: Config, tensors: Tensors) -> Model:
    rope = {"rope_type": config["rope_type"]}
    if config["rope_type"] == "llama3":
        numbers = "factor low_freq_factor high_freq_factor original_max_position_embeddings"
        rope |= {name: config[name] for name in numbers.split()}
    biases = {name: config[name] for name in ("attention_bias", "mlp_bias")}
    return of_transformers(config, tensors, rope, "Llama", **biases)


def phi3(config: Config, tensors: Tensors) -> Model:
    same = (
        "n_layer n_head n_query_groups head_size n_embd intermediate_size padded_vocab_size bias "
        "rotary_percentage norm_eps rope_base"
    )
    module = litgpt.GPT(
        litgpt.Config.from_name(
            "Phi-3-mini-4k-instruct",
            **{name: config[name] for name in same.split()},
            block_size=config["max_seq_length"],
            sliding_window_size=config["sliding_window_size"] or None,
        )
    )
    # An ulp of theta is one of the angle.
    angles = torch.arange(config["max_seq_length"]).unsqueeze(1)
    for name in ("cos", "sin"):
        if name in tensors:
            put(module, name, tensors[name], 2**-23 * (1 + angles))
    module = with_dtype(module, config)
    ends = {
        "wte_weight": "transformer.wte.weight",
        "lm_head_weight": "lm_head.weight",
        "ln_f_weight": "transformer.ln_f.weight",
    }
    modules = {
        "norm_1": "norm_1",
        "norm_2": "norm_2",
        **{f"attn_{name}": f"attn.{name}" for name in ("qkv", "proj")},
        **{f"mlp_{name}": f"mlp.{name}" for name in ("fc_1", "fc_2", "proj")},
    }

    def call(given: Tensors) -> list[torch.Tensor]:
        logits = module(given["input_ids"])
        if not config["labels"]:
            return [logits]
        if config["reshape_loss"]:
            return [chunked_cross_entropy(logits, given["labels"], chunk_size=0), logits]
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), given["labels"])
        return [loss, logits]

    names = lambda name: renamed(name, ends, "transformer.h", modules)  # noqa: E731
    return Model(module, names, call, ("input_ids", "labels", "cos", "sin"))


FAMILIES: dict[str, Callable[[Config, Tensors], Model]] = {"qwen2": qwen2, "llama": llama, "phi3": phi3}


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))


def check(case: dict[str, Any], number: int) -> None:
    tensors = {
        spec["name"]: fills.generate(spec["fill"], getattr(torch, spec["dtype"]), spec["shape"])
        for spec in case["inputs"]
    }
    model = FAMILIES[case["family"]](case["config"], tensors)
    parameters = {model.parameter(name): name for name in tensors if name not in model.data}
    assert parameters.keys() == dict(model.module.named_parameters()).keys()
    for name, value in model.module.named_parameters():
        value.data.copy_(tensors[parameters[name]])
    inputs = {name: value.clone().requires_grad_(name in case["wrt"]) for name, value in tensors.items()}
    outputs = load(case["source"], f"recipe_{number}")(*inputs.values())
    wanted = model.call(tensors)
    for index, (mine, theirs) in enumerate(zip(outputs, wanted, strict=True)):
        assert same(mine, theirs), f"output {index}"
    if case["wrt"]:
        assert len(case["wrt"]) == len(parameters)
        cotangent = torch.ones_like(outputs[0])
        mine = torch.autograd.grad(outputs[0], [inputs[name] for name in case["wrt"]], cotangent)
        wanted[0].backward(cotangent)
        gradients = {parameters[n]: p.grad for n, p in model.module.named_parameters()}
        for name, gradient in zip(case["wrt"], mine):
            assert same(gradient, gradients[name]), f"gradient of {name}"


with open(sys.argv[2]) as lines:
    for number, line in enumerate(lines):
        case = json.loads(line)
        try:
            check(case, number)
            print("same")
        except AssertionError as difference:
            print(difference)
            print(case["family"], case["config"], difference, file=sys.stderr)
