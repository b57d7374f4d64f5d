// A Probe that counts launches by kind and remembers names and spans, for tests of what a forward runs.
// Holds: it must outlive the device's work; synchronize before it goes.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "hunch/base/probe.h"

namespace hunch::attention {

class CountingProbe final : public base::Probe {
 public:
  void begin_span(base::SpanKind, std::string_view name, std::string_view) override {
    open.emplace_back(name);
    spans.push_back(path());
  }
  void end_span() override { open.pop_back(); }
  uint64_t launch_begin(std::string_view, const base::WorkInfo& work) override {
    if (work.kind == base::WorkKind::kernel) ++kernels;
    if (work.kind == base::WorkKind::memcpy) ++memcpys;
    if (work.kind == base::WorkKind::memset) ++memsets;
    launched_in.push_back(path());
    return ++launches;
  }
  void launch_end(uint64_t) override {}
  void device_work(uint64_t, const base::WorkInfo&, int64_t, base::Ns, base::Ns) override { ++works; }
  void host_wait(std::string_view, base::Ns, base::Ns) override {}
  void memory(int64_t, int64_t) override {}

  // The open spans, outermost first: "a > b".
  std::string path() const {
    std::string path;
    for (const auto& name : open) path += (path.empty() ? "" : " > ") + name;
    return path;
  }

  int kernels = 0, memcpys = 0, memsets = 0;
  uint64_t launches = 0;
  std::atomic<uint64_t> works = 0;
  std::vector<std::string> open;         // now
  std::vector<std::string> spans;        // each that was opened, with those around it
  std::vector<std::string> launched_in;  // for each launch, the spans around it
};

}  // namespace hunch::attention
