// The loader tells one error at a time, and for a name that it does not find that is all there is to say; an
// error of a file that is there (a library of its own missing, say) is worth more, and is the one reported.
#include "hunch/base/shared_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>

namespace hunch::base {

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names,
                                          const std::vector<std::string>& folders) {
  std::string trouble;
  const auto attempt = [&trouble](const std::string& path, bool there) -> void* {
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const words = ::dlerror();
      if (words != nullptr && (there || trouble.empty())) trouble = words;
    }
    return handle;
  };
  // Two copies of a library of CUDA in one process know nothing of each other: PyTorch may have brought one,
  // and an older version of it than the first name's.
  for (const std::string& name : names)
    if (name.find('/') == std::string::npos)
      if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
        return SharedLibrary(handle, name);
  for (const std::string& name : names) {
    if (name.find('/') == std::string::npos) {
      for (const std::string& folder : folders) {
        std::string path = folder;
        path.append("/").append(name);
        if (::access(path.c_str(), R_OK) != 0) continue;
        if (void* const handle = attempt(path, true)) return SharedLibrary(handle, path);
      }
    }
    if (void* const handle = attempt(name, false)) return SharedLibrary(handle, name);
  }
  return fail(ErrorCode::environment, trouble.empty() ? "no library was named" : trouble);
}

void* SharedLibrary::address(const char* name) const { return ::dlsym(handle_, name); }

std::string program_folder() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return program.substr(0, program.rfind('/'));
}

std::string find_plugin(const std::string& name) {
  for (const char* place : {"/", "/../lib/hunch/"}) {
    std::string path = program_folder() + place + name;
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

std::vector<std::string> cuda_library_folders() {
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const root = std::getenv(variable);
    if (root != nullptr && *root != '\0') roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
#ifdef HUNCH_CUDA_TOOLKIT
  roots.emplace_back(HUNCH_CUDA_TOOLKIT);
#endif
  std::vector<std::string> folders;
  for (const std::string& root : roots)
    for (const char* below : {"/lib64", "/lib", "/extras/CUPTI/lib64"}) folders.push_back(root + below);
  return folders;
}

}  // namespace hunch::base
