// The Python side of core.hpp, against the limited API: one build serves every Python from 3.11 on.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "core.hpp"
#include "kernels.hpp"

namespace {

using endoxa::Status;

struct Run {
  std::shared_ptr<endoxa::Table> table;
  endoxa::RunReader reader;
};

constexpr const char *QRELS = "endoxa.qrels", *TABLE = "endoxa.table", *RUN = "endoxa.run";

template <class T>
T* held(PyObject* capsule, const char* name) {
  return static_cast<T*>(PyCapsule_GetPointer(capsule, name));
}

template <class T>
PyObject* capsule_of(T* value, const char* name) {
  PyObject* capsule = PyCapsule_New(value, name, [](PyObject* self) {
    delete static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
  });
  if (capsule == nullptr) delete value;
  return capsule;
}

// Runs C++ that may run out of memory.
template <class Work>
PyObject* guarded(Work work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

// The same without the GIL; the error, if there is one, is set with it.
template <class Work>
PyObject* released(Work work) {
  Status status = Status::declined;
  bool failed = false;
  PyThreadState* state = PyEval_SaveThread();
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    failed = true;
  } catch (const std::exception&) {
    status = Status::declined;
  }
  PyEval_RestoreThread(state);
  return failed ? PyErr_NoMemory() : PyLong_FromLong(static_cast<long>(status));
}

template <class T>
PyObject* numbers_of(const std::vector<T>& values) {
  return PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(values.data()),
                                       static_cast<Py_ssize_t>(values.size() * sizeof(T)));
}

PyObject* text_of(const char* data, std::size_t size) {
  return PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "strict");
}

// A list of texts, the number-th of which is text(number).
template <class Text>
PyObject* texts_of(std::size_t count, Text text) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
  for (std::size_t number = 0; list != nullptr && number < count; ++number) {
    PyObject* one = text(number);
    if (one == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SetItem(list, static_cast<Py_ssize_t>(number), one);
  }
  return list;
}

// The UTF-8 of a str, which lives as long as the str; null where it is none, or holds half a surrogate pair.
const char* utf8_of(PyObject* value, std::size_t& size) {
  if (!PyUnicode_CheckExact(value)) return nullptr;
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &length);
  if (text == nullptr) PyErr_Clear();
  size = static_cast<std::size_t>(length);
  return text;
}

// A float or a whole number that a double holds exactly; false for anything else, and for NaN.
bool double_of(PyObject* value, double& number) {
  if (PyFloat_Check(value)) {
    number = PyFloat_AsDouble(value);
  } else if (PyLong_CheckExact(value)) {
    int overflow;
    const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0 || whole > (1LL << 53) || whole < -(1LL << 53)) return false;
    number = static_cast<double>(whole);
  } else {
    return false;
  }
  return number == number;
}

// The memory of the arrays of a call, given back at its end.
struct Arrays {
  std::vector<Py_buffer> held;
  ~Arrays() {
    for (auto& one : held) PyBuffer_Release(&one);
  }
  // The next array, of `count` values; null, with an error set, where it is another.
  template <class T>
  T* take(PyObject* array, std::size_t count, int flags = PyBUF_SIMPLE) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, flags) != 0) return nullptr;
    held.push_back(view);
    if (view.len == static_cast<Py_ssize_t>(count * sizeof(T))) return static_cast<T*>(view.buf);
    PyErr_SetString(PyExc_ValueError, "an array has another size");
    return nullptr;
  }
  // The next array, however long; null, with an error set, where there is none.
  template <class T>
  T* all(PyObject* array, std::size_t& count) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_SIMPLE) != 0) return nullptr;
    held.push_back(view);
    count = static_cast<std::size_t>(view.len) / sizeof(T);
    return static_cast<T*>(view.buf);
  }
};

// ---- judgments ------------------------------------------------------------------------------------------

PyObject* qrels(PyObject*, PyObject*) {
  return guarded([] { return capsule_of(new endoxa::QrelsReader, QRELS); });
}

PyObject* feed_qrels(PyObject*, PyObject* arguments) {
  PyObject* capsule;
  Py_buffer data;
  if (!PyArg_ParseTuple(arguments, "Oy*", &capsule, &data)) return nullptr;
  auto* reader = held<endoxa::QrelsReader>(capsule, QRELS);
  PyObject* status = reader == nullptr ? nullptr : released([&] {
    return reader->feed(static_cast<const char*>(data.buf), static_cast<std::size_t>(data.len));
  });
  PyBuffer_Release(&data);
  return status;
}

