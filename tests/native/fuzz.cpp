// Feeds the native core with hostile bytes under sanitizers. `make fuzz-native` builds it: with clang as a libFuzzer
// target, guided by coverage; else with this file's own loop, which changes the seeds at random.
//
// An input is two bytes of choices, then judgments and a run with a form feed between them. Beside what sanitizers
// find, two laws are checked: text fed in pieces gives what it gives at once, and grouping at the end gives the same
// lists as reading a text that is grouped.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <random>

#include "core.hpp"

namespace {

using endoxa::Status;

struct Outcome {
  Status status;
  endoxa::Found found;
  std::vector<std::string> systems;
};

Outcome read_run(std::shared_ptr<const endoxa::Table> table, const endoxa::Choices& choices, const std::string& text,
                 std::size_t piece, std::size_t cut) {
  std::vector<std::unique_ptr<endoxa::RunReader>> readers;
  const std::size_t ends[] = {0, cut, text.size()};
  Outcome outcome{Status::ok, {}, {}};
  for (int part = cut > 0 ? 0 : 1; part < 2; ++part) {
    readers.push_back(std::make_unique<endoxa::RunReader>(table, choices));
    for (std::size_t at = ends[part]; at < ends[part + 1]; at += piece) {
      // an own buffer of exactly this size, so that reading behind it is found
      const std::vector<char> bytes(text.begin() + static_cast<std::ptrdiff_t>(at),
                                    text.begin() + static_cast<std::ptrdiff_t>(std::min(at + piece, ends[part + 1])));
      outcome.status = readers.back()->feed(bytes.data(), bytes.size());
      if (outcome.status != Status::ok) return outcome;
    }
  }
  std::vector<endoxa::RunReader*> all;
  for (auto& reader : readers) all.push_back(reader.get());
  outcome.status = endoxa::RunReader::close(all, 2, outcome.found, outcome.systems);
  return outcome;
}

// What was found, by system and place, whatever the order of the lists.
std::map<std::pair<std::string, std::int64_t>, std::vector<std::int64_t>> by_list(const Outcome& one) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::int64_t>> lists;
  const auto key = [&](std::size_t list) {
    return std::make_pair(one.systems[static_cast<std::size_t>(one.found.system[list])], one.found.place[list]);
  };
  for (std::size_t list = 0; list < one.found.place.size(); ++list)
    if (one.found.place[list] >= 0) lists[key(list)] = {one.found.size[list], one.found.tied[list]};
  for (std::size_t at = 0; at < one.found.owner.size(); ++at) {
    auto& values = lists[key(static_cast<std::size_t>(one.found.owner[at]))];
    for (const auto* column : {&one.found.rank, &one.found.block, &one.found.length, &one.found.row})
      values.push_back((*column)[at]);
  }
  return lists;
}

void demand(bool law, const char* what) {
  if (!law) {
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
  }
}

