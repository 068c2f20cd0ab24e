// Reads, groups and ranks TREC text, and looks up judged items: one pass over the bytes, no Python in it.
//
// Every reader may decline: anything unusual (a malformed line, a number that is not parsed exactly, a duplicate, a NUL
// byte) ends with Status::declined, and the exact reader in Python takes over and words the error. So the meaning of a
// file is defined in one place. The format is that of io/trec_text.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace endoxa {

enum class Status { ok = 0, declined = 1, ungrouped = 2 };

// Bytes that stay where they are until `reset`.
class Arena {
 public:
  const char* put(const char* data, std::size_t size);
  void reset();

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<std::unique_ptr<char[]>> large_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

std::uint64_t hash_of(const char* data, std::size_t size);

// Parses what the exact reader takes for a number, rounded correctly; false for anything else, and for what is NaN or
// beyond the range of a double.
bool number_of(const char* data, std::size_t size, double& value);

bool is_utf8(const char* data, std::size_t size);

// Distinct names, numbered as they come.
class Names {
 public:
  static constexpr std::int64_t absent = -1;
  static constexpr std::int64_t crowded = -2;  // too many names share their hash: whoever asks declines
  std::int64_t find(const char* data, std::size_t size, std::uint64_t hash) const;
  std::int64_t add(const char* data, std::size_t size, std::uint64_t hash);
  std::size_t count() const { return names_.size(); }
  const std::string& operator[](std::size_t number) const { return names_[number]; }

 private:
  bool grow();
  std::vector<std::string> names_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;  // number + 1; 0 is free
};

// Distinct pairs of numbers, numbered as they come.
class Pairs {
 public:
  std::uint32_t add(std::uint32_t first, std::uint32_t second);
  std::size_t count() const { return keys_.size(); }
  std::uint32_t first(std::size_t number) const { return static_cast<std::uint32_t>(keys_[number] >> 32); }
  std::uint32_t second(std::size_t number) const { return static_cast<std::uint32_t>(keys_[number]); }

 private:
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;  // number + 1; 0 is free
};

// Judged items by query. Row r of query (place) p is one of offsets[p] … offsets[p + 1] − 1.
class Table {
 public:
  // Queries and rows are added in the order of their places.
  explicit Table(std::shared_ptr<Arena> text = std::make_shared<Arena>()) : text_(std::move(text)) {}
  bool add_query(const char* data, std::size_t size);
  void add_item(const char* data, std::size_t size) { refer(text_->put(data, size), size); }
  void refer(const char* data, std::size_t size);  // an item whose name is in the arena already
  void reserve(std::size_t rows) { items_.reserve(rows); }
  bool close();  // false where an item occurs twice
  std::int64_t place(const char* data, std::size_t size) const;
  std::int64_t row(std::int64_t place, const char* data, std::uint32_t size, std::uint64_t hash) const;
  std::size_t rows() const { return items_.size(); }

 private:
  struct Item {
    const char* data;
    std::uint32_t size;
    std::uint32_t hash;  // its first half; the slot follows from the other
  };
  Names queries_;
  std::vector<std::size_t> starts_;
  std::vector<Item> items_;
  std::vector<std::size_t> bases_;
  std::vector<std::uint32_t> masks_;
  std::vector<std::uint64_t> slots_;  // first half of the hash, then row + 1; 0 is free
  std::shared_ptr<Arena> text_;
};

constexpr int MOST = 6;  // columns that are kept
struct Fields {
  const char* at[MOST];
  std::uint32_t size[MOST];
  std::size_t count = 0;
};

// Cuts text into lines and columns, across the borders of the buffers that it is fed.
class Lines {
 public:
  virtual ~Lines() = default;
  Status feed(const char* data, std::size_t size);

 protected:
  Status last();
  virtual Status line(const Fields& fields) = 0;
  virtual void settle() {}  // the text of the lines so far goes away: what is still needed of it must be copied

 private:
  Status read(const char* data, std::size_t size);
  Status scan(const char* data, std::size_t size);
  static std::size_t usual(const char* data, Fields& fields);
  Status unusual(const char* data, std::size_t size);
  std::string rest_;
  Status status_ = Status::ok;
};

// query iteration item grade
class QrelsReader : public Lines {
 public:
  // `item` must stay where it is
  Status add(const char* query, std::size_t query_size, const char* item, std::size_t item_size, double grade);
  Status add_copy(const char* query, std::size_t query_size, const char* item, std::size_t item_size, double grade) {
    return add(query, query_size, text_->put(item, item_size), item_size, grade);
  }
  Status close();  // ranks queries by name and rows by descending grade, and fills the table