// Calls query(name, size) and item(name, size, number) over {query: {item: number}}.
template <class Query, class Item>
Status walked(PyObject* dict, Query query, Item item) {
  PyObject *name, *inner, *id, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &name, &inner)) {
    std::size_t size;
    const char* text = utf8_of(name, size);
    if (text == nullptr || !PyDict_CheckExact(inner)) return Status::declined;
    if (PyDict_Size(inner) == 0) continue;  // an empty dict gives no row
    Status status = query(text, size);
    Py_ssize_t within = 0;
    while (status == Status::ok && PyDict_Next(inner, &within, &id, &value)) {
      double number;
      std::size_t length;
      const char* word = utf8_of(id, length);
      if (word == nullptr || !double_of(value, number)) return Status::declined;
      status = item(word, length, number);
    }
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

PyObject* qrels_of_dict(PyObject*, PyObject* arguments) {
  PyObject *capsule, *dict;
  if (!PyArg_ParseTuple(arguments, "OO!", &capsule, &PyDict_Type, &dict)) return nullptr;
  auto* reader = held<endoxa::QrelsReader>(capsule, QRELS);
  if (reader == nullptr) return nullptr;
  return guarded([&] {
    const char* query = nullptr;
    std::size_t query_size = 0;
    const Status status = walked(
        dict,
        [&](const char* text, std::size_t size) {
          query = text, query_size = size;
          return Status::ok;
        },
        [&](const char* text, std::size_t size, double grade) {
          return reader->add_copy(query, query_size, text, size, grade);
        });
    return PyLong_FromLong(static_cast<long>(status));
  });
}

// None, or (table, queries by name, offsets, grades by query and descending).
PyObject* close_qrels(PyObject*, PyObject* capsule) {
  auto* reader = held<endoxa::QrelsReader>(capsule, QRELS);
  if (reader == nullptr) return nullptr;
  PyObject* closed = released([&] { return reader->close(); });
  if (closed == nullptr) return nullptr;
  const long status = PyLong_AsLong(closed);
  Py_DECREF(closed);
  if (status != 0) Py_RETURN_NONE;
  return guarded([&]() -> PyObject* {
    std::vector<double> grades;
    grades.reserve(reader->order().size());
    for (const std::int64_t row : reader->order()) grades.push_back(reader->rows()[static_cast<std::size_t>(row)].grade);
    PyObject* table = capsule_of(new std::shared_ptr<endoxa::Table>(reader->table()), TABLE);
    PyObject* names = texts_of(reader->by_place().size(), [&](std::size_t place) {
      const std::string& name = reader->queries()[reader->by_place()[place]];
      return text_of(name.data(), name.size());
    });
    PyObject *offsets = numbers_of(reader->offsets()), *values = numbers_of(grades);
    if (table == nullptr || names == nullptr || offsets == nullptr || values == nullptr) {
      Py_XDECREF(table), Py_XDECREF(names), Py_XDECREF(offsets), Py_XDECREF(values);
      return nullptr;
    }
    return Py_BuildValue("(NNNN)", table, names, offsets, values);
  });
}

// The judgments in the order read: (queries, items, grades).
PyObject* rows_of_qrels(PyObject*, PyObject* capsule) {
  auto* reader = held<endoxa::QrelsReader>(capsule, QRELS);
  if (reader == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    const auto& rows = reader->rows();
    std::vector<double> grades;
    grades.reserve(rows.size());
    for (const auto& row : rows) grades.push_back(row.grade);
    PyObject* queries = texts_of(rows.size(), [&](std::size_t row) {
      const std::string& name = reader->queries()[rows[row].query];
      return text_of(name.data(), name.size());
    });
    PyObject* items = texts_of(rows.size(), [&](std::size_t row) { return text_of(rows[row].item, rows[row].size); });
    PyObject* values = numbers_of(grades);
    if (queries == nullptr || items == nullptr || values == nullptr) {
      Py_XDECREF(queries), Py_XDECREF(items), Py_XDECREF(values);
      return nullptr;
    }
    return Py_BuildValue("(NNN)", queries, items, values);
  });
}

