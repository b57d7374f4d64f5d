// Kernels and launches for the tests of the CUDA recorder: one of each way to launch. Each returns a
// cudaError_t.
#pragma once

#include <cstddef>

namespace hunch::record::testing_kernels {

// data[i] += 1 for i in [0, blocks * threads), with `dynamic_shared` bytes a block that are not used.
int add_one(void* stream, float* data, int blocks, int threads, std::size_t dynamic_shared);
// The same with many registers a thread; at most 256 threads.
int add_one_slowly(void* stream, float* data, int blocks, int threads, std::size_t dynamic_shared);
int add_one_in_clusters(void* stream, float* data, int blocks, int threads, int cluster);
int add_one_cooperatively(void* stream, float* data, int blocks, int threads);
// Through cuLaunchKernelEx, as libraries do that know the driver's functions.
int add_one_by_driver(void* stream, float* data, int blocks, int threads);
// A captured graph of `nodes` kernels, launched once.
int add_one_in_graph(void* stream, float* data, int blocks, int threads, int nodes);

}  // namespace hunch::record::testing_kernels
