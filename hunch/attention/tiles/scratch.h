// Working memory of one worker thread: grown to the largest need so far, kept for the next kernel.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "hunch/base/check.h"

namespace hunch::attention::tiles {

// `count` uninitialised floats, aligned to 64 bytes, valid until this thread's next call.
inline float* scratch_floats(std::size_t count) {
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  thread_local std::unique_ptr<float, Free> memory;
  thread_local std::size_t capacity = 0;
  if (count > capacity) {
    memory.reset();
    const std::size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    memory.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    HUNCH_CHECK(memory != nullptr, "out of memory for a worker's tiles");
    capacity = count;
  }
  return memory.get();  // NOLINT(clang-analyzer-unix.Malloc): what was freed was replaced
}

}  // namespace hunch::attention::tiles