// A table of judged items: names of the queries, where the items of each begin (int64), and all items; or None.
PyObject* table_of(PyObject*, PyObject* arguments) {
  PyObject *queries, *items;
  Py_buffer offsets;
  if (!PyArg_ParseTuple(arguments, "O!y*O!", &PyList_Type, &queries, &offsets, &PyList_Type, &items)) return nullptr;
  PyObject* made = guarded([&]() -> PyObject* {
    const auto* starts = static_cast<const std::int64_t*>(offsets.buf);
    const auto count = static_cast<std::size_t>(PyList_Size(queries));
    const auto rows = static_cast<std::int64_t>(PyList_Size(items));
    if (offsets.len != static_cast<Py_ssize_t>((count + 1) * sizeof(std::int64_t)) || starts[0] != 0 ||
        starts[count] != rows) {
      PyErr_SetString(PyExc_ValueError, "offsets do not fit the queries and the items");
      return nullptr;
    }
    auto table = std::make_shared<endoxa::Table>();
    for (std::size_t place = 0; place < count; ++place) {
      std::size_t size;
      const char* text = utf8_of(PyList_GetItem(queries, static_cast<Py_ssize_t>(place)), size);
      if (text == nullptr || starts[place] > starts[place + 1] || starts[place + 1] > rows) Py_RETURN_NONE;
      if (!table->add_query(text, size)) Py_RETURN_NONE;
      for (std::int64_t row = starts[place]; row < starts[place + 1]; ++row) {
        text = utf8_of(PyList_GetItem(items, static_cast<Py_ssize_t>(row)), size);
        if (text == nullptr) Py_RETURN_NONE;
        table->add_item(text, size);
      }
    }
    if (!table->close()) Py_RETURN_NONE;
    return capsule_of(new std::shared_ptr<endoxa::Table>(std::move(table)), TABLE);
  });
  PyBuffer_Release(&offsets);
  return made;
}

// ---- runs -----------------------------------------------------------------------------------------------

// run(table, system or None, by_input, single, gather, cut); without a table every item is wanted
PyObject* run(PyObject*, PyObject* arguments) {
  PyObject* capsule;
  const char* system;
  int by_input, single, gather;
  long long cut;
  if (!PyArg_ParseTuple(arguments, "OzpppL", &capsule, &system, &by_input, &single, &gather, &cut)) return nullptr;
  const bool whole = capsule == Py_None;
  auto* given = whole ? nullptr : held<std::shared_ptr<endoxa::Table>>(capsule, TABLE);
  if (given == nullptr && !whole) return nullptr;
  return guarded([&] {
    const endoxa::Choices choices{by_input != 0, single != 0, gather != 0, cut, false, whole};
    auto table = whole ? std::make_shared<endoxa::Table>() : *given;
    auto* made = new Run{table, endoxa::RunReader(table, choices)};
    if (system != nullptr) made->reader.name_system(system);
    return capsule_of(made, RUN);
  });
}

PyObject* feed_run(PyObject*, PyObject* arguments) {
  PyObject* capsule;
  Py_buffer data;
  if (!PyArg_ParseTuple(arguments, "Oy*", &capsule, &data)) return nullptr;
  auto* held_run = held<Run>(capsule, RUN);
  PyObject* status = held_run == nullptr ? nullptr : released([&] {
    return held_run->reader.feed(static_cast<const char*>(data.buf), static_cast<std::size_t>(data.len));
  });
  PyBuffer_Release(&data);
  return status;
}

// pour_run(run, file, begin, end, piece): reads this part of an open file without Python; a status. A file that ends
// before is read to its end: whoever opened it sees that it has changed.
PyObject* pour_run(PyObject*, PyObject* arguments) {
  PyObject* capsule;
  int file;
  long long begin, end;
  Py_ssize_t piece;
  if (!PyArg_ParseTuple(arguments, "OiLLn", &capsule, &file, &begin, &end, &piece)) return nullptr;
  auto* held_run = held<Run>(capsule, RUN);
  if (held_run == nullptr) return nullptr;
  int failed = 0;
  PyObject* status = released([&] {
    std::vector<char> buffer(static_cast<std::size_t>(std::max<Py_ssize_t>(piece, 1)));
    Status now = Status::ok;
    while (now == Status::ok && begin < end) {
      const auto wanted = std::min<long long>(static_cast<long long>(buffer.size()), end - begin);
      const ssize_t size = ::pread(file, buffer.data(), static_cast<std::size_t>(wanted), static_cast<off_t>(begin));
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) failed = errno;
      if (size <= 0) break;
      now = held_run->reader.feed(buffer.data(), static_cast<std::size_t>(size));
      begin += size;
    }
    return now;
  });
  if (failed == 0 || status == nullptr) return status;
  Py_DECREF(status);
  errno = failed;
  return PyErr_SetFromErrno(PyExc_OSError);
}

