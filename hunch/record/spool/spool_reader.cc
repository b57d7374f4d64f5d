// Block by block; of a block that the file's end cuts, the records that are whole. See spool_reader.h.
#include "hunch/record/spool/spool_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hunch/base/mapped_file.h"
#include "hunch/record/spool/records.h"

namespace hunch::record::spool {
namespace {

constexpr std::array kBlocks = {kProcessBlock,  kTextBlock,  kCallBlock,   kWorkBlock,   kWaitBlock,
                                kOverheadBlock, kRangeBlock, kThreadBlock, kDeviceBlock, kMetadataBlock,
                                kNoteBlock,     kLostBlock,  kEndBlock};
constexpr std::size_t kHead = 8;  // of a block: letters and length
// Beyond these lies no time since 1970 and no size: sums of a few stay numbers.
constexpr int64_t kMostTime = int64_t{1} << 62;
constexpr int64_t kMostShift = int64_t{1} << 61;
constexpr int64_t kMostShared = int64_t{1} << 40;

bool is_time(int64_t value) { return value > -kMostTime && value < kMostTime; }

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Spool read() {
    at_ = kMagic.size();
    while (at_ < bytes_.size() && !spool_.cut) block();
    return std::move(spool_);
  }

 private:
  void block() {
    Input head(bytes_.substr(at_));
    uint32_t kind = 0, length = 0;
    head.field(kind);
    head.field(length);
    if (!head.ok()) return cut(at_, "");
    if (std::find(kBlocks.begin(), kBlocks.end(), kind) == kBlocks.end())
      return cut(at_, "no block begins there");
    const std::size_t begin = at_ + kHead;
    const std::size_t there = std::min<std::size_t>(length, bytes_.size() - begin);
    Input input(bytes_.substr(begin, there));
    std::size_t whole = 0;  // bytes of whole records
    while (!input.at_end() && !spool_.cut) {
      const char* const wrong = record(kind, input);
      if (!input.ok()) break;
      if (wrong != nullptr) return cut(begin + whole, wrong);
      whole = input.at();
    }
    if (kind == kEndBlock && there == length) spool_.ended = true;
    if (there < length) return cut(begin + whole, "");
    if (whole < length) return cut(begin + whole, "a record is not whole in its block");
    at_ = begin + length;
  }

  void cut(std::size_t byte, const char* reason) {
    spool_.cut = byte;
    spool_.cut_reason = reason;
  }

  // One record; what is wrong with it, or null. Nothing of a record that is not whole is kept.
  const char* record(uint32_t kind, Input& input) {
    switch (kind) {
      case kProcessBlock: {
        Process process;
        process_fields(input, process);
        if (!input.ok()) return nullptr;
        if (process.clock_shift <= -kMostShift || process.clock_shift >= kMostShift)
          return "a clock that cannot be";
        spool_.process = std::move(process);
        return nullptr;
      }
      case kTextBlock: {
        std::string_view text;
        input.field(text);
        if (input.ok()) names_.push_back(spool_.activity.names.intern(text));
        return nullptr;
      }
      case kCallBlock:
        return timed(input, spool_.activity.calls,
                     [](Input& from, ApiCall& call) { call_fields(from, call); });
      case kWorkBlock:
        return timed(input, spool_.activity.work,
                     [](Input& from, TracedWork& work) { work_fields(from, work); });
      case kWaitBlock:
        return timed(input, spool_.activity.synchronizations,
                     [](Input& from, Synchronization& wait) { wait_fields(from, wait); });
      case kOverheadBlock:
        return timed(input, spool_.activity.overheads,
                     [](Input& from, Overhead& overhead) { overhead_fields(from, overhead); });
      case kRangeBlock:
        return range(input);
      case kThreadBlock: {
        int64_t tid = 0;
        std::string name;
        input.field(tid);
        input.field(name);
        if (input.ok()) spool_.threads[tid] = std::move(name);
        return nullptr;
      }
      case kDeviceBlock: {
        trace::DeviceProperties device;
        device_fields(input, device);
        if (input.ok()) spool_.devices.push_back(std::move(device));
        return nullptr;
      }
      case kMetadataBlock: {
        std::string key, value;
        input.field(key);
        input.field(value);
        if (input.ok()) spool_.activity.metadata[std::move(key)] = std::move(value);
        return nullptr;
      }
      case kNoteBlock: {
        std::string text;
        input.field(text);
        if (input.ok()) spool_.activity.warnings.push_back(std::move(text));
        return nullptr;
      }
      case kLostBlock: {
        uint64_t lost = 0, untimed = 0;
        input.field(lost);
        input.field(untimed);
        if (!input.ok()) return nullptr;
        spool_.activity.lost += lost;
        spool_.activity.untimed += untimed;
        return nullptr;
      }
      default:
        return "a block that should be empty is not";
    }
  }

  template <class Record, class Fields>
  const char* timed(Input& input, std::vector<Record>& to, Fields fields) {
    Record record;
    fields(input, record);
    if (!input.ok()) return nullptr;
    if constexpr (requires { record.kind; }) {
      if (record.kind > base::WorkKind::memset) return "device work of no known kind";
      if (record.static_shared_bytes > kMostShared || record.dynamic_shared_bytes > kMostShared)
        return "a size that cannot be";
    }
    if (record.name >= names_.size()) return "a record has a name that the file does not";
    if (!is_time(record.start) || !is_time(record.end)) return "a time that cannot be";
    record.name = names_[record.name];
    if (record.end >= record.start) to.push_back(record);
    return nullptr;
  }

  const char* range(Input& input) {
    uint32_t domain = 0;
    RangeEvent event;
    input.field(domain);
    range_fields(input, event);
    if (!input.ok()) return nullptr;
    if (domain >= names_.size()) return "a record has a name that the file does not";
    if (event.what > RangeWhat::end) return "a range's event of no known kind";
    if (!is_time(event.time)) return "a time that cannot be";
    event.domain = spool_.activity.names.view(names_[domain]);
    event.text = spool_.texts.view(spool_.texts.intern(event.text));
    spool_.ranges.push_back(event);
    return nullptr;
  }

  const std::string_view bytes_;
  std::size_t at_ = 0;
  Spool spool_;
  std::vector<trace::StringId> names_;  // by the file's number
};

}  // namespace

base::Result<Spool> read_spool(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kMagic))
    return base::fail(base::Error{base::ErrorCode::parse, "this is no spool of a recording", name, 0,
                                  "hunch record writes them, and reads them by itself"});
  return Reader(bytes).read();
}

base::Result<Spool> read_spool_file(const std::string& path) {
  HUNCH_ASSIGN(const base::MappedFile file, base::MappedFile::open(path));
  return read_spool(file.bytes(), path);
}

}  // namespace hunch::record::spool
