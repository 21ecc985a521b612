/* test_image_file.c - picture files: what is read, what is refused; scaling and turning. */
#include "base/scratch.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "check.h"
#include "data/image_file.h"
#include "data/image_scale.h"
#include "data/make_images.h"

#define W 13
#define H 9

/* Large blocks of memory are refused in one test: to sanitizers by a limit of theirs. */
#define LIMIT_MB 16
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=16";
}

/* Pixels of any format: a smooth picture, so that JPEG keeps it. */
static uint8_t pixels[H * W * 4 * 2];

static void draw(int bytes_per_pixel)
{
    for (int i = 0; i < H * W; i++)
        for (int c = 0; c < bytes_per_pixel; c++)
            pixels[i * bytes_per_pixel + c] =
                (uint8_t)(20 + 40 * c + 9 * (i % W) + (c % 2 ? 5 : 2) * (i / W));
}

/* What a pixel should be decoded to. The fourth channel dims the others, be it alpha or black ink,
 * which Adobe stores as what is left of the light. */
static int expected(picture_format format, int i, int c)
{
    const int step = format.sixteen_bit ? 2 : 1;
    const uint8_t *at = pixels + i * format.channels * step;

    if (format.channels <= 2) c = 0;
    const int alpha = format.channels % 2 == 0 ? at[(format.channels - 1) * step] : 255;
    if (format.inks == 2) return ((255 - at[c]) * (255 - alpha) + 127) / 255;
    return (at[c * step] * alpha + 127) / 255;
}

/* ---- decoding ---- */

/* Takes the rows of a picture as they come. */
typedef struct gathered {
    pada_image_head head;
    uint8_t pixels[H * W * 3];
    int n; /* pixels that came */
} gathered;

static pada_status gather_begin(void *context, const pada_image_head *head)
{
    gathered *g = context;

    g->head = *head;
    assert_true(head->width * head->height <= W * H);
    return PADA_OK;
}

static void gather_row(void *context, const pada_image_row *row)
{
    gathered *g = context;

    assert_in_range(row->y, 0, g->head.height - 1);
    for (int k = 0; k < row->n; k++) {
        const int x = row->x + k * row->step;
        assert_in_range(x, 0, g->head.width - 1);
        memcpy(g->pixels + 3 * (row->y * g->head.width + x), row->pixels + 3 * k, 3);
        g->n++;
    }
}

/* Decodes a file of the scratch folder, by whatever takes its rows. */
static pada_status decode_by(const char *name, const pada_image_sink *sink)
{
    pada_file file;

    assert_ok(pada_file_open(&file, scratch_path(name)));
    const pada_status st = pada_image_decode(
        &(pada_image_source){.path = scratch_path(name), .data = file.data, .bytes = file.bytes},
        sink);
    pada_file_close(&file);
    return st;
}

static pada_status decode(const char *name, gathered *g)
{
    *g = (gathered){0};
    return decode_by(name,
                     &(pada_image_sink){.context = g, .begin = gather_begin, .row = gather_row});
}

static pada_status read_fitted(const char *name, int size, pada_resize resize, uint8_t *out,
                               pada_image_head *head)
{
    pada_file file;

    assert_ok(pada_file_open(&file, scratch_path(name)));
    const pada_status st = pada_image_read(
        &(pada_image_source){.path = scratch_path(name), .data = file.data, .bytes = file.bytes},
        &(pada_image_fit){size, resize}, out, head);
    pada_file_close(&file);
    return st;
}

/* A whole picture came, each pixel once and near what it should be. */
static void check_pixels(const char *name, picture_format format, double tolerance)
{
    gathered g;

    assert_ok(decode(name, &g));
    assert_int_equal(g.head.width, W);
    assert_int_equal(g.head.height, H);
    assert_int_equal(g.head.file_width, W);
    assert_int_equal(g.head.file_height, H);
    assert_int_equal(g.head.orientation, 1);
    assert_int_equal(g.n, W * H);
    for (int i = 0; i < W * H; i++)
        for (int c = 0; c < 3; c++)
            CHECK_CLOSE(g.pixels[3 * i + c], expected(format, i, c), tolerance);
}

