// The PyTorch plug-in: PyTorch's attention through ATen, with every op told to hunch's Probe under PyTorch's
// own name. The only file here that sees PyTorch; it is built into libhunch_torch.so and nothing else.
//
// In:  arrays of the caller's memory, wrapped and not copied. Out: results in PyTorch's memory.
// Holds: the variants do what a person writes in Python: the same ops in the same order, without gradients.
// On a GPU the device's tracer sees what ops launch. On the CPU there is no launch, and work is told by op:
// each with a CPU kernel of its own is one piece of work in the calling thread, with all that it calls but
// copies of arrays, which are pieces before it; an op without is what it calls, or itself where nothing of
// that computes. What only makes a view or allocates computes nothing. A copy is a memcpy where the two
// arrays are of one type and lie alike, as PyTorch decides it on a GPU.
// PyTorch's classes have other members without NDEBUG, and its libraries are built with it.
#ifndef NDEBUG
#define NDEBUG
#endif

#include "hunch/attention/torch/plugin.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#ifndef HUNCH_TORCH_CUDA  // 1: PyTorch's CUDA part is linked
#define HUNCH_TORCH_CUDA 0
#endif
#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/version.h>
#endif
#if HUNCH_TORCH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hunch::attention::torch {
namespace {

using base::Ns;
using base::Probe;

// What one process-wide plug-in knows; of one thread, as the interface says.
struct State {
  Host host;
  bool on_cpu = true;
  int64_t cpu_stream = 0;
  int cuda_index = 0;
  bool poison = false;

  at::Device device() const {
    return on_cpu ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(cuda_index));
  }
};
State g_state;

Probe* probe() { return g_state.host.probe(); }

std::string_view dtype_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "f32";
    case at::kBFloat16:
      return "bf16";
    case at::kHalf:
      return "f16";
    case at::kDouble:
      return "f64";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(type);
  }
}

// ---- Ops told to the Probe ----

// What an op is, whatever its inputs.
struct OpClass {
  bool computes = false;
  bool own_kernel = false;  // on the CPU; else it is made of other ops, or is one that fits every device
  bool copies = false;      // aten::copy_
};

// Ops that return a tensor of their own and fill in nothing.
bool only_allocates(std::string_view name) {
  constexpr std::array<std::string_view, 6> kPrefixes = {
      "aten::empty", "aten::new_empty", "aten::_empty", "aten::resize", "aten::set_", "aten::_unsafe_view"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.rfind(prefix, 0) == 0; });
}

bool returns_tensors(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const c10::Argument& returned) {
    return returned.type()->isSubtypeOf(*c10::TensorType::get()) ||
           returned.type()->isSubtypeOf(*c10::ListType::ofTensors());
  });
}

bool returns_a_view(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const c10::Argument& returned) {
    return returned.alias_info() != nullptr && !returned.alias_info()->isWrite();
  });
}

OpClass classify(const at::RecordFunction& function) {
  OpClass found;
  const auto name = function.operator_name();
  if (!name) return found;
  const auto op = c10::Dispatcher::singleton().findSchema(*name);
  if (!op) return found;
  const c10::FunctionSchema& schema = op->schema();
  found.copies = schema.name() == "aten::copy_";
  found.own_kernel = op->hasKernelForDispatchKey(c10::DispatchKey::CPU);
  found.computes = returns_tensors(schema) && !returns_a_view(schema) && !only_allocates(schema.name()) &&
                   !op->hasTag(at::Tag::inplace_view) &&
                   !op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  return found;
}

const OpClass& class_of(const at::RecordFunction& function) {
  // Schemas stay where they are, and so do their names.
  static std::unordered_map<const char*, std::vector<std::pair<std::string, OpClass>>> known;
  auto& overloads = known[function.name()];
  const std::string_view overload = function.overload_name();
  for (const auto& [name, of_op] : overloads)
    if (name == overload) return of_op;
  return overloads.emplace_back(std::string(overload), classify(function)).second;
}

