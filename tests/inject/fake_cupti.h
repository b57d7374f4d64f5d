// A CUPTI whose device is this file: the functions that hunch uses, and what a test has it do.
#pragma once

#include <cstdint>

extern "C" {
// A launch of the runtime's with the driver's inside, as CUPTI tells of it, and `work` pieces of device work
// of `name` that end at once. Returns the correlation.
uint32_t fake_launch(const char* name, int work);
uint32_t fake_copy(uint64_t bytes);
// Work that has not ended: handed back only by a forced flush.
uint32_t fake_launch_unfinished(const char* name);
void fake_finish();
}