static void test_png(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 4; channels++)
        for (int variant = 0; variant < 4; variant++) {
            const picture_format format = {
                .channels = channels, .interlaced = variant % 2, .sixteen_bit = variant / 2};
            draw(channels * (1 + format.sixteen_bit));
            write_png(scratch_path("a.png"), W, H, format, pixels);
            check_pixels("a.png", format, 0);
        }
}

/* Interlaced pictures so small that some passes have no pixels. */
static void test_png_small(void **state)
{
    (void)state;
    draw(3);
    for (int width = 1; width <= 5; width++)
        for (int height = 1; height <= 5; height++) {
            gathered plain, interlaced;
            write_png(scratch_path("a.png"), width, height, (picture_format){.channels = 3},
                      pixels);
            write_png(scratch_path("b.png"), width, height,
                      (picture_format){.channels = 3, .interlaced = 1}, pixels);
            assert_ok(decode("a.png", &plain));
            assert_ok(decode("b.png", &interlaced));
            assert_int_equal(plain.n, width * height);
            assert_memory_equal(&plain, &interlaced, sizeof plain);
        }
}

/* A palette of four colours in two bits, the last one transparent. */
static void test_png_palette(void **state)
{
    static const png_color colours[] = {{10, 20, 30}, {200, 100, 0}, {0, 255, 7}, {90, 90, 90}};
    static const png_byte alpha[] = {255, 255, 255, 0};
    static const uint8_t row[] = {0x1b}; /* 0 1 2 3 */
    static const uint8_t wanted[] = {10, 20, 30, 200, 100, 0, 0, 255, 7, 0, 0, 0};
    FILE *f = fopen(scratch_path("p.png"), "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    gathered g;

    (void)state;
    png_init_io(png, f);
    png_set_IHDR(png, info, 4, 1, 2, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, colours, 4);
    png_set_tRNS(png, info, alpha, 4, NULL);
    png_write_info(png, info);
    png_write_row(png, row);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
    assert_ok(decode("p.png", &g));
    assert_int_equal(g.n, 4);
    assert_memory_equal(g.pixels, wanted, sizeof wanted);
}

static void test_jpeg(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2)
        for (int progressive = 0; progressive < 2; progressive++) {
            const picture_format format = {.channels = channels, .interlaced = progressive};
            draw(channels);
            write_jpeg(scratch_path("a.jpg"), W, H, format, pixels);
            check_pixels("a.jpg", format, 12);
        }
}

static void test_jpeg_cmyk(void **state)
{
    (void)state;
    draw(4);
    for (int inks = 0; inks < 3; inks++) {
        const picture_format format = {.channels = 4, .inks = inks};
        write_jpeg(scratch_path("a.jpg"), W, H, format, pixels);
        check_pixels("a.jpg", format, 14);
    }
}

static void test_webp(void **state)
{
    (void)state;
    for (int channels = 3; channels <= 4; channels++)
        for (int lossless = 0; lossless < 2; lossless++) {
            const picture_format format = {.channels = channels, .interlaced = lossless};
            draw(channels);
            write_webp(scratch_path("a.webp"), W, H, format, pixels);
            check_pixels("a.webp", format, lossless ? 0 : 20);
        }
}

/* The bytes of a file of the scratch folder; freed by the caller. */
static uint8_t *read_whole(const char *name, size_t *n)
{
    pada_file file;

    assert_ok(pada_file_open(&file, scratch_path(name)));
    uint8_t *bytes = malloc(file.bytes);
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.bytes);
    *n = file.bytes;
    pada_file_close(&file);
    return bytes;
}

static void add_chunk(uint8_t *file, size_t *at, const char *name, const uint8_t *bytes, size_t n)
{
    memcpy(file + *at, name, 4);
    for (int i = 0; i < 4; i++)
        file[*at + 4 + (size_t)i] = (uint8_t)(n >> 8 * i);
    memcpy(file + *at + 8, bytes, n);
    *at += 8 + n + n % 2;
}