void append(std::string& text, int64_t number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

void append_sizes(std::string& text, const at::Tensor& tensor) {
  text += '[';
  if (tensor.defined() && !tensor.is_nested()) {
    bool first = true;
    for (const int64_t size : tensor.sizes()) {
      if (!first) text += ',';
      append(text, size);
      first = false;
    }
  }
  text += ']';
}

// Shapes and types of inputs as PyTorch's profiler writes them, one entry an input: "[[8,16,1024,64],[]]" and
// "[\"c10::BFloat16\",\"double\"]".
void write_inputs(c10::ArrayRef<const c10::IValue> inputs, std::string& dims, std::string& types) {
  dims = types = "[";
  for (const c10::IValue& input : inputs) {
    if (dims.size() > 1) dims += ',', types += ',';
    types += '"';
    if (input.isTensor()) {
      append_sizes(dims, input.toTensor());
      if (input.toTensor().defined()) types += input.toTensor().dtype().name();
    } else if (input.isTensorList()) {
      const auto list = input.toTensorVector();
      dims += '[';
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (i > 0) dims += ',';
        append_sizes(dims, list[i]);
      }
      dims += ']';
      types += "TensorList";
    } else {
      dims += "[]";
      if (input.isScalar())
        types += "Scalar";
      else if (input.isIntList() || input.isDoubleList() || input.isBoolList())
        types += "ScalarList";
    }
    types += '"';
  }
  dims += ']';
  types += ']';
}

const at::Tensor* tensor_at(c10::ArrayRef<const c10::IValue> inputs, std::size_t index) {
  if (index >= inputs.size() || !inputs[index].isTensor()) return nullptr;
  const at::Tensor& tensor = inputs[index].toTensor();
  return tensor.defined() ? &tensor : nullptr;
}

// Names that outlive every recording.
std::string_view interned(std::string name) {
  static std::set<std::string, std::less<>> names;
  return *names.insert(std::move(name)).first;
}

// The work that the op is on the CPU: "aten::bmm<bf16>", "aten::copy_<f32, bf16>" where it casts.
base::WorkInfo cpu_work(std::string_view name, const OpClass& op, c10::ArrayRef<const c10::IValue> inputs) {
  base::WorkInfo work;
  const at::Tensor* const first = tensor_at(inputs, 0);
  const at::Tensor* const second = tensor_at(inputs, 1);
  std::string text(name);
  if (op.copies && first != nullptr && second != nullptr) {
    if (first->scalar_type() != second->scalar_type()) {
      text += '<';
      text += dtype_name(second->scalar_type());
      text += ", ";
      text += dtype_name(first->scalar_type());
      text += '>';
      work.name = interned(std::move(text));
      return work;
    }
    if (first->sizes() == second->sizes() && first->strides() == second->strides() &&
        first->is_non_overlapping_and_dense()) {
      work.kind = base::WorkKind::memcpy;
      work.bytes = static_cast<int64_t>(first->nbytes());
      work.name = "Memcpy DtoD (Device -> Device)";
      return work;
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor* const tensor = tensor_at(inputs, i);
    if (tensor == nullptr) continue;
    text += '<';
    text += dtype_name(tensor->scalar_type());
    text += '>';
    break;
  }
  work.name = interned(std::move(text));
  return work;
}

// An op that has begun and not ended. `probe` is null where no one listened when it began.
struct OpenOp {
  Probe* probe = nullptr;
  const OpClass* op = nullptr;
  base::WorkInfo work;
  Ns own_from = 0;  // where its own part begins: its start, or the end of the last op inside that computes
  bool delegated = false;  // an op inside computes
  bool inside_kernel = false;
  bool scalar = false;  // of tensors without dimensions alone
};
std::vector<OpenOp> g_open;

bool only_scalars(c10::ArrayRef<const c10::IValue> inputs) {
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor* const tensor = tensor_at(inputs, i);
    if (tensor != nullptr && tensor->dim() > 0) return false;
    any = any || tensor != nullptr;
  }
  return any;
}

std::unique_ptr<at::ObserverContext> op_begins(const at::RecordFunction& function) {
  OpenOp open;
  open.probe = probe();
  if (open.probe != nullptr) {
    static std::string dims, types;
    write_inputs(function.inputs(), dims, types);
    open.probe->begin_op(function.name(), dims, types);
    if (g_state.on_cpu) {
      open.op = &class_of(function);
      open.inside_kernel = !g_open.empty() && g_open.back().op != nullptr &&
                           (g_open.back().op->own_kernel || g_open.back().inside_kernel);
      if (open.op->computes) {
        open.work = cpu_work(function.name(), *open.op, function.inputs());
        open.scalar = only_scalars(function.inputs());
      }
    }
    open.own_from = g_state.host.now();
  }
  g_open.push_back(open);
  return nullptr;
}

