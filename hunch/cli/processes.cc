// Which launcher started this, and the library that speaks MPI (hunch/cli/mpi), opened beside the program.
// MPI's own parts look for its symbols in the whole program, so it is opened for all to see.
#include "hunch/cli/processes.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "hunch/base/shared_library.h"
#include "hunch/base/strings.h"
#include "hunch/cli/mpi/hunch_mpi.h"

namespace hunch::cli {
namespace {

// A launcher's variables: how many processes, and which this is.
struct Launcher {
  const char* size;
  const char* rank;
};
// srun's are those of the step: a batch script alone has SLURM_NTASKS too.
constexpr std::array<Launcher, 4> kLaunchers = {{{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                                 {"PMI_SIZE", "PMI_RANK"},
                                                 {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}}};

int64_t number(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? -1 : base::parse_int(value).value_or(-1);
}

const Launcher* launcher() {
  for (const Launcher& each : kLaunchers)
    if (number(each.size) > 1) return &each;
  return nullptr;
}

// PMIx alone tells no size: MPI itself will. Open MPI's own variables come first.
bool pmix() {
  return number("OMPI_COMM_WORLD_SIZE") < 0 && number("PMIX_RANK") >= 0 &&
         std::getenv("PMIX_NAMESPACE") != nullptr;
}

base::Error broken(int code) {
  base::Error error;
  error.code = base::ErrorCode::environment;
  error.message = fmt::format("MPI: a message was lost (error {})", code);
  error.remedy = "run it without mpirun";
  return error;
}

}  // namespace

struct Processes::Library {
  decltype(&hunch_mpi_start) start = nullptr;
  decltype(&hunch_mpi_send) send = nullptr;
  decltype(&hunch_mpi_receive) receive = nullptr;
  decltype(&hunch_mpi_broadcast) broadcast = nullptr;
  decltype(&hunch_mpi_finish) finish = nullptr;

  static std::unique_ptr<Library> open() {
    const std::string path = base::find_plugin("libhunch_mpi.so");
    void* const handle = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return nullptr;
    auto library = std::make_unique<Library>();
    const auto take = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    const bool whole = take(library->start, "hunch_mpi_start") && take(library->send, "hunch_mpi_send") &&
                       take(library->receive, "hunch_mpi_receive") &&
                       take(library->broadcast, "hunch_mpi_broadcast") &&
                       take(library->finish, "hunch_mpi_finish");
    return whole ? std::move(library) : nullptr;
  }
};

Processes::~Processes() {
  if (library_ != nullptr) library_->finish();
}
Processes::Processes(Processes&&) noexcept = default;

Processes Processes::join() {
  Processes processes;
  const Launcher* const by = launcher();
  if (by == nullptr && !pmix()) return processes;
  processes.library_ = Library::open();
  if (processes.library_ != nullptr && processes.library_->start(&processes.rank_, &processes.size_) == 0)
    return processes;
  processes.note_ = processes.library_ == nullptr
                        ? "hunch was built without MPI: one process does all the work"
                        : "MPI does not start: one process does all the work";
  processes.library_.reset();
  processes.rank_ = 0;
  processes.size_ = 1;
  processes.idle_ = number(by != nullptr ? by->rank : "PMIX_RANK") > 0;
  return processes;
}

base::Result<std::vector<std::string>> Processes::gather(std::string mine) {
  std::vector<std::string> all;
  if (size_ == 1) {
    all.push_back(std::move(mine));
    return all;
  }
  if (!first()) {
    const uint64_t size = mine.size();
    int code = library_->send(&size, sizeof size, 0);
    if (code == 0) code = library_->send(mine.data(), size, 0);
    if (code != 0) return base::fail(broken(code));
    return all;
  }
  all.push_back(std::move(mine));
  for (int from = 1; from < size_; ++from) {
    uint64_t size = 0;
    int code = library_->receive(&size, sizeof size, from);
    if (code != 0) return base::fail(broken(code));
    all.emplace_back(size, '\0');
    code = library_->receive(all.back().data(), size, from);
    if (code != 0) return base::fail(broken(code));
  }
  return all;
}

base::Result<std::string> Processes::broadcast(std::string mine) {
  if (size_ == 1) return mine;
  uint64_t size = mine.size();
  int code = library_->broadcast(&size, sizeof size);
  if (code == 0) {
    mine.resize(size);
    code = library_->broadcast(mine.data(), size);
  }
  if (code != 0) return base::fail(broken(code));
  return mine;
}

}  // namespace hunch::cli
