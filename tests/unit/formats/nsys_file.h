// Exports of Nsight Systems of our own making, in the forms of an old and of a recent version.
//
// The run: process 4242 launches a kernel, a copy and a memset in a range "forward" of its thread 4300, and
// waits.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "tests/unit/formats/sqlite_file.h"

namespace hunch::formats {

// Hardware 1, machine 0; a process or a thread.
inline int64_t global_id(int64_t pid, int64_t tid = 0) { return int64_t{1} << 48 | pid << 24 | tid; }

// Each a table of a recent export, with the columns that matter and some that do not.
inline const std::string kStrings =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);";
inline const std::string kKernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId "
    "INTEGER NOT "
    "NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId "
    "INTEGER, "
    "globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
    "launchType "
    "INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ "
    "INTEGER NOT "
    "NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory "
    "INTEGER NOT "
    "NULL, dynamicSharedMemory INTEGER NOT NULL, graphNodeId INTEGER, graphId INTEGER);";
inline const std::string kCalls =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, eventClass "
    "INTEGER "
    "NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT "
    "NULL, "
    "callchainId INTEGER);";
inline const std::string kRanges =
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, \"end\" INTEGER, eventType INTEGER NOT NULL, rangeId "
    "INTEGER, "
    "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, "
    "domainId "
    "INTEGER, binaryData TEXT);";
inline const std::string kCopies =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId "
    "INTEGER NOT "
    "NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "bytes "
    "INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, "
    "graphNodeId INTEGER);";
inline const std::string kMemsets =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId "
    "INTEGER NOT "
    "NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "value "
    "INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);";
inline const std::string kSyncs =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, "
    "deviceId "
    "INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, "
    "globalPid "
    "INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);";
inline const std::string kGraphs =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, "
    "deviceId INTEGER "
    "NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid "
    "INTEGER, "
    "graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL);";

inline std::string string_row(int id, const std::string& text) {
  return fmt::format("INSERT INTO StringIds VALUES ({}, '{}');", id, text);
}
inline std::string kernel_row(int64_t start, int64_t end, int64_t pid, int device, int stream,
                              int64_t correlation, int name) {
  return fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, 1, NULL, {}, {}, {}, {}, {}, NULL, 1, 168, "
      "8, 4, 2, "
      "128, 2, 1, 1024, 65536, NULL, NULL);",
      start, end, device, stream, correlation, global_id(pid), name, name);
}
inline std::string call_row(int64_t start, int64_t end, int64_t pid, int64_t tid, int64_t correlation,
                            int name, int event_class = 0) {
  return fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, {}, {}, 0, NULL);",
                     start, end, event_class, global_id(pid, tid), correlation, name);
}
// `text` may be "NULL" or quoted.
inline std::string range_row(int64_t start, int64_t end, int64_t pid, int64_t tid, const std::string& text,
                             const std::string& text_id = "NULL", int type = 59, int domain = 0) {
  return fmt::format(
      "INSERT INTO NVTX_EVENTS VALUES ({}, {}, {}, NULL, NULL, NULL, {}, {}, NULL, {}, {}, NULL);", start,
      end < 0 ? "NULL" : std::to_string(end), type, text, global_id(pid, tid), text_id, domain);
}

inline std::string recent_export() {
  return kStrings + kKernels + kCalls + kRanges + kCopies + kMemsets + kSyncs +
         string_row(1, "void flash_fwd_kernel<(int)64>(Params)") + string_row(2, "flash_fwd_kernel") +
         string_row(3, "cudaLaunchKernel_v7000") + string_row(4, "cudaMemcpyAsync_ptsz_v7000") +
         string_row(5, "cudaMemsetAsync_v3020") + string_row(6, "cudaStreamSynchronize_v3020") +
         string_row(7, "forward") + string_row(8, "main thread") +
         range_row(1000, 9000, 4242, 4300, "NULL", "7") +
         range_row(1100, 4000, 4242, 4300, "'aten::mm, seq = 12, op_id = 3, sizes = [[2, 3], [3, 4], []]'") +
         call_row(1200, 1300, 4242, 4300, 71, 3) + call_row(1400, 1500, 4242, 4300, 72, 4) +
         call_row(1600, 1700, 4242, 4300, 73, 5) + call_row(2000, 8000, 4242, 4300, 74, 6) +
         kernel_row(3000, 5000, 4242, 0, 7, 71, 1) +
         fmt::format(
             "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5100, 5200, 0, 1, 7, 72, {}, 4096, 1, NULL, 1, "
             "2, "
             "NULL);",
             global_id(4242)) +
         fmt::format(
             "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5300, 5350, 0, 1, 7, 73, {}, 0, 512, NULL, 2);",
             global_id(4242)) +
         fmt::format(
             "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (2100, 7900, 0, 1, 7, 74, {}, 3, 0);",
             global_id(4242)) +
         "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);" +
         fmt::format("INSERT INTO PROCESSES VALUES ({}, 4242, 'python3');", global_id(4242)) +
         "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);" +
         fmt::format("INSERT INTO ThreadNames VALUES (8, 20, {});", global_id(4242, 4300)) +
         "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, "
         "systemClockNs "
         "INTEGER); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790000000000000900, 'a', 'b', 900);"
         "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT); INSERT INTO META_DATA_EXPORT "
         "VALUES "
         "('EXPORT_PRODUCT_VERSION', '2026.2.1.210'), ('EXPORT_SCHEMA_VERSION', '3.25.0');"
         "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory "
         "INTEGER, "
         "smCount INTEGER, cuDevice INTEGER, maxShmemPerBlock INTEGER, maxShmemPerBlockOptin INTEGER, "
         "maxShmemPerSm "
         "INTEGER, maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, "
         "maxThreadsPerBlock "
         "INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
         "INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA H100', 85899345920, 132, 0, 49152, 232448, "
         "233472, 65536, "
         "32, 64, 1024, 9, 0);";
}

// As in 2021: no marks of processes on the device's rows, no graph columns, other types, no names of threads.
inline std::string old_export() {
  return "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, \"end\" INT NOT NULL, deviceId INT "
         "NOT NULL, "
         "contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, shortName INT NOT NULL, "
         "gridX INT "
         "NOT NULL, gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ "
         "INT NOT "
         "NULL);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, \"end\" INT NOT NULL, eventClass INT "
         "NOT NULL, "
         "globalTid INT NOT NULL, correlationId INT NOT NULL, nameId INT NOT NULL);"
         "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, \"end\" INT, eventType INT NOT NULL, text TEXT, "
         "globalTid INT);" +
         string_row(1, "gemm") + string_row(2, "cuLaunchKernel") +
         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (300, 400, 0, 1, 7, 5, 1, 1, 2, 3, 4, 5, 6);" +
         fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 200, 1, {}, 5, 2);",
                     global_id(4242, 4300)) +
         fmt::format("INSERT INTO NVTX_EVENTS VALUES (50, 500, 59, 'forward', {});", global_id(4242, 4300));
}

}  // namespace hunch::formats