bool is_work(const OpenOp& open) {
  if (open.op == nullptr || !open.op->computes) return false;
  if (open.inside_kernel && (open.scalar || !open.op->copies)) return false;
  return open.op->own_kernel || !open.delegated;
}

void op_ends(const at::RecordFunction&, at::ObserverContext*) {
  if (g_open.empty()) return;
  const OpenOp open = g_open.back();
  g_open.pop_back();
  if (open.probe == nullptr) return;
  const bool works = is_work(open);
  const Ns end = g_state.host.now();
  if (works) open.probe->work_done("atenCpuKernel", open.work, g_state.cpu_stream, open.own_from, end);
  open.probe->end_span();
  if (g_open.empty() || !(works || open.delegated)) return;
  g_open.back().delegated = true;
  g_open.back().own_from = end;
}

// PyTorch's allocators tell this what they tell PyTorch's own profiler.
class MemoryListener final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t delta, std::size_t in_use, std::size_t, c10::Device device) override {
    if (device.is_cpu() != g_state.on_cpu) return;
    if (Probe* const listening = probe()) listening->memory(delta, static_cast<int64_t>(in_use));
  }
  bool memoryProfilingEnabled() const override { return true; }
};

// PyTorch's CPU allocator, with what it hands out filled with NaN on demand.
class PoisonAllocator final : public c10::Allocator {
 public:
  explicit PoisonAllocator(c10::Allocator* real) : real_(real) {}
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr block = real_->allocate(bytes);
    if (g_state.poison && bytes > 0) std::memset(block.get(), 0xFF, bytes);
    return block;
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  c10::Allocator* real_;
};

// ---- Tensors ----

at::ScalarType scalar_type(Element element) {
  switch (element) {
    case Element::f32:
      return at::kFloat;
    case Element::bf16:
      return at::kBFloat16;
    case Element::f16:
      return at::kHalf;
    case Element::boolean:
      return at::kBool;
  }
  return at::kFloat;
}

Element element_of(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return Element::bf16;
    case at::kHalf:
      return Element::f16;
    case at::kBool:
      return Element::boolean;
    default:
      TORCH_CHECK(type == at::kFloat, "a result of type ", type, ", which hunch does not have");
      return Element::f32;
  }
}

at::Tensor wrapped(const Array& array) {
  const auto rank = static_cast<std::size_t>(array.rank);
  return at::from_blob(array.data, at::IntArrayRef(array.sizes, rank), at::IntArrayRef(array.strides, rank),
                       at::TensorOptions().dtype(scalar_type(array.element)).device(g_state.device()));
}

Array array_of(const at::Tensor& tensor) {
  Array array;
  TORCH_CHECK(tensor.dim() <= kMostDims, "a result of ", tensor.dim(), " dimensions");
  array.data = tensor.data_ptr();
  array.element = element_of(tensor.scalar_type());
  array.rank = static_cast<int32_t>(tensor.dim());
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), array.sizes);
  std::copy(tensor.strides().begin(), tensor.strides().end(), array.strides);
  return array;
}

struct Call {
  explicit Call(const Arguments& from)
      : query(wrapped(from.query)), key(wrapped(from.key)), value(wrapped(from.value)) {
    if (from.mask != nullptr) mask = wrapped(*from.mask);
    if (from.has_scale) scale = from.scale;
    is_causal = from.is_causal;
    enable_gqa = from.enable_gqa;
  }

  at::Tensor query, key, value;
  std::optional<at::Tensor> mask;
  std::optional<double> scale;
  bool is_causal = false, enable_gqa = false;
};

// ---- The variants ----

bool by_hand(Variant variant) { return variant == Variant::naive || variant == Variant::naive_inplace; }

void switch_on(Variant variant) {
  at::Context& context = at::globalContext();
  context.setSDPUseMath(variant == Variant::math);
  context.setSDPUseMemEfficient(variant == Variant::efficient);
  context.setSDPUseFlash(variant == Variant::flash);
  context.setSDPUseCuDNN(variant == Variant::cudnn);
}

at::Tensor sdpa(const Call& call) {
  return at::scaled_dot_product_attention(call.query, call.key, call.value, call.mask, 0.0, call.is_causal,
                                          call.scale, call.enable_gqa);
}