/* A WebP in the extended form: a header with these flags, the picture, an Exif block. */
static void write_extended_webp(const char *name, uint8_t flags, int orientation)
{
    static uint8_t file[4096];
    const uint8_t header[10] = {flags, 0, 0, 0, W - 1, 0, 0, H - 1, 0, 0};
    uint8_t exif[EXIF_BYTES];
    size_t n, at = 12;

    write_webp(scratch_path("plain.webp"), W, H, (picture_format){.channels = 3, .interlaced = 1},
               pixels);
    uint8_t *plain = read_whole("plain.webp", &n);
    assert_true(n < 3000);
    memset(file, 0, sizeof file);
    memcpy(file, plain, 12);
    add_chunk(file, &at, "VP8X", header, sizeof header);
    memcpy(file + at, plain + 12, n - 12);
    at += n - 12;
    make_exif(exif, orientation);
    add_chunk(file, &at, "EXIF", exif, sizeof exif);
    for (int i = 0; i < 4; i++)
        file[4 + i] = (uint8_t)((at - 8) >> 8 * i);
    scratch_write(scratch_path(name), file, at);
    free(plain);
}

/* ---- orientation ---- */

/* Pixel (x, y) of the upright picture, by the definition of Exif: where its first row and column are
 * in the stored one of n_x times n_y pixels. */
static int stored_pixel(int orientation, int x, int y, int n_x, int n_y)
{
    switch (orientation) {
    case 2: return y * n_x + (n_x - 1 - x);             /* top, right */
    case 3: return (n_y - 1 - y) * n_x + (n_x - 1 - x); /* bottom, right */
    case 4: return (n_y - 1 - y) * n_x + x;             /* bottom, left */
    case 5: return x * n_x + y;                         /* left, top */
    case 6: return (n_y - 1 - x) * n_x + y;             /* right, top */
    case 7: return (n_y - 1 - x) * n_x + (n_x - 1 - y); /* right, bottom */
    case 8: return x * n_x + (n_x - 1 - y);             /* left, bottom */
    default: return y * n_x + x;
    }
}

/* The picture turned by hand, without an Exif block. */
static void write_upright(const char *name, int orientation, int width, int height)
{
    const int n_x = orientation >= 5 ? height : width, n_y = orientation >= 5 ? width : height;
    uint8_t turned[W * H * 3];

    for (int y = 0; y < n_y; y++)
        for (int x = 0; x < n_x; x++)
            memcpy(turned + 3 * (y * n_x + x),
                   pixels + 3 * stored_pixel(orientation, x, y, width, height), 3);
    write_png(scratch_path(name), n_x, n_y, (picture_format){.channels = 3}, turned);
}

static void test_orientation(void **state)
{
    uint8_t turned[3 * 5 * 5], upright[3 * 5 * 5];
    pada_image_head head;

    (void)state;
    draw(3);
    for (int how = 1; how <= 8; how++)
        for (int height = H - 1; height <= H; height++) /* what is cropped is odd, and even */
            for (int resize = 0; resize < 3; resize++) {
                write_png(scratch_path("a.png"), W, height,
                          (picture_format){.channels = 3, .orientation = how}, pixels);
                write_upright("b.png", how, W, height);
                assert_ok(read_fitted("a.png", 5, (pada_resize)resize, turned, &head));
                assert_int_equal(head.orientation, how);
                assert_ok(read_fitted("b.png", 5, (pada_resize)resize, upright, NULL));
                assert_memory_equal(turned, upright, sizeof turned);
            }
}

/* Where the block is in the other formats, and values that mean nothing. */
static void test_exif_places(void **state)
{
    gathered g;

    (void)state;
    draw(3);
    for (int how = 1; how <= 8; how++) {
        write_jpeg(scratch_path("a.jpg"), W, H, (picture_format){.channels = 3, .orientation = how},
                   pixels);
        assert_ok(decode("a.jpg", &g));
        assert_int_equal(g.head.orientation, how);
        write_extended_webp("a.webp", 0x08, how);
        assert_ok(decode("a.webp", &g));
        assert_int_equal(g.head.orientation, how);
        assert_int_equal(g.n, W * H);
    }
    write_jpeg(scratch_path("a.jpg"), W, H, (picture_format){.channels = 3, .orientation = 9},
               pixels);
    assert_ok(decode("a.jpg", &g));
    assert_int_equal(g.head.orientation, 1);
}

/* ---- what is refused ---- */

/* Fails, with a message of this file that begins so. */
static void assert_refused(const char *name, pada_status status, const char *message)
{
    const int64_t live = pada_mem_live();
    uint8_t out[3 * 4 * 4];
    char full[2048];

    assert_int_equal(read_fitted(name, 4, PADA_RESIZE_CROP, out, NULL), status);
    snprintf(full, sizeof full, "%s: %s", scratch_path(name), message);
    if (strncmp(pada_message(), full, strlen(full)) != 0) fail_msg("%s", pada_message());
    assert_int_equal(pada_mem_live(), live);
}

