// Feeds traces of any kind to the analysis, the rules and the reports. The bytes are not JSON, which a fuzzer
// seldom gets past: they are the events themselves, with names and numbers that mean something to the
// analysis.
//
// In:  the fuzzer's bytes. Out: nothing; a violated invariant aborts.
#include <simdjson.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "hunch/analysis/accounting.h"
#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/base/check.h"
#include "hunch/report/report.h"
#include "hunch/trace/builder.h"

namespace hunch::fuzz {
namespace {

using trace::EventKind;
using trace::Ns;

constexpr std::array kOps = {"aten::matmul",
                             "aten::bmm",
                             "aten::mul",
                             "aten::masked_fill",
                             "aten::clone",
                             "aten::copy_",
                             "aten::softmax",
                             "aten::_softmax",
                             "aten::to",
                             "aten::_to_copy",
                             "aten::item",
                             "aten::_local_scalar_dense",
                             "aten::contiguous",
                             "aten::reshape",
                             "aten::expand",
                             "aten::scaled_dot_product_attention",
                             "aten::_scaled_dot_product_flash_attention",
                             "aten::_scaled_dot_product_attention_math",
                             "aten::_scaled_dot_product_cudnn_attention",
                             "aten::tril",
                             "aten::_safe_softmax",
                             "aten::linear",
                             "autograd::engine::evaluate_function: MmBackward0",
                             "aten::embedding",
                             "",
                             "\xE2\x82\xAC::x"};
constexpr std::array kKernels = {
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn",
    "ampere_sgemm_128x64_tn",
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::(anonymous "
    "namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)> >(int)",
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, "
    "false>(int)",
    "void at::native::unrolled_elementwise_kernel<at::native::bfloat16_copy_kernel_cuda(int)>(int)",
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4> >(int)",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0",
    "nvjet_hsh_64x8_64x16_4x1_v_bz_TNT",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)",
    "k",
    "Task",
    ""};
constexpr std::array kCalls = {
    "cudaLaunchKernel",      "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaStreamSynchronize",
    "cudaDeviceSynchronize", "cudaGraphLaunch",  "hipGraphLaunch",  "cudaMalloc",
    "cuModuleLoadData",      "cudaMemcpy",       "cudaMemsetAsync"};
constexpr std::array kRanges = {"forward", "backward", "step", "ProfilerStep#1", "ProfilerStep#2", ""};
constexpr std::array kFrames = {"nn.Module: Attention_0",
                                "nn.Module: Attention_1",
                                "nn.Module: Block_0",
                                "model.py(12): forward",
                                "torch/nn/modules/module.py(1): _call_impl",
                                "<built-in>"};
constexpr std::array kCopies = {"Memcpy DtoD (Device -> Device)", "Memcpy DtoH (Device -> Pageable)",
                                "Memcpy HtoD (Pinned -> Device)"};
constexpr std::array kDims = {
    "[[8,16,1024,64],[8,16,64,1024]]", "[[8,16,1024,64],[],[]]", "[[],[1],[-1]]", "[[", "[]",
    "[[9223372036854775807,4]]"};
constexpr std::array kTypes = {"[\"c10::BFloat16\",\"c10::BFloat16\"]", "[\"float\",\"Scalar\"]", "[", ""};

class Bytes {
 public:
  Bytes(const uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool any() const { return at_ < size_; }
  uint8_t next() { return at_ < size_ ? data_[at_++] : 0; }
  template <class Table>
  std::string_view of(const Table& table) {
    return table[next() % table.size()];
  }

 private:
  const uint8_t* data_;
  std::size_t size_, at_ = 0;
};

// Mostly small times, which meet; now and then the largest that a reader lets pass.
Ns time_of(uint8_t byte, uint8_t scale) {
  switch (scale % 8) {
    case 0:
      return Ns{byte} * 1'000'000;
    case 1:
      return (byte % 2 == 0 ? 1 : -1) * Ns{8'000'000'000'000'000'000} / (byte / 2 + 1);
    default:
      return Ns{byte} * 500;
  }
}

trace::Trace made_of(Bytes& bytes) {
  trace::TraceBuilder builder;
  const uint8_t kind_of_device = bytes.next();
  for (int id = 0; id < kind_of_device % 4; ++id) {
    trace::DeviceProperties device;
    device.id = id;
    device.name = "GPU";
    device.compute_major = kind_of_device / 4 % 16;
    device.multiprocessors = kind_of_device;
    device.warp_size = kind_of_device % 5 == 0 ? 64 : 32;
    device.max_threads_per_block = 1024;
    device.max_threads_per_multiprocessor = 2048;
    device.registers_per_multiprocessor = 65536;
    device.shared_bytes_per_block = 49152;
    device.shared_bytes_per_block_optin = 232448;
    device.shared_bytes_per_multiprocessor = 233472;
    device.is_cpu = kind_of_device == 255;
    builder.trace().devices.push_back(device);
  }
  while (bytes.any()) {
    trace::Event event;
    trace::DeviceDetail device;
    trace::OpDetail op;
    const uint8_t what = bytes.next();
    const uint8_t where = bytes.next();
    const uint8_t scale = bytes.next();
    event.start = time_of(bytes.next(), scale);
    event.duration =
        std::min<Ns>(std::abs(time_of(bytes.next(), scale / 8)), Ns{7} * 24 * 3600 * 1'000'000'000);
    event.correlation = bytes.next() % 32;
    event.external_id = what / 16;
    event.track =
        builder.track(std::string(1, static_cast<char>('0' + where % 3)), std::to_string(where / 3 % 4));
    event.source_index = static_cast<uint32_t>(builder.trace().stats.events++);
    switch (what % 12) {
      case 0:
      case 1:
      case 2:
        event.kind = EventKind::op;
        event.name = bytes.of(kOps);
        op.input_dims = builder.intern(bytes.of(kDims));
        op.input_types = builder.intern(bytes.of(kTypes));
        op.sequence_number = bytes.next() % 8 - 1;
        op.forward_thread = op.sequence_number / 2;
        break;
      case 3:
        event.kind = EventKind::annotation;
        event.name = bytes.of(kRanges);
        if (trace::is_step_name(event.name)) event.kind = EventKind::step;
        break;
      case 4:
        event.kind = EventKind::python_frame;
        event.name = bytes.of(kFrames);
        break;
      case 5:
      case 6:
        event.kind = what / 12 % 2 == 0 ? EventKind::runtime_call : EventKind::driver_call;
        event.name = bytes.of(kCalls);
        break;
      case 7:
      case 8:
        event.kind = EventKind::kernel;
        event.name = bytes.of(kKernels);
        break;
      case 9:
        event.kind = EventKind::memcpy;
        event.name = bytes.of(kCopies);
        break;
      case 10:
        event.kind = bytes.next() % 2 == 0 ? EventKind::memset : EventKind::device_annotation;
        event.name = "Memset (Device)";
        break;
      default: {
        trace::MemoryEvent memory;
        memory.time = event.start;
        memory.track = event.track;
        memory.delta_bytes = (int64_t{bytes.next()} - 128) << (scale % 56);
        memory.in_use_bytes = int64_t{bytes.next()} << (scale % 56);
        builder.add_memory(memory);
        continue;
      }
    }
    const uint8_t more = bytes.next();
    if (trace::is_device_work(event.kind) && more % 4 != 0) {
      device.device = more % 3 - 1;
      device.stream = more % 5;
      device.bytes = int64_t{more} << (more % 56);
      device.registers = more;
      device.shared_bytes = int64_t{more} * 1024;
      device.grid = {more, more % 7u, 1};
      device.block = {32u * (more % 33u), 1, more % 2u};
      device.reported_occupancy_pct = static_cast<float>(more % 2 * more);
      device.graph_id = more % 3 - 1;
      event.device = &device;
    }
    if (event.kind == EventKind::op) event.op = &op;
    builder.add(event);
  }
  builder.keep_sums_in_range();
  return builder.finish();
}

// Each piece of a run's wall time is there once, and each piece of work is in some run or told to be in none.
void add_up(const analysis::Analysis& result) {
  std::vector<bool> placed(result.trace->size(), false);
  for (const auto& forward : result.forwards)
    for (const auto& run : forward.runs) {
      for (const auto work : run.work) placed[work] = true;
      const auto accounting = analysis::account(result, run);
      Ns at = accounting.start, sum = 0;
      for (const auto& slice : accounting.slices) {
        HUNCH_CHECK(slice.start == at && slice.end > slice.start);
        at = slice.end;
      }
      for (const Ns part : accounting.total) {
        HUNCH_CHECK(part >= 0);
        sum += part;
      }
      HUNCH_CHECK(sum == accounting.whole());
      HUNCH_CHECK(accounting.slices.empty() || at == accounting.end);
    }
  for (const auto work : result.unattributed) {
    HUNCH_CHECK(!placed[work]);
    placed[work] = true;
  }
  for (const auto work : result.timeline.device_order) HUNCH_CHECK(placed[work]);
}

}  // namespace
}  // namespace hunch::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hunch;
  fuzz::Bytes bytes(data, size);
  const trace::Trace trace = fuzz::made_of(bytes);
  const analysis::Analysis result = analysis::analyze(trace);
  fuzz::add_up(result);
  const auto findings = analysis::rules::find_all(result);
  for (const auto& finding : findings)
    HUNCH_CHECK(!finding.claim.empty() && !finding.cause.empty() && finding.cost_ns.value_or(0) >= 0);
  for (const auto per : {report::Per::none, report::Per::op, report::Per::layer, report::Per::step}) {
    const report::ExplainReport made = report::explain(result, findings, per);
    for (const report::Renderer* renderer : report::renderers()) {
      const std::string text = renderer->render(made, {});
      HUNCH_CHECK(!text.empty());
      if (renderer->name() != "json") continue;
      simdjson::dom::parser parser;
      HUNCH_CHECK(parser.parse(text).error() == simdjson::SUCCESS);
    }
  }
  return 0;
}
