// Runs the hunch program as a person's shell would: words, an environment, standard streams, an exit status.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace hunch::test {

struct Outcome {
  int status = -1;  // the exit status; 128 + signal where one ended it
  std::string out;
  std::string err;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
}

// A folder of its own for each test, removed at its end.
class CliTest : public testing::Test {
 protected:
  CliTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hunch-cli-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  ~CliTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(folder_ / name, bytes);
    return path(name);
  }
  static std::string trace(const std::string& name) { return std::string(HUNCH_TEST_DATA "/traces/") + name; }

  // NAME=VALUE pairs are added to the environment. Standard input is `input`. Output goes to pipes'
  // stand-ins, files: never a terminal. Lines are wide unless COLUMNS is given, so that no test depends on
  // where the paths of this checkout make them wrap.
  Outcome hunch(const std::vector<std::string>& words, std::vector<std::string> environment = {},
                const std::string& input = {}) const {
    const bool width_given = std::any_of(environment.begin(), environment.end(), [](const std::string& pair) {
      return pair.starts_with("COLUMNS=");
    });
    if (!width_given) environment.emplace_back("COLUMNS=400");
    const auto in = folder_ / ".stdin", out = folder_ / ".stdout", err = folder_ / ".stderr";
    write_file(in, input);
    const pid_t child = ::fork();
    if (child == 0) {
      redirect(in.c_str(), O_RDONLY, STDIN_FILENO);
      redirect(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
      redirect(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
      exec(words, environment);
    }
    Outcome outcome;
    outcome.status = wait_for(child);
    outcome.out = read_file(out);
    outcome.err = read_file(err);
    std::filesystem::remove(in);
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    return outcome;
  }

  // The same with a standard output whose reader is gone before the first byte.
  Outcome hunch_into_closed_pipe(const std::vector<std::string>& words) const {
    const auto err = folder_ / ".stderr";
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    ::close(ends[0]);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      redirect(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
      exec(words, {});
    }
    ::close(ends[1]);
    Outcome outcome;
    outcome.status = wait_for(child);
    outcome.err = read_file(err);
    std::filesystem::remove(err);
    return outcome;
  }

  // The same on a terminal of so many columns; `out` has both streams, with the terminal's line ends as "\n".
  Outcome hunch_on_terminal(const std::vector<std::string>& words, unsigned short columns,
                            const std::vector<std::string>& environment = {}) const {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 50;
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      ::setenv("TERM", "xterm", 1);
      exec(words, environment);
    }
    Outcome outcome;
    char chunk[4096];
    for (ssize_t n = 0;
         (n = ::read(terminal, chunk, sizeof chunk)) > 0;)  // ends with EIO when the program does
      outcome.out.append(chunk, static_cast<std::size_t>(n));
    ::close(terminal);
    outcome.status = wait_for(child);
    outcome.out.erase(std::remove(outcome.out.begin(), outcome.out.end(), '\r'), outcome.out.end());
    return outcome;
  }

  std::filesystem::path folder_;

 private:
  static void redirect(const char* path, int flags, int fd) {
    const int file = ::open(path, flags, 0600);
    if (file < 0 || ::dup2(file, fd) < 0) ::_exit(120);
    ::close(file);
  }
  [[noreturn]] void exec(const std::vector<std::string>& words,
                         const std::vector<std::string>& environment) const {
    if (::chdir(folder_.c_str()) != 0) ::_exit(121);
    for (const char* name : {"COLUMNS", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) ::unsetenv(name);
    for (const std::string& pair : environment) {
      const auto equal = pair.find('=');
      ::setenv(pair.substr(0, equal).c_str(), pair.substr(equal + 1).c_str(), 1);
    }
    std::vector<char*> arguments;
    std::string program = HUNCH_BINARY;
    arguments.push_back(program.data());
    std::vector<std::string> copies = words;
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(HUNCH_BINARY, arguments.data());
    ::_exit(122);
  }
  static int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

// Exit 2, one line "hunch: ..." that holds every one of `parts`, and nothing on standard output.
inline void expect_error(const Outcome& outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("hunch: ", 0), 0U) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(outcome.err.empty() ? '\n' : outcome.err.back(), '\n');
  for (const std::string& part : parts)
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "'" << part << "' is not in: " << outcome.err;
}

}  // namespace hunch::test