static void test_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *message;
    } others[] = {
        {"", 0, "an empty file"},
        {"hello", 5, "no PNG, JPEG or WebP image"},
        {"GIF89a....", 10, "a GIF image, which is not read; PNG, JPEG or WebP are"},
        {"BM........", 10, "a BMP image, which is not read"},
        {"II*\0......", 10, "a TIFF image, which is not read"},
        {"MM\0*......", 10, "a TIFF image, which is not read"},
        {"\0\0\0\x18"
         "ftypheic....",
         16, "a HEIC image, which is not read"},
        {"\0\0\0\x18"
         "ftypavif....",
         16, "a AVIF image, which is not read"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        scratch_write(scratch_path("other.png"), others[i].bytes, others[i].n);
        assert_refused("other.png", PADA_EDATA, others[i].message);
    }
    draw(3);
    write_extended_webp("moving.webp", 0x02, 1);
    assert_refused("moving.webp", PADA_EDATA, "an animated WebP, which is not read");
}

/* Only the header says so: nothing of that size is allocated or written. */
static void test_too_large(void **state)
{
    uint8_t *wide = calloc(20001, 3);
    uint8_t png_header[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x4e\x20\0\0\x4e\x20\x8\2\0\0\0\0\0\0\0";

    (void)state;
    assert_non_null(wide);
    write_png(scratch_path("wide.png"), 20001, 1, (picture_format){.channels = 3}, wide);
    assert_refused("wide.png", PADA_EDATA,
                   "20001 x 1 pixels; sides may be 1 to 20000, at most 100000000 in all");
    write_jpeg(scratch_path("wide.jpg"), 20001, 1, (picture_format){.channels = 3}, wide);
    assert_refused("wide.jpg", PADA_EDATA, "20001 x 1 pixels; ");
    write_png(scratch_path("fine.png"), 20000, 1, (picture_format){.channels = 3}, wide);
    uint8_t out[3];
    assert_ok(read_fitted("fine.png", 1, PADA_RESIZE_SQUASH, out, NULL));
    free(wide);

    /* 20000 x 20000 pixels; the checksum of the header, by bits. */
    uint32_t crc = ~0u;
    for (int i = 12; i < 29; i++) {
        crc ^= png_header[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    for (int i = 0; i < 4; i++)
        png_header[29 + i] = (uint8_t)(~crc >> (24 - 8 * i));
    /* A chunk of image data follows, as a reader wants to see one. */
    static const uint8_t data[] = "\0\0\0\0IDAT\x35\xaf\x06\x1e";
    FILE *f = fopen(scratch_path("bomb.png"), "wb");
    fwrite(png_header, 1, 33, f);
    fwrite(data, 1, sizeof data - 1, f);
    fclose(f);
    assert_refused("bomb.png", PADA_EDATA, "20000 x 20000 pixels; ");
}

/* A small progressive JPEG whose header claims another size. */
static void write_boasting_jpeg(const char *name, int width, int height)
{
    size_t n, at;

    draw(3);
    write_jpeg(scratch_path(name), W, H, (picture_format){.channels = 3, .interlaced = 1}, pixels);
    uint8_t *bytes = read_whole(name, &n);
    for (at = 2; bytes[at + 1] != 0xc2; at += 2 + (size_t)(bytes[at + 2] << 8 | bytes[at + 3]))
        assert_true(at + 9 < n); /* to the frame header: length, bits, rows, columns */
    const uint8_t sides[] = {(uint8_t)(height >> 8), (uint8_t)height, (uint8_t)(width >> 8),
                             (uint8_t)width};
    memcpy(bytes + at + 5, sides, 4);
    scratch_write(scratch_path(name), bytes, n);
    free(bytes);
}

/* The same for a lossless WebP of noise, which has no parts that depend on the size. */
static void write_boasting_webp(const char *name, int width, int height)
{
    pada_rng rng;
    size_t n;

    pada_rng_init(&rng, 1, "noise", 0);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)pada_rng_u32(&rng);
    write_webp(scratch_path(name), W, H, (picture_format){.channels = 3, .interlaced = 1}, pixels);
    uint8_t *bytes = read_whole(name, &n);
    assert_memory_equal(bytes + 12, "VP8L", 4);
    const uint32_t sides = (uint32_t)(width - 1) | (uint32_t)(height - 1) << 14;
    for (int i = 0; i < 4; i++) /* the rest of the fourth byte is alpha and version, both 0 */
        bytes[21 + i] = (uint8_t)(sides >> 8 * i);
    scratch_write(scratch_path(name), bytes, n);
    free(bytes);
}

/* A progressive JPEG keeps its coefficients, a lossless WebP its pixels: at most 256 MiB. */
static void test_too_much_memory(void **state)
{
    (void)state;
    write_boasting_jpeg("p.jpg", 10000, 10000);
    assert_refused("p.jpg", PADA_EDATA, "decoding it takes 28");
    write_boasting_webp("a.webp", 10000, 7000);
    assert_refused("a.webp", PADA_EDATA, "decoding it takes 534 MiB; at most 256 are allowed");
}

/* Runs one decoding that may not get large blocks of memory. */
static pada_status read_in_little_memory(const char *name)
{
    uint8_t out[3 * 4 * 4];

#if defined(__SANITIZE_ADDRESS__)
    return read_fitted(name, 4, PADA_RESIZE_CROP, out, NULL);
#else
    struct rlimit before, now;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (3 * LIMIT_MB / 2 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
    void *block =
        mmap(NULL, (size_t)4 * LIMIT_MB << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block != MAP_FAILED) { /* an emulator, which grants what it likes */
        (void)munmap(block, (size_t)4 * LIMIT_MB << 20);
        assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
        skip();
    }
    const pada_status st = read_fitted(name, 4, PADA_RESIZE_CROP, out, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    return st;
#endif
}

/* Large pictures are decoded row by row. Where the format does not allow that, a lack of memory is
 * called so, and not a broken file. */
static void test_little_memory(void **state)
{
    enum { SIDE = 4000 };
    uint8_t *large = calloc(SIDE, SIDE);

    (void)state;
    assert_non_null(large);
    write_png(scratch_path("a.png"), SIDE, SIDE, (picture_format){.channels = 1}, large);
    assert_ok(read_in_little_memory("a.png"));
    write_png(scratch_path("i.png"), SIDE, SIDE, (picture_format){.channels = 1, .interlaced = 1},
              large);
    assert_ok(read_in_little_memory("i.png"));
    write_jpeg(scratch_path("a.jpg"), SIDE, SIDE, (picture_format){.channels = 1}, large);
    assert_ok(read_in_little_memory("a.jpg"));
    write_boasting_jpeg("p.jpg", SIDE, SIDE);
    assert_int_equal(read_in_little_memory("p.jpg"), PADA_ENOMEM);
    assert_non_null(strstr(pada_message(), "p.jpg: out of memory"));
    write_boasting_webp("a.webp", 4000, 1040); /* its 4 bytes a pixel would do, the library's not */
    assert_int_equal(read_in_little_memory("a.webp"), PADA_ENOMEM);
    assert_non_null(strstr(pada_message(), "a.webp: out of memory"));
    free(large);
}

/* A chunk of 38 bytes whose header claims 570 million. */
static void test_boasting_chunk(void **state)
{
    size_t n, at;

    (void)state;
    draw(3);
    write_png(scratch_path("a.png"), W, H, (picture_format){.channels = 3, .orientation = 3},
              pixels);
    uint8_t *bytes = read_whole("a.png", &n);
    for (at = 8; memcmp(bytes + at + 4, "eXIf", 4) != 0; at++)
        assert_true(at + 8 < n);
    bytes[at] = 0x22;
    scratch_write(scratch_path("a.png"), bytes, n);
    free(bytes);
    assert_int_equal(read_in_little_memory("a.png"), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "a.png: broken PNG: the file is cut short"));
}

/* Every prefix of a file is refused, and no mutation crashes. */
static void test_broken(void **state)
{
    static const struct {
        const char *name, *message;
        size_t n_known; /* bytes by which the format is known */
    } files[] = {{"a.png", "broken PNG: ", 8},    {"i.png", "broken PNG: ", 8},
                 {"a.jpg", "broken JPEG: ", 3},   {"p.jpg", "broken JPEG: ", 3},
                 {"a.webp", "broken WebP: ", 15}, {"l.webp", "broken WebP: ", 15}};

    (void)state;
    draw(3);
    for (int i = 0; i < 2; i++) {
        const picture_format format = {.channels = 3, .interlaced = i, .orientation = 6};
        write_png(scratch_path(i ? "i.png" : "a.png"), W, H, format, pixels);
        write_jpeg(scratch_path(i ? "p.jpg" : "a.jpg"), W, H, format, pixels);
        write_webp(scratch_path(i ? "l.webp" : "a.webp"), W, H, format, pixels);
    }
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        const int64_t live = pada_mem_live();
        uint8_t out[3 * 4 * 4];
        size_t n;
        uint8_t *bytes = read_whole(files[k].name, &n);
        /* The last two bytes of a JPEG only say that it ends. */
        for (size_t cut = 0; cut < n - 2; cut++) {
            scratch_write(scratch_path("cut"), bytes, cut);
            assert_refused("cut", PADA_EDATA,
                           cut == 0                 ? "an empty file"
                           : cut < files[k].n_known ? "no PNG, JPEG or WebP image"
                                                    : files[k].message);
        }
        for (size_t at = 0; at < n; at++) {
            bytes[at] ^= (uint8_t)(1 + at % 255);
            scratch_write(scratch_path("changed"), bytes, n);
            (void)read_fitted("changed", 4, PADA_RESIZE_PAD, out, NULL);
            bytes[at] ^= (uint8_t)(1 + at % 255);
        }
        free(bytes);
        assert_int_equal(pada_mem_live(), live);
    }
}

/* ---- scaling ---- */

/* The definition with many points in each pixel instead of areas: of a window of from_x times from_y
 * pixels that begins at (left, top), black where there is no picture. */
static double mean_by_points(const uint8_t *source, const int shape[2], pada_resize resize,
                             int size, int c, int y, int x)
{
    const int w = shape[0], h = shape[1], shorter = w < h ? w : h, longer = w > h ? w : h;
    const int from_x = resize == PADA_RESIZE_CROP  ? shorter
                       : resize == PADA_RESIZE_PAD ? longer
                                                   : w;
    const int from_y = resize == PADA_RESIZE_CROP  ? shorter
                       : resize == PADA_RESIZE_PAD ? longer
                                                   : h;
    const int left = from_x > w ? -((from_x - w) / 2) : (w - from_x) / 2;
    const int top = from_y > h ? -((from_y - h) / 2) : (h - from_y) / 2;
    double sum = 0;

    /* As many points as pixels: they fall evenly over the pixels of the picture. */
    for (int j = 0; j < from_y; j++)
        for (int i = 0; i < from_x; i++) {
            const int row = (int)(((int64_t)y * from_y + j) / size) + top;
            const int column = (int)(((int64_t)x * from_x + i) / size) + left;
            if (row >= 0 && row < h && column >= 0 && column < w)
                sum += source[3 * (row * w + column) + c];
        }
    return sum / from_x / from_y;
}

static void test_scale(void **state)
{
    static const int sizes[][3] = {{13, 9, 4}, {9, 13, 4}, {40, 30, 8},  {8, 8, 8},
                                   {5, 7, 16}, {1, 1, 3},  {33, 64, 32}, {100, 1, 2}};
    static uint8_t source[100 * 64 * 3], out[3 * 32 * 32];
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 1, "scale", 0);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const int size = sizes[k][2];
        for (int i = 0; i < sizes[k][0] * sizes[k][1] * 3; i++)
            source[i] = (uint8_t)pada_rng_u32(&rng);
        write_png(scratch_path("a.png"), sizes[k][0], sizes[k][1], (picture_format){.channels = 3},
                  source);
        for (int resize = 0; resize < 3; resize++) {
            assert_ok(read_fitted("a.png", size, (pada_resize)resize, out, NULL));
            for (int c = 0; c < 3; c++)
                for (int y = 0; y < size; y++)
                    for (int x = 0; x < size; x++)
                        CHECK_CLOSE(
                            out[(c * size + y) * size + x],
                            mean_by_points(source, sizes[k], (pada_resize)resize, size, c, y, x),
                            0.5000001);
        }
    }
}

