// Reports made by hand, for the renderers' tests: every field set, and one of everything that is awkward.
#pragma once

#include "hunch/report/report.h"

namespace hunch::report {

inline Evidence sample_evidence(int64_t event, std::string name, std::string op) {
  return {event, "memcpy", std::move(name), std::move(op), 1'000, 127'000};
}

inline FindingRow sample_finding(std::string range) {
  FindingRow row;
  row.finding.rule = "hidden_copy";
  row.finding.range = std::move(range);
  row.finding.claim = "1 copy per forward, 127 us (12 % of the forward)";
  row.finding.cause =
      "aten::masked_fill works out of place: it clones its input before it fills, and the clone is the copy";
  row.finding.advice =
      "masked_fill_ fills in place; not where a backward pass needs the values that it overwrites";
  row.finding.cost_ns = 127'000;
  row.finding.cost_bytes = int64_t{256} << 20;
  row.events = {35};
  row.evidence = {sample_evidence(35, "Memcpy DtoD", "aten::masked_fill")};
  return row;
}

inline VerdictRow sample_verdict(std::string metric, guess::Outcome outcome) {
  VerdictRow row;
  row.verdict.range = "attn_fwd";
  row.verdict.metric = std::move(metric);
  row.verdict.expected = "0";
  row.verdict.seen = outcome == guess::Outcome::unknown ? "" : "1";
  row.verdict.outcome = outcome;
  if (outcome != guess::Outcome::holds)
    row.verdict.why = "hidden_copy: 1 copy per forward (aten::masked_fill clones its input first)";
  row.events = {35, 36};
  row.evidence = {sample_evidence(35, "Memcpy DtoD", "aten::masked_fill"), sample_evidence(36, "fill", "")};
  return row;
}

inline ExplainReport sample_explain(std::size_t events) {
  ExplainReport report;
  report.trace = {
      "naive.json.gz", "chrome_json", "NVIDIA H200 (sm_90)", 1234, 12'345'678, {{"cupti_version", "130001"}}};
  ForwardRow forward;
  forward.range = "attn_fwd";
  forward.found_by = "annotation";
  forward.runs = 3;
  forward.kernels = {5, 5, 5};
  forward.memcpy = {1, 1, 1};
  forward.memset = {0, 1, 1};
  forward.device_ns = {1'060'000, 1'064'000, 1'070'000};
  forward.busy_ns = forward.device_ns;
  forward.host_ns = {400'000, 412'345, 500'000};
  forward.peak_bytes = Spread{1 << 20, 1 << 20, 1 << 20};
  forward.backend = "naive";
  for (std::size_t i = 0; i < events; ++i) {
    KernelRow row;
    row.range = forward.range;
    row.name =
        "void at::native::vectorized_elementwise_kernel<4, at::native::" + std::string(120, 'x') + ">(int)";
    row.readable =
        i % 2 == 0 ? "vectorized elementwise masked_fill bf16" : "Speicherkopie \xE6\x97\xA5\xE6\x9C\xAC";
    row.family = "masked_fill";
    row.kind = i % 2 == 0 ? "kernel" : "memcpy";
    row.op = "aten::masked_fill";
    row.inner_op = "aten::copy_";
    row.calls = 1;
    row.device_ns = 127'000;
    row.registers = 168;
    row.shared_bytes = 134'144;
    row.block = "384x1x1";
    row.grid = "8x16x128";
    row.occupancy = OccupancyCell{0.0, 18.75, 18.75, "registers"};
    report.kernels.push_back(row);
    forward.sequence.push_back({row.kind, row.family, i == 0 ? "aten::matmul" : row.op, row.inner_op,
                                row.readable, 127'000, static_cast<int64_t>(30 + i), i});
  }
  report.forwards.push_back(forward);
  report.findings.push_back(sample_finding("attn_fwd"));
  report.statistics = {
      1234, 3, 56, 7, 5, 3'200'000, 12'000, {{"event without a name", 3}}, {"the file was cut off"}};
  return report;
}

inline RunReport sample_run() {
  RunReport report;
  report.device_name = "AMD EPYC 7763 64-Core Processor";
  report.device_kind = "cpu";
  report.device_features = "AVX2";
  report.threads = 2;
  report.problem_text = "1 x 8 x 512 x 64, bf16, causal";
  report.problem = {{"batch", "1"}, {"dtype", "\"bf16\""}};
  report.wait = 1;
  report.warmup = 1;
  report.active = 3;
  report.seed = 1;
  VariantRow naive;
  naive.name = naive.backend = "naive_inplace";
  naive.provider = "native";
  naive.available = true;
  naive.kernels = Spread{5, 5, 5};
  naive.memcpy = Spread{1, 1, 1};
  naive.memset = Spread{0, 0, 0};
  naive.device_ns = Spread{16'000'000, 16'400'000, 17'000'000};
  naive.host_ns = Spread{60'000, 61'000, 70'000};
  naive.first_call = FirstCall{1'200'000, 300'000};
  naive.peak_bytes = Spread{12 << 20, 12 << 20, 12 << 20};
  naive.max_abs_error = 0.0039;
  naive.error_bound = 0.0078;
  naive.error_ok = true;
  naive.guess = {sample_verdict("memcpy", guess::Outcome::misses),
                 sample_verdict("occupancy", guess::Outcome::unknown),
                 sample_verdict("kernels", guess::Outcome::holds)};
  naive.guess[2].verdict.expected =
      "matmul, mul, masked_fill, softmax, matmul, and a good deal more of the same";
  naive.findings = {sample_finding("attn_fwd")};
  naive.trace_file = "traces/naive_inplace.json.gz";
  VariantRow cudnn;
  cudnn.name = "torch.cudnn";
  cudnn.backend = "cudnn";
  cudnn.provider = "torch";
  report.providers = {{"native", ""}, {"torch", "PyTorch 2.11.0"}};
  cudnn.reasons = {"the device is a CPU and cuDNN runs on NVIDIA GPUs", "this build has no cuDNN"};
  report.variants = {naive, cudnn};
  return report;
}

inline CheckReport sample_check() { return {"naive.json.gz", "guess.toml", sample_run().variants[0].guess}; }

inline DoctorReport sample_doctor() {
  return {
      {{"CUDA", "off", "not in this build; traces of a GPU can be read all the same, and explained in full"},
       {"oneDNN", "ok", "2.6.3"},
       {"this folder", "missing", "cannot be written"}}};
}

inline NameReport sample_names() {
  NameReport report;
  NameRow row;
  row.name = "nvjet_tst_128x256_64x4";
  row.facts.readable = "nvjet 128x256x64";
  row.facts.family = analysis::Family::matmul;
  row.facts.provider = "cublas";
  row.facts.tensor_cores = true;
  report.names = {row, {"what_is_this", {}}};
  return report;
}

}  // namespace hunch::report
