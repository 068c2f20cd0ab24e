#include "core.hpp"

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define ENDOXA_SSE2 1
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace endoxa {

namespace {

constexpr std::size_t BLOCK = std::size_t{1} << 18;         // bytes of text that are kept together
constexpr std::size_t LONGEST_LINE = std::size_t{1} << 16;  // as in io/sources.py
constexpr std::size_t ROWS = std::size_t{1} << 16;          // kept rows of a block
constexpr std::uint64_t LOW = 0xffffffffu;
constexpr std::size_t LEAST = 16;  // slots of a query, so that most items of a run meet a free one
constexpr std::size_t FEW = 512;   // rows up to which more slots cost little memory
constexpr int PROBES = 512;  // more collisions than chance makes: somebody made them
constexpr std::uint32_t MOST_ROWS = std::numeric_limits<std::int32_t>::max() - 1;

inline std::uint64_t eight(const char* at) {
  std::uint64_t value;
  std::memcpy(&value, at, 8);
  return value;
}

inline std::uint64_t four(const char* at) {
  std::uint32_t value;
  std::memcpy(&value, at, 4);
  return value;
}

inline std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
  std::uint64_t high;
  const std::uint64_t low = _umul128(a, b, &high);
  return low ^ high;
#else
  const std::uint64_t ah = a >> 32, al = a & 0xffffffffu, bh = b >> 32, bl = b & 0xffffffffu;
  return (ah * bh) ^ (al * bl) ^ ((ah * bl + al * bh) * 0x9e3779b97f4a7c15u);
#endif
}

inline int first_bit(std::uint64_t mask) {
#if defined(_MSC_VER)
  unsigned long place;
  _BitScanForward64(&place, mask);
  return static_cast<int>(place);
#else
  return __builtin_ctzll(mask);
#endif
}

// Which of 64 bytes are blanks or controls, which end lines, and which are not ASCII.
inline void masks_of(const char* at, std::uint64_t& special, std::uint64_t& ends, std::uint64_t& high) {
  special = ends = high = 0;
#if defined(ENDOXA_SSE2)
  const __m128i blank = _mm_set1_epi8(' '), end = _mm_set1_epi8('\n');
  const auto mask = [](__m128i bytes, int part) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(bytes))) << (16 * part);
  };
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    special |= mask(_mm_cmpeq_epi8(_mm_min_epu8(bytes, blank), bytes), part);
    ends |= mask(_mm_cmpeq_epi8(bytes, end), part);
    high |= mask(bytes, part);
  }
#else
  for (int place = 0; place < 64; ++place) {
    const auto byte = static_cast<unsigned char>(at[place]);
    special |= static_cast<std::uint64_t>(byte <= ' ') << place;
    ends |= static_cast<std::uint64_t>(byte == '\n') << place;
    high |= static_cast<std::uint64_t>(byte >> 7) << place;
  }
#endif
}

constexpr double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Eight characters as a number, the first `8 - count` of them left out; false where another is no digit.
inline bool digits_of(std::uint64_t text, int count, std::uint64_t& number) {
  constexpr std::uint64_t zeros = 0x3030303030303030u, high = 0xf0f0f0f0f0f0f0f0u;
  const std::uint64_t left_out = count == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (64 - 8 * count)) - 1;
  text = (text & ~left_out) | (zeros & left_out);
  if ((text & high) != zeros || ((text + 0x0606060606060606u) & high) != zeros) return false;
  text = (text - zeros) * 10 + ((text - zeros) >> 8);
  constexpr std::uint64_t some = 0x000000ff000000ffu;
  number = ((text & some) * 0x000f424000000064u + ((text >> 16) & some) * 0x0000271000000001u) >> 32;
  return true;
}

// What number_of parses, if it has at most eight digits before the point and seven behind it; eight bytes before
// `data` may be read.
inline bool decimal_of(const char* data, std::size_t size, double& value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined(FLT_EVAL_METHOD) && \
    FLT_EVAL_METHOD == 0 && defined(__GNUC__)
  const bool negative = *data == '-';
  data += negative, size -= negative;
  const std::uint64_t tail = eight(data + size - 8), point = tail ^ 0x2e2e2e2e2e2e2e2eu;
  constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7fu;
  const std::uint64_t points = ~(((point & low) + low) | point | low);  // 0x80 in every byte that is a point
  std::size_t whole = size;
  int decimals = 0;
  std::uint64_t number, fraction = 0;
  if (points != 0 && size > 1 && size < 10) {  // at most eight digits: those before the point move over it
    decimals = __builtin_clzll(points) / 8;
    if (static_cast<std::size_t>(decimals) < size) {
      const std::uint64_t behind_point = decimals == 0 ? 0 : ~std::uint64_t{0} << (64 - 8 * decimals);
      const std::uint64_t before = eight(data + size - 9);
      if (!digits_of((tail & behind_point) | (before & ~behind_point), static_cast<int>(size) - 1, number)) return false;
      value = static_cast<double>(static_cast<std::int64_t>(number)) / POWERS[decimals];
      if (negative) value = -value;
      return true;
    }
    decimals = 0;
  }
  if (points != 0 && static_cast<std::size_t>(__builtin_clzll(points) / 8) < size) {
    decimals = __builtin_clzll(points) / 8;
    whole = size - static_cast<std::size_t>(decimals) - 1;
    if (!digits_of(tail, decimals, fraction)) return false;
  }
  if (whole > 8 || whole + static_cast<std::size_t>(decimals) == 0) return false;
  if (!digits_of(eight(data + whole - 8), static_cast<int>(whole), number)) return false;
  constexpr std::int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  const std::int64_t all = static_cast<std::int64_t>(number) * powers[decimals] + static_cast<std::int64_t>(fraction);
  value = static_cast<double>(all) / POWERS[decimals];
  if (negative) value = -value;
  return true;
#else
  (void)data, (void)size, (void)value;
  return false;
#endif
}