PyObject* run_of_dict(PyObject*, PyObject* arguments) {
  PyObject *capsule, *dict;
  const char* system;
  Py_ssize_t system_size;
  if (!PyArg_ParseTuple(arguments, "OO!s#", &capsule, &PyDict_Type, &dict, &system, &system_size)) return nullptr;
  auto* held_run = held<Run>(capsule, RUN);
  if (held_run == nullptr) return nullptr;
  return guarded([&] {
    endoxa::RunReader& reader = held_run->reader;
    reader.assume_distinct();
    Status status = walked(
        dict,
        [&](const char* text, std::size_t size) {
          return reader.begin(text, size, system, static_cast<std::size_t>(system_size));
        },
        [&](const char* text, std::size_t size, double score) { return reader.add(text, size, score, false); });
    if (status == Status::ok) status = reader.end();
    return PyLong_FromLong(static_cast<long>(status));
  });
}

// The readers in a list of capsules; false, with an error set, where there is none, or something else.
bool readers_of(PyObject* capsules, std::vector<endoxa::RunReader*>& readers) {
  for (Py_ssize_t at = 0; at < PyList_Size(capsules); ++at) {
    auto* one = held<Run>(PyList_GetItem(capsules, at), RUN);
    if (one == nullptr) return false;
    readers.push_back(&one->reader);
  }
  if (readers.empty()) PyErr_SetString(PyExc_ValueError, "there is no run");
  return !readers.empty();
}

// Closes the runs of a call (runs, threads), and makes a tuple of what was found by `result`; or a status.
template <class Result>
PyObject* closed(PyObject* arguments, Result result) {
  PyObject* capsules;
  Py_ssize_t threads;
  if (!PyArg_ParseTuple(arguments, "O!n", &PyList_Type, &capsules, &threads)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<endoxa::RunReader*> readers;
    if (!readers_of(capsules, readers)) return nullptr;
    endoxa::Found found;
    std::vector<std::string> systems;
    PyObject* status = released(
        [&] { return endoxa::RunReader::close(readers, static_cast<std::size_t>(threads), found, systems); });
    if (status == nullptr || PyLong_AsLong(status) != 0) return status;
    Py_DECREF(status);
    std::vector<PyObject*> parts = result(found, systems);
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(parts.size()));
    bool whole = tuple != nullptr;
    for (std::size_t place = 0; place < parts.size(); ++place) {
      whole = whole && parts[place] != nullptr;
      if (tuple == nullptr) {
        Py_XDECREF(parts[place]);
      } else {
        PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(place), parts[place]);
      }
    }
    if (whole) return tuple;
    Py_XDECREF(tuple);
    return nullptr;
  });
}

PyObject* names_of(const std::vector<std::string>& names) {
  return texts_of(names.size(), [&](std::size_t number) { return text_of(names[number].data(), names[number].size()); });
}

// Numbers as bytes; they are given back at once, so that they exist only once.
template <class T>
PyObject* taken(std::vector<T>& values) {
  PyObject* numbers = numbers_of(values);
  std::vector<T>().swap(values);
  return numbers;
}

// close_runs(runs, threads): a status, or (systems, system, place, size, tied, owner, rank, block, length, row).
PyObject* close_runs(PyObject*, PyObject* arguments) {
  return closed(arguments, [](endoxa::Found& found, const std::vector<std::string>& systems) {
    std::vector<PyObject*> parts{names_of(systems)};
    for (auto* column : {&found.system, &found.place, &found.size, &found.tied, &found.owner, &found.rank, &found.block,
                         &found.length, &found.row})
      parts.push_back(parts.back() == nullptr ? nullptr : taken(*column));
    return parts;
  });
}

