#!/usr/bin/env python3
"""Writes hunch/attention/flash/wgmma_sm90.cuh: the instruction names each of its accumulators, too many to type.

usage: tools/cuda/make_wgmma.py | clang-format > hunch/attention/flash/wgmma_sm90.cuh
"""
SCORES = (80, 128, 176)  # keys of a tile: q k', both operands from shared memory
OUTPUTS = (64, 128, 256)  # head_dim: weights v, the weights from registers


def regs(n, start=0): 
    out=[]; line=""
    for i in range(n):
        item=f"%{start+i}" + ("," if i<n-1 else "")
        line+=item
        if (i+1)%16==0 or i==n-1:
            out.append(f'"{line}"'); line=""
    return out
def ops(n):
    out=[]; 
    for i in range(0,n,8):
        out.append(", ".join(f'"+f"(d[{i+j}])' for j in range(min(8,n-i))))
    return out
def ss(n,t):
    r=n//2
    lines=[]
    lines.append(f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{r+2}, 0;\\n"')
    lines.append(f'               "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{t}.{t} {{"')
    lines+= ["               "+x for x in regs(r)]
    lines.append(f'               "}}, %{r}, %{r+1}, p, 1, 1, 0, 0;\\n}}\\n"')
    lines.append("               : "+(",\n                 ".join(ops(r))))
    lines.append('               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));')
    return "\n".join(lines)
def rs(n,t):
    r=n//2
    lines=[]
    lines.append(f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{r+5}, 0;\\n"')
    lines.append(f'               "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{t}.{t} {{"')
    lines+= ["               "+x for x in regs(r)]
    lines.append(f'               "}}, {{%{r},%{r+1},%{r+2},%{r+3}}}, %{r+4}, p, 1, 1, 1;\\n}}\\n"')
    lines.append("               : "+(",\n                 ".join(ops(r))))
    lines.append('               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));')
    return "\n".join(lines)
print("""// wgmma of sm_90a: 64 rows x N columns x 16, one instance a shape that a kernel uses. Written by
// tools/cuda/make_wgmma.py.
// In:  a, b: shared memory descriptors (ptx_sm90.cuh), or a: 4 registers of a fragment. Out: d, N / 2 floats a
// thread: d[4 j + i], columns 8 j + 2 (lane % 4) + i % 2, row lane / 4 + 8 (i / 2) of the warp's 16.
// Holds: asynchronous; between fence() and wait() nothing else may touch d or a's registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace hunch::attention::sm90 {

// d (+)= a b, both from shared memory, both with the 16 inner elements of a row contiguous.
template <class T, int kColumns>
__device__ void wgmma_ss(float* d, uint64_t a, uint64_t b, bool accumulate);
// d (+)= a b, a from registers, b from shared memory with its kColumns contiguous.
template <class T, int kColumns>
__device__ void wgmma_rs(float* d, const uint32_t* a, uint64_t b, bool accumulate);

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
""")
for n in SCORES:
    for T,t in (("__nv_bfloat16","bf16"),("__half","f16")):
        print("template <>\n__device__ __forceinline__ void wgmma_ss<%s, %d>(float* d, uint64_t a, uint64_t b, bool accumulate) {"%(T,n)); print(ss(n,t)); print("}\n")
for n in OUTPUTS:
    for T,t in (("__nv_bfloat16","bf16"),("__half","f16")):
        print("template <>\n__device__ __forceinline__ void wgmma_rs<%s, %d>(float* d, const uint32_t* a, uint64_t b, bool accumulate) {"%(T,n)); print(rs(n,t)); print("}\n")
print("#endif\n\n}  // namespace hunch::attention::sm90")
