// Whether two Traces say the same: all columns, details, tracks, memory and devices, by value and not by the
// numbers under which each interned its texts; `b` was written from `a` and read. Rows may have other source
// indices, where `indices` is false.
#pragma once

#include <gtest/gtest.h>

#include "hunch/trace/trace.h"

namespace hunch::formats {

inline std::string text_of(const trace::Trace& trace, trace::StringId id) {
  return id == trace::kNone ? std::string("(none)") : std::string(trace.strings.view(id));
}

inline void expect_same_detail(const trace::DeviceDetail& a, const trace::DeviceDetail& b) {
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.stream, b.stream);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.registers, b.registers);
  EXPECT_EQ(a.shared_bytes, b.shared_bytes);
  EXPECT_EQ(a.grid, b.grid);
  EXPECT_EQ(a.block, b.block);
  EXPECT_EQ(a.reported_occupancy_pct, b.reported_occupancy_pct);
  EXPECT_EQ(a.blocks_per_sm, b.blocks_per_sm);
  EXPECT_EQ(a.warps_per_sm, b.warps_per_sm);
  EXPECT_EQ(a.graph_id, b.graph_id);
  EXPECT_EQ(a.graph_node_id, b.graph_node_id);
  EXPECT_EQ(a.driver_blocks, b.driver_blocks);
}

inline void expect_same_row(const trace::Trace& a, const trace::Trace& b, trace::EventId row) {
  ASSERT_EQ(a.name_of(row), b.name_of(row));
  ASSERT_EQ(a.kind[row], b.kind[row]) << a.name_of(row);
  ASSERT_EQ(a.start[row], b.start[row]) << a.name_of(row);
  ASSERT_EQ(a.duration[row], b.duration[row]) << a.name_of(row);
  ASSERT_EQ(a.correlation[row], b.correlation[row]) << a.name_of(row);
  ASSERT_EQ(a.external_id[row], b.external_id[row]) << a.name_of(row);
  const trace::Track& track_a = a.tracks[a.track[row]];
  const trace::Track& track_b = b.tracks[b.track[row]];
  ASSERT_EQ(track_a.pid, track_b.pid);
  ASSERT_EQ(track_a.tid, track_b.tid);
  ASSERT_EQ(track_a.name, track_b.name);
  ASSERT_EQ(track_a.process, track_b.process);
  const auto* device_a = a.device_detail(row);
  const auto* device_b = b.device_detail(row);
  ASSERT_EQ(device_a == nullptr, device_b == nullptr) << a.name_of(row);
  if (device_a != nullptr) expect_same_detail(*device_a, *device_b);
  const auto* op_a = a.op_detail(row);
  const auto* op_b = b.op_detail(row);
  ASSERT_EQ(op_a == nullptr, op_b == nullptr) << a.name_of(row);
  if (op_a == nullptr) return;
  EXPECT_EQ(text_of(a, op_a->input_dims), text_of(b, op_b->input_dims));
  EXPECT_EQ(text_of(a, op_a->input_types), text_of(b, op_b->input_types));
  EXPECT_EQ(text_of(a, op_a->input_values), text_of(b, op_b->input_values));
  EXPECT_EQ(text_of(a, op_a->input_strides), text_of(b, op_b->input_strides));
  EXPECT_EQ(op_a->sequence_number, op_b->sequence_number);
  EXPECT_EQ(op_a->forward_thread, op_b->forward_thread);
  EXPECT_EQ(op_a->python_id, op_b->python_id);
  EXPECT_EQ(op_a->python_parent, op_b->python_parent);
}

inline void expect_same_trace(const trace::Trace& a, const trace::Trace& b, bool indices) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.base_time, b.base_time);
  for (trace::EventId row = 0; row < a.size(); ++row) {
    SCOPED_TRACE(row);
    expect_same_row(a, b, row);
    if (indices) {
      ASSERT_EQ(a.source_index[row], b.source_index[row]);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  ASSERT_EQ(a.memory.size(), b.memory.size());
  for (std::size_t i = 0; i < a.memory.size(); ++i) {
    EXPECT_EQ(a.memory[i].time, b.memory[i].time);
    EXPECT_EQ(a.memory[i].delta_bytes, b.memory[i].delta_bytes);
    EXPECT_EQ(a.memory[i].in_use_bytes, b.memory[i].in_use_bytes);
    EXPECT_EQ(a.memory[i].device, b.memory[i].device);
    EXPECT_EQ(a.tracks[a.memory[i].track].tid, b.tracks[b.memory[i].track].tid);
  }
  ASSERT_EQ(a.devices.size(), b.devices.size());
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    const trace::DeviceProperties &x = a.devices[i], &y = b.devices[i];
    EXPECT_EQ(x.id, y.id);
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.compute_major, y.compute_major);
    EXPECT_EQ(x.compute_minor, y.compute_minor);
    EXPECT_EQ(x.multiprocessors, y.multiprocessors);
    EXPECT_EQ(x.warp_size, y.warp_size);
    EXPECT_EQ(x.max_threads_per_block, y.max_threads_per_block);
    EXPECT_EQ(x.max_threads_per_multiprocessor, y.max_threads_per_multiprocessor);
    EXPECT_EQ(x.registers_per_multiprocessor, y.registers_per_multiprocessor);
    EXPECT_EQ(x.shared_bytes_per_block, y.shared_bytes_per_block);
    EXPECT_EQ(x.shared_bytes_per_block_optin, y.shared_bytes_per_block_optin);
    EXPECT_EQ(x.shared_bytes_per_multiprocessor, y.shared_bytes_per_multiprocessor);
    EXPECT_EQ(x.memory_bytes, y.memory_bytes);
    EXPECT_EQ(x.is_cpu, y.is_cpu);
  }
  // A written file also says its schema and unit of time.
  for (const auto& [key, value] : a.metadata) {
    ASSERT_EQ(b.metadata.count(key), 1u) << key;
    EXPECT_EQ(b.metadata.at(key), value) << key;
  }
}

}  // namespace hunch::formats
