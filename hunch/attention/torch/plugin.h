// What hunch and its PyTorch plug-in say to each other. The plug-in is the one file that includes PyTorch's
// headers (plugin_torch.cc), in a library of its own that is opened when PyTorch is asked for: so hunch links
// no PyTorch, and the plug-in none of hunch's libraries.
//
// Everything that crosses is declared here or in base/probe.h: plain data, and classes without members that
// the other side implements. No exception crosses, and nothing is freed on the other side.
#pragma once

#include <cstdint>
#include <string_view>

#include "hunch/base/clock.h"
#include "hunch/base/probe.h"

namespace hunch::attention::torch {

// Raised with every change of this file or of base::Probe; a plug-in of another number is refused.
inline constexpr uint32_t kPluginInterface = 1;

enum class Variant : int32_t { naive, naive_inplace, math, efficient, flash, cudnn };
enum class Element : int32_t { f32, bf16, f16, boolean };
inline constexpr int kMostDims = 8;

// A strided array in memory of the device in use. Strides are in elements.
struct Array {
  void* data = nullptr;
  Element element = Element::f32;
  int32_t rank = 0;
  int64_t sizes[kMostDims] = {};
  int64_t strides[kMostDims] = {};
};

// attention::Call. The memory stays the caller's, and is ready before a call and unchanged until its end.
struct Arguments {
  Array query, key, value;
  const Array* mask = nullptr;
  bool is_causal = false;
  bool enable_gqa = false;
  bool has_scale = false;
  double scale = 0;
};

// Takes texts: a version, reasons, an error's message.
class Texts {
 public:
  virtual void add(std::string_view text) = 0;

 protected:
  ~Texts() = default;
};

enum class Outcome : int32_t { done, out_of_memory, failed };

// A forward's result: PyTorch's own memory, until `release(owner)`.
struct Computed {
  Array out;
  void* owner = nullptr;
  void (*release)(void* owner) = nullptr;
};

// A call made ready: tensors over the caller's memory, the mask of the naive variants.
class Forward {
 public:
  // Launches; on a GPU in order on the device's stream, on the CPU done on return. Where it is not done,
  // `why` has PyTorch's message.
  virtual Outcome run(Computed& result, Texts& why) = 0;
  virtual void close() = 0;  // ends its life

 protected:
  ~Forward() = default;
};

// What the plug-in asks of hunch.
struct Host {
  base::Probe* (*probe)() = nullptr;  // the one that listens, or null
  base::Ns (*now)() = nullptr;
};

// One in a process, for one thread.
class Plugin {
 public:
  virtual void versions(Texts& told) const = 0;  // "PyTorch 2.11.0", "CUDA 13.0", "cuDNN 9.19"

  // The device of all calls from now on. On the CPU ops run in the calling thread and `threads` others, and
  // each that computes is reported as work of `stream`. On a GPU everything goes to `stream`, a cudaStream_t.
  virtual void use_cpu(int threads, int64_t stream) = 0;
  virtual Outcome use_cuda(int index, void* stream, Texts& why) = 0;

  // While on, results are computed in memory filled with NaN: on the CPU in all that PyTorch allocates, on a
  // GPU in the blocks that the result is likely to get.
  virtual void set_poison(bool on) = 0;

  // Why PyTorch's own choice of a backend does not take the call with only this variant switched on, in its
  // words; nothing where it does, and for variants by hand.
  virtual void refusals(Variant variant, const Arguments& arguments, Texts& reasons) = 0;

  // Null where it fails: then `why` has PyTorch's message.
  virtual Forward* prepare(Variant variant, const Arguments& arguments, Texts& why) = 0;

 protected:
  ~Plugin() = default;
};

// What the library exports.
using InterfaceFunction = uint32_t();
using OpenFunction = Plugin*(const Host* host);
inline constexpr const char* kInterfaceSymbol = "hunch_torch_interface";
inline constexpr const char* kOpenSymbol = "hunch_torch_open";

}  // namespace hunch::attention::torch
