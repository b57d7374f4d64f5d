// One function a kind of record. See records.h.
#include "hunch/record/cupti/records.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace hunch::record::cupti {
namespace {

// Records are packed: a copy of a field has the alignment that a reference would lack.
template <class Record>
const Record& as(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

std::string_view place_name(uint32_t memory_kind) {
  switch (memory_kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "Managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "Device Static";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "Managed Static";
    default:
      return "Unknown";
  }
}

std::string_view direction_name(uint32_t copy_kind) {
  switch (copy_kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "HtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "AtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
      return "AtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
      return "AtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "DtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "PtoP";
    default:
      return "Unknown";
  }
}

std::string copy_name(uint32_t kind, uint32_t from, uint32_t to) {
  std::string name = "Memcpy ";
  name.append(direction_name(kind)).append(" (").append(place_name(from));
  return name.append(" -> ").append(place_name(to)).append(")");
}

std::string_view wait_name(uint32_t type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "Event Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "Stream Wait Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "Stream Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "Context Sync";
    default:
      return "Unknown Sync";
  }
}

std::string_view overhead_name(uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "Driver Compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "Buffer Flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "Instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "Resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "Runtime Triggered Module Loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "Lazy Function Loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "Command Buffer Full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "Activity Buffer Request";
    default:
      return "Unknown Overhead";
  }
}

// What the records of all kinds of work have in common.
template <class Record>
TracedWork work_of(const Record& from, base::WorkKind kind) {
  TracedWork work;
  work.kind = kind;
  work.start = static_cast<base::Ns>(from.start);
  work.end = static_cast<base::Ns>(from.end);
  work.correlation = from.correlationId;
  work.device = static_cast<int32_t>(from.deviceId);
  work.context = from.contextId;
  work.stream = from.streamId;
  if (from.graphNodeId != 0) {
    work.graph_id = from.graphId;
    work.graph_node_id = static_cast<int64_t>(from.graphNodeId);
  }
  return work;
}

template <class Record>
TracedWork copy_of(const Record& from, DeviceActivity& activity) {
  TracedWork work = work_of(from, base::WorkKind::memcpy);
  work.name = activity.names.intern(copy_name(from.copyKind, from.srcKind, from.dstKind));
  work.bytes = static_cast<int64_t>(from.bytes);
  return work;
}

std::array<uint32_t, 3> sizes(int32_t x, int32_t y, int32_t z) {
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
}

}  // namespace

void RecordReader::read(const CUpti_Activity* record, DeviceActivity& activity) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kernel(record, activity);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return keep(copy_of(as<CUpti_ActivityMemcpy6>(record), activity), activity);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return keep(copy_of(as<CUpti_ActivityMemcpyPtoP4>(record), activity), activity);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return memset(record, activity);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return synchronization(record, activity);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return overhead(record, activity);
    default:
      return;
  }
}

void RecordReader::keep(const TracedWork& work, DeviceActivity& activity) {
  device_of_context_[work.context] = work.device;
  if (work.start <= 0 || work.end < work.start)
    ++activity.untimed;
  else
    activity.work.push_back(work);
}

void RecordReader::kernel(const CUpti_Activity* record, DeviceActivity& activity) {
  const auto& from = as<CUpti_ActivityKernel10>(record);
  TracedWork work = work_of(from, base::WorkKind::kernel);
  work.name = activity.names.intern(demangled(from.name));
  work.registers = from.registersPerThread;
  work.static_shared_bytes = from.staticSharedMemory;
  work.dynamic_shared_bytes = from.dynamicSharedMemory;
  work.grid = sizes(from.gridX, from.gridY, from.gridZ);
  work.block = sizes(from.blockX, from.blockY, from.blockZ);
  work.cluster = {from.clusterX, from.clusterY, from.clusterZ};
  work.shared_optin = from.shmemLimitConfig == CUPTI_FUNC_SHMEM_LIMIT_OPTIN;
  keep(work, activity);
}

void RecordReader::memset(const CUpti_Activity* record, DeviceActivity& activity) {
  const auto& from = as<CUpti_ActivityMemset4>(record);
  TracedWork work = work_of(from, base::WorkKind::memset);
  work.name = activity.names.intern("Memset (" + std::string(place_name(from.memoryKind)) + ")");
  work.bytes = static_cast<int64_t>(from.bytes);
  keep(work, activity);
}

void RecordReader::synchronization(const CUpti_Activity* record, DeviceActivity& activity) {
  const auto& from = as<CUpti_ActivitySynchronization2>(record);
  if (from.start == 0 || from.end < from.start) return;
  Synchronization wait;
  wait.name = activity.names.intern(wait_name(from.type));
  wait.start = static_cast<base::Ns>(from.start);
  wait.end = static_cast<base::Ns>(from.end);
  wait.correlation = from.correlationId;
  wait.device = device_of_context(from.contextId);
  if (from.streamId != static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE))
    wait.stream = from.streamId;
  activity.synchronizations.push_back(wait);
}

void RecordReader::overhead(const CUpti_Activity* record, DeviceActivity& activity) {
  const auto& from = as<CUpti_ActivityOverhead3>(record);
  if (version_ >= 130000 && from.overheadData != nullptr) std::free(from.overheadData);  // ours to free
  if (from.start == 0 || from.end < from.start) return;
  Overhead overhead;
  overhead.name = activity.names.intern(overhead_name(from.overheadKind));
  overhead.start = static_cast<base::Ns>(from.start);
  overhead.end = static_cast<base::Ns>(from.end);
  if (from.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) overhead.tid = from.objectId.pt.threadId;
  activity.overheads.push_back(overhead);
}

std::string_view RecordReader::demangled(const char* name) {
  if (name == nullptr) return "unknown kernel";
  const auto [entry, added] = demangled_.try_emplace(name);
  if (added) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    entry->second = text != nullptr ? text.get() : name;
  }
  return entry->second;
}

int32_t RecordReader::device_of_context(int64_t context) const {
  const auto found = device_of_context_.find(context);
  return found == device_of_context_.end() ? 0 : found->second;
}

}  // namespace hunch::record::cupti
