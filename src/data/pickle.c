/* pickle.c - reads numpy arrays and lists of integers from a Python pickle, executing nothing.
 *
 * Instructions push values, collect those above a mark into tuples, lists and dicts, and remember
 * values in a memo. Texts and bytes stay in the file. Containers are objects that values refer to
 * by number, as in Python: a list may be remembered before its items come.
 *
 * numpy writes an array as one of
 *
 *   _reconstruct(ndarray, (0,), b'b'), then BUILD by (1, shape, dtype, fortran, bytes)
 *   _frombuffer(bytes, dtype, shape, order)                                    protocol 5
 *
 * a dtype as dtype('u1', False, True) and a BUILD, and bytes in protocol 2 as
 * _codecs.encode(text, 'latin1').
 *
 * Invariants
 *   1. n_stack >= the last mark: no instruction takes what is below it.
 *   2. A value of an object kind has 0 <= object < n_objects. Objects may refer to each other in
 *      circles; nothing here follows them deeper than an array needs.
 *   3. At most MAX_VALUES values are pushed, MAX_OBJECTS objects made, and as many bytes decoded as
 *      the file has: what a hostile file can cost is bounded. */
#include "data/pickle.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define MAX_VALUES  (1 << 22) /* ImageNet has 1.3 million labels */
#define MAX_OBJECTS 256
#define MAX_MARKS   16
#define MAX_DECODED 32

typedef enum value_kind {
    NONE,
    BOOL,
    INT,
    FLOAT, /* its number is not kept */
    TEXT,
    BYTES,
    GLOBAL,
    /* Objects, and their items: */
    TUPLE,
    LIST,
    DICT,  /* key, value, key, .. */
    DTYPE, /* its code, a TEXT or BYTES: "u1" */
    ARRAY, /* dtype, shape, bytes, whether columns come first; none before the BUILD */
} value_kind;

/* The functions and types that a pickle may name. */
typedef enum global { RECONSTRUCT, FROM_BUFFER, ND_ARRAY, ND_DTYPE, ENCODE } global;

typedef struct span {
    const uint8_t *at;
    size_t n;
} span;

typedef struct value {
    value_kind kind;
    union {
        int64_t number; /* BOOL, INT, GLOBAL */
        span span;      /* TEXT, BYTES */
        int object;     /* TUPLE .. ARRAY */
    };
} value;

typedef struct object {
    value *items; /* owned */
    int n, cap;
} object;

struct pada_pickle {
    const char *name;
    span file;
    size_t at, op_at; /* in the file: the next byte, and the instruction that runs */
    value *stack;     /* owned, and so are the memo and what was decoded */
    int n_stack, cap_stack;
    int marks[MAX_MARKS], n_marks; /* heights of the stack */
    value *memo;
    int n_memo, cap_memo;
    object objects[MAX_OBJECTS];
    int n_objects;
    uint8_t *decoded[MAX_DECODED];
    int n_decoded;
    size_t decoded_bytes;
    int n_values; /* pushed so far */
    bool stopped;
};

/* ---- failures, bytes of the file ---- */

static pada_status fail(const pada_pickle *p, const char *what)
{
    return PADA_FAIL(PADA_EDATA, "%s: byte %zu: opcode 0x%02x: %s", p->name, p->op_at,
                     p->file.at[p->op_at], what);
}

static pada_status read_span(pada_pickle *p, uint64_t n, span *out)
{
    *out = (span){0};
    if (n > p->file.n - p->at) return fail(p, "reaches beyond the end of the file");
    *out = (span){p->file.at + p->at, (size_t)n};
    p->at += (size_t)n;
    return PADA_OK;
}

/* An unsigned number of n <= 8 bytes, the low one first. */
static pada_status read_number(pada_pickle *p, int n, uint64_t *out)
{
    span bytes;

    *out = 0;
    PADA_TRY(read_span(p, (uint64_t)n, &bytes));
    for (int i = n; i-- > 0;)
        *out = *out << 8 | bytes.at[i];
    return PADA_OK;
}

/* Up to the next line end, which is skipped. */
static pada_status read_line(pada_pickle *p, span *out)
{
    const uint8_t *start = p->file.at + p->at;
    const uint8_t *end = memchr(start, '\n', p->file.n - p->at);

    *out = (span){0};
    if (!end) return fail(p, "reaches beyond the end of the file");
    *out = (span){start, (size_t)(end - start)};
    p->at += out->n + 1;
    return PADA_OK;
}

