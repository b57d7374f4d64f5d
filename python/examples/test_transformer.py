"""A test file for a small transformer that holds what its attention runs. Copy it, and put your own model in.

    pytest test_transformer.py

Without a GPU the backend alone is held, and what counts kernels is skipped; on machines that must have one, add
--hunch-require. The guesses were written before looking: when one fails, the message says what ran instead, and why.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import hunch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
LENGTH = 1024 if DEVICE == "cuda" else 128


class Attention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)

    def attend(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    def forward(self, x):
        batch, length, size = x.shape
        split = self.inputs(x).view(batch, length, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
        mixed = self.attend(*split.unbind(0))
        return self.output(mixed.transpose(1, 2).reshape(batch, length, size))


class Block(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(size), Attention(size, heads)
        self.mlp_norm = nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nn.Module):
    def __init__(self, words: int = 256, size: int = 512, heads: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.blocks = nn.Sequential(*(Block(size, heads) for _ in range(layers)))
        self.head = nn.Linear(size, words)

    def forward(self, tokens):
        return self.head(self.blocks(self.embedding(tokens)))


@pytest.fixture(autouse=True)
def same_backends_everywhere():
    # PyTorch's first choice differs from GPU to GPU; with these two it is flash wherever flash takes the call.
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        yield


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Transformer().to(DEVICE, DTYPE)


@pytest.fixture
def tokens():
    return torch.randint(256, (4, LENGTH), device=DEVICE)


@pytest.fixture
def qkv():
    return [torch.randn(4, 8, LENGTH, 64, device=DEVICE, dtype=DTYPE) for _ in range(3)]


@pytest.mark.hunch(backend="flash")
def test_inference_stays_fused(model, tokens):
    with torch.no_grad():
        model(tokens)


@pytest.mark.hunch(backend="flash")
def test_training_stays_fused(model, tokens):
    model(tokens).sum().backward()


@pytest.mark.hunch(kernels=1, memcpy=0, tensor_cores=True)
def test_attention_is_one_kernel(model, qkv):
    with torch.no_grad():
        model.blocks[0].attention.attend(*qkv)


def test_layers_run_the_same_work(model, tokens):
    """More than one guess fits in a marker: record, then ask."""
    with torch.no_grad():
        model(tokens)  # what happens once, loading kernels for one, stays out of the recording
        with hunch.profile("forward") as recorded:
            model(tokens)
    recorded.check(backend="flash").raise_if_missed()
    if DEVICE == "cuda":
        recorded.check(memcpy=0, tensor_cores=True).raise_if_missed()
        assert not [finding for finding in recorded.report.findings if finding.rule == "host_sync"]
