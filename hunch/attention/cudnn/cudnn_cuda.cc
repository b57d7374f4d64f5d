// cuDNN through its C++ graph interface: a graph of one attention node for each problem, its plan built at
// the first call and kept, then executed on the device's stream.
//
// In:  a Call. Out: contiguous result, LSE where asked for. Holds: libcudnn is opened when first asked for,
// and never linked; a problem is known by everything that shapes its graph: device, dtype, sizes, strides,
// mask, causal, scale, LSE; one lock guards library, plans and handles, so any thread may call.
//
// A boolean mask becomes an additive one by ops (two fills and a where), because cuDNN's attention adds its
// bias; a float mask that is broadcast over queries or keys, or whose rows do not start on 16 bytes, is
// written out first: cuDNN loads 16 bytes at once and does not check. Rows of other lengths than a multiple
// of 8 are padded for that, which costs a fill and a copy.
//
// Known: a row whose mask is the lowest finite number everywhere comes out as zeros, as if it were -inf: the
// sum of score and mask overflows inside of cuDNN.
#include "hunch/attention/cudnn/cudnn_cuda.h"

#include "hunch/base/check.h"

#if HUNCH_HAS_CUDNN

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "hunch/base/nvidia_libraries.h"
#include "hunch/base/probe.h"
#include "hunch/base/shared_library.h"
#include "hunch/ops/ops.h"
#include "hunch/tensor/cuda_check.h"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the interface takes every function of the library from here
}  // namespace cudnn_frontend