// `hidden`: true where a pair is masked out.
at::Tensor attend_by_hand(const Call& call, const std::optional<at::Tensor>& hidden, bool in_place) {
  at::Tensor key = call.key, value = call.value;
  const int64_t times = key.size(1) == 0 ? 1 : call.query.size(1) / key.size(1);
  if (times > 1) {
    key = at::repeat_interleave(key, times, 1);
    value = at::repeat_interleave(value, times, 1);
  }
  const double scale = call.scale.value_or(1 / std::sqrt(static_cast<double>(call.query.size(3))));
  at::Tensor scores = at::matmul(call.query, key.transpose(-2, -1));
  scores = at::mul(scores, at::native::wrapped_scalar_tensor(scale));
  constexpr double kNegInf = -std::numeric_limits<double>::infinity();
  if (hidden && in_place)
    scores.masked_fill_(*hidden, kNegInf);
  else if (hidden)
    scores = at::masked_fill(scores, *hidden, kNegInf);
  else if (call.mask)
    scores = at::add(scores, *call.mask);
  at::Tensor weights = at::softmax(scores, -1);
  if (weights.scalar_type() != value.scalar_type()) weights = weights.to(value.scalar_type());
  return at::matmul(weights, value);
}

// Runs `body`; what it throws becomes an outcome and a message.
template <class Body>
Outcome guarded(Texts& why, const Body& body) {
  const std::size_t open = g_open.size();
  Outcome outcome = Outcome::failed;
  try {
    body();
    return Outcome::done;
  } catch (const c10::OutOfMemoryError& error) {
    outcome = Outcome::out_of_memory;
    why.add(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    outcome = Outcome::out_of_memory;
    why.add("no memory");
  } catch (const c10::Error& error) {
    why.add(error.what_without_backtrace());
  } catch (const std::exception& error) {
    why.add(error.what());
  }
  g_open.resize(std::min(open, g_open.size()));
  return outcome;
}

class Prepared final : public Forward {
 public:
  Prepared(Variant variant, const Arguments& arguments) : variant_(variant), call_(arguments) {
    if (!by_hand(variant)) return;
    if (call_.is_causal)
      hidden_ = at::ones({call_.query.size(2), call_.key.size(2)},
                         at::TensorOptions().dtype(at::kBool).device(g_state.device()))
                    .triu(1);
    else if (call_.mask && call_.mask->scalar_type() == at::kBool)
      hidden_ = at::logical_not(*call_.mask);
  }

  Outcome run(Computed& result, Texts& why) override {
    return guarded(why, [&] {
      if (g_state.poison && !g_state.on_cpu) poison_blocks();
      const at::AutoGradMode no_gradients(false);
      at::Tensor out;
      if (by_hand(variant_)) {
        out = attend_by_hand(call_, hidden_, variant_ == Variant::naive_inplace);
      } else {
        switch_on(variant_);
        out = sdpa(call_);
      }
      result.out = array_of(out);
      result.owner = new at::Tensor(std::move(out));
      result.release = [](void* owner) { delete static_cast<at::Tensor*>(owner); };
    });
  }

  void close() override {
    delete this;
#if HUNCH_TORCH_CUDA
    // What PyTorch keeps for itself, no other variant could get.
    if (!g_state.on_cpu) c10::cuda::CUDACachingAllocator::emptyCache();
#endif
  }

 private:
  // The allocator hands out a block of the right size that was freed before: so several are filled and freed.
  void poison_blocks() const {
    std::vector<at::Tensor> blocks;
    for (int i = 0; i < 8; ++i)
      blocks.push_back(
          at::full({call_.query.size(0), call_.query.size(1), call_.query.size(2), call_.value.size(3)},
                   std::numeric_limits<double>::quiet_NaN(), call_.query.options()));
  }

  const Variant variant_;
  const Call call_;
  std::optional<at::Tensor> hidden_;
};

// Collects what PyTorch warns of, instead of printing it.
class Warnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

std::string_view heading(Variant variant) {
  switch (variant) {
    case Variant::efficient:
      return "Memory efficient";
    case Variant::flash:
      return "Flash";
    case Variant::cudnn:
      return "cuDNN";
    default:
      return "Math";
  }
}

std::string without_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '.' || text.back() == ' '))
    text.remove_suffix(1);
  return std::string(text);
}

