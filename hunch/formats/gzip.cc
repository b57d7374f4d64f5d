#include "hunch/formats/gzip.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "hunch/base/units.h"

namespace hunch::formats {
namespace {

constexpr std::size_t kMaxRatio = 1032;                // deflate cannot unpack a byte to more than this many
constexpr std::size_t kSmallest = 18;                  // the smallest member: header and trailer
constexpr std::size_t kStep = std::size_t{1} << 20;    // unpacked between two looks at the readers
constexpr std::size_t kAhead = std::size_t{48} << 20;  // unpacked and not yet given up, unless asked for
constexpr std::size_t kHugePage = std::size_t{2} << 20;     // given back in such pieces
constexpr std::size_t kThreadFrom = std::size_t{64} << 10;  // less than this is unpacked when asked for
constexpr std::size_t kUsualRatio = 32;                     // traces as text seldom pack better

std::size_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::size_t{64} << 30;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

// The size that the last member claims, modulo 4 GiB.
std::size_t claimed_size(std::string_view packed) {
  if (packed.size() < kSmallest) return 0;
  uint32_t size = 0;
  for (int i = 0; i < 4; ++i)
    size |= static_cast<uint32_t>(static_cast<uint8_t>(packed[packed.size() - 4 + i])) << (8 * i);
  return size;
}

base::Error gzip_error(std::string message, std::size_t byte, std::string remedy) {
  return base::Error{base::ErrorCode::parse, std::move(message), {}, byte, std::move(remedy)};
}

// Addresses for all that could come; memory is used only where something is written. Huge pages spare most of
// the page faults, which otherwise cost as much time as unpacking does.
struct Region {
  char* data = nullptr;
  std::size_t size = 0;

  bool reserve(std::size_t most, std::size_t least) {
    for (size = most;; size = std::max(size / 2, least)) {
      void* mapping =
          ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapping != MAP_FAILED) {
        data = static_cast<char*>(mapping);
        ::madvise(data, size, MADV_HUGEPAGE);
        return true;
      }
      if (size <= least) return false;
    }
  }
  Region() = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    if (data != nullptr) ::munmap(data, size);
  }
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && static_cast<uint8_t>(bytes[1]) == 0x8b;
}

struct GunzipInput::State {
  std::string_view packed;
  Region region;
  std::size_t memory = machine_memory();

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::size_t made = 0;       // unpacked so far
  std::size_t wanted = 0;     // somebody waits for this many
  std::size_t forgotten = 0;  // given up before here
  bool done = false;
  bool stop = false;
  base::Status status;
  std::size_t garbage = 0;

  std::thread thread;
  bool lazy = false;      // no thread: unpacked by whoever asks
  bool started = false;   // lazy only
  std::size_t freed = 0;  // pages given back before here; the unpacking thread's own

  // The unpacking side.
  void run();
  void member(inflate_state& stream, std::size_t& at);
  void fail(base::Error error);
  bool keep_going();
  void release_pages();
};

void GunzipInput::State::fail(base::Error error) {
  const std::lock_guard lock(mutex);
  status = base::fail(std::move(error));
}

void GunzipInput::State::release_pages() {
  std::size_t before = 0;
  {
    const std::lock_guard lock(mutex);
    before = std::min(forgotten, made);
  }
  before = before / kHugePage * kHugePage;
  if (before <= freed) return;
  ::madvise(region.data + freed, before - freed, MADV_DONTNEED);
  freed = before;
}

// After each step: publishes it and waits while far enough ahead. False: no more is needed.
bool GunzipInput::State::keep_going() {
  release_pages();
  std::unique_lock lock(mutex);
  changed.wait(
      lock, [&] { return stop || lazy || made < wanted || made < forgotten || made - forgotten < kAhead; });
  return !stop;
}