static bool same(span s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

/* ---- the stack and the objects ---- */

static pada_status push(pada_pickle *p, value v)
{
    void *stack = p->stack;

    if (p->n_values == MAX_VALUES) return fail(p, "too many values");
    PADA_TRY(pada_grow(&stack, &p->cap_stack, p->n_stack + 1, sizeof v));
    p->stack = stack;
    p->stack[p->n_stack++] = v;
    p->n_values++;
    return PADA_OK;
}

static int floor_of(const pada_pickle *p)
{
    return p->n_marks > 0 ? p->marks[p->n_marks - 1] : 0;
}

static pada_status pop(pada_pickle *p, value *out)
{
    *out = (value){0};
    if (p->n_stack == floor_of(p)) return fail(p, "the stack is empty");
    *out = p->stack[--p->n_stack];
    return PADA_OK;
}

/* The value on top, which stays. */
static pada_status peek(pada_pickle *p, value_kind wanted, value *out)
{
    PADA_TRY(pop(p, out));
    p->n_stack++;
    return out->kind == wanted ? PADA_OK : fail(p, "not for the kind of value on the stack");
}

static pada_status pop_mark(pada_pickle *p, int *height)
{
    *height = 0;
    if (p->n_marks == 0) return fail(p, "no mark on the stack");
    *height = p->marks[--p->n_marks];
    return PADA_OK;
}

static pada_status append(pada_pickle *p, int object_number, const value *items, int n)
{
    object *o = &p->objects[object_number];
    void *grown = o->items;

    if (n > MAX_VALUES - o->n) return fail(p, "too many values");
    PADA_TRY(pada_grow(&grown, &o->cap, o->n + n, sizeof *items));
    o->items = grown;
    if (n > 0) memcpy(o->items + o->n, items, (size_t)n * sizeof *items);
    o->n += n;
    return PADA_OK;
}

/* Replaces the values from `height` up by one object with these items. */
static pada_status collect(pada_pickle *p, value_kind kind, int height)
{
    const int number = p->n_objects, n = p->n_stack - height;

    if (number == MAX_OBJECTS) return fail(p, "too many objects");
    p->n_objects++;
    PADA_TRY(append(p, number, n > 0 ? p->stack + height : NULL, n)); /* no stack yet: NULL */
    p->n_stack = height;
    return push(p, (value){.kind = kind, .object = number});
}

/* The same for the n values on top. */
static pada_status collect_top(pada_pickle *p, value_kind kind, int n)
{
    if (p->n_stack - floor_of(p) < n) return fail(p, "the stack is empty");
    return collect(p, kind, p->n_stack - n);
}

/* Item i of a tuple if it has one of that kind, else NULL. */
static const value *item(const pada_pickle *p, value tuple, int i, value_kind wanted)
{
    if (tuple.kind != TUPLE || i >= p->objects[tuple.object].n) return NULL;
    const value *v = &p->objects[tuple.object].items[i];
    /* Python 2 has one type for both. */
    const bool text = wanted == TEXT && v->kind == BYTES;
    return v->kind == wanted || text ? v : NULL;
}

/* ---- instructions: constants ---- */

static pada_status op_proto(pada_pickle *p, int arg)
{
    uint64_t version;

    (void)arg;
    PADA_TRY(read_number(p, 1, &version));
    return version >= 2 && version <= 5 ? PADA_OK : fail(p, "not a protocol from 2 to 5");
}

static pada_status op_frame(pada_pickle *p, int n_bytes)
{
    uint64_t n;

    PADA_TRY(read_number(p, n_bytes, &n));
    return n <= p->file.n - p->at ? PADA_OK : fail(p, "reaches beyond the end of the file");
}

static pada_status op_none(pada_pickle *p, int arg)
{
    (void)arg;
    return push(p, (value){.kind = NONE});
}

static pada_status op_bool(pada_pickle *p, int truth)
{
    return push(p, (value){.kind = BOOL, .number = truth});
}

static pada_status op_float(pada_pickle *p, int n_bytes)
{
    uint64_t bits;

    PADA_TRY(read_number(p, n_bytes, &bits));
    return push(p, (value){.kind = FLOAT});
}

static pada_status op_unsigned(pada_pickle *p, int n_bytes)
{
    uint64_t number;

    PADA_TRY(read_number(p, n_bytes, &number));
    return push(p, (value){.kind = INT, .number = (int64_t)number});
}

static pada_status op_signed(pada_pickle *p, int n_bytes)
{
    uint64_t number;

    PADA_TRY(read_number(p, n_bytes, &number));
    if (n_bytes > 0 && n_bytes < 8 && number >> (8 * n_bytes - 1) != 0)
        number -= (uint64_t)1 << 8 * n_bytes;
    return push(p, (value){.kind = INT, .number = (int64_t)number});
}

/* The number of bytes, and a signed integer of as many. */
static pada_status op_long(pada_pickle *p, int n_bytes)
{
    uint64_t n;

    PADA_TRY(read_number(p, n_bytes, &n));
    return n <= 8 ? op_signed(p, (int)n) : fail(p, "an integer of more than 64 bits");
}

static pada_status push_span(pada_pickle *p, value_kind kind, int n_bytes)
{
    value v = {.kind = kind};
    uint64_t n;

    PADA_TRY(read_number(p, n_bytes, &n));
    PADA_TRY(read_span(p, n, &v.span));
    return push(p, v);
}

/* The length in n bytes, and the text. */
static pada_status op_text(pada_pickle *p, int n_bytes)
{
    return push_span(p, TEXT, n_bytes);
}

static pada_status op_bytes(pada_pickle *p, int n_bytes)
{
    return push_span(p, BYTES, n_bytes);
}

/* ---- instructions: containers ---- */

static pada_status op_mark(pada_pickle *p, int arg)
{
    (void)arg;
    if (p->n_marks == MAX_MARKS) return fail(p, "too many marks");
    p->marks[p->n_marks++] = p->n_stack;
    return PADA_OK;
}

static pada_status op_empty(pada_pickle *p, int kind)
{
    return collect_top(p, (value_kind)kind, 0);
}

/* Of the n values on top. */
static pada_status op_tuple_of(pada_pickle *p, int n)
{
    return collect_top(p, TUPLE, n);
}

static pada_status op_tuple(pada_pickle *p, int arg)
{
    int height;

    (void)arg;
    PADA_TRY(pop_mark(p, &height));
    return collect(p, TUPLE, height);
}

/* Moves the n values on top into the container of that kind below them. */
static pada_status append_top(pada_pickle *p, value_kind kind, int n)
{
    value container;

    if (p->n_stack - floor_of(p) < n) return fail(p, "the stack is empty");
    p->n_stack -= n;
    PADA_TRY(peek(p, kind, &container));
    return append(p, container.object, p->stack + p->n_stack, n);
}

/* One item for a list; a key and a value for a dict. */
static pada_status op_append(pada_pickle *p, int kind)
{
    return append_top(p, (value_kind)kind, kind == DICT ? 2 : 1);
}

static pada_status op_append_marked(pada_pickle *p, int kind)
{
    int height;

    PADA_TRY(pop_mark(p, &height));
    const int n = p->n_stack - height;
    if (kind == DICT && n % 2 != 0) return fail(p, "a key without a value");
    return append_top(p, (value_kind)kind, n);
}

/* ---- instructions: the memo ---- */

/* The number in the file; the next free one for n_bytes = 0. */
static pada_status op_put(pada_pickle *p, int n_bytes)
{
    void *memo = p->memo;
    uint64_t i;
    value v;

    PADA_TRY(read_number(p, n_bytes, &i));
    if (n_bytes == 0) i = (uint64_t)p->n_memo;
    PADA_TRY(pop(p, &v));
    p->n_stack++;
    /* Who counts on has read at least a byte for each number. */
    if (i > p->at || i >= MAX_VALUES) return fail(p, "the number in the memo is too large");
    PADA_TRY(pada_grow(&memo, &p->cap_memo, (int)i + 1, sizeof v));
    p->memo = memo;
    p->memo[i] = v; /* numbers that were left out are None */
    if ((int)i >= p->n_memo) p->n_memo = (int)i + 1;
    return PADA_OK;
}

static pada_status op_get(pada_pickle *p, int n_bytes)
{
    uint64_t i;

    PADA_TRY(read_number(p, n_bytes, &i));
    if (i >= (uint64_t)p->n_memo) return fail(p, "not in the memo");
    return push(p, p->memo[i]);
}

/* ---- instructions: what makes arrays ---- */

static pada_status push_global(pada_pickle *p, span module, span name)
{
    static const struct {
        const char *module, *name;
        global global;
    } known[] = {
        {"numpy.core.multiarray", "_reconstruct", RECONSTRUCT},
        {"numpy._core.multiarray", "_reconstruct", RECONSTRUCT},
        {"numpy.core.numeric", "_frombuffer", FROM_BUFFER},
        {"numpy._core.numeric", "_frombuffer", FROM_BUFFER},
        {"numpy", "ndarray", ND_ARRAY},
        {"numpy", "dtype", ND_DTYPE},
        {"_codecs", "encode", ENCODE},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (same(module, known[i].module) && same(name, known[i].name))
            return push(p, (value){.kind = GLOBAL, .number = known[i].global});
    char text[80]; /* of letters that can be printed: the file may hold anything */
    size_t n = 0;
    for (size_t i = 0; i < module.n && n < 38; i++)
        text[n++] = (char)(module.at[i] > ' ' && module.at[i] < 127 ? module.at[i] : '?');
    text[n++] = ' ';
    for (size_t i = 0; i < name.n && n < sizeof text - 1; i++)
        text[n++] = (char)(name.at[i] > ' ' && name.at[i] < 127 ? name.at[i] : '?');
    text[n] = '\0';
    return PADA_FAIL(PADA_EDATA, "%s: byte %zu: opcode 0x%02x: global '%s' is not of a numpy array",
                     p->name, p->op_at, p->file.at[p->op_at], text);
}

static pada_status op_global(pada_pickle *p, int arg)
{
    span module, name;

    (void)arg;
    PADA_TRY(read_line(p, &module));
    PADA_TRY(read_line(p, &name));
    return push_global(p, module, name);
}

static pada_status op_stack_global(pada_pickle *p, int arg)
{
    value module, name;

    (void)arg;
    PADA_TRY(pop(p, &name));
    PADA_TRY(pop(p, &module));
    if (module.kind != TEXT || name.kind != TEXT) return fail(p, "the name is not a text");
    return push_global(p, module.span, name.span);
}

/* UTF-8 to the bytes that its characters number, which are below 256. */
static bool decode_latin1(span text, uint8_t *to, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < text.n; i++) {
        uint8_t c = text.at[i];
        if (c >= 0x80) {
            const bool two = (c & 0xfe) == 0xc2 && i + 1 < text.n && text.at[i + 1] >> 6 == 2;
            if (!two) return false;
            c = (uint8_t)(c << 6 | (text.at[++i] & 0x3f));
        }
        to[(*n)++] = c;
    }
    return true;
}

/* _codecs.encode(text, 'latin1') */
static pada_status encode(pada_pickle *p, value args)
{
    const value *text = item(p, args, 0, TEXT), *codec = item(p, args, 1, TEXT);
    value v = {.kind = BYTES};
    void *memory;

    if (!text || !codec || !same(codec->span, "latin1"))
        return fail(p, "not the encoding of a text as latin1");
    const span from = text->span;
    if (p->n_decoded == MAX_DECODED || from.n > p->file.n - p->decoded_bytes)
        return fail(p, "too many encoded bytes");
    PADA_TRY(pada_calloc(&memory, from.n, 1));
    p->decoded[p->n_decoded++] = memory;
    p->decoded_bytes += from.n;
    v.span.at = memory;
    if (!decode_latin1(from, memory, &v.span.n)) return fail(p, "the text is not latin1");
    return push(p, v);
}

/* dtype(code, ..) */
static pada_status make_dtype(pada_pickle *p, value args)
{
    const value *code = item(p, args, 0, TEXT);

    if (!code) return fail(p, "a dtype without a code");
    PADA_TRY(push(p, *code));
    return collect_top(p, DTYPE, 1);
}

/* Pushes an array of these parts. */
static pada_status make_array(pada_pickle *p, value dtype, value shape, value bytes, bool fortran)
{
    PADA_TRY(push(p, dtype));
    PADA_TRY(push(p, shape));
    PADA_TRY(push(p, bytes));
    PADA_TRY(push(p, (value){.kind = BOOL, .number = fortran}));
    return collect_top(p, ARRAY, 4);
}

/* _frombuffer(bytes, dtype, shape, order) */
static pada_status from_buffer(pada_pickle *p, value args)
{
    const value *bytes = item(p, args, 0, BYTES), *dtype = item(p, args, 1, DTYPE);
    const value *shape = item(p, args, 2, TUPLE), *order = item(p, args, 3, TEXT);

    if (!bytes || !dtype || !shape || !order) return fail(p, "not the parts of an array");
    return make_array(p, *dtype, *shape, *bytes, !same(order->span, "C"));
}

static pada_status op_reduce(pada_pickle *p, int arg)
{
    value args, function;

    (void)arg;
    PADA_TRY(pop(p, &args));
    PADA_TRY(pop(p, &function));
    if (function.kind != GLOBAL) return fail(p, "calls something that is no function");
    switch ((global)function.number) {
    case RECONSTRUCT: return collect_top(p, ARRAY, 0);
    case FROM_BUFFER: return from_buffer(p, args);
    case ND_DTYPE: return make_dtype(p, args);
    case ENCODE: return encode(p, args);
    case ND_ARRAY: break;
    }
    return fail(p, "calls ndarray, which is only for _reconstruct");
}

/* What _reconstruct began. */
static pada_status build_array(pada_pickle *p, value array, value state)
{
    const value *shape = item(p, state, 1, TUPLE), *dtype = item(p, state, 2, DTYPE);
    const value *fortran = item(p, state, 3, BOOL), *bytes = item(p, state, 4, BYTES);
    const value *fortran_int = item(p, state, 3, INT); /* as old versions of numpy wrote it */

    if (!fortran) fortran = fortran_int;
    if (!shape || !dtype || !fortran || !bytes) return fail(p, "not the parts of an array");
    if (p->objects[array.object].n > 0) return fail(p, "builds an array twice");
    const value parts[] = {*dtype, *shape, *bytes, {.kind = BOOL, .number = fortran->number != 0}};
    return append(p, array.object, parts, 4);
}

static pada_status op_build(pada_pickle *p, int arg)
{
    value state, built;

    (void)arg;
    PADA_TRY(pop(p, &state));
    PADA_TRY(pop(p, &built));
    p->n_stack++;
    if (built.kind == ARRAY) return build_array(p, built, state);
    /* That of a dtype holds byte order and alignment; the order of a single byte does not matter. */
    return built.kind == DTYPE ? PADA_OK : fail(p, "builds something that is no array");
}

static pada_status op_stop(pada_pickle *p, int arg)
{
    (void)arg;
    if (p->at != p->file.n) return fail(p, "bytes after the end");
    if (p->n_stack != 1 || p->n_marks != 0 || p->stack[0].kind != DICT)
        return fail(p, "the result is not a dict");
    p->stopped = true;
    return PADA_OK;
}

/* By opcode, with an argument for those that are several; NULL: refused. */
static const struct {
    pada_status (*run)(pada_pickle *p, int arg);
    int arg;
} ops[256] = {
    [0x80] = {op_proto, 0},
    [0x95] = {op_frame, 8},
    ['.'] = {op_stop, 0},
    /* constants */
    ['N'] = {op_none, 0},
    [0x88] = {op_bool, 1},
    [0x89] = {op_bool, 0},
    ['G'] = {op_float, 8},
    ['K'] = {op_unsigned, 1},
    ['M'] = {op_unsigned, 2},
    ['J'] = {op_signed, 4},
    [0x8a] = {op_long, 1},
    [0x8c] = {op_text, 1},
    ['X'] = {op_text, 4},
    [0x8d] = {op_text, 8},
    ['C'] = {op_bytes, 1},
    ['B'] = {op_bytes, 4},
    [0x8e] = {op_bytes, 8},
    [0x96] = {op_bytes, 8}, /* a bytearray */
    ['U'] = {op_bytes, 1},  /* a str of Python 2 */
    ['T'] = {op_bytes, 4},
    /* containers */
    ['('] = {op_mark, 0},
    [')'] = {op_empty, TUPLE},
    [']'] = {op_empty, LIST},
    ['}'] = {op_empty, DICT},
    ['t'] = {op_tuple, 0},
    [0x85] = {op_tuple_of, 1},
    [0x86] = {op_tuple_of, 2},
    [0x87] = {op_tuple_of, 3},
    ['a'] = {op_append, LIST},
    ['e'] = {op_append_marked, LIST},
    ['s'] = {op_append, DICT},
    ['u'] = {op_append_marked, DICT},
    /* the memo */
    ['q'] = {op_put, 1},
    ['r'] = {op_put, 4},
    [0x94] = {op_put, 0},
    ['h'] = {op_get, 1},
    ['j'] = {op_get, 4},
    /* arrays */
    ['c'] = {op_global, 0},
    [0x93] = {op_stack_global, 0},
    ['R'] = {op_reduce, 0},
    ['b'] = {op_build, 0},
};

/* ---- the whole ---- */

static pada_status run(pada_pickle *p)
{
    if (p->file.n < 2 || p->file.at[0] != 0x80)
        return PADA_FAIL(PADA_EDATA, "%s: not a Python pickle of protocol 2 to 5", p->name);
    while (!p->stopped) {
        if (p->at == p->file.n)
            return PADA_FAIL(PADA_EDATA, "%s: byte %zu: the pickle ends without a result", p->name,
                             p->at);
        p->op_at = p->at++;
        const int code = p->file.at[p->op_at];
        if (!ops[code].run) return fail(p, "not needed for arrays of numbers, so not read");
        PADA_TRY(ops[code].run(p, ops[code].arg));
    }
    return PADA_OK;
}

pada_status pada_pickle_parse(pada_pickle **out, const char *name, const uint8_t *bytes,
                              size_t n_bytes)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_pickle *p = memory;
    p->name = name;
    p->file = (span){bytes, n_bytes};
    const pada_status st = run(p);
    if (st != PADA_OK) {
        pada_pickle_destroy(p);
        return st;
    }
    pada_free(p->memo); /* of no use any more, and as large as the stack was */
    p->memo = NULL;
    *out = p;
    return PADA_OK;
}

