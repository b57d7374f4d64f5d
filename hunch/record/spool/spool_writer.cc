// Blocks gather in memory and go to the file with one write. See spool_writer.h.
#include "hunch/record/spool/spool_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "hunch/record/spool/records.h"

namespace hunch::record::spool {

base::Result<SpoolWriter> SpoolWriter::create(const std::string& folder, const Process& process) {
  // A process that starts another program in its own place keeps its number.
  for (int turn = 1; turn < 1000; ++turn) {
    std::string path = folder + "/" + std::to_string(process.pid);
    if (turn > 1) path += "-" + std::to_string(turn);
    path += kFileEnd;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0)
      return base::fail(base::Error{
          base::ErrorCode::io, std::string("cannot make the spool: ") + ::strerror(errno), path, {}, {}});
    SpoolWriter writer(file, std::move(path));
    writer.block(kProcessBlock, [&](Output& to) { process_fields(to, process); });
    HUNCH_RETURN_IF_ERROR(writer.flush());
    return writer;
  }
  return base::fail(base::ErrorCode::io, "too many spools of one process", folder);
}

SpoolWriter::SpoolWriter(SpoolWriter&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      written_(other.written_),
      failed_(other.failed_),
      texts_(std::move(other.texts_)),
      blocks_(std::move(other.blocks_)),
      numbers_(std::move(other.numbers_)) {}

SpoolWriter::~SpoolWriter() {
  if (file_ >= 0) ::close(file_);
}

template <class Fill>
void SpoolWriter::block(uint32_t tag, Fill fill) {
  if (failed_) return;
  blocks_.field(tag);
  const std::size_t length = blocks_.reserve_length();
  fill(blocks_);
  blocks_.set_length(length);
}

uint32_t SpoolWriter::number_of(std::string_view text) {
  const auto [entry, added] = numbers_.try_emplace(std::string(text), static_cast<uint32_t>(numbers_.size()));
  if (added) texts_.field(text);
  return entry->second;
}

void SpoolWriter::add(const DeviceActivity& activity) {
  // By the activity's own numbers, so that a text is looked for once and not once a record.
  constexpr uint32_t kNotYet = UINT32_MAX;
  std::vector<uint32_t> numbers(activity.names.size(), kNotYet);
  const auto number = [&](trace::StringId name) {
    if (numbers[name] == kNotYet) numbers[name] = number_of(activity.names.view(name));
    return numbers[name];
  };
  const auto records = [&](uint32_t tag, const auto& all, auto fields) {
    if (all.empty()) return;
    block(tag, [&](Output& to) {
      for (auto record : all) {  // a copy, whose name becomes the file's
        record.name = number(record.name);
        fields(to, std::as_const(record));
      }
    });
  };
  records(kCallBlock, activity.calls, [](Output& to, const ApiCall& call) { call_fields(to, call); });
  records(kWorkBlock, activity.work, [](Output& to, const TracedWork& work) { work_fields(to, work); });
  records(kWaitBlock, activity.synchronizations,
          [](Output& to, const Synchronization& wait) { wait_fields(to, wait); });
  records(kOverheadBlock, activity.overheads,
          [](Output& to, const Overhead& overhead) { overhead_fields(to, overhead); });
  if (activity.lost > 0 || activity.untimed > 0) {
    block(kLostBlock, [&](Output& to) {
      to.field(activity.lost);
      to.field(activity.untimed);
    });
  }
  for (const auto& [key, value] : activity.metadata) set_metadata(key, value);
  for (const std::string& warning : activity.warnings) note(warning);
}

void SpoolWriter::add(std::span<const RangeEvent> ranges) {
  if (ranges.empty()) return;
  block(kRangeBlock, [&](Output& to) {
    for (const RangeEvent& range : ranges) {
      to.field(number_of(range.domain));
      range_fields(to, range);
    }
  });
}

void SpoolWriter::add(const trace::DeviceProperties& device) {
  block(kDeviceBlock, [&](Output& to) { device_fields(to, device); });
}

void SpoolWriter::name_thread(int64_t tid, std::string_view name) {
  block(kThreadBlock, [&](Output& to) {
    to.field(tid);
    to.field(name);
  });
}

void SpoolWriter::set_metadata(std::string_view key, std::string_view value) {
  block(kMetadataBlock, [&](Output& to) {
    to.field(key);
    to.field(value);
  });
}

void SpoolWriter::note(std::string_view text) {
  block(kNoteBlock, [&](Output& to) { to.field(text); });
}

void SpoolWriter::end() {
  block(kEndBlock, [](Output&) {});
}

base::Status SpoolWriter::flush() {
  if (failed_) return base::fail(base::ErrorCode::io, "the spool could not be written before", path_);
  std::string bytes;
  if (written_ == 0) bytes = kMagic;
  if (!texts_.empty()) {
    Output head;
    head.field(kTextBlock);
    head.field(static_cast<uint32_t>(texts_.bytes().size()));
    bytes += head.bytes();
    bytes += texts_.bytes();
  }
  bytes += blocks_.bytes();
  texts_.clear();
  blocks_.clear();
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    const int reason = errno;
    failed_ = true;
    // Leaves no half block behind; where even that fails, the reader copes.
    [[maybe_unused]] const int ignored = ::ftruncate(file_, static_cast<off_t>(written_));
    return base::fail(base::Error{
        base::ErrorCode::io, std::string("cannot write the spool: ") + ::strerror(reason), path_, {}, {}});
  }
  written_ += bytes.size();
  return {};
}

}  // namespace hunch::record::spool