// Names are short: two loads that overlap compare or copy them without a call.
inline bool equal(const char* a, const char* b, std::size_t size) {
  if (size > 16 || size < 4) return size == 0 || std::memcmp(a, b, size) == 0;
  if (size >= 8) return ((eight(a) ^ eight(b)) | (eight(a + size - 8) ^ eight(b + size - 8))) == 0;
  return ((four(a) ^ four(b)) | (four(a + size - 4) ^ four(b + size - 4))) == 0;
}

inline void copy(char* to, const char* from, std::size_t size) {
  if (size > 16 || size < 8) {
    if (size != 0) std::memcpy(to, from, size);
    return;
  }
  const std::uint64_t first = eight(from), last = eight(from + size - 8);
  std::memcpy(to, &first, 8);
  std::memcpy(to + size - 8, &last, 8);
}

inline bool same(const std::string& name, const char* data, std::size_t size) {
  return name.size() == size && equal(name.data(), data, size);
}

// Whether a comes before b: descending by bytes, as trec_eval orders items with equal scores.
inline bool behind(const char* a, std::uint32_t a_size, const char* b, std::uint32_t b_size) {
  const int order = std::memcmp(a, b, std::min(a_size, b_size));
  return order != 0 ? order > 0 : a_size > b_size;
}

inline std::size_t power_of_two(std::size_t least) {
  std::size_t size = 2;
  while (size < least) size *= 2;
  return size;
}

using Keyed = std::pair<std::uint64_t, std::uint32_t>;