namespace hunch::attention::cudnn {
namespace {

namespace fe = cudnn_frontend;
using tensor::DType;
using tensor::Tensor;

constexpr int64_t kRowStep = 8;  // 16-bit elements of a 16-byte load
constexpr std::size_t kLeastVersion = 90000;
constexpr std::size_t kMostPlans = 4096;  // then all are forgotten; a program has a few dozen

enum Uid : int64_t { kQuery = 1, kKey, kValue, kBias, kOut, kStats };

using Key = std::vector<int64_t>;
using Graph = std::shared_ptr<fe::graph::Graph>;

std::vector<int64_t> sizes_of(const Tensor& x) { return {x.size(0), x.size(1), x.size(2), x.size(3)}; }

// Strides as cuDNN wants them: those of dimensions of size 1 mean nothing, and some engines look at them.
std::vector<int64_t> strides_of(const Tensor& x) {
  std::vector<int64_t> strides = {x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
  int64_t dense = 1;
  for (std::size_t dim = 4; dim-- > 0;) {
    const int64_t size = x.size(static_cast<int>(dim));
    if (size == 1) strides[dim] = dense;
    dense = std::max(dense, strides[dim] * size);
  }
  return strides;
}

// The bias as it will be given: [batch or 1, heads or 1, length, kv_length], the last dimension dense.
struct Bias {
  std::vector<int64_t> sizes, strides;
  bool written_out = false;  // not the mask's own memory: a dense tensor of these sizes
};

Tensor four_dimensions(Tensor mask) {
  while (mask.rank() < 4) mask = mask.unsqueeze(0);
  return mask;
}

std::optional<Bias> bias_of(const Call& call) {
  if (!call.mask) return std::nullopt;
  const Tensor mask = four_dimensions(*call.mask);
  Bias bias;
  bias.sizes = {mask.size(0), mask.size(1), call.query.size(2), call.key.size(2)};
  for (int dim = 0; dim < 2; ++dim)
    if (mask.stride(dim) == 0) bias.sizes[static_cast<std::size_t>(dim)] = 1;
  bool aligned = reinterpret_cast<std::uintptr_t>(mask.data()) % 16 == 0;
  for (int dim = 0; dim < 3; ++dim)
    aligned = aligned && (mask.size(dim) == 1 || mask.stride(dim) % kRowStep == 0);
  bias.written_out = mask.dtype() == DType::boolean || mask.size(2) != bias.sizes[2] || !aligned ||
                     mask.size(3) != bias.sizes[3] || mask.stride(2) == 0 || mask.stride(3) != 1;
  bias.strides = strides_of(mask);
  if (bias.written_out) {
    const int64_t row = (bias.sizes[3] + kRowStep - 1) / kRowStep * kRowStep;
    const int64_t plane = bias.sizes[2] * row;
    bias.strides = {bias.sizes[1] * plane, plane, row, 1};
  }
  return bias;
}

// The mask as an additive tensor of the query's dtype.
Tensor write_bias(const Call& call, const Bias& bias) {
  Tensor mask = four_dimensions(*call.mask);
  for (int dim = 0; dim < 2; ++dim)
    if (bias.sizes[static_cast<std::size_t>(dim)] == 1 && mask.size(dim) > 1) mask = mask.slice(dim, 0, 1);
  if (!bias.written_out) return mask;
  mask = mask.expand({bias.sizes[0], bias.sizes[1], bias.sizes[2], bias.sizes[3]});
  tensor::Device& device = mask.device();
  if (mask.dtype() == DType::boolean) {
    const Tensor seen = ops::full(device, call.query.dtype(), {}, 0.0);
    const Tensor hidden = ops::full(device, call.query.dtype(), {}, -std::numeric_limits<double>::infinity());
    mask = ops::where(mask, seen, hidden);
  }
  const int64_t row = bias.strides[2];
  if (row == bias.sizes[3]) return ops::contiguous(mask);
  Tensor padded = ops::full(device, mask.dtype(), {bias.sizes[0], bias.sizes[1], bias.sizes[2], row}, 0.0);
  ops::copy_(padded.slice(3, 0, bias.sizes[3]), mask);
  return padded;
}

Key key_of(const tensor::CudaDevice& device, const Call& call, const std::optional<Bias>& bias) {
  Key key = {device.info().index,   static_cast<int64_t>(call.query.dtype()),       call.is_causal ? 1 : 0,
             call.want_lse ? 1 : 0, std::bit_cast<int64_t>(call.effective_scale()), bias ? 1 : 0};
  const auto add = [&key](const std::vector<int64_t>& values) {
    key.insert(key.end(), values.begin(), values.end());
  };
  for (const Tensor* x : {&call.query, &call.key, &call.value}) {
    add(sizes_of(*x));
    add(strides_of(*x));
  }
  if (bias) {
    add(bias->sizes);
    add(bias->strides);
  }
  return key;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

// The library, its handles and what it knows of problems. Leaked: plans must not outlive the driver at exit.
class Library {
 public:
  static Library& get() {
    static auto* const library = new Library;
    return *library;
  }

  std::vector<std::string> refusals(const tensor::CudaDevice& device, const Call& call) {
    const std::lock_guard lock(mutex_);
    if (!open()) return {missing_};
    const auto bias = bias_of(call);
    const Key key = key_of(device, call, bias);
    if (const auto known = verdicts_.find(key); known != verdicts_.end()) return known->second;
    std::vector<std::string> reasons;
    std::string why;
    if (supported_graph(device, call, bias, why) == nullptr) reasons.push_back(says(why));
    if (verdicts_.size() >= kMostPlans) verdicts_.clear();
    return verdicts_[key] = reasons;
  }

  void run(tensor::CudaDevice& device, const Call& call, Output& output) {
    const auto bias = bias_of(call);
    std::optional<Tensor> bias_tensor;
    if (bias) bias_tensor = write_bias(call, *bias);
    const std::lock_guard lock(mutex_);
    HUNCH_CHECK(open(), "cudnn without its library; see refusals");
    const Graph graph = plan(device, call, bias);
    const int64_t bytes = graph->get_workspace_size();
    Tensor workspace;
    if (bytes > 0) workspace = Tensor::empty(device, DType::boolean, {bytes});
    std::unordered_map<int64_t, void*> pointers = {{kQuery, call.query.data()},
                                                   {kKey, call.key.data()},
                                                   {kValue, call.value.data()},
                                                   {kOut, output.out.data()}};
    if (bias_tensor) pointers[kBias] = bias_tensor->data();
    if (output.lse) pointers[kStats] = output.lse->data();
    base::WorkInfo work;
    work.name = "cudnn_attention";  // a tracer sees the kernel's own name
    device.launch(work, [&](void* stream) {
      const cudnnHandle_t handle = handle_of(device);
      check(fe::detail::set_stream(handle, static_cast<cudaStream_t>(stream)), "cudnnSetStream");
      auto status = graph->execute(handle, pointers, bytes > 0 ? workspace.data() : nullptr);
      HUNCH_CHECK(status.is_good(), status.get_message().c_str());
      return 0;
    });
  }

 private:
  static void check(cudnnStatus_t status, const char* call) {
    if (status != CUDNN_STATUS_SUCCESS) HUNCH_CHECK(false, call);
  }

  std::string says(const std::string& why) const {
    return fmt::format("cuDNN {}.{}.{} does not take this problem: {}", version_ / 10000,
                       version_ / 100 % 100, version_ % 100, one_line(why));
  }

  // Once; afterwards missing_ says why not.
  bool open() {
    if (opened_) return missing_.empty();
    opened_ = true;
    const auto folders = base::cuda_library_folders();
    // The interface asks the loader for the CUDA runtime by its plain name; one that is loaded is found.
    const auto runtime = base::SharedLibrary::open(base::nvidia::runtime(), folders);
    if (!runtime) {
      missing_ =
          "the CUDA runtime that cuDNN's interface needs could not be opened: " + runtime.error().message;
      return false;
    }
    const auto library = base::SharedLibrary::open(base::nvidia::cudnn(), folders);
    if (!library) {
      missing_ = base::nvidia::cudnn().front() + " could not be opened: " + library.error().message;
      return false;
    }
    fe::cudnn_dlhandle = dlopen(library->name().c_str(), RTLD_NOW);
    version_ = fe::detail::get_backend_version();
    if (version_ < kLeastVersion)
      missing_ = fmt::format("cuDNN is of version {}, and this needs 9 or newer", version_);
    return missing_.empty();
  }

  cudnnHandle_t handle_of(const tensor::CudaDevice& device) {
    cudnnHandle_t& handle = handles_[device.info().index];
    if (handle == nullptr) check(fe::detail::create_handle(&handle), "cudnnCreate");
    return handle;
  }

  // A graph that an engine supports, not yet built; or null, and why.
  Graph supported_graph(const tensor::CudaDevice& device, const Call& call, const std::optional<Bias>& bias,
                        std::string& why) {
    try {
      Graph graph = describe(call, bias);
      const cudnnHandle_t handle = handle_of(device);
      fe::error_t status = graph->validate();
      if (status.is_good()) status = graph->build_operation_graph(handle);
      if (status.is_good()) status = graph->create_execution_plans({fe::HeurMode_t::A});
      if (status.is_good()) status = graph->check_support();
      if (status.is_good()) return graph;
      why = status.get_message();
    } catch (const std::exception& error) {  // the interface throws where a function is missing
      why = error.what();
    }
    return nullptr;
  }

  static Graph describe(const Call& call, const std::optional<Bias>& bias) {
    const auto type = call.query.dtype() == DType::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF;
    auto graph = std::make_shared<fe::graph::Graph>();
    graph->set_io_data_type(type)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto input = [&](const char* name, int64_t uid, const std::vector<int64_t>& sizes,
                           const std::vector<int64_t>& strides) {
      return graph->tensor(
          fe::graph::Tensor_attributes().set_name(name).set_uid(uid).set_dim(sizes).set_stride(strides));
    };
    auto options = fe::graph::SDPA_attributes()
                       .set_name("sdpa")
                       .set_generate_stats(call.want_lse)
                       .set_attn_scale(static_cast<float>(call.effective_scale()));
    if (call.is_causal)
      options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
    if (bias) options.set_bias(input("bias", kBias, bias->sizes, bias->strides));
    const auto q = input("q", kQuery, sizes_of(call.query), strides_of(call.query));
    const auto k = input("k", kKey, sizes_of(call.key), strides_of(call.key));
    const auto v = input("v", kValue, sizes_of(call.value), strides_of(call.value));
    const auto [out, stats] = graph->sdpa(q, k, v, options);
    const int64_t batch = call.query.size(0), heads = call.query.size(1), length = call.query.size(2);
    const int64_t width = call.value.size(3);
    out->set_output(true)
        .set_uid(kOut)
        .set_dim({batch, heads, length, width})
        .set_stride({heads * length * width, length * width, width, 1});
    if (call.want_lse)
      stats->set_output(true)
          .set_uid(kStats)
          .set_data_type(fe::DataType_t::FLOAT)
          .set_dim({batch, heads, length, 1})
          .set_stride({heads * length, length, 1, 1});
    return graph;
  }

  // The built plan; everything that building costs happens here, inside its own span.
  Graph plan(const tensor::CudaDevice& device, const Call& call, const std::optional<Bias>& bias) {
    const Key key = key_of(device, call, bias);
    if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
    const base::Span span(base::SpanKind::op, "hunch::cudnn_plan_build",
                          tensor::dims_text({&call.query, &call.key, &call.value}));
    std::string why;
    const Graph graph = supported_graph(device, call, bias, why);
    HUNCH_CHECK(graph != nullptr, why.c_str());
    fe::error_t status = graph->build_plans();
    HUNCH_CHECK(status.is_good(), status.get_message().c_str());
    if (plans_.size() >= kMostPlans) plans_.clear();
    return plans_[key] = graph;
  }

  std::mutex mutex_;
  bool opened_ = false;
  std::string missing_;  // why there is no library, once opened_
  std::size_t version_ = 0;
  std::map<int, cudnnHandle_t> handles_;
  std::map<Key, std::vector<std::string>> verdicts_;
  std::map<Key, Graph> plans_;
};

}  // namespace

std::vector<std::string> library_refusals(tensor::CudaDevice& device, const Call& call) {
  return Library::get().refusals(device, call);
}

Output forward_on(tensor::CudaDevice& device, const Call& call) {
  const tensor::Shape& query = call.query.shape();
  Output output;
  output.out = Tensor::empty(device, call.query.dtype(), {query[0], query[1], query[2], call.value.size(3)});
  if (call.want_lse) output.lse = Tensor::empty(device, DType::f32, {query[0], query[1], query[2]});
  Library::get().run(device, call, output);
  return output;
}

}  // namespace hunch::attention::cudnn

#else

namespace hunch::attention::cudnn {

std::vector<std::string> library_refusals(tensor::CudaDevice&, const Call&) {
  return {"this build has no cuDNN"};
}

Output forward_on(tensor::CudaDevice&, const Call&) {
  HUNCH_CHECK(false, "cudnn refuses every call in this build");
  return {};
}

}  // namespace hunch::attention::cudnn

#endif
