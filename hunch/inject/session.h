// The recording of the process that this library was injected into.
//
// In:  CUPTI's records and calls, the program's NVTX ranges. Out: a spool in the folder that the environment
// names. Holds: a thread of its own writes every quarter of a second what there is, so that a process that is
// killed loses little; at a normal exit, and at a signal that would end the process, it waits for the device,
// a bounded time, and writes the rest. Nothing that goes wrong here stops the program.
#pragma once

namespace hunch::inject {

// The folder for spools, or null: then nothing is recorded.
const char* spool_folder();

// At the driver's first use in this process. Further calls do nothing.
void start_session();

// Before anything else of this library: what a fork leaves to the child.
void prepare_for_forks();

}  // namespace hunch::inject