// All items of all lists: as many names, scores and blocks as the lists have items.
void demand_items(const endoxa::Found& found) {
  const endoxa::Items& items = found.items;
  const auto count = static_cast<std::size_t>(std::accumulate(found.size.begin(), found.size.end(), std::int64_t{0}));
  demand(items.score.size() == count && items.block.size() == count && items.ends.size() == count + 1, "lost items");
  demand(std::is_sorted(items.ends.begin(), items.ends.end()), "names end before they begin");
  demand(items.ends.back() == static_cast<std::int64_t>(items.text.size()), "names without an end");
  demand(items.query.size() == found.size.size() && found.system.size() == found.size.size(), "lists without a query");
  for (const std::int64_t query : items.query)
    demand(query >= 0 && query < static_cast<std::int64_t>(items.queries.size()), "a query without a name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t feed = text.find('\f');
  const std::string qrels = text.substr(0, feed), run = feed == std::string::npos ? text : text.substr(feed + 1);
  endoxa::QrelsReader judged;
  const std::size_t piece = 1 + data[1] % 130;
  Status status = Status::ok;
  for (std::size_t at = 0; at < qrels.size() && status == Status::ok; at += piece)
    status = judged.feed(qrels.data() + at, std::min(piece, qrels.size() - at));
  if (status == Status::ok) status = judged.close();
  std::shared_ptr<const endoxa::Table> table = judged.table();
  if (status != Status::ok) {
    auto other = std::make_shared<endoxa::Table>();
    other->add_query("q1", 2);
    other->add_item("a", 1);
    other->close();
    table = other;
  }
  endoxa::Choices choices{(data[0] & 1) != 0, (data[0] & 2) != 0, false, data[0] >> 5, false};
  const Outcome whole = read_run(table, choices, run, run.size() + 1, 0);
  const Outcome pieces = read_run(table, choices, run, piece, 0);
  demand(whole.status == pieces.status, "pieces have another status");
  demand(whole.status != Status::ok || by_list(whole) == by_list(pieces), "pieces give other lists");
  for (const bool gather : {false, true}) {
    choices.gather = gather, choices.whole = true;
    const Outcome all = read_run(table, choices, run, piece, 0);
    demand(all.status == whole.status || gather, "all items have another status");
    if (all.status == Status::ok) demand_items(all.found);
  }
  choices.whole = false;
  const Outcome gathered = read_run(table, choices, run, piece, 0);
  demand(gathered.status != Status::ungrouped, "gathered text is grouped");
  if (whole.status == Status::ok && gathered.status == Status::ok)
    demand(by_list(whole) == by_list(gathered), "gathered text gives other lists");
  demand(whole.status == Status::ungrouped || whole.status == gathered.status, "gathered text has another status");
  const std::size_t line = run.find('\n', run.size() / 2);
  if (line != std::string::npos && line + 1 < run.size()) {
    const Outcome halves = read_run(table, choices, run, piece, line + 1);
    demand(halves.status == gathered.status, "halves have another status");
    demand(halves.status != Status::ok || by_list(halves) == by_list(gathered), "halves give other lists");
  }
  return 0;
}

#if !defined(LIBFUZZER)
extern "C" void __sanitizer_set_death_callback(void (*)());

namespace {

std::vector<std::string> WORDS = {"q1", "q2", "a", "b", "Q0", "0", "1", "1.5", "-1e300", "1e-320", "inf", "nan", "bm25",
                                  "\n", "\r\n", " ", "\t", "#", "\f", "\xc3\xa9", "\xff", "9007199254740993",
                                  "q1 0 a 1\n", "q1 Q0 a 1 2 bm25\n", "q2 Q0 b 1 2 bm25\n", std::string(1, '\0')};

const std::string* CURRENT = nullptr;

// Leaves the input behind that failed.
void keep() {
  if (CURRENT != nullptr) std::ofstream("crash.bin", std::ios::binary | std::ios::trunc) << *CURRENT;
}

std::string changed(std::string input, const std::vector<std::string>& seeds, std::mt19937_64& random) {
  for (std::uint64_t times = 1 + random() % 6; times > 0; --times) {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    switch (random() % 6) {
      case 0: if (!input.empty()) input[at] = static_cast<char>(random()); break;
      case 1: input.insert(at, WORDS[random() % WORDS.size()]); break;
      case 2: input.erase(at, random() % 8); break;
      case 3: input.insert(at, input.substr(at, random() % 200)); break;
      case 4: { const std::string& other = seeds[random() % seeds.size()];
                input.insert(at, other.substr(random() % (other.size() + 1), random() % 300)); break; }
      default: if (random() % 50 == 0) input.insert(at, std::string(random() % 3 ? random() % 300 : random() % 70000, 'x'));
    }
  }
  if (input.size() > 200000) input.resize(200000);
  return input;
}

}  // namespace

int main(int count, char** words) {
  __sanitizer_set_death_callback(keep);
  std::signal(SIGABRT, [](int) { keep(); });
  if (count < 3) return std::fprintf(stderr, "usage: fuzz SEEDS SECONDS [SEED]\n"), 2;
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(words[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(seeds.back().data()), seeds.back().size());
  }
  std::mt19937_64 random(count > 3 ? std::strtoull(words[3], nullptr, 10) : std::random_device{}());
  std::vector<std::string> pool = seeds;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atol(words[2]));
  std::size_t done = 0;
  for (; std::chrono::steady_clock::now() < end; ++done) {
    const std::string input = changed(pool[random() % pool.size()], pool, random);
    CURRENT = &input;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    if (random() % 100 == 0) pool.size() < 2000 ? pool.push_back(input) : (void)(pool[random() % pool.size()] = input);
  }
  std::printf("%zu inputs from %zu seeds, nothing found\n", done, seeds.size());
}
#endif
