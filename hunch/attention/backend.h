// A backend: one way to compute attention. Adding one is a folder here, and a line in backends.cc.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/attention/problem.h"

namespace hunch::attention {

// Who computes: hunch itself, or a library that brings attention of its own (providers.h).
inline constexpr std::string_view kNative = "native";

// What a backend makes once, outside of the forward: the naive ones build their mask there.
struct Prepared {
  Call call;
  std::optional<tensor::Tensor> hidden;  // bool, true where a pair is masked out; naive backends only
  std::shared_ptr<void> own = {};        // what a backend of another provider keeps
};

// Which kernel a backend with several launches, and what decided it, a clause each.
struct KernelNote {
  std::string kernel;  // as recordings have it
  std::vector<std::string> because;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;     // "flash"
  virtual std::string_view summary() const = 0;  // one line for help and doctor

  // Backends of other providers are never picked by the dispatcher, open the spans of their own library, and
  // launch past Device: on a GPU only a tracer sees what they do.
  virtual std::string_view provider() const { return kNative; }

  // Every reason why this backend refuses the call, each a full clause; empty: it takes it.
  // Needs only shapes, dtypes, strides and the device: no data is read.
  virtual std::vector<std::string> refusals(const Call& call) const = 0;

  // For a call that it does not refuse; nothing where its name says all. Reads no data either.
  virtual std::optional<KernelNote> kernel(const Call&) const { return std::nullopt; }

  // True for attention written by hand from ops: the dispatcher never picks it, it opens no span of its own,
  // and a fully masked row gives NaN, as the plain formula does. SDPA backends give exact zeros there.
  virtual bool by_hand() const { return false; }

  // One-time work before a forward; not part of it. The default keeps the call as it is.
  virtual Prepared prepare(const Call& call) const { return Prepared{call, std::nullopt}; }

  // Launches the forward; the result is ready after Device::synchronize. Only for calls it does not refuse.
  // Error: unsupported, where the library of another provider fails, in its words. Throws std::bad_alloc.
  virtual base::Result<Output> forward(const Prepared& prepared) const = 0;
};

// What tables and guesses call it: "flash", and "torch.flash" of the provider torch.
std::string variant_name(const Backend& backend);

// All of hunch's own backends in the order of tables: naive, naive_inplace, math, efficient, flash, cudnn.
std::span<const Backend* const> backends();
// By name, or null.
const Backend* find_backend(std::string_view name);

}  // namespace hunch::attention