// Sorts by key; what has equal keys stays in order. Scores hardly ever share the first half of their bits, so that it
// is sorted by digits of eight bits, from the last to the first, and what shares it is put in order then.
void sort_keys(std::vector<Keyed>& keys, std::vector<Keyed>& spare) {
  const std::size_t count = keys.size();
  if (count < 64) {
    std::sort(keys.begin(), keys.end());  // the places are ascending
    return;
  }
  std::uint32_t counts[4][256] = {};
  for (const Keyed& one : keys)
    for (int digit = 0; digit < 4; ++digit) ++counts[digit][one.first >> (32 + 8 * digit) & 255];
  spare.resize(count);
  for (int digit = 0; digit < 4; ++digit) {
    auto& own = counts[digit];
    const int shift = 32 + 8 * digit;
    if (own[keys.front().first >> shift & 255] == count) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t& place : own) sum += std::exchange(place, sum);
    for (const Keyed& one : keys) spare[own[one.first >> shift & 255]++] = one;
    keys.swap(spare);
  }
  for (std::size_t first = 0, end = 1; first < count; first = end++) {
    while (end < count && keys[end].first >> 32 == keys[first].first >> 32) ++end;
    if (end - first > 1)
      std::sort(keys.begin() + static_cast<std::ptrdiff_t>(first), keys.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

}  // namespace

const char* Arena::put(const char* data, std::size_t size) {
  if (size > BLOCK) {
    large_.emplace_back(new char[size]);
    std::memcpy(large_.back().get(), data, size);
    return large_.back().get();
  }
  if (blocks_.empty() || used_ + size > BLOCK) {
    const std::size_t next = blocks_.empty() ? 0 : block_ + 1;
    if (next == blocks_.size()) blocks_.emplace_back(new char[BLOCK]);
    block_ = next, used_ = 0;
  }
  char* at = blocks_[block_].get() + used_;
  copy(at, data, size);
  used_ += size;
  return at;
}

void Arena::reset() {
  block_ = used_ = 0;
  large_.clear();
}

namespace {

inline std::uint64_t hashed(const char* data, std::size_t size) {
  constexpr std::uint64_t one = 0xa0761d6478bd642fu, two = 0xe7037ed1a0b428dbu;
  std::uint64_t seed = 0x8ebc6af09c88c6e3u, a = 0, b = 0;
  if (size <= 16) {
    if (size >= 4) {
      const std::size_t middle = (size >> 3) << 2;
      a = four(data) << 32 | four(data + middle);
      b = four(data + size - 4) << 32 | four(data + size - 4 - middle);
    } else if (size > 0) {
      a = static_cast<std::uint64_t>(static_cast<unsigned char>(data[0])) << 16 |
          static_cast<std::uint64_t>(static_cast<unsigned char>(data[size >> 1])) << 8 |
          static_cast<unsigned char>(data[size - 1]);
    }
  } else {
    std::size_t left = size;
    for (; left > 16; left -= 16, data += 16) seed = folded(eight(data) ^ one, eight(data + 8) ^ seed);
    a = eight(data + left - 16);
    b = eight(data + left - 8);
  }
  return folded(one ^ size, folded(a ^ two, b ^ seed));
}

}  // namespace

std::uint64_t hash_of(const char* data, std::size_t size) { return hashed(data, size); }

bool number_of(const char* data, std::size_t size, double& value) {
  const char *at = data, *const end = data + size;
  bool negative = false;
  if (at < end && (*at == '-' || *at == '+')) negative = *at++ == '-';
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
  // A whole number below 2^53 divided by an exact power of ten is rounded once, and so correctly.
  std::uint64_t digits = 0;
  const char* const first = at;
  while (at < end && *at >= '0' && *at <= '9' && at - first < 19) digits = 10 * digits + (*at++ - '0');
  std::ptrdiff_t count = at - first, decimals = 0;
  if (at < end && *at == '.') {
    const char* const point = ++at;
    while (at < end && *at >= '0' && *at <= '9' && count + (at - point) < 19) digits = 10 * digits + (*at++ - '0');
    decimals = at - point;
    count += decimals;
  }
  if (at == end && count > 0 && digits <= (std::uint64_t{1} << 53) && decimals <= 22) {
    const double whole = static_cast<double>(digits) / POWERS[decimals];
    value = negative ? -whole : whole;
    return true;
  }
#endif
#if defined(__cpp_lib_to_chars) || (defined(_MSC_VER) && _MSC_VER >= 1924)
  at = data;
  if (at < end && *at == '+') {
    ++at;
    if (at < end && (*at == '-' || *at == '+')) return false;
  }
  const auto parsed = std::from_chars(at, end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && !std::isnan(value);
#else
  (void)negative;
  return false;
#endif
}

bool is_utf8(const char* data, std::size_t size) {
  const auto* at = reinterpret_cast<const unsigned char*>(data);
  const auto* const end = at + size;
  while (at < end) {
    const unsigned char lead = *at++;
    if (lead < 0x80) continue;
    int more = 0;
    unsigned char low = 0x80, high = 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf) {
      more = 1;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      more = 2;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      more = 3;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    } else {
      return false;
    }
    for (; more > 0; --more, low = 0x80, high = 0xbf) {
      if (at == end || *at < low || *at > high) return false;
      ++at;
    }
  }
  return true;
}

// ---- names ----------------------------------------------------------------------------------------------

std::int64_t Names::find(const char* data, std::size_t size, std::uint64_t hash) const {
  if (slots_.empty()) return absent;
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (int probe = 0; probe < PROBES; ++probe, slot = (slot + 1) & mask) {
    const std::uint32_t number = slots_[slot];
    if (number == 0) return absent;
    if (hashes_[number - 1] == hash && same(names_[number - 1], data, size)) return number - 1;
  }
  return crowded;
}

bool Names::grow() {
  std::vector<std::uint32_t> slots(power_of_two(4 * (names_.size() + 8)));
  const std::size_t mask = slots.size() - 1;
  for (std::size_t number = 0; number < names_.size(); ++number) {
    std::size_t slot = hashes_[number] & mask;
    int probe = 0;
    while (slots[slot] != 0) {
      if (++probe == PROBES) return false;
      slot = (slot + 1) & mask;
    }
    slots[slot] = static_cast<std::uint32_t>(number + 1);
  }
  slots_.swap(slots);
  return true;
}

std::int64_t Names::add(const char* data, std::size_t size, std::uint64_t hash) {
  const std::int64_t known = find(data, size, hash);
  if (known != absent) return known;
  if (names_.size() >= MOST_ROWS) return crowded;
  if (2 * (names_.size() + 1) > slots_.size() && !grow()) return crowded;
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  int probe = 0;
  while (slots_[slot] != 0) {
    if (++probe == PROBES) return crowded;
    slot = (slot + 1) & mask;
  }
  names_.emplace_back(data, size);
  hashes_.push_back(hash);
  slots_[slot] = static_cast<std::uint32_t>(names_.size());
  return static_cast<std::int64_t>(names_.size()) - 1;
}

std::uint32_t Pairs::add(std::uint32_t first, std::uint32_t second) {
  constexpr std::uint64_t mix = 0x9e3779b97f4a7c15u;
  const std::uint64_t key = static_cast<std::uint64_t>(first) << 32 | second;
  if (2 * (keys_.size() + 1) > slots_.size()) {
    slots_.assign(power_of_two(4 * (keys_.size() + 8)), 0);
    for (std::size_t number = 0; number < keys_.size(); ++number) {
      std::size_t slot = folded(keys_[number] ^ mix, mix) & (slots_.size() - 1);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<std::uint32_t>(number + 1);
    }
  }
  std::size_t slot = folded(key ^ mix, mix) & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
    if (keys_[slots_[slot] - 1] == key) return slots_[slot] - 1;
  keys_.push_back(key);
  slots_[slot] = static_cast<std::uint32_t>(keys_.size());
  return static_cast<std::uint32_t>(keys_.size()) - 1;
}

// ---- judged items ---------------------------------------------------------------------------------------

bool Table::add_query(const char* data, std::size_t size) {
  const auto number = queries_.add(data, size, hash_of(data, size));
  if (number != static_cast<std::int64_t>(starts_.size())) return false;
  starts_.push_back(items_.size());
  return true;
}

void Table::refer(const char* data, std::size_t size) {
  const auto half = static_cast<std::uint32_t>(hash_of(data, size) >> 32);
  items_.push_back({data, static_cast<std::uint32_t>(size), half});
}

bool Table::close() {
  starts_.push_back(items_.size());
  if (items_.size() >= MOST_ROWS) return false;
  std::size_t all = 0;
  for (std::size_t place = 0; place + 1 < starts_.size(); ++place) {
    const std::size_t rows = starts_[place + 1] - starts_[place];
    const std::size_t size = power_of_two(std::max(LEAST, rows < FEW ? 4 * rows : rows * 4 / 3 + 1));
    bases_.push_back(all);
    masks_.push_back(static_cast<std::uint32_t>(size - 1));
    all += size;
  }
  slots_.resize(all);
  for (std::size_t place = 0; place + 1 < starts_.size(); ++place) {
    std::uint64_t* const slots = slots_.data() + bases_[place];
    const std::size_t mask = masks_[place];
    for (std::size_t row = starts_[place]; row < starts_[place + 1]; ++row) {
      const Item& item = items_[row];
      const std::uint64_t hash = hash_of(item.data, item.size);
      std::size_t slot = hash & mask;
      for (int probe = 0; slots[slot] != 0; slot = (slot + 1) & mask) {
        const Item& other = items_[(slots[slot] & LOW) - 1];
        const bool alike = other.hash == item.hash && other.size == item.size;
        if ((alike && equal(other.data, item.data, item.size)) || ++probe == PROBES) return false;
      }
      slots[slot] = (hash & ~LOW) | (row + 1);
    }
  }
  return true;
}

std::int64_t Table::place(const char* data, std::size_t size) const {
  return queries_.find(data, size, hash_of(data, size));
}

std::int64_t Table::row(std::int64_t place, const char* data, std::uint32_t size, std::uint64_t hash) const {
  const auto at = static_cast<std::size_t>(place);
  const std::uint32_t mask = masks_[at];
  const std::uint64_t* const slots = slots_.data() + bases_[at];
  for (std::size_t slot = hash & mask; slots[slot] != 0; slot = (slot + 1) & mask) {
    if ((slots[slot] ^ hash) & ~LOW) continue;
    const std::size_t row = (slots[slot] & LOW) - 1;
    const Item& item = items_[row];
    if (item.size == size && equal(item.data, data, size))
      return static_cast<std::int64_t>(row);
  }
  return -1;
}

// ---- lines ----------------------------------------------------------------------------------------------

Status Lines::feed(const char* data, std::size_t size) {
  if (status_ != Status::ok || size == 0) return status_;
  if (!rest_.empty()) {
    const auto* end = static_cast<const char*>(std::memchr(data, '\n', size));
    const std::size_t more = end == nullptr ? size : static_cast<std::size_t>(end - data) + 1;
    if (rest_.size() + more > LONGEST_LINE + 1) return status_ = Status::declined;
    rest_.append(data, more);
    if (end == nullptr) return status_;
    const std::string whole = std::move(rest_);
    rest_.clear();
    if (read(whole.data(), whole.size()) != Status::ok) return status_;
    data += more, size -= more;
  }
  std::size_t end = size;
  while (end > 0 && data[end - 1] != '\n') --end;
  if (size - end > LONGEST_LINE) return status_ = Status::declined;
  if (end > 0 && read(data, end) != Status::ok) return status_;
  rest_.assign(data + end, size - end);
  return status_;
}

// Scans the text, and keeps of it what is needed. Where memory runs out the reader has declined, because rows may point
// into text that goes away.
Status Lines::read(const char* data, std::size_t size) {
  status_ = Status::declined;
  const Status status = scan(data, size);
  if (status == Status::ok) settle();
  return status_ = status;
}

Status Lines::last() {
  if (status_ == Status::ok && !rest_.empty()) {
    rest_.push_back('\n');
    read(rest_.data(), rest_.size());
    rest_.clear();
  }
  return status_;
}

// The text ends with the end of a line.
Status Lines::scan(const char* data, std::size_t size) {
  Fields fields;
  const char* const end = data + size;
  while (data < end) {
    if (end - data >= 64) {  // most lines are short, and have one blank between two columns
      const std::size_t length = usual(data, fields);
      if (length > 0) {
        const Status status = line(fields);
        if (status != Status::ok) return status;
        data += length;
        continue;
      }
    }
    const auto* const stop = static_cast<const char*>(std::memchr(data, '\n', static_cast<std::size_t>(end - data)));
    const Status status = unusual(data, static_cast<std::size_t>(stop - data));
    if (status != Status::ok) return status;
    data = stop + 1;
  }
  return Status::ok;
}

// The columns of a line within 64 bytes that has as many as are kept, with one blank or tab between two, and its
// length with its end; 0 for any other line.
std::size_t Lines::usual(const char* data, Fields& fields) {
  std::uint64_t special, ends, high;
  masks_of(data, special, ends, high);
  if (ends == 0) return 0;
  const int stop = first_bit(ends);
  const std::uint64_t inside = (std::uint64_t{1} << stop) - 1;
  std::uint64_t blanks = special & inside;
  if ((high & inside) != 0 || (blanks & (blanks << 1 | 1)) != 0 || stop == 0) return 0;
  std::size_t count = 0;
  const char* start = data;
  for (; blanks != 0; blanks &= blanks - 1, ++count) {
    const char* const at = data + first_bit(blanks);
    if (count == MOST - 1 || (*at != ' ' && *at != '\t')) return 0;
    fields.at[count] = start;
    fields.size[count] = static_cast<std::uint32_t>(at - start);
    start = at + 1;
  }
  if (data + stop == start) return 0;
  fields.at[count] = start;
  fields.size[count] = static_cast<std::uint32_t>(data + stop - start);
  fields.count = count + 1;
  return static_cast<std::size_t>(stop) + 1;
}

// Any line, without its end.
Status Lines::unusual(const char* data, std::size_t size) {
  if (size > LONGEST_LINE) return Status::declined;
  Fields fields;
  const char *const end = data + size, *start = data;
  bool returned = false, foreign = false;  // a carriage return behind the first column; something that is not ASCII
  for (const char* at = data;; ++at) {
    if (at < end && static_cast<unsigned char>(*at) > ' ') {
      foreign = foreign || static_cast<unsigned char>(*at) >= 0x80;
      continue;
    }
    if (at < end && *at != ' ' && *at != '\t' && *at != '\r') {
      if (*at == '\0') return Status::declined;
      continue;  // another control character is part of a word
    }
    if (at > start) {
      if (returned) return Status::declined;
      if (fields.count < MOST) {
        fields.at[fields.count] = start;
        fields.size[fields.count] = static_cast<std::uint32_t>(at - start);
      }
      ++fields.count;
    }
    if (at == end) break;
    start = at + 1;
    if (*at == '\r') returned = fields.count > 0;
  }
  if (fields.count == 0) return Status::ok;
  // a tab among so many words: the file may be separated by tabs, with blanks within ids
  if (fields.count > MOST && std::memchr(data, '\t', size) != nullptr) return Status::declined;
  return foreign && !is_utf8(data, size) ? Status::declined : line(fields);
}

// ---- judgments ------------------------------------------------------------------------------------------

Status QrelsReader::line(const Fields& fields) {
  double grade;
  if (fields.count != 4 || !number_of(fields.at[3], fields.size[3], grade)) return Status::declined;
  return add_copy(fields.at[0], fields.size[0], fields.at[2], fields.size[2], grade);
}

Status QrelsReader::add(const char* query, std::size_t query_size, const char* item, std::size_t item_size,
                        double grade) {
  if (!std::isfinite(grade) || item_size > MOST_ROWS || rows_.size() >= MOST_ROWS) return Status::declined;
  if (current_ < 0 || !same(queries_[static_cast<std::size_t>(current_)], query, query_size)) {
    current_ = queries_.add(query, query_size, hash_of(query, query_size));
    if (current_ < 0) return Status::declined;
  }
  rows_.push_back({static_cast<std::uint32_t>(current_), static_cast<std::uint32_t>(item_size), item, grade});
  return Status::ok;
}

Status QrelsReader::close() {
  const Status status = last();
  if (status != Status::ok) return status;
  if (rows_.empty()) return Status::declined;
  const std::size_t count = queries_.count();
  by_place_.resize(count);
  std::iota(by_place_.begin(), by_place_.end(), 0u);
  std::sort(by_place_.begin(), by_place_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return queries_[a] < queries_[b]; });
  std::vector<std::size_t> place(count);
  for (std::size_t at = 0; at < count; ++at) place[by_place_[at]] = at;
  offsets_.assign(count + 1, 0);
  for (const Row& row : rows_) ++offsets_[place[row.query] + 1];
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  order_.resize(rows_.size());
  std::vector<std::int64_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::size_t row = 0; row < rows_.size(); ++row)
    order_[static_cast<std::size_t>(next[place[rows_[row].query]]++)] = static_cast<std::int64_t>(row);
  table_ = std::make_shared<Table>(text_);
  table_->reserve(rows_.size());
  for (std::size_t at = 0; at < count; ++at) {
    const auto begin = order_.begin() + offsets_[at], end = order_.begin() + offsets_[at + 1];
    std::stable_sort(begin, end, [this](std::int64_t a, std::int64_t b) {
      return rows_[static_cast<std::size_t>(a)].grade > rows_[static_cast<std::size_t>(b)].grade;
    });
    const std::string& name = queries_[by_place_[at]];
    if (!table_->add_query(name.data(), name.size())) return Status::declined;
    for (auto row = begin; row != end; ++row) {
      const Row& one = rows_[static_cast<std::size_t>(*row)];
      table_->refer(one.item, one.size);
    }
  }
  return table_->close() ? Status::ok : Status::declined;
}

