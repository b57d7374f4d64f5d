// A shared library opened at run time, for libraries that hunch can do without: what needs one asks for it
// when it is used, and says what is missing when it is not there.
#pragma once

#include <string>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::base {

// Opened until the program ends: libraries of drivers do not bear being unloaded.
class SharedLibrary {
 public:
  // The first of `names` that opens: one that this process has open already; plain names are looked for in
  // `folders` first, then as the loader does (LD_LIBRARY_PATH, the program's run path, the system's cache).
  // Error: environment, with the loader's own words.
  static Result<SharedLibrary> open(const std::vector<std::string>& names,
                                    const std::vector<std::string>& folders = {});

  // The address of a function, or null where this version of the library has none.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }
  const std::string& name() const { return name_; }  // as it was opened

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* address(const char* name) const;

  void* handle_;
  std::string name_;
};

// The folder that the running program lies in, without a slash at its end.
std::string program_folder();
// The file `name` among hunch's own plug-ins: beside the program, or in ../lib/hunch of it. Empty: not there.
std::string find_plugin(const std::string& name);

// Where CUDA's libraries may lie besides the loader's path, in order: $CUDA_HOME and $CUDA_PATH, the
// toolkit's usual place, the toolkit that this was built with; of each lib64, lib and extras/CUPTI/lib64.
std::vector<std::string> cuda_library_folders();

}  // namespace hunch::base
