"""Library modules that a case may name: how each is built and called.

The list is that of ir/modules.h: nothing else reaches a library. Libraries are imported when the first
module of theirs is asked for.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Fields = dict[str, Any]
Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Kind:
    library: str
    fields: frozenset[str]  # of its configuration class, that a case may give
    build: Callable[[Fields], torch.nn.Module]
    # input_ids, labels (or None) -> outputs: the loss, where there are labels, and the logits.
    call: Callable[[torch.nn.Module, torch.Tensor, torch.Tensor | None], Tensors]
    tokens: Callable[[torch.nn.Module], int]
    # Beyond what the constructor draws.
    initialise: Callable[[torch.nn.Module], Any] = lambda module: None


def _transformers(name: str) -> Callable[[Fields], torch.nn.Module]:
    def build(fields: Fields) -> torch.nn.Module:
        import transformers

        transformers.logging.set_verbosity_error()
        fields = {"pad_token_id": None, "attn_implementation": "sdpa"} | fields
        if fields["pad_token_id"] == -1:
            fields["pad_token_id"] = None
        rope = {name: fields.pop(name) for name in _ROPE if name in fields}
        if rope:
            fields["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0} | rope
        config = getattr(transformers, name + "Config")(
            **fields, bos_token_id=None, eos_token_id=None, use_cache=False
        )
        module: torch.nn.Module = getattr(transformers, name + "ForCausalLM")(config)
        return module

    return build


def _call_transformers(
    module: torch.nn.Module, input_ids: torch.Tensor, labels: torch.Tensor | None
) -> Tensors:
    result = module(input_ids=input_ids, labels=labels, use_cache=False)
    return (result.logits,) if labels is None else (result.loss, result.logits)


def _litgpt(fields: Fields) -> torch.nn.Module:
    from litgpt.config import Config
    from litgpt.model import GPT

    fields = dict(fields)
    if fields.get("sliding_window_size") == 0:
        del fields["sliding_window_size"]
    return GPT(Config(name="ulpfuzz", **fields))


def _call_litgpt(
    module: torch.nn.Module, input_ids: torch.Tensor, labels: torch.Tensor | None
) -> Tensors:
    logits = module(input_ids)
    if labels is None:
        return (logits,)
    rows = logits.reshape(-1, logits.size(-1))
    return torch.nn.functional.cross_entropy(rows, labels.reshape(-1)), logits


_ROPE = ("rope_theta", "partial_rotary_factor")
_DECODER = frozenset(
    "num_hidden_layers num_attention_heads num_key_value_heads hidden_size intermediate_size vocab_size "
    "max_position_embeddings pad_token_id hidden_act attn_implementation tie_word_embeddings "
    "rms_norm_eps rope_theta initializer_range".split()
)
_GPT = frozenset(
    "n_layer n_head n_query_groups head_size n_embd intermediate_size vocab_size padded_vocab_size "
    "block_size sliding_window_size norm_class_name mlp_class_name gelu_approximate parallel_residual "
    "shared_attention_norm norm_qk bias attn_bias lm_head_bias scale_embeddings norm_eps "
    "rotary_percentage rope_base".split()
)


def _decoder(name: str, *more: str) -> Kind:
    return Kind(
        library="transformers",
        fields=_DECODER | set(more),
        build=_transformers(name),
        call=_call_transformers,
        tokens=lambda module: int(module.config.vocab_size),  # type: ignore[union-attr, arg-type]
    )


# One more module is one more entry.
KINDS: dict[str, Kind] = {
    "transformers.Qwen2ForCausalLM": _decoder("Qwen2", "head_dim"),
    "transformers.LlamaForCausalLM": _decoder("Llama", "head_dim", "attention_bias", "mlp_bias"),
    "transformers.Phi3ForCausalLM": _decoder("Phi3", "partial_rotary_factor", "sliding_window"),
    "litgpt.GPT": Kind(
        library="litgpt.model",
        fields=_GPT,
        build=_litgpt,
        call=_call_litgpt,
        tokens=lambda module: int(module.config.vocab_size),  # type: ignore[union-attr, arg-type]
        initialise=lambda module: module.apply(module._init_weights),  # type: ignore[arg-type]
    ),
}


def kind_of(wire: Fields) -> Kind:
    """Of a module as a message describes it. Raises ValueError for one that is not in the list."""
    kind = KINDS.get(wire["module"])
    if kind is None:
        raise ValueError(f"unknown module: {wire['module']}")
    if unknown := sorted(set(wire["config"]) - kind.fields):
        raise ValueError(f"{wire['module']} has no field {', '.join(unknown)} that a case may give")
    return kind


def _value(wire: Any) -> Any:
    if isinstance(wire, dict):
        if "float" in wire:
            return struct.unpack(">d", bytes.fromhex(wire["float"]))[0]
        return int(wire["int"])
    if not isinstance(wire, (bool, int, float, str)):
        raise ValueError(f"a field is a bool, a number or a text, not {type(wire).__name__}")
    return wire


def prepare(wire: Fields) -> None:
    """Imports what the module needs, without a thread: before a host forks."""
    importlib.import_module(kind_of(wire).library)
    if kind_of(wire).library == "transformers":
        importlib.import_module("transformers.models.auto")
        getattr(importlib.import_module("transformers"), wire["module"].rsplit(".", 1)[-1])


class Step(torch.nn.Module):
    """The module and how it is called, as a user's own step around it."""

    def __init__(self, kind: Kind, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        self._call = kind.call

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> Tensors:
        return self._call(self.module, input_ids, labels)


USER_INPUTS = ("input_ids", "labels")


class ModuleProgram:
    """A module in the place of a program: takes the same inputs, parameters among them."""

    def __init__(self, wire: Fields) -> None:
        kind = kind_of(wire)
        fields = {name: _value(value) for name, value in wire["config"].items()}
        dtype = getattr(torch, wire["dtype"])
        self.library_init = bool(wire.get("library_init", False))
        if self.library_init:
            torch.manual_seed(int(wire["seed"]) % (1 << 64))
        module = kind.build(fields)
        if self.library_init:
            kind.initialise(module)
        module = module.to(dtype)
        self.step = Step(kind, module.train(bool(wire["gradients"])))
        self.tokens = kind.tokens(module)
        self.user_inputs: list[int] = []  # places of USER_INPUTS among the inputs
        self._name_tensors()

    def to(self, device: torch.device) -> None:
        self.step.to(device)
        self._name_tensors()

    def _name_tensors(self) -> None:
        module = self.step.module
        self.parameters = {_flat(name): value for name, value in module.named_parameters()}
        self.buffers = {_flat(name): value for name, value in module.named_buffers()}

    def place(self, names: list[str], tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The inputs with the module's own parameters, which get these values, in their places."""
        self.user_inputs = [names.index(name) for name in USER_INPUTS if name in names]
        if any(value.device != tensors[0].device for value in self.parameters.values()):
            self.to(tensors[0].device)
        placed = list(tensors)
        for place, name in enumerate(names):
            if name in self.parameters:
                parameter = self.parameters[name]
                parameter.requires_grad_(tensors[place].requires_grad)
                parameter.data.copy_(tensors[place].detach())
                placed[place] = parameter
            elif name in self.buffers:
                self.buffers[name].copy_(tensors[place])
        return placed

    def under(self, compiled: Callable[[Any], Any]) -> Callable[..., Tensors]:
        """The step that `compiled` makes of the module's, taking all inputs."""
        step = compiled(self.step)
        return lambda *inputs: step(*(inputs[i] for i in self.user_inputs))

    def __call__(self, *inputs: torch.Tensor) -> Tensors:
        return self.step(*(inputs[i] for i in self.user_inputs))  # type: ignore[no-any-return]


def _flat(name: str) -> str:
    """A parameter's path as the name of a program's input."""
    return name.replace(".", "_")