// ---- runs -----------------------------------------------------------------------------------------------

Status RunReader::line(const Fields& fields) {
  double score;
  if (fields.count < 6) return Status::declined;
  // four columns and blanks stand before the score
  if (!decimal_of(fields.at[4], fields.size[4], score) && !number_of(fields.at[4], fields.size[4], score)) {
    return Status::declined;
  }
  const char* tag = named_ ? name_.data() : fields.at[5];
  const std::size_t tag_size = named_ ? name_.size() : fields.size[5];
  if (list_ < 0 || !same(query_, fields.at[0], fields.size[0]) || !same(system_, tag, tag_size)) {
    const Status status = begin(fields.at[0], fields.size[0], tag, tag_size);
    if (status != Status::ok) return status;
  }
  return add(fields.at[2], fields.size[2], score, choices_.gather);
}

void RunReader::settle() {
  for (; settled_ < desk_.rows.size(); ++settled_) {
    Row& row = desk_.rows[settled_];
    row.item = text_.put(row.item, row.size);
  }
}

Status RunReader::begin(const char* query, std::size_t query_size, const char* system, std::size_t system_size) {
  const Status status = end();
  if (status != Status::ok) return status;
  const auto owner = systems_.add(system, system_size, hash_of(system, system_size));
  const auto number = queries_.add(query, query_size, hash_of(query, query_size));
  if (owner < 0 || number < 0) return Status::declined;
  const std::size_t before = lists_.count();
  list_ = lists_.add(static_cast<std::uint32_t>(owner), static_cast<std::uint32_t>(number));
  if (lists_.count() == before && !choices_.gather) return Status::ungrouped;
  query_.assign(query, query_size);
  system_.assign(system, system_size);
  return Status::ok;
}