/* A JPEG is decoded in a smaller size if that has two pixels for each wanted one. */
static void test_scaled_jpeg(void **state)
{
    enum { WIDE = 640, HIGH = 480 };
    static const int cases[][2] = {{240, 480}, {120, 240}, {121, 480}, {30, 60}, {8, 60}};
    static uint8_t source[WIDE * HIGH * 3], out[3 * 240 * 240];
    static const int shape[2] = {WIDE, HIGH};
    pada_image_head head;

    (void)state;
    for (int i = 0; i < WIDE * HIGH; i++)
        for (int c = 0; c < 3; c++)
            source[3 * i + c] =
                (uint8_t)(128 + 60 * sin(i % WIDE / 40.0 + c) + 60 * cos(i / WIDE / 30.0 - c));
    write_jpeg(scratch_path("a.jpg"), WIDE, HIGH, (picture_format){.channels = 3}, source);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const int size = cases[k][0];
        assert_ok(read_fitted("a.jpg", size, PADA_RESIZE_CROP, out, &head));
        assert_int_equal(head.height, cases[k][1]);
        assert_int_equal(head.width, cases[k][1] * WIDE / HIGH);
        assert_int_equal(head.file_width, WIDE);
        assert_int_equal(head.file_height, HIGH);
        for (int y = 0; y < size; y += 3)
            for (int x = 0; x < size; x += 5)
                CHECK_CLOSE(out[y * size + x],
                            mean_by_points(source, shape, PADA_RESIZE_CROP, size, 0, y, x), 4);
    }
}

