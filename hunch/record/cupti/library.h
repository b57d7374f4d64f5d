// CUPTI as a set of functions, opened when first asked for: the program runs without it.
//
// In:  nothing. Out: the functions, or an error that says where the library was looked for.
// Holds: all of HUNCH_CUPTI_REQUIRED are there; those of HUNCH_CUPTI_OPTIONAL may be null in older versions.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

#include "hunch/base/result.h"

#define HUNCH_CUPTI_REQUIRED(with)                                                                \
  with(cuptiGetVersion) with(cuptiGetResultString) with(cuptiSubscribe) with(cuptiUnsubscribe)    \
      with(cuptiEnableCallback) with(cuptiGetCallbackName) with(cuptiActivityEnable)              \
          with(cuptiActivityDisable) with(cuptiActivityFlushAll) with(cuptiActivityGetNextRecord) \
              with(cuptiActivityGetNumDroppedRecords) with(cuptiActivityRegisterCallbacks)        \
                  with(cuptiActivityRegisterTimestampCallback) with(cuptiActivitySetAttribute)    \
                      with(cuptiSetThreadIdType)

#define HUNCH_CUPTI_OPTIONAL(with) with(cuptiGetErrorMessage)

namespace hunch::record::cupti {

struct Library {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes none.
#define HUNCH_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  HUNCH_CUPTI_REQUIRED(HUNCH_CUPTI_MEMBER)
  HUNCH_CUPTI_OPTIONAL(HUNCH_CUPTI_MEMBER)
#undef HUNCH_CUPTI_MEMBER

  uint32_t version = 0;  // CUPTI_API_VERSION of the library: 130001
  std::string file;      // what was opened

  // Success, or an error of `environment` that names the call and says what it means for a person.
  base::Status checked(CUptiResult result, const char* call) const;
};

// Opened once; the same answer each time. Error: environment.
const base::Result<Library>& library();

}  // namespace hunch::record::cupti