Status RunReader::add(const char* item, std::size_t size, double score, bool copy) {
  if (size > MOST_ROWS || desk_.rows.size() >= MOST_ROWS) return Status::declined;
  if (choices_.single) score = static_cast<double>(static_cast<float>(score));
  if (copy) item = text_.put(item, size);
  if (choices_.gather) {
    if (kept_.empty() || kept_.back().size() == ROWS) {
      kept_.emplace_back();
      kept_.back().reserve(ROWS);
    }
    kept_.back().push_back({static_cast<std::uint32_t>(list_), static_cast<std::uint32_t>(size), item, score});
  } else {
    Row& row = desk_.rows.emplace_back();  // filled in place: a copy would wait for what was just written
    row.score = score;
    row.hash = hashed(item, size);
    row.item = item;
    row.size = static_cast<std::uint32_t>(size);
  }
  return Status::ok;
}

Status RunReader::end() {
  if (list_ < 0 || choices_.gather) return Status::ok;
  const std::string& query = queries_[lists_.second(static_cast<std::size_t>(list_))];
  const std::int64_t place = table_->place(query.data(), query.size());
  if (place == Names::crowded) return Status::declined;
  const Status status = ranked(desk_, *table_, choices_, place);
  desk_.rows.clear();
  settled_ = 0;
  text_.reset();
  list_ = -1;
  return status;
}