/* ---- formats ---- */

static bool is_read(const char *name)
{
    const pada_image_format *format = pada_image_format_named(name);

    return format && format->decode;
}

static void test_names(void **state)
{
    (void)state;
    assert_true(is_read("a.png"));
    assert_true(is_read("a.b.JPG"));
    assert_true(is_read("x/y.Jpeg"));
    assert_true(is_read("x.webp"));
    assert_null(pada_image_format_named(".png"));
    assert_null(pada_image_format_named("x/.png"));
    assert_null(pada_image_format_named("png"));
    assert_null(pada_image_format_named("a.png.txt"));
    assert_null(pada_image_format_named("a."));
    assert_null(pada_image_format_named(""));
    assert_false(is_read("a.gif"));
    assert_string_equal(pada_image_format_named("a.gif")->name, "GIF");
    assert_string_equal(pada_image_format_named("a.TIFF")->name, "TIFF");
    assert_string_equal(pada_image_format_named("a.heic")->name, "HEIC");
}

static void test_oom(void **state)
{
    uint8_t out[3 * 4 * 4];

    (void)state;
    draw(4);
    const picture_format format = {.channels = 4, .orientation = 5};
    write_png(scratch_path("a"), W, H, format, pixels);
    assert_survives_oom(read_fitted("a", 4, PADA_RESIZE_CROP, out, NULL), (void)0);
    write_jpeg(scratch_path("a"), W, H, format, pixels);
    assert_survives_oom(read_fitted("a", 4, PADA_RESIZE_CROP, out, NULL), (void)0);
    write_webp(scratch_path("a"), W, H, format, pixels);
    assert_survives_oom(read_fitted("a", 4, PADA_RESIZE_CROP, out, NULL), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_png, scratch_clear),
        cmocka_unit_test_setup(test_png_small, scratch_clear),
        cmocka_unit_test_setup(test_png_palette, scratch_clear),
        cmocka_unit_test_setup(test_jpeg, scratch_clear),
        cmocka_unit_test_setup(test_jpeg_cmyk, scratch_clear),
        cmocka_unit_test_setup(test_webp, scratch_clear),
        cmocka_unit_test_setup(test_orientation, scratch_clear),
        cmocka_unit_test_setup(test_exif_places, scratch_clear),
        cmocka_unit_test_setup(test_refused, scratch_clear),
        cmocka_unit_test_setup(test_too_large, scratch_clear),
        cmocka_unit_test_setup(test_too_much_memory, scratch_clear),
        cmocka_unit_test_setup(test_little_memory, scratch_clear),
        cmocka_unit_test_setup(test_boasting_chunk, scratch_clear),
        cmocka_unit_test_setup(test_broken, scratch_clear),
        cmocka_unit_test_setup(test_scale, scratch_clear),
        cmocka_unit_test_setup(test_scaled_jpeg, scratch_clear),
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup(test_oom, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
