// The fields of each record, in the order of the file: one function a kind, for writing (Stream is Output and
// the record const) and for reading (Stream is Input).
#pragma once

#include "hunch/record/spool/spool.h"
#include "hunch/record/spool/wire.h"

namespace hunch::record::spool {

// An enumeration as a byte.
template <class Enum>
void byte_field(Output& stream, const Enum& value) {
  stream.field(static_cast<uint8_t>(value));
}
template <class Enum>
void byte_field(Input& stream, Enum& value) {
  uint8_t byte = 0;
  stream.field(byte);
  value = static_cast<Enum>(byte);
}

template <class Stream, class Record>  // ApiCall; its name is a number here
void call_fields(Stream& stream, Record& call) {
  stream.field(call.driver);
  stream.field(call.name);
  stream.field(call.tid);
  stream.field(call.start);
  stream.field(call.end);
  stream.field(call.correlation);
  stream.field(call.result);
  stream.field(call.driver_blocks);
}

template <class Stream, class Record>  // TracedWork
void work_fields(Stream& stream, Record& work) {
  byte_field(stream, work.kind);
  stream.field(work.name);
  stream.field(work.start);
  stream.field(work.end);
  stream.field(work.correlation);
  stream.field(work.device);
  stream.field(work.context);
  stream.field(work.stream);
  stream.field(work.bytes);
  stream.field(work.graph_id);
  stream.field(work.graph_node_id);
  if (work.kind != base::WorkKind::kernel) return;
  stream.field(work.registers);
  stream.field(work.static_shared_bytes);
  stream.field(work.dynamic_shared_bytes);
  for (auto* sizes : {&work.grid, &work.block, &work.cluster})
    for (auto& size : *sizes) stream.field(size);
  stream.field(work.shared_optin);
}

template <class Stream, class Record>  // Synchronization
void wait_fields(Stream& stream, Record& wait) {
  stream.field(wait.name);
  stream.field(wait.start);
  stream.field(wait.end);
  stream.field(wait.correlation);
  stream.field(wait.device);
  stream.field(wait.stream);
}

template <class Stream, class Record>  // Overhead
void overhead_fields(Stream& stream, Record& overhead) {
  stream.field(overhead.name);
  stream.field(overhead.start);
  stream.field(overhead.end);
  stream.field(overhead.tid);
}

template <class Stream, class Record>  // RangeEvent; its domain is a number, given apart
void range_fields(Stream& stream, Record& range) {
  byte_field(stream, range.what);
  stream.field(range.tid);
  stream.field(range.time);
  stream.field(range.id);
  stream.field(range.text);
}

template <class Stream, class Record>  // Process
void process_fields(Stream& stream, Record& process) {
  stream.field(process.pid);
  stream.field(process.parent);
  stream.field(process.name);
  stream.field(process.clock_shift);
}

template <class Stream, class Record>  // trace::DeviceProperties
void device_fields(Stream& stream, Record& device) {
  stream.field(device.id);
  stream.field(device.name);
  stream.field(device.compute_major);
  stream.field(device.compute_minor);
  stream.field(device.multiprocessors);
  stream.field(device.warp_size);
  stream.field(device.max_threads_per_block);
  stream.field(device.max_threads_per_multiprocessor);
  stream.field(device.registers_per_multiprocessor);
  stream.field(device.shared_bytes_per_block);
  stream.field(device.shared_bytes_per_block_optin);
  stream.field(device.shared_bytes_per_multiprocessor);
  stream.field(device.memory_bytes);
}

}  // namespace hunch::record::spool