// Adds the list in desk.rows to desk.found: refuses an item that occurs twice, ranks, and looks up.
Status RunReader::ranked(Desk& desk, const Table& table, const Choices& choices, std::int64_t place) {
  auto& rows = desk.rows;
  const std::size_t count = rows.size();
  const std::size_t size = power_of_two(4 * count), mask = size - 1;  // few share a slot: a surprise costs 15 steps
  if (!choices.distinct) desk.slots.assign(size, 0);
  bool falling = true, strictly = true;
  for (std::size_t at = 1; at < count; ++at) {
    falling = falling && rows[at].score <= rows[at - 1].score;
    strictly = strictly && rows[at].score < rows[at - 1].score;
  }
  for (std::size_t at = 0; at < count && !choices.distinct; ++at) {
    const Row& row = rows[at];
    std::size_t slot = row.hash & mask;
    for (int probe = 0; desk.slots[slot] != 0; slot = (slot + 1) & mask) {
      const Row& other = rows[desk.slots[slot] - 1];
      const bool equal = other.hash == row.hash && other.size == row.size;
      if ((equal && std::memcmp(other.item, row.item, row.size) == 0) || ++probe == PROBES) return Status::declined;
    }
    desk.slots[slot] = static_cast<std::uint32_t>(at + 1);
  }
  Found& found = desk.found;
  const auto list = static_cast<std::int64_t>(found.place.size());
  const std::size_t kept = choices.cut > 0 ? std::min(count, static_cast<std::size_t>(choices.cut)) : count;
  found.place.push_back(place);
  found.size.push_back(static_cast<std::int64_t>(kept));
  found.tied.push_back(0);
  if (place < 0 && !choices.whole) return Status::ok;

  auto& order = desk.order;
  order.resize(count);
  if (falling) {
    std::iota(order.begin(), order.end(), 0u);
  } else {
    desk.keys.resize(count);
    for (std::size_t at = 0; at < count; ++at) {
      const std::uint64_t sign = std::uint64_t{1} << 63;
      std::uint64_t bits;
      const double score = rows[at].score + 0.0;  // -0 equals 0
      std::memcpy(&bits, &score, 8);
      desk.keys[at] = {~((bits & sign) != 0 ? ~bits : bits | sign), static_cast<std::uint32_t>(at)};
    }
    sort_keys(desk.keys, desk.spare);
    for (std::size_t at = 0; at < count; ++at) order[at] = desk.keys[at].second;
    strictly = false;
  }
  std::int64_t tied = 0;
  for (std::size_t first = 0; first < kept;) {
    std::size_t end = first + 1;
    if (!strictly) {
      while (end < count && rows[order[end]].score == rows[order[first]].score) ++end;
      if (end - first > 1 && !choices.by_input)
        std::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(end),
                  [&rows](std::uint32_t a, std::uint32_t b) {
                    return behind(rows[a].item, rows[a].size, rows[b].item, rows[b].size);
                  });
    }
    const std::size_t inside = std::min(end, kept);
    if (inside - first > 1) tied += static_cast<std::int64_t>(inside - first);
    for (std::size_t at = first; at < inside; ++at) {
      const Row& row = rows[order[at]];
      if (choices.whole) {
        found.items.text.append(row.item, row.size);
        found.items.ends.push_back(static_cast<std::int64_t>(found.items.text.size()));
        found.items.score.push_back(row.score);
        found.items.block.push_back(static_cast<std::uint32_t>(first + 1));
        continue;
      }
      const std::int64_t judged = table.row(place, row.item, row.size, row.hash);
      if (judged < 0) continue;
      found.owner.push_back(list);
      found.rank.push_back(static_cast<std::int64_t>(at + 1));
      found.block.push_back(static_cast<std::int64_t>(first + 1));
      found.length.push_back(static_cast<std::int64_t>(end - first));
      found.row.push_back(judged);
    }
    first = end;
  }
  found.tied.back() = tied;
  return Status::ok;
}

