// A program that uses CUDA, as far as an injected library can tell: it loads $CUDA_INJECTION64_PATH as the
// driver does at its first use, tells NVTX its ranges through NVTX's own header, and launches by
// fake_cupti.h. usage: program WORD...   each word is done in turn
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/inject/fake_cupti.h"

namespace {

void use_cuda() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "no injection: %s\n", path == nullptr ? "not asked for" : ::dlerror());
    return;
  }
  auto* const begin = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  if (begin == nullptr || begin() != 1) std::exit(99);
}

void forwards(int count) {
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA("forward");
    nvtxRangePushA(("aten::mm, seq = " + std::to_string(i) + ", sizes = [[2, 3], [3, 4]]").c_str());
    fake_launch("_Z6matmulv", 1);
    nvtxRangePop();
    fake_copy(64);
    nvtxRangePop();
  }
}

void domains() {
  nvtxDomainHandle_t own = nvtxDomainCreateA("my.training"), nccl = nvtxDomainCreateW(L"NCCL");
  nvtxStringHandle_t name = nvtxDomainRegisterStringA(own, "registered");
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = name;
  const int outer = nvtxDomainRangePushEx(own, &attributes);
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "ncclAllReduce";
  nvtxDomainRangePushEx(nccl, &attributes);
  attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  attributes.message.unicode = L"gr\u00fc\u00df";
  const int inner = nvtxDomainRangePushEx(own, &attributes);
  fake_launch("_Z6reducev", 1);
  if (outer != 0 || inner != 1 || nvtxDomainRangePop(own) != 1) std::exit(98);
  nvtxDomainRangePop(nccl);
  nvtxDomainRangePop(own);
  const nvtxRangeId_t across = nvtxRangeStartA("across");
  std::thread([across] { nvtxRangeEnd(across); }).join();
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto number = [&] { return std::atoi(words[++i]); };
    if (word == "cuda") {
      use_cuda();
    } else if (word == "forwards") {
      forwards(number());
    } else if (word == "domains") {
      domains();
    } else if (word == "early") {  // told before the first use of CUDA
      nvtxRangePushA("early");
    } else if (word == "pop") {
      nvtxRangePop();
    } else if (word == "threads") {
      std::thread other([] { forwards(5); });
      forwards(5);
      other.join();
    } else if (word == "unfinished") {
      fake_launch_unfinished("_Z4slowv");
    } else if (word == "exit") {
      return number();
    } else if (word == "_exit") {
      ::_exit(number());
    } else if (word == "abort") {
      std::abort();
    } else if (word == "segv") {
      *static_cast<volatile int*>(nullptr) = 1;
    } else if (word == "kill") {
      ::kill(::getpid(), number());
      ::pause();
    } else if (word == "own-handler") {
      ::signal(SIGTERM, [](int) { ::_exit(5); });
    } else if (word == "sleep") {
      ::usleep(static_cast<useconds_t>(number()) * 1000);
    } else if (word == "say") {
      std::puts(words[++i]);
      std::fflush(stdout);
    } else if (word == "fork") {  // a child that goes on as its parent, and its own end
      const pid_t child = ::fork();
      if (child == 0) {
        forwards(3);
        return 4;
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 4) return 96;
    } else if (word == "spawn") {  // another program, and its own spool: the words that follow, up to "."
      const pid_t child = ::fork();
      if (child == 0) {
        words[i] = words[0];
        for (int j = i; j < count; ++j)
          if (std::string(words[j]) == ".") words[j] = nullptr;
        ::execv("/proc/self/exe", words + i);
        ::_exit(95);
      }
      ::waitpid(child, nullptr, 0);
      while (std::string(words[i]) != ".") ++i;
    } else if (word == "become") {
      words[i] = words[0];
      ::execv("/proc/self/exe", words + i);
    } else {
      std::fprintf(stderr, "unknown word %s\n", word.c_str());
      return 94;
    }
  }
  return 0;
}