void pada_pickle_destroy(pada_pickle *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_objects; i++)
        pada_free(p->objects[i].items);
    for (int i = 0; i < p->n_decoded; i++)
        pada_free(p->decoded[i]);
    pada_free(p->memo);
    pada_free(p->stack);
    pada_free(p);
}

/* The last one wins, as in Python. */
static pada_status find(const pada_pickle *p, const char *key, value *out)
{
    const object *dict = &p->objects[p->stack[0].object];

    *out = (value){0};
    for (int i = dict->n - 2; i >= 0; i -= 2) {
        const value *k = &dict->items[i];
        if ((k->kind == TEXT || k->kind == BYTES) && same(k->span, key)) {
            *out = dict->items[i + 1];
            return PADA_OK;
        }
    }
    return PADA_FAIL(PADA_EDATA, "%s: the dict has no '%s'", p->name, key);
}

/* Dimension i of a shape, or -1. */
static int64_t dimension(const pada_pickle *p, value shape, int i)
{
    const value *v = item(p, shape, i, INT);

    return v && v->number >= 0 && v->number <= INT32_MAX ? v->number : -1;
}

pada_status pada_pickle_find_rows(const pada_pickle *p, const char *key, pada_pickle_rows *out)
{
    value array;

    *out = (pada_pickle_rows){0};
    PADA_TRY(find(p, key, &array));
    if (array.kind != ARRAY || p->objects[array.object].n != 4)
        return PADA_FAIL(PADA_EDATA, "%s: '%s' is not a numpy array", p->name, key);
    const value *parts = p->objects[array.object].items;
    const int64_t n_rows = dimension(p, parts[1], 0), n_columns = dimension(p, parts[1], 1);
    const bool is_rows = p->objects[parts[1].object].n == 2 && n_rows >= 0 && n_columns >= 0;
    const span code = p->objects[parts[0].object].items[0].span, bytes = parts[2].span;
    if (!is_rows || !(same(code, "u1") || same(code, "|u1")) || parts[3].number != 0)
        return PADA_FAIL(PADA_EDATA, "%s: '%s' is not a uint8 array of two dimensions in C order",
                         p->name, key);
    /* Both are below 2^31, so the product fits. */
    if ((uint64_t)(n_rows * n_columns) != bytes.n)
        return PADA_FAIL(PADA_EDATA, "%s: '%s' has %zu bytes, not %lld x %lld", p->name, key,
                         bytes.n, (long long)n_rows, (long long)n_columns);
    *out = (pada_pickle_rows){bytes.at, (int)n_rows, (int)n_columns};
    return PADA_OK;
}

pada_status pada_pickle_find_ints(const pada_pickle *p, const char *key, int64_t **out, int *n)
{
    value list;
    void *memory;

    *out = NULL;
    *n = 0;
    PADA_TRY(find(p, key, &list));
    if (list.kind != LIST) return PADA_FAIL(PADA_EDATA, "%s: '%s' is not a list", p->name, key);
    const object *items = &p->objects[list.object];
    for (int i = 0; i < items->n; i++)
        if (items->items[i].kind != INT)
            return PADA_FAIL(PADA_EDATA, "%s: '%s' has something at %d that is no integer", p->name,
                             key, i);
    PADA_TRY(pada_calloc(&memory, (size_t)items->n, sizeof **out));
    *out = memory;
    *n = items->n;
    for (int i = 0; i < items->n; i++)
        (*out)[i] = items->items[i].number;
    return PADA_OK;
}
