// The plug-in's other side: it is found and opened here, calls are put into its words, and its results come
// back as tensors that borrow PyTorch's memory.
#include "hunch/attention/torch/torch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>
#include <utility>

#include "hunch/attention/extras.h"
#include "hunch/attention/score_memory.h"
#include "hunch/attention/torch/plugin.h"
#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/base/shared_library.h"
#include "hunch/base/strings.h"
#include "hunch/tensor/cpu_device.h"
#if HUNCH_HAS_CUDA
#include "hunch/tensor/cuda_device.h"
#endif

namespace hunch::attention::torch {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using tensor::Device;
using tensor::DType;
using tensor::Tensor;

constexpr const char* kLibrary = "libhunch_torch.so";
constexpr const char* kVariable = "HUNCH_TORCH_PLUGIN";

class Collected final : public Texts {
 public:
  void add(std::string_view text) override { texts.emplace_back(text); }
  std::vector<std::string> texts;
};

// ---- The plug-in ----

Plugin* g_plugin = nullptr;  // opened until the program ends

Result<Plugin*> load() {
  const std::string path = plugin_path();
  if (path.empty()) {
    const char* const named = std::getenv(kVariable);
    if (named != nullptr && *named != '\0')
      return fail(ErrorCode::environment, fmt::format("{}={}: no such file", kVariable, named),
                  "the path of a libhunch_torch.so, or no such variable");
    return fail(
        ErrorCode::environment,
        "this hunch has no PyTorch plug-in (libhunch_torch.so): PyTorch was not found when it was built",
        "build it where python3 has PyTorch (pip install torch), with -DHUNCH_TORCH=ON");
  }
  const auto library = base::SharedLibrary::open({path});
  if (!library)
    return fail(
        ErrorCode::environment,
        fmt::format("the PyTorch that {} was built with does not load: {}", path, library.error().message),
        "build hunch again with the PyTorch that is here, or put its torch/lib on LD_LIBRARY_PATH");
  auto* const interface = library->function<InterfaceFunction>(kInterfaceSymbol);
  auto* const open_plugin = library->function<OpenFunction>(kOpenSymbol);
  if (interface == nullptr || open_plugin == nullptr)
    return fail(ErrorCode::environment, fmt::format("{} is no plug-in of hunch's", path),
                "the libhunch_torch.so that was built with this hunch");
  if (const uint32_t version = interface(); version != kPluginInterface)
    return fail(ErrorCode::environment,
                fmt::format("{} speaks version {} of the plug-in interface, and this hunch version {}", path,
                            version, kPluginInterface),
                "the libhunch_torch.so that was built with this hunch");
  const Host host{base::current_probe, base::now_ns};
  return open_plugin(&host);
}

// ---- Calls in the plug-in's words ----

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Element::f32;
    case DType::bf16:
      return Element::bf16;
    case DType::f16:
      return Element::f16;
    case DType::boolean:
      return Element::boolean;
  }
  HUNCH_CHECK(false, "no such dtype");
}

DType dtype_of(Element element) {
  switch (element) {
    case Element::f32:
      return DType::f32;
    case Element::bf16:
      return DType::bf16;
    case Element::f16:
      return DType::f16;
    case Element::boolean:
      return DType::boolean;
  }
  HUNCH_CHECK(false, "no such element");
}

Array array_of(const Tensor& tensor) {
  static_assert(kMostDims == tensor::Shape::kMaxRank);
  Array array;
  array.data = tensor.data();
  array.element = element_of(tensor.dtype());
  array.rank = tensor.rank();
  for (int dim = 0; dim < tensor.rank(); ++dim) {
    array.sizes[dim] = tensor.size(dim);
    array.strides[dim] = tensor.stride(dim);
  }
  return array;
}

// Arguments point into themselves, so they do not move.
struct Words {
  explicit Words(const Call& call) {
    arguments.query = array_of(call.query);
    arguments.key = array_of(call.key);
    arguments.value = array_of(call.value);
    if (call.mask) {
      mask = array_of(*call.mask);
      arguments.mask = &mask;
    }
    arguments.is_causal = call.is_causal;
    arguments.enable_gqa = call.enable_gqa;
    arguments.has_scale = call.scale.has_value();
    arguments.scale = call.scale.value_or(0);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  Arguments arguments;
  Array mask;
};

// Has PyTorch work on this device. Empty, or why it cannot.
std::string use(Device& device) {
  HUNCH_CHECK(g_plugin != nullptr, "PyTorch is used before it was opened");
  if (tensor::CpuDevice* const cpu = device.as_cpu()) {
    g_plugin->use_cpu(cpu->threads(), tensor::CpuDevice::kStream);
    return {};
  }
#if HUNCH_HAS_CUDA
  if (tensor::CudaDevice* const cuda = device.as_cuda()) {
    Collected why;
    if (g_plugin->use_cuda(device.info().index, cuda->stream(), why) == Outcome::done) return {};
    return fmt::format("PyTorch cannot use this GPU: {}", base::join(why.texts, "; "));
  }
#endif
  return "PyTorch does not know this kind of device";
}

// What a prepared call keeps: PyTorch's side of it, or why there is none.
struct Own {
  ~Own() {
    if (forward != nullptr) forward->close();
  }
  Forward* forward = nullptr;
  std::string failure;
};

// PyTorch's messages run over several lines.
std::string one_line(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  for (const std::string& text : texts)
    for (const std::string_view line : base::split(text, '\n'))
      if (!base::trim(line).empty()) lines.emplace_back(base::trim(line));
  return base::join(lines, " ");
}

class TorchBackend final : public Backend {
 public:
  TorchBackend(Variant variant, std::string_view name, std::string_view summary,
               ScoreBytes (*scores)(const Call&))
      : variant_(variant), name_(name), summary_(summary), scores_(scores) {}

  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return summary_; }
  std::string_view provider() const override { return kName; }
  bool by_hand() const override { return variant_ == Variant::naive || variant_ == Variant::naive_inplace; }

