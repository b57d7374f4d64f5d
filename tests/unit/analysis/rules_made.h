// Forwards made by hand for the rules: ops nest by nesting calls, times follow by themselves. The host takes
// 2 us for each step; the device starts a piece of work 1 us after its launch, or when it is free.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/trace/builder.h"

namespace hunch::analysis::rules {

namespace kernels {
inline constexpr std::string_view kProduct = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn";
inline constexpr std::string_view kSgemm = "ampere_sgemm_128x64_nn";
inline constexpr std::string_view kTf32 =
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>(int)";
inline constexpr std::string_view kNvjet = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT";
inline constexpr std::string_view kScale =
    "void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, "
    "c10::BFloat16, c10::BFloat16, "
    "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)";
inline constexpr std::string_view kMul =
    "void at::native::elementwise_kernel<128, 4, "
    "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
    "c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(int)::{lambda(int)#1}>(int)";
inline constexpr std::string_view kMaskedFill =
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
    "namespace)::masked_fill_kernel(at::TensorIterator&)::"
    "{lambda(c10::BFloat16, bool)#1}, std::array<char*, 3ul> >(int)";
inline constexpr std::string_view kSoftmax =
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, "
    "false>(int)";
inline constexpr std::string_view kCopy =
    "void at::native::elementwise_kernel<128, 4, "
    "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
    "::{lambda()#3}::operator()() const::{lambda(c10::BFloat16)#1}>(int)::{lambda(int)#1}>(int)";
inline constexpr std::string_view kCastUp =
    "void "
    "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{"
    "lambda()#3}::operator()() "
    "const::{lambda(float)#1}, std::array<char*, 2ul>, 4, int, int, at::native::memory::LoadWithCast<1>, "
    "at::native::memory::StoreWithCast<1> >(int)";
inline constexpr std::string_view kCastDown =
    "void at::native::vectorized_elementwise_kernel<8, "
    "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, "
    "std::array<char*, 2ul> >(int)";
inline constexpr std::string_view kNorm =
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)";
inline constexpr std::string_view kFill =
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<bool>, std::array<char*, 1ul> "
    ">(int)";
inline constexpr std::string_view kTril =
    "void at::native::triu_tril_kernel<bool, int, false, 8, false>(int)";
inline constexpr std::string_view kWhere =
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::(anonymous "
    "namespace)::where_kernel_impl("
    "at::TensorIterator&)::{lambda(bool, float, float)#1}>(int)::{lambda(int)#1}>(int)";
inline constexpr std::string_view kFlash =
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
    "cutlass::bfloat16_t, Flash_kernel_traits<64, "
    "128, 128, 4, cutlass::bfloat16_t> >, false, true>(pytorch_flash::Flash_fwd_params)";
}  // namespace kernels

class Made {
 public:
  using Body = std::function<void()>;

  Made() : thread_(builder_.track("100", "1")), stream_(builder_.track("0", "stream 7")) {}

  // An H200, as PyTorch's profiler describes it.
  Made& gpu(int major = 9, int minor = 0) {
    trace::DeviceProperties device;
    device.name = "a GPU";
    device.compute_major = major;
    device.compute_minor = minor;
    device.multiprocessors = 132;
    device.max_threads_per_block = 1024;
    device.max_threads_per_multiprocessor = 2048;
    device.registers_per_multiprocessor = 65536;
    device.shared_bytes_per_block = 49152;
    device.shared_bytes_per_block_optin = 232448;
    device.shared_bytes_per_multiprocessor = 233472;
    builder_.trace().devices.push_back(device);
    return *this;
  }
  Made& cpu() {
    trace::DeviceProperties device;
    device.name = "a CPU";
    device.is_cpu = true;
    builder_.trace().devices.push_back(device);
    return *this;
  }

  void range(std::string_view name, const Body& body) {
    span(trace::EventKind::annotation, name, body, {}, {});
  }
  void op(std::string_view name, const Body& body, std::string_view dims = {}, std::string_view types = {}) {
    span(trace::EventKind::op, name, body, dims, types);
  }
  void frame(std::string_view name, const Body& body) {
    span(trace::EventKind::python_frame, name, body, {}, {});
  }

