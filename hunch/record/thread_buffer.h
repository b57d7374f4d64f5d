// What one thread records: events in the order they began, the texts they name, and the open ones.
//
// In:  calls of one thread only, so nothing here locks. Out: arrays that finish() reads once all is quiet.
// Holds: events never move once added (chunks, not one growing array), so an addition costs a store and,
// each kChunk events, one allocation; texts are copied, since a span's name may die with the span.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/probe.h"

namespace hunch::record {

using base::Ns;
inline constexpr uint32_t kNoEvent = UINT32_MAX;

// An array that grows by chunks.
template <class T>
class Chunked {
 public:
  static constexpr std::size_t kChunk = 1024;

  T& add(const T& value) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<std::array<T, kChunk>>());
    T& slot = (*chunks_.back())[size_ % kChunk];
    slot = value;
    ++size_;
    return slot;
  }
  T& operator[](std::size_t i) { return (*chunks_[i / kChunk])[i % kChunk]; }
  const T& operator[](std::size_t i) const { return (*chunks_[i / kChunk])[i % kChunk]; }
  std::size_t size() const { return size_; }

 private:
  std::vector<std::unique_ptr<std::array<T, kChunk>>> chunks_;
  std::size_t size_ = 0;
};

// Copies of texts, kept until the arena goes.
class TextArena {
 public:
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    if (text.size() > left_) refill(text.size());
    char* const copy = next_;
    std::memcpy(copy, text.data(), text.size());
    next_ += text.size();
    left_ -= text.size();
    return {copy, text.size()};
  }

 private:
  void refill(std::size_t needed) {
    left_ = std::max<std::size_t>(needed, 32 * 1024);
    blocks_.push_back(std::make_unique<char[]>(left_));
    next_ = blocks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

// Launches and waits are reported by devices; calls of the two interfaces come from a device's tracer.
enum class HostKind : uint8_t { op, annotation, step, launch, wait, runtime_call, driver_call };

inline bool is_call(HostKind kind) { return kind >= HostKind::launch; }

struct HostEvent {
  static constexpr Ns kOpen = INT64_MIN;  // the end of an event that has not ended

  HostKind kind = HostKind::op;
  Ns start = 0;
  Ns end = kOpen;
  std::string_view name;
  std::string_view dims;
  std::string_view types;     // ops of libraries that tell their inputs' types
  uint64_t correlation = 0;   // calls
  int64_t sequence = -1;      // ops of autograd, where they tell it
  uint64_t external = 0;      // ops under a device's tracer: the id that its calls carry
  uint32_t op = kNoEvent;     // innermost op that encloses this event, itself included; an index here
  uint32_t range = kNoEvent;  // likewise the innermost annotation or step
};

struct DeviceEvent {
  uint64_t correlation = 0;
  base::WorkInfo work;
  int64_t stream = 0;
  Ns start = 0;
  Ns end = 0;
  int32_t device = -1;  // -1: the recording's first
  int32_t driver_blocks = -1;
  int64_t graph_id = -1;
  int64_t graph_node_id = -1;
};

struct MemoryChange {
  Ns time = 0;
  int64_t delta = 0;
  int64_t in_use = 0;
};

struct ThreadBuffer {
  uint64_t thread = 0;  // unique in the process, unlike the system's ids, which are used again
  int64_t tid = 0;      // the system's
  std::string name;     // the system's, may be empty
  Chunked<HostEvent> host;
  Chunked<DeviceEvent> device;
  Chunked<MemoryChange> memory;
  TextArena text;
  std::vector<uint32_t> open;  // indices into `host`, outermost first

  // A new event that begins now, inside of what is open; not yet open itself.
  uint32_t begin(HostEvent event) {
    const auto index = static_cast<uint32_t>(host.size());
    if (!open.empty()) {
      const HostEvent& outer = host[open.back()];
      event.op = outer.op;
      event.range = outer.range;
    }
    if (event.kind == HostKind::op) event.op = index;
    if (event.kind == HostKind::annotation || event.kind == HostKind::step) event.range = index;
    host.add(event);
    return index;
  }
};

}  // namespace hunch::record