  std::vector<std::string> refusals(const Call& call) const override {
    std::vector<std::string> reasons;
    if (call.want_lse) reasons.emplace_back("scaled_dot_product_attention does not return the log-sum-exp");
    add_extra_refusals(call, reasons);
    if (std::string unable = use(call.query.device()); !unable.empty()) {
      reasons.push_back(std::move(unable));
      return reasons;
    }
    Collected told;
    const Words words(call);
    g_plugin->refusals(variant_, words.arguments, told);
    for (const std::string& text : told.texts) reasons.push_back(one_line({text}));
    if (scores_ != nullptr) add_score_memory_refusal(call, scores_(call), reasons);
    return reasons;
  }

  // The inputs are ready when it returns: PyTorch on the CPU computes at once.
  Prepared prepare(const Call& call) const override {
    auto own = std::make_shared<Own>();
    Device& device = call.query.device();
    device.synchronize();
    device.empty_cache();
    own->failure = use(device);
    if (own->failure.empty()) {
      Collected why;
      const Words words(call);
      own->forward = g_plugin->prepare(variant_, words.arguments, why);
      own->failure = one_line(why.texts);
    }
    return Prepared{call, std::nullopt, std::move(own)};
  }

  Result<Output> forward(const Prepared& prepared) const override {
    const Own& own = *static_cast<const Own*>(prepared.own.get());
    if (own.forward == nullptr) return fail(ErrorCode::unsupported, own.failure);
    g_plugin->set_poison(prepared.call.query.device().poisons());
    Computed result;
    Collected why;
    switch (own.forward->run(result, why)) {
      case Outcome::done:
        break;
      case Outcome::out_of_memory:
        throw std::bad_alloc();
      case Outcome::failed:
        return fail(ErrorCode::unsupported, fmt::format("PyTorch says: {}", one_line(why.texts)));
    }
    tensor::Shape shape;
    tensor::Strides strides;
    for (int dim = 0; dim < result.out.rank; ++dim) {
      shape.push_back(result.out.sizes[dim]);
      strides.push_back(result.out.strides[dim]);
    }
    std::shared_ptr<void> owner(result.owner, result.release);
    return Output{Tensor::borrow(prepared.call.query.device(), dtype_of(result.out.element), shape, strides,
                                 result.out.data, std::move(owner)),
                  std::nullopt};
  }

 private:
  const Variant variant_;
  const std::string_view name_, summary_;
  ScoreBytes (*const scores_)(const Call&);
};

// Two score matrices live at once, in the query's type; a wider mask makes both f32.
ScoreBytes scores_by_hand(const Call& call) {
  const bool lifted =
      call.mask && call.mask->dtype() != DType::boolean && call.mask->dtype() != call.query.dtype();
  const auto bytes = static_cast<double>(tensor::size_of(lifted ? DType::f32 : call.query.dtype()));
  return {.matrix = bytes, .peak = 2 * bytes};
}

// In f32: scores, weights, and the masked result of the safe softmax beside the mask of it.
ScoreBytes scores_of_math(const Call&) { return {.matrix = 4, .peak = 13}; }

}  // namespace

std::string plugin_path() {
  const char* const named = std::getenv(kVariable);
  if (named == nullptr || *named == '\0') return base::find_plugin(kLibrary);
  return ::access(named, R_OK) == 0 ? named : std::string();
}

Result<std::string> open() {
  if (g_plugin == nullptr) {
    HUNCH_ASSIGN(g_plugin, load());
  }
  Collected told;
  g_plugin->versions(told);
  return base::join(told.texts, ", ");
}

std::span<const Backend* const> backends() {
  static const TorchBackend kNaive(Variant::naive, "naive",
                                   "by hand in PyTorch: matmul, mul, masked_fill, softmax, matmul",
                                   scores_by_hand);
  static const TorchBackend kNaiveInplace(Variant::naive_inplace, "naive_inplace",
                                          "by hand in PyTorch, with masked_fill_ in place", scores_by_hand);
  static const TorchBackend kMath(Variant::math, "math", "PyTorch's SDPA, pinned to its math path",
                                  scores_of_math);
  static const TorchBackend kEfficient(Variant::efficient, "efficient",
                                       "PyTorch's SDPA, pinned to memory-efficient attention", nullptr);
  static const TorchBackend kFlash(Variant::flash, "flash", "PyTorch's SDPA, pinned to FlashAttention",
                                   nullptr);
  static const TorchBackend kCudnn(Variant::cudnn, "cudnn", "PyTorch's SDPA, pinned to cuDNN", nullptr);
  static const Backend* const kBackends[] = {&kNaive, &kNaiveInplace, &kMath, &kEfficient, &kFlash, &kCudnn};
  return kBackends;
}

}  // namespace hunch::attention::torch