  void kernel(std::string_view name, Ns duration = 10'000, trace::DeviceDetail detail = {}) {
    work(trace::EventKind::kernel, "cudaLaunchKernel", name, duration, detail);
  }
  // A kernel with what occupancy needs.
  void kernel_of(std::string_view name, int registers, int64_t shared, uint32_t threads, uint32_t blocks,
                 float reported, Ns duration = 10'000) {
    trace::DeviceDetail detail;
    detail.registers = registers;
    detail.shared_bytes = shared;
    detail.block = {threads, 1, 1};
    detail.grid = {blocks, 1, 1};
    detail.reported_occupancy_pct = reported;
    kernel(name, duration, detail);
  }
  void memcpy(std::string_view name, int64_t bytes, Ns duration = 10'000) {
    trace::DeviceDetail detail;
    detail.bytes = bytes;
    work(trace::EventKind::memcpy, "cudaMemcpyAsync", name, duration, detail);
  }
  void memset(int64_t bytes, Ns duration = 1'000) {
    trace::DeviceDetail detail;
    detail.bytes = bytes;
    work(trace::EventKind::memset, "cudaMemsetAsync", "Memset (Device)", duration, detail);
  }
  void copy(std::string_view op_name, std::string_view kernel_name, std::string_view dims = {},
            std::string_view types = {}) {
    op(
        op_name, [&] { kernel(kernel_name); }, dims, types);
  }
  // A runtime call that launches nothing.
  void call(std::string_view name, Ns duration) {
    add(trace::EventKind::runtime_call, name, thread_, host_, duration, 0, nullptr, nullptr);
    host_ += duration;
  }
  // Device work whose launch the trace lacks.
  void orphan(std::string_view name, Ns start, Ns duration) {
    trace::DeviceDetail detail;
    detail.device = 0;
    add(trace::EventKind::kernel, name, stream_, start, duration, 999'999, &detail, nullptr);
  }
  void host_works(Ns duration) { host_ += duration; }
  void api(std::string_view name) { api_ = name; }  // of launches from now on; empty: as usual

  trace::Trace finish() { return builder_.finish(); }

 private:
  void span(trace::EventKind kind, std::string_view name, const Body& body, std::string_view dims,
            std::string_view types) {
    const Ns start = host_;
    host_ += 2'000;
    body();
    host_ += 2'000;
    trace::OpDetail detail;
    if (!dims.empty()) detail.input_dims = builder_.intern(dims);
    if (!types.empty()) detail.input_types = builder_.intern(types);
    add(kind, name, thread_, start, host_ - start, 0, nullptr,
        dims.empty() && types.empty() ? nullptr : &detail);
    host_ += 1'000;
  }

  void work(trace::EventKind kind, std::string_view api, std::string_view name, Ns duration,
            trace::DeviceDetail detail) {
    detail.device = 0;
    detail.stream = 7;
    const uint64_t correlation = ++correlation_;
    add(trace::EventKind::runtime_call, api_.empty() ? api : std::string_view(api_), thread_, host_, 2'000,
        correlation, nullptr, nullptr);
    host_ += 2'000;
    device_ = std::max(device_, host_ + 1'000);
    add(kind, name, stream_, device_, duration, correlation, &detail, nullptr);
    device_ += duration;
  }

  void add(trace::EventKind kind, std::string_view name, uint32_t track, Ns start, Ns duration,
           uint64_t correlation, const trace::DeviceDetail* device, const trace::OpDetail* op) {
    trace::Event event;
    event.kind = kind;
    event.name = name;
    event.track = track;
    event.start = start;
    event.duration = duration;
    event.correlation = correlation;
    event.source_index = next_++;
    event.device = device;
    event.op = op;
    builder_.add(event);
  }

  trace::TraceBuilder builder_;
  uint32_t thread_, stream_;
  uint32_t next_ = 0;
  uint64_t correlation_ = 0;
  Ns host_ = 1'000'000;
  Ns device_ = 0;
  std::string api_;
};

// The findings of one rule in a trace.
inline std::vector<Finding> findings_of(const trace::Trace& trace, std::string_view rule) {
  const Analysis analysis = analyze(trace);
  std::vector<Finding> found = find_all(analysis);
  std::erase_if(found, [&](const Finding& finding) { return finding.rule != rule; });
  return found;
}
inline std::vector<Finding> findings_of(Made& made, std::string_view rule) {
  const trace::Trace trace = made.finish();
  return findings_of(trace, rule);
}

}  // namespace hunch::analysis::rules