// close_scores(runs, threads, offsets, grades, measures): a status, or (systems, value, present, coverage) as in
// kernels.hpp. A measure is (kind, least relevant grade, cut-off or 0).
PyObject* close_scores(PyObject*, PyObject* arguments) {
  PyObject *capsules, *threads, *starts, *values_of_rows, *measures;
  if (!PyArg_ParseTuple(arguments, "OOOOO!", &capsules, &threads, &starts, &values_of_rows, &PyList_Type, &measures)) {
    return nullptr;
  }
  Arrays arrays;
  std::vector<endoxa::Asked> asked;
  for (Py_ssize_t at = 0; at < PyList_Size(measures); ++at) {
    int kind;
    double rel;
    long long k;
    if (!PyArg_ParseTuple(PyList_GetItem(measures, at), "idL", &kind, &rel, &k)) return nullptr;
    asked.push_back({static_cast<endoxa::Kind>(kind), rel, k});
  }
  std::size_t queries, rows;
  const auto* offsets = arrays.all<std::int64_t>(starts, queries);
  const auto* grades = offsets == nullptr ? nullptr : arrays.all<double>(values_of_rows, rows);
  if (grades == nullptr) return nullptr;
  if (queries < 2 || offsets[0] != 0 || offsets[queries - 1] != static_cast<std::int64_t>(rows) ||
      !std::is_sorted(offsets, offsets + queries)) {
    PyErr_SetString(PyExc_ValueError, "offsets do not fit the grades");
    return nullptr;
  }
  PyObject* call = Py_BuildValue("(OO)", capsules, threads);
  if (call == nullptr) return nullptr;
  PyObject* result = closed(call, [&](endoxa::Found& found, const std::vector<std::string>& systems) {
    endoxa::Values values;
    if (!endoxa::scored(found, systems.size(), offsets, grades, queries - 1, asked, values)) {
      PyErr_SetString(PyExc_RuntimeError, "an item is not among the judgments of its query");
      return std::vector<PyObject*>{nullptr};
    }
    std::vector<PyObject*> parts{names_of(systems)};
    parts.push_back(parts.back() == nullptr ? nullptr : taken(values.value));
    parts.push_back(parts.back() == nullptr ? nullptr : taken(values.present));
    parts.push_back(parts.back() == nullptr ? nullptr : taken(values.coverage));
    return parts;
  });
  Py_DECREF(call);
  return result;
}

// Arrow's C data interface, as its specification prints it.
struct ArrowSchema {
  const char *format, *name, *metadata;
  std::int64_t flags, n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

template <class T>
PyObject* arrow_capsule(std::unique_ptr<T> value, const char* name) {
  PyObject* capsule = PyCapsule_New(value.get(), name, [](PyObject* self) {
    auto* held = static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
    if (held->release != nullptr) held->release(held);
    delete held;
  });
  if (capsule == nullptr) {
    value->release(value.get());
  } else {
    value.release();
  }
  return capsule;
}

// The names of items as a schema and an array of Arrow: large UTF-8, which needs no copy.
std::pair<PyObject*, PyObject*> arrow_of(endoxa::Items& items) {
  struct Texts {
    std::string text;
    std::vector<std::int64_t> ends;
    const void* buffers[3];
  };
  auto texts = std::make_unique<Texts>();
  texts->text.swap(items.text);
  texts->ends.swap(items.ends);
  texts->buffers[0] = nullptr;
  texts->buffers[1] = texts->ends.data();
  texts->buffers[2] = texts->text.data();
  auto schema = std::make_unique<ArrowSchema>(ArrowSchema{
      "U", "item", nullptr, 0, 0, nullptr, nullptr, [](ArrowSchema* self) { self->release = nullptr; }, nullptr});
  auto array = std::make_unique<ArrowArray>(
      ArrowArray{static_cast<std::int64_t>(texts->ends.size()) - 1, 0, 0, 3, 0, texts->buffers, nullptr, nullptr,
                 [](ArrowArray* self) {
                   delete static_cast<Texts*>(self->private_data);
                   self->release = nullptr;
                 },
                 texts.get()});
  texts.release();
  return {arrow_capsule(std::move(schema), "arrow_schema"), arrow_capsule(std::move(array), "arrow_array")};
}

// close_lists(runs, threads): a status, or (systems, queries, system, query, size, schema and array of the items,
// score, block) of all items.
PyObject* close_lists(PyObject*, PyObject* arguments) {
  return closed(arguments, [](endoxa::Found& found, const std::vector<std::string>& systems) {
    endoxa::Items& items = found.items;
    std::vector<PyObject*> parts{names_of(systems)};
    if (parts.back() != nullptr) parts.push_back(names_of(items.queries));
    for (auto* column : {&found.system, &items.query, &found.size})
      parts.push_back(parts.back() == nullptr ? nullptr : taken(*column));
    if (parts.back() == nullptr) return parts;
    const auto [schema, array] = arrow_of(items);
    parts.push_back(schema);
    parts.push_back(array);
    parts.push_back(schema == nullptr || array == nullptr ? nullptr : taken(items.score));
    parts.push_back(parts.back() == nullptr ? nullptr : taken(items.block));
    return parts;
  });
}

// ---- kernels ----------------------------------------------------------------------------------------------

PyObject* precisions(PyObject*, PyObject* arguments) {
  PyObject *tables, *places, *weights, *totals;
  Py_ssize_t rows, depth, lists, worlds;
  if (!PyArg_ParseTuple(arguments, "OOOOnnnn", &tables, &places, &weights, &totals, &rows, &depth, &lists, &worlds)) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const std::size_t r = rows, d = depth, l = lists, w = worlds;
    Arrays arrays;
    const auto* table = arrays.take<std::uint8_t>(tables, r * w);
    const auto* at = table == nullptr ? nullptr : arrays.take<std::int64_t>(places, d * l);
    const auto* weight = at == nullptr ? nullptr : arrays.take<double>(weights, l * d);
    auto* total = weight == nullptr ? nullptr : arrays.take<double>(totals, l * w, PyBUF_WRITABLE);
    if (total == nullptr) return nullptr;
    if (std::any_of(at, at + d * l, [&](std::int64_t row) { return row < 0 || row >= rows; })) {
      PyErr_SetString(PyExc_IndexError, "an item is not in the table");
      return nullptr;
    }
    return released([&] {
      endoxa::precisions(table, at, weight, d, l, w, total);
      return Status::ok;
    });
  });
}