namespace {

// What was taken over is given back at once, so that it exists only once.
template <class Many>
void append(Many& to, Many& from) {
  if (to.empty()) {
    to.swap(from);
    return;
  }
  to.insert(to.end(), from.begin(), from.end());
  Many().swap(from);
}

void append(Items& items, Items& part) {
  if (items.query.empty() && items.score.empty()) {
    std::swap(items, part);
    return;
  }
  const auto before = static_cast<std::int64_t>(items.text.size());
  for (std::size_t at = 1; at < part.ends.size(); ++at) items.ends.push_back(before + part.ends[at]);
  append(items.text, part.text);
  append(items.score, part.score);
  append(items.block, part.block);
  append(items.query, part.query);
}

// Adds the lists of `part` behind those of `found`.
void append(Found& found, Found& part) {
  const auto before = static_cast<std::int64_t>(found.place.size());
  append(found.system, part.system);
  append(found.place, part.place);
  append(found.size, part.size);
  append(found.tied, part.tied);
  append(found.rank, part.rank);
  append(found.block, part.block);
  append(found.length, part.length);
  append(found.row, part.row);
  for (std::int64_t& owner : part.owner) owner += before;
  append(found.owner, part.owner);
  append(found.items, part.items);
}

}  // namespace

Status RunReader::close(const std::vector<RunReader*>& readers, std::size_t threads, Found& found,
                        std::vector<std::string>& systems) {
  Names names, queries;
  std::vector<std::vector<std::uint32_t>> numbers;     // [reader][its list]: the number of the list among all
  Pairs lists;
  for (RunReader* reader : readers) {
    Status status = reader->last();
    if (status == Status::ok) status = reader->end();
    if (status != Status::ok) return status;
    std::vector<std::uint32_t> system_of, query_of;
    for (std::size_t at = 0; at < reader->systems_.count(); ++at) {
      const std::string& name = reader->systems_[at];
      const auto number = names.add(name.data(), name.size(), hash_of(name.data(), name.size()));
      if (number < 0) return Status::declined;
      system_of.push_back(static_cast<std::uint32_t>(number));
    }
    for (std::size_t at = 0; at < reader->queries_.count(); ++at) {
      const std::string& name = reader->queries_[at];
      const auto number = queries.add(name.data(), name.size(), hash_of(name.data(), name.size()));
      if (number < 0) return Status::declined;
      query_of.push_back(static_cast<std::uint32_t>(number));
    }
    auto& own = numbers.emplace_back();
    for (std::size_t at = 0; at < reader->lists_.count(); ++at) {
      const std::size_t before = lists.count();
      own.push_back(lists.add(system_of[reader->lists_.first(at)], query_of[reader->lists_.second(at)]));
      if (lists.count() == before && !reader->choices_.gather) return Status::ungrouped;
    }
  }
  if (lists.count() == 0) return Status::declined;
  for (std::size_t at = 0; at < names.count(); ++at) systems.push_back(names[at]);
  const Choices& choices = readers.front()->choices_;
  if (choices.gather) {
    const Status status = grouped(readers, numbers, lists, queries, threads, found);
    if (status != Status::ok) return status;
  } else {
    for (RunReader* reader : readers) append(found, reader->desk_.found);
    for (std::size_t at = 0; at < lists.count(); ++at) {
      found.system.push_back(lists.first(at));
      found.items.query.push_back(lists.second(at));
    }
  }
  for (std::size_t at = 0; choices.whole && at < queries.count(); ++at) found.items.queries.push_back(queries[at]);
  return Status::ok;
}