  struct Row {
    std::uint32_t query;
    std::uint32_t size;
    const char* item;
    double grade;
  };
  const std::vector<Row>& rows() const { return rows_; }
  const Names& queries() const { return queries_; }
  const std::vector<std::uint32_t>& by_place() const { return by_place_; }    // number of the query at each place
  const std::vector<std::int64_t>& offsets() const { return offsets_; }       // rows in order, by place
  const std::vector<std::int64_t>& order() const { return order_; }           // rows by place and descending grade
  std::shared_ptr<Table> table() const { return table_; }

 protected:
  Status line(const Fields& fields) override;

 private:
  Names queries_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> by_place_;
  std::vector<std::int64_t> offsets_, order_;
  std::shared_ptr<Table> table_;
  std::shared_ptr<Arena> text_ = std::make_shared<Arena>();
  std::int64_t current_ = -1;
};

struct Choices {
  bool by_input = false;  // items with equal scores stay in the order read, else descending by id
  bool single = false;    // scores are compared in single precision
  bool gather = false;    // keep all rows and group them at the end, for files that are not grouped by query
  std::int64_t cut = 0;   // only the first so many items of a list; 0: all
  bool distinct = false;  // no list has an item twice: the rows of a dict
  bool whole = false;     // every item is wanted, not only the judged ones
};

// All items of all lists, in order of list and rank.
struct Items {
  std::string text;                     // their names, one behind the other
  std::vector<std::int64_t> ends{0};    // where the name of each ends, 0 first
  std::vector<double> score;
  std::vector<std::uint32_t> block;     // first rank of the group of equal scores
  std::vector<std::int64_t> query;      // one per list: its number in `queries`
  std::vector<std::string> queries;
};

// Lists, and their judged items in order of list and rank.
struct Found {
  std::vector<std::int64_t> system, place, size, tied;         // one per list
  std::vector<std::int64_t> owner, rank, block, length, row;   // one per judged item
  Items items;                                                 // where all are wanted
};

// query Q0 item rank score tag
class RunReader : public Lines {
 public:
  RunReader(std::shared_ptr<const Table> table, Choices choices) : table_(std::move(table)), choices_(choices) {}
  void name_system(const std::string& name) { name_ = name, named_ = true; }
  void assume_distinct() { choices_.distinct = true; }
  Status begin(const char* query, std::size_t query_size, const char* system, std::size_t system_size);
  Status add(const char* item, std::size_t size, double score, bool copy);
  Status end();

  // Joins readers of consecutive parts of a text. `systems` gets the names in the order of their first list.
  static Status close(const std::vector<RunReader*>& readers, std::size_t threads, Found& found,
                      std::vector<std::string>& systems);

 protected:
  Status line(const Fields& fields) override;
  void settle() override;

 private:
  struct Row {
    double score;
    std::uint64_t hash;
    const char* item;
    std::uint32_t size;
  };
  struct Kept {
    std::uint32_t list, size;
    const char* item;
    double score;
  };
  // What one thread needs to rank lists.
  struct Desk {
    std::vector<Row> rows;
    std::vector<std::uint32_t> slots, order;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> keys, spare;
    Found found;
  };
  static Status ranked(Desk& desk, const Table& table, const Choices& choices, std::int64_t place);
  static Status grouped(const std::vector<RunReader*>& readers, const std::vector<std::vector<std::uint32_t>>& numbers,
                        const Pairs& lists, const Names& queries, std::size_t threads, Found& found);

  std::shared_ptr<const Table> table_;
  Choices choices_;
  std::string name_;
  bool named_ = false;
  Names systems_, queries_;
  Pairs lists_;  // system, query
  std::int64_t list_ = -1;
  std::string query_, system_;
  Desk desk_;
  std::size_t settled_ = 0;  // rows of the list whose items are in `text_`
  Arena text_;
  std::vector<std::vector<Kept>> kept_;
};

}  // namespace endoxa