// One member, from `at` on; moves it behind. Leaves a status where the member is no good.
void GunzipInput::State::member(inflate_state& stream, std::size_t& at) {
  isal_inflate_reset(&stream);
  stream.crc_flag = ISAL_GZIP;
  std::size_t fed = at;  // handed to the library before here
  stream.avail_in = 0;
  while (true) {
    if (stream.avail_in == 0 && fed < packed.size()) {
      const std::size_t piece = std::min<std::size_t>(packed.size() - fed, std::size_t{1} << 30);
      stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(packed.data() + fed));
      stream.avail_in = static_cast<uint32_t>(piece);
      fed += piece;
    }
    const std::size_t room = std::min(kStep, region.size - made);
    stream.next_out = reinterpret_cast<uint8_t*>(region.data + made);
    stream.avail_out = static_cast<uint32_t>(room);
    const uint32_t before = stream.avail_in;
    const int result = isal_inflate(&stream);
    const std::size_t step = room - stream.avail_out;
    const std::size_t buffered = static_cast<std::size_t>(std::max(stream.read_in_length, 0)) / 8;
    // On some corrupt data igzip 2.30 counts itself past the end of what it was given.
    const bool past_end = stream.avail_in > before;
    const std::size_t read = past_end ? fed : fed - stream.avail_in;
    const std::size_t reached = std::max(at, read > buffered ? read - buffered : 0);
    bool too_large = false;
    {
      const std::lock_guard lock(mutex);
      made += step;
      too_large = made > forgotten && made - forgotten > memory;
    }
    changed.notify_all();
    if (result < 0 || past_end) {
      return fail(gzip_error(fmt::format("the gzip data is corrupt here, {} unpacked bytes in", made),
                             reached,
                             made > 0 ? "record or copy it again; or add --salvage to read what unpacks"
                                      : "record or copy it again"));
    }
    if (stream.block_state == ISAL_BLOCK_FINISH) {
      at = reached;
      return;
    }
    if (too_large || made == region.size) {
      return fail(base::Error{base::ErrorCode::unsupported,
                              "unpacks to more than this machine's memory (" +
                                  base::format_bytes(static_cast<int64_t>(memory)) + ")",
                              {},
                              {},
                              "record fewer steps, or unpack it on a larger machine and cut it"});
    }
    const bool stuck = step == 0 && stream.avail_in == before && room > 0;
    if (stuck && (stream.avail_in > 0 || fed == packed.size())) {
      return fail(gzip_error(fmt::format("the gzip data is cut: the file ends {} unpacked bytes in", made),
                             packed.size(),
                             made > 0 ? "record or copy it again; or add --salvage to read what unpacks"
                                      : "record or copy it again"));
    }
    if (!keep_going()) {
      at = packed.size();
      return;
    }
  }
}

void GunzipInput::State::run() {
  const auto stream = std::make_unique<inflate_state>();
  isal_inflate_init(stream.get());
  std::size_t at = 0;
  do {
    member(*stream, at);
  } while (status && at < packed.size() && is_gzip(packed.substr(at)));
  const std::string_view rest = packed.substr(std::min(at, packed.size()));
  const bool padding = std::all_of(rest.begin(), rest.end(), [](char c) { return c == '\0'; });
  const std::lock_guard lock(mutex);
  if (status && !padding) garbage = rest.size();
  done = true;
  changed.notify_all();
}

GunzipInput::GunzipInput(std::unique_ptr<State> state) : state_(std::move(state)) {}

base::Result<std::unique_ptr<GunzipInput>> GunzipInput::open(std::string_view packed) {
  auto state = std::make_unique<State>();
  state->packed = packed;
  // Pages behind the reader are given back, so a file may unpack to more than the memory there is.
  constexpr std::size_t kMostAddresses = std::size_t{1} << 44;
  const std::size_t most =
      packed.size() > kMostAddresses / kMaxRatio ? kMostAddresses : packed.size() * kMaxRatio + kHugePage;
  const std::size_t least = std::min(most, std::max(claimed_size(packed), packed.size()) + kHugePage);
  if (!state->region.reserve(most, least))
    return base::fail(base::ErrorCode::environment, "no memory to unpack it",
                      "close other programs, or unpack it first");
  state->lazy = packed.size() < kThreadFrom;
  State* const running = state.get();
  if (!state->lazy) state->thread = std::thread([running] { running->run(); });
  return std::unique_ptr<GunzipInput>(new GunzipInput(std::move(state)));
}

GunzipInput::~GunzipInput() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

std::string_view GunzipInput::first(std::size_t size) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.lazy && !state.started) {
    state.started = true;
    lock.unlock();
    state.run();
    lock.lock();
  }
  if (!state.done && state.made < size) {
    state.wanted = std::max(state.wanted, size);
    state.changed.notify_all();
    state.changed.wait(lock, [&] { return state.done || state.made >= size; });
  }
  return {state.region.data, state.made};
}

void GunzipInput::forget_before(std::size_t offset) {
  const std::lock_guard lock(state_->mutex);
  state_->forgotten = std::max(state_->forgotten, offset);
  state_->changed.notify_all();
}

std::size_t GunzipInput::expected_size() const {
  return std::min(claimed_size(state_->packed), kUsualRatio * state_->packed.size());
}

int GunzipInput::own_threads() const { return state_->lazy ? 0 : 1; }

base::Status GunzipInput::drain() {
  forget_before(SIZE_MAX);
  all();
  return state_->status;
}

base::Status GunzipInput::status() const {
  const std::lock_guard lock(state_->mutex);
  return state_->status;
}

std::size_t GunzipInput::garbage() const {
  const std::lock_guard lock(state_->mutex);
  return state_->garbage;
}

std::size_t GunzipInput::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->made;
}

base::Result<Unpacked> gunzip(std::string_view packed) {
  Unpacked unpacked;
  HUNCH_ASSIGN(unpacked.input_, GunzipInput::open(packed));
  unpacked.input_->all();
  HUNCH_RETURN_IF_ERROR(unpacked.input_->status());
  return unpacked;
}

}  // namespace hunch::formats
