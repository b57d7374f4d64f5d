#include "hunch/formats/chrome_json/parallel_events.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hunch/formats/chrome_json/event_window.h"
#include "hunch/formats/chrome_json/text_scan.h"

namespace hunch::formats::chrome_json {
namespace {

// What one chunk becomes. Once joined it takes another chunk: with its room, and with the names it has met.
struct Part {
  trace::TraceBuilder builder;
  EventDecoder decoder{builder};
  EventWindow window{decoder};
  trace::TraceBuilder::Known known;  // of its names and tracks, in the whole
  std::size_t end = 0;
  bool sound = false;
};

// Names that seldom repeat are no help, and not to be kept by each part besides the whole.
constexpr std::size_t kMostNames = std::size_t{1} << 20;  // bytes

bool take_chunk(std::string_view text, std::size_t at, Part& part) {
  part.builder.reserve((part.end - at) / 200, (part.end - at) / 800, (part.end - at) / 400);
  EventWindow& window = part.window;
  while (at < part.end) {
    std::size_t end = part.end;
    if (part.end - at > kWindow) {
      end = last_event_boundary(text, at, at + kWindow);
      if (end == kNowhere) end = part.end;
    }
    Step step = window.take(text, at, end);
    if (step == Step::out && end < part.end) step = window.take(text, at, part.end);
    if (step != Step::window_done) return false;
  }
  return part.decoder.stands_alone();
}

class Chunks {
 public:
  Chunks(Input& input, std::size_t at, std::size_t ahead) : input_(input), next_begin_(at), slots_(ahead) {}

  // A worker: takes chunks until there are no more.
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopped_ || next_ < merged_ + slots_.size(); });
      if (stopped_) break;
      const std::size_t begin = next_begin_;
      const std::string_view text = input_.first(begin + kChunk + 1);
      if (text.size() - begin <= kChunk) break;
      const std::size_t end = last_event_boundary(text, begin, begin + kChunk);
      if (end == kNowhere) break;
      next_begin_ = end;
      const std::size_t index = next_++;
      std::unique_ptr<Part> part;
      if (!spare_.empty()) {
        part = std::move(spare_.back());
        spare_.pop_back();
      }
      lock.unlock();
      if (part == nullptr) part = std::make_unique<Part>();
      part->end = end;
      part->sound = take_chunk(text.substr(0, end), begin, *part);
      lock.lock();
      slots_[index % slots_.size()] = std::move(part);
      changed_.notify_all();
    }
    exhausted_ = true;
    changed_.notify_all();
  }

  // The parts in order; null behind the last one.
  std::unique_ptr<Part> next() {
    std::unique_lock lock(mutex_);
    auto& slot = slots_[merged_ % slots_.size()];
    changed_.wait(lock, [&] { return slot != nullptr || (exhausted_ && merged_ == next_); });
    auto part = std::move(slot);
    ++merged_;
    changed_.notify_all();
    return part;
  }

  // A part that was joined, to be used again.
  void give_back(std::unique_ptr<Part> part) {
    part->builder.clear_rows();
    const trace::Trace& kept = part->builder.trace();
    if (kept.strings.bytes() + 16 * kept.strings.size() + 64 * kept.tracks.size() > kMostNames) return;
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(part));
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  Input& input_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_begin_;
  std::size_t next_ = 0, merged_ = 0;  // chunks handed out, and joined
  std::vector<std::unique_ptr<Part>> slots_;
  std::vector<std::unique_ptr<Part>> spare_;
  bool exhausted_ = false, stopped_ = false;
};

}  // namespace

Taken read_in_parallel(Input& input, std::size_t at, trace::TraceBuilder& builder, EventDecoder& decoder,
                       int threads) {
  Taken taken{at, at};
  Chunks chunks(input, at, 2 * static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back([&chunks] { chunks.work(); });
  while (auto part = chunks.next()) {
    if (!part->sound) {
      taken.resume = part->end;
      break;
    }
    builder.absorb(part->builder.trace(), part->known);
    decoder.absorb(part->decoder, part->known.tracks);
    taken.at = taken.resume = part->end;
    chunks.give_back(std::move(part));
    input.forget_before(taken.at);
  }
  chunks.stop();
  for (auto& worker : workers) worker.join();
  return taken;
}

}  // namespace hunch::formats::chrome_json