PyObject* hits_over_rank(PyObject*, PyObject* arguments) {
  PyObject *chances, *ranks, *nodes_, *means, *squares;
  Py_ssize_t depth, lists, nodes, step;
  if (!PyArg_ParseTuple(arguments, "OOOOOnnnn", &chances, &ranks, &nodes_, &means, &squares, &depth, &lists, &nodes,
                        &step)) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const std::size_t d = depth, l = lists, n = nodes;
    const bool spread = squares != Py_None;
    Arrays arrays;
    const auto* p = arrays.take<double>(chances, d * l);
    const auto* rank = p == nullptr ? nullptr : arrays.take<double>(ranks, d * l);
    const auto* t = rank == nullptr ? nullptr : arrays.take<double>(nodes_, n);
    auto* mean = t == nullptr ? nullptr : arrays.take<double>(means, l * n, PyBUF_WRITABLE);
    auto* square = mean == nullptr || !spread ? mean : arrays.take<double>(squares, l * n, PyBUF_WRITABLE);
    if (square == nullptr) return nullptr;
    return released([&] {
      endoxa::hits_over_rank(p, rank, t, d, l, n, std::max<std::size_t>(step, 1), spread, mean, square);
      return Status::ok;
    });
  });
}

PyMethodDef METHODS[] = {
    {"qrels", qrels, METH_NOARGS, "A reader of judgments."},
    {"feed_qrels", feed_qrels, METH_VARARGS, "Read more text; a status."},
    {"qrels_of_dict", qrels_of_dict, METH_VARARGS, "Read {query: {item: grade}}; a status."},
    {"close_qrels", close_qrels, METH_O, "None, or the table, queries, offsets, grades."},
    {"rows_of_qrels", rows_of_qrels, METH_O, "Queries, items and grades in the order read."},
    {"table", table_of, METH_VARARGS, "A table of judged items, or None."},
    {"run", run, METH_VARARGS, "A reader of a run."},
    {"feed_run", feed_run, METH_VARARGS, "Read more text; a status."},
    {"pour_run", pour_run, METH_VARARGS, "Read a part of a file; a status."},
    {"run_of_dict", run_of_dict, METH_VARARGS, "Read {query: {item: score}}; a status."},
    {"close_runs", close_runs, METH_VARARGS, "A status, or what was found."},
    {"close_scores", close_scores, METH_VARARGS, "A status, or values of measures."},
    {"close_lists", close_lists, METH_VARARGS, "A status, or all items."},
    {"precisions", precisions, METH_VARARGS, "Sums of hits over rank in possible worlds; see kernels.hpp."},
    {"hits_over_rank", hits_over_rank, METH_VARARGS, "Moments of sums of hits over rank; see kernels.hpp."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot SLOTS[] = {{0, nullptr}};
PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_core", "The native core; see core.hpp.", 0, METHODS, SLOTS,
                      nullptr,               nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&MODULE); }