// Lists by system and name of the query, each with its rows in the order of the text; several threads rank them.
Status RunReader::grouped(const std::vector<RunReader*>& readers, const std::vector<std::vector<std::uint32_t>>& numbers,
                          const Pairs& lists, const Names& queries, std::size_t threads, Found& found) {
  std::vector<std::uint32_t> order(lists.count()), place(lists.count());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lists.first(a) != lists.first(b) ? lists.first(a) < lists.first(b)
                                            : queries[lists.second(a)] < queries[lists.second(b)];
  });
  for (std::size_t at = 0; at < order.size(); ++at) place[order[at]] = static_cast<std::uint32_t>(at);
  std::vector<std::size_t> offsets(lists.count() + 1);
  for (std::size_t part = 0; part < readers.size(); ++part)
    for (const auto& block : readers[part]->kept_)
      for (const Kept& row : block) ++offsets[place[numbers[part][row.list]] + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  struct Item {
    double score;
    const char* data;
    std::uint32_t size;
  };
  std::vector<Item> items(offsets.back());
  std::vector<std::size_t> next(offsets.begin(), offsets.end() - 1);
  for (std::size_t part = 0; part < readers.size(); ++part) {
    for (auto& block : readers[part]->kept_) {
      for (const Kept& row : block) items[next[place[numbers[part][row.list]]]++] = {row.score, row.item, row.size};
      std::vector<Kept>().swap(block);
    }
  }
  const Table& table = *readers.front()->table_;
  const Choices& choices = readers.front()->choices_;
  threads = std::max<std::size_t>(1, std::min(threads, lists.count()));
  std::vector<Desk> desks(threads);
  std::vector<Status> done(threads, Status::declined);
  const auto work = [&](std::size_t number) {
    try {
      Desk& desk = desks[number];
      const std::size_t begin = lists.count() * number / threads, end = lists.count() * (number + 1) / threads;
      for (std::size_t list = begin; list < end; ++list) {
        desk.rows.clear();
        for (std::size_t at = offsets[list]; at < offsets[list + 1]; ++at)
          desk.rows.push_back({items[at].score, hash_of(items[at].data, items[at].size), items[at].data, items[at].size});
        const std::string& query = queries[lists.second(order[list])];
        const std::int64_t where = table.place(query.data(), query.size());
        if (where == Names::crowded || desk.rows.size() > MOST_ROWS) return;
        if (ranked(desk, table, choices, where) != Status::ok) return;
        desk.found.system.push_back(lists.first(order[list]));
        desk.found.items.query.push_back(lists.second(order[list]));
      }
      done[number] = Status::ok;
    } catch (const std::bad_alloc&) {
      done[number] = Status::declined;  // the exact reader runs out of memory too, and says so
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t number = 1; number < threads; ++number) pool.emplace_back(work, number);
  work(0);
  for (auto& thread : pool) thread.join();
  for (const Status status : done)
    if (status != Status::ok) return status;
  for (Desk& desk : desks) append(found, desk.found);
  return Status::ok;
}

}  // namespace endoxa
