// Small traces of ranks for tests: steps of a matmul and three all-reduces, which end together on all ranks
// (each by its own clock), as wide as their rank computes. Every file uses the same pids, streams and
// correlations.
#pragma once

#include <string>
#include <vector>

namespace hunch::test {

struct RankTraceSpec {
  int rank = 0;
  int world_size = 4;
  bool says_rank = true;  // distributedInfo
  int runs = 3;
  double clock = 0;             // microseconds ahead of the others
  std::vector<double> compute;  // of each of the 3 stages, in microseconds, on each rank: the slowest is last
  bool copy = false;            // a device-to-device copy by masked_fill in each step
  int collectives = 3;
  bool as_annotation = false;  // "train_step" instead of ProfilerStep
};

// `specs[i].compute` must all have one entry; all ranks of a job together, since who waits depends on all.
inline std::vector<std::string> rank_traces(const std::vector<RankTraceSpec>& specs) {
  double slowest = 0;
  for (const auto& spec : specs) slowest = spec.compute.at(0) > slowest ? spec.compute.at(0) : slowest;
  const double stage = slowest + 100;  // an all-reduce of 100 us once all are there
  const double step = 3 * stage + 400;
  std::vector<std::string> files;
  for (const auto& spec : specs) {
    std::string events;
    int correlation = 1;
    const auto event = [&](const std::string& category, const std::string& name, double start, double end,
                           const std::string& place, const std::string& args) {
      events += (events.empty() ? "" : ",\n") + std::string("{\"ph\":\"X\",\"cat\":\"") + category +
                "\",\"name\":\"" + name + "\"," + place + ",\"ts\":" + std::to_string(start + spec.clock) +
                ",\"dur\":" + std::to_string(end - start) + ",\"args\":{" + args + "}}";
    };
    const std::string host = "\"pid\":100,\"tid\":100";
    const auto launch = [&](const std::string& category, const std::string& op, const std::string& name,
                            double call, double start, double end, int stream) {
      const std::string id = std::to_string(correlation++);
      event("cpu_op", op, call, call + 8, host, "");
      event("cuda_runtime", category == "kernel" ? "cudaLaunchKernel" : "cudaMemcpyAsync", call + 1, call + 6,
            host, "\"correlation\":" + id);
      event(category, name, start, end, "\"pid\":0,\"tid\":" + std::to_string(stream),
            "\"correlation\":" + id + ",\"device\":0,\"stream\":" + std::to_string(stream) +
                (category == "kernel" ? "" : ",\"bytes\":1024"));
    };
    for (int run = 0; run < spec.runs; ++run) {
      const double begin = 1000 + run * step;
      event("user_annotation", spec.as_annotation ? "train_step" : "ProfilerStep#" + std::to_string(run),
            begin, begin + step - 50, host, "");
      double host_time = begin + 10, device = begin + 100;
      for (int i = 0; i < 3; ++i) {
        launch("kernel", "aten::mm", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", host_time,
               device, device + spec.compute.at(0), 7);
        host_time += 10;
        if (i < spec.collectives)
          launch("kernel", "c10d::allreduce_",
                 "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", host_time,
                 device + spec.compute.at(0), device + stage, 20);
        host_time += 10;
        device += stage;
      }
      if (spec.copy) {
        event("cpu_op", "aten::masked_fill", host_time - 1, host_time + 12, host, "");
        event("cpu_op", "aten::clone", host_time - 0.5, host_time + 10, host, "");
        launch("gpu_memcpy", "aten::copy_", "Memcpy DtoD (Device -> Device)", host_time, device + 5,
               device + 25, 7);
      }
    }
    std::string head = "{\"schemaVersion\": 1,";
    if (spec.says_rank)
      head += "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " + std::to_string(spec.rank) +
              ", \"world_size\": " + std::to_string(spec.world_size) + "},";
    files.push_back(head + "\"traceEvents\": [\n" + events + "\n]}\n");
  }
  return files;
}

// A job of `count` ranks where rank `slow` computes 900 us a stage and the others 500 us.
inline std::vector<RankTraceSpec> job(int count, int slow) {
  std::vector<RankTraceSpec> specs(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    auto& spec = specs[static_cast<std::size_t>(i)];
    spec.rank = i;
    spec.world_size = count;
    spec.clock = 1e6 * i;
    spec.compute = {i == slow ? 900.0 : 500.0};
  }
  return specs;
}

}  // namespace hunch::test
