#include "hunch/base/probe.h"

#include <atomic>

namespace hunch::base {
namespace {

std::atomic<Probe*> g_probe{nullptr};

}  // namespace

Probe* current_probe() { return g_probe.load(std::memory_order_acquire); }

ScopedProbe::ScopedProbe(Probe* probe) : before_(g_probe.exchange(probe, std::memory_order_acq_rel)) {}
ScopedProbe::~ScopedProbe() { g_probe.store(before_, std::memory_order_release); }

}  // namespace hunch::base