class Torch final : public Plugin {
 public:
  void versions(Texts& told) const override {
    told.add(std::string("PyTorch ") + TORCH_VERSION);
    if (!at::globalContext().hasCUDA() && !HUNCH_TORCH_CUDA) return;
    const auto& hooks = at::detail::getCUDAHooks();
    if (!hooks.hasCUDART()) return;
    const long cuda = hooks.versionCUDART();
    told.add("CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10));
    if (hooks.compiledWithCuDNN()) {
      const long cudnn = hooks.versionCuDNN();
      told.add("cuDNN " + std::to_string(cudnn / 10000) + "." + std::to_string(cudnn / 100 % 100) + "." +
               std::to_string(cudnn % 100));
    }
  }

  void use_cpu(int threads, int64_t stream) override {
    g_state.on_cpu = true;
    g_state.cpu_stream = stream;
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
  }

  Outcome use_cuda([[maybe_unused]] int index, [[maybe_unused]] void* stream, Texts& why) override {
#if HUNCH_TORCH_CUDA
    return guarded(why, [&] {
      const auto device = static_cast<c10::DeviceIndex>(index);
      TORCH_CHECK(at::globalContext().hasCUDA(), "this PyTorch sees no CUDA device");
      at::globalContext().lazyInitDevice(at::kCUDA);
      c10::cuda::set_device(device);
      c10::cuda::setCurrentCUDAStream(
          c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), device));
      g_state.on_cpu = false;
      g_state.cuda_index = index;
    });
#else
    why.add("the PyTorch that this was built with has no CUDA");
    return Outcome::failed;
#endif
  }

  void set_poison(bool on) override { g_state.poison = on; }

  void refusals(Variant variant, const Arguments& arguments, Texts& reasons) override {
    if (by_hand(variant)) return;
    Warnings warnings;
    Error error;
    Outcome outcome = Outcome::done;
    {
      const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
      const at::AutoGradMode no_gradients(false);
      outcome = guarded(error, [&] {
        const Call call(arguments);
        switch_on(variant);
        at::_fused_sdp_choice(call.query, call.key, call.value, call.mask, 0.0, call.is_causal, call.scale,
                              call.enable_gqa);
      });
    }
    if (outcome == Outcome::done) return;
    // "Flash attention kernel not used because:", then the reasons, then the next backend.
    bool of_variant = false, told = false;
    for (const std::string& text : warnings.texts) {
      if (text.find("not used because") != std::string::npos) {
        of_variant = text.rfind(heading(variant), 0) == 0;
        continue;
      }
      if (!of_variant) continue;
      reasons.add("PyTorch says: " + without_end(text));
      told = true;
    }
    if (told) return;
    std::string reason = "PyTorch says: " + without_end(error.text);
    if (g_state.on_cpu && (variant == Variant::efficient || variant == Variant::cudnn))
      reason += " (on the CPU it has flash and math alone)";
    reasons.add(reason);
  }

  Forward* prepare(Variant variant, const Arguments& arguments, Texts& why) override {
    Prepared* prepared = nullptr;
    guarded(why, [&] {
      const at::AutoGradMode no_gradients(false);
      prepared = new Prepared(variant, arguments);
    });
    return prepared;
  }

 private:
  struct Error final : Texts {
    void add(std::string_view added) override { text += added; }
    std::string text;
  };
};

}  // namespace
}  // namespace hunch::attention::torch

#define HUNCH_EXPORT extern "C" __attribute__((visibility("default")))

HUNCH_EXPORT uint32_t hunch_torch_interface();
HUNCH_EXPORT uint32_t hunch_torch_interface() { return hunch::attention::torch::kPluginInterface; }

HUNCH_EXPORT hunch::attention::torch::Plugin* hunch_torch_open(const hunch::attention::torch::Host* host);
HUNCH_EXPORT hunch::attention::torch::Plugin* hunch_torch_open(const hunch::attention::torch::Host* host) {
  using namespace hunch::attention::torch;
  static Torch plugin;
  static bool opened = false;
  g_state.host = *host;
  if (std::exchange(opened, true)) return &plugin;
  c10::SetCPUAllocator(new PoisonAllocator(c10::GetCPUAllocator()), 255);
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): PyTorch keeps the allocator for good
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<MemoryListener>());
  at::addThreadLocalCallback(
      at::RecordFunctionCallback(op_begins, op_ends).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  return &plugin;
}
