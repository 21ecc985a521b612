#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: make_seeds.py [FOLDER]    (default: corpus, beside this script)

Seeds are small inputs, good ones and some that failed once. A finding is added to its folder as it is, by hand, and is
left alone by this script, as are the JPEG and WebP files, which their libraries wrote.
"""
import json
import os
import pickle
import struct
import sys
import zlib

A = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|avg_pool_3x3~0|nor_conv_3x3~1|skip_connect~2|"
B = "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|"


def png(width, height, kind, rows, interlace=0, extra=b""):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, interlace)
    data = b"".join(b"\0" + row for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def safetensors(header, data):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def event(body):
    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    length = struct.pack("<Q", len(body))
    return length + masked(length) + body + masked(body)


def step(number):
    value = b"\x0a\x04loss\x15" + struct.pack("<f", 1.5)
    summary = b"\x0a" + bytes([len(value)]) + value
    return event(b"\x09" + struct.pack("<d", 1e9) + b"\x10" + bytes([number]) + b"\x2a" + bytes([len(summary)]) + summary)


def tree(*files):
    return b"".join(bytes([len(name)]) + name.encode() + struct.pack("<H", len(body)) + body for name, body in files)


def seeds():
    grey = png(3, 2, 0, [b"\0\x80\xff"] * 2)
    colour = png(2, 2, 2, [b"\xff\0\0\0\xff\0"] * 2)
    weights = {"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
               "pada/numbers": {"dtype": "F64", "shape": [2], "data_offsets": [24, 40]},
               "__metadata__": {"hash": "0123456789abcdef", "run": "x"}}
    small = safetensors(weights, bytes(range(40)))
    config = 'method: "spos"\ndata: "builtin"\nepochs: 4\nbatch-size: 64\nlr: 0.05\n'
    metrics = ("epoch,step,lr,loss,passes,images,gmacs,seconds,weights_hash,warnings\n"
               "0,4,0.05,2.3,4,40,500,10.5,00000000deadbeef,\n1,8,0.04,,4,40,500,11,00000000deadbeef,flat\n")
    version = event(b"\x09" + struct.pack("<d", 1e9) + b"\x1a\x0dbrain.Event:2")

    yield "options", "flags", "--batch-size\n32\n--lr=0.1\n--no-amp\n--method\npada\nword\n--\n--out"
    yield "options", "words", "--seed=18446744073709551615\n--out=\u00e9t\u00e9: #1\n-3"
    yield "yaml", "config", "batch-size: 32\nlr: 1e-3\nout: 'a b'\nseed: 7\nmethod: pada\namp: no\n"
    yield "yaml", "quoted", '# comment\n"lr": 0.1\nout: "\\x41\\u00e9 \\n"\n'
    yield "yaml", "nested", "out: {a: [b, c]}\nlr: &x 1\n"
    yield "csv", "table", "a,b,c\r\n1,,3\n\nx"
    yield "csv", "quotes", 'a,"b,c",d\n\0,\n'
    yield "safetensors", "two", small
    yield "safetensors", "empty", safetensors({}, b"")
    yield "safetensors", "hole", safetensors({"a": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}}, b"abc")
    yield "metrics", "two_rows", "\1" + metrics
    yield "metrics", "torn", "\2" + metrics + "2,12,0.0"
    yield "metrics", "blank", "\2" + metrics + "\n"
    yield "run_config", "same", config
    yield "run_config", "other", 'method: "pada"\nepochs: 5\nmore: 1\n'
    yield "run_env", "env", json.dumps({"pada": "0.1.0", "commit": "0123abcd", "backend": "avx2, 2 threads",
                                        "data": "builtin", "started": "2026-01-01"}) + "\n"
    yield "run_env", "starts", json.dumps({"format": 1, "starts": [{"backend": "cpu", "device": "avx2, 2 threads"}, {"pada": "0.2"}]})
    yield "run_env", "list", '[{"pada": "1"}, {"pada": 2}]'
    card = {"format": 1, "name": "image folder", "where": "/home/me/photos", "n_classes": 2, "classes": ["cat", "dog"],
            "image_size": 32, "mean": [0.5, 0.25, 0.1], "deviation": [0.1, 0.2, 0.3],
            "splits": {"train": {"images": 80, "hash": "90c4000000000001"}, "test": {"images": 20, "hash": "0000000000000002"}}}
    yield "image_pack", "whole", b""
    yield "image_pack", "header", bytes([100, 8, 1])
    yield "image_pack", "pixels", bytes([100, 70, 255, 99, 1])
    yield "image_pack", "short", bytes([63])
    yield "image_pack", "empty", bytes([0])
    yield "data_card", "folder", json.dumps(card)
    yield "data_card", "newer", json.dumps({**card, "format": 2})
    yield "data_card", "numbers", json.dumps({**card, "classes": None, "splits": {}})
    model = {"pada_model": "1", "form": "final", "space": "--space macro --classes 2 --image-size 16", "arch": "01201201",
             "data": json.dumps({**card, "n_classes": 2, "classes": ["a", "b"], "image_size": 16}), "resize": "crop",
             "crops": "auto", "eval_crop": "0.875", "top1": "94.5", "program": "pada"}
    for name, change in (("final", {}), ("search", {"form": "search"}), ("newer", {"pada_model": "2"}),
                         ("other", {"space": "--space darts --classes 2 --image-size 16 --auxiliary 0 --no-none"})):
        yield "model_file", name, safetensors({"__metadata__": {**model, **change}}, b"")
    rows = bytes(768 * 2)
    for protocol in (2, 3, 4, 5):
        yield "pickle", f"lists_p{protocol}", pickle.dumps({"labels": [1, 2, 300, 70000], "data": [b"ab", 1.5, None]}, protocol)
        yield "imagenet16", f"array_p{protocol}", array_pickle(rows, 2, 768, [1, 120], protocol)
    yield "pickle", "array", array_pickle(b"abcdef", 2, 3, [1, 2], 2)
    yield "pickle", "empty_tuple", b"\x80\x02)."
    yield "cifar", "two_records", bytes([0, 2, 3, 9])
    yield "cifar", "hundred", bytes([1, 2, 0, 99, 19, 5])
    yield "cifar", "odd_size", bytes([0, 1, 3]) + b"rest"
    yield "image_file", "grey", grey
    yield "image_file", "colour", colour
    yield "image_file", "palette", png(2, 1, 3, [b"\0\1"], extra=palette())
    yield "image_file", "alpha", png(1, 1, 6, [b"\1\2\3\x80"])
    yield "image_file", "interlaced", png(1, 1, 0, [b"\x40"], interlace=1)
    yield "image_folder", "classes", tree(("cat/1.png", grey), ("dog/2.png", colour), ("dog/note.txt", b"x"))
    yield "image_folder", "splits", tree(("train/a/1.png", grey), ("train/b/1.png", colour), ("test/a/2.png", grey),
                                         ("test/b/2.png", colour))
    yield "image_folder", "odd", tree(("a/deep/er/1.png", grey), ("b/", b""), ("c/bad.png", b"no image"))
    for number, text in enumerate([A, "[4,2,1,2,1,1]", "[4,3,3,0,0,0]",
                                   '{"0_1":"avg_pool_3x3","0_2":"conv_1x1","1_2":"none","0_3":"none","1_3":"none","2_3":"none"}',
                                   "[(('avg_pool_3x3', 0),), (('nor_conv_1x1', 0), ('skip_connect', 1)), "
                                   "(('nor_conv_1x1', 0), ('skip_connect', 1), ('skip_connect', 2))]"]):
        yield "arch_codec", f"dialect_{number}", chr(number) + text
    yield "arch_codec", "any", "\5" + B
    yield "arch_codec", "macro", "\6" + "01201201"
    for number, text in enumerate(["0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5",
                                   "[0, 6, 2, 5, 3, 6, 4, 1, 0, 1, 6, 2, 3, 4, 5, 6, 0, 1, 2, 3, 5]",
                                   "5.3 3.3 Z Z | 7.3 3.3 5.3 5.3 | 7.6 5.3 5.3 5.3 | 5.6 5.3 5.3 5.3 | 7.6 7.6 7.3 7.3 | 7.6"]):
        yield "arch_codec", f"proxyless_{number}", chr(8 + number) + text
    names = ["none", "max_pool_3x3", "avg_pool_3x3", "skip_connect", "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3",
             "dil_conv_5x5"]
    cell = [(0, 4), (1, 3), (0, 1), (2, 7), (1, 2), (3, 5), (2, 6), (4, 4)]
    nodes = "+".join("|" + "".join(f"{names[op]}~{i}|" for i, op in cell[k:k + 2]) for k in range(0, 8, 2))
    pairs = [(names[op], i) for i, op in cell]
    nested = [pairs[k:k + 2] for k in range(0, 8, 2)]
    for number, text in enumerate([f"{nodes}/{nodes}",
                                   f"Genotype(normal={pairs}, normal_concat=[2, 3, 4, 5], reduce={pairs}, reduce_concat=[2, 3, 4, 5])",
                                   f"Genotype(normal={nested}, normal_concat=range(2, 6), reduce={nested}, reduce_concat=range(2, 6))",
                                   f"({cell}, {cell})",
                                   f"({[(op, i) for i, op in cell]}, {[(op, i) for i, op in cell]})",
                                   f"({[(i, op - 1) for i, op in cell]}, {[(i, op - 1) for i, op in cell]})"]):
        yield "arch_codec", f"darts_{number}", chr(12 + number) + text
    yield "path_list", "two", f"{A}\n\n{B}\n"
    yield "path_list", "twice", f"{B}\r\n{B}"
    yield "truth_table", "table", f"\0arch,cifar10,other\n{A},94.2,1\n{B},10,-2e3\n"
    yield "truth_table", "spreadsheet", f'\0\ufeff"arch";"cifar 10"\r\n"{A}";94,2\r\n\r\n{B};10\r\n'
    yield "truth_table", "scores", f"\1note,score,arch\nx,3,{B}\n,4,{A}\n"
    yield "truth_import", "flat", f'\1{{"{A}": 93.5, "{B}": 10}}'
    yield "truth_import", "sets", f'\0{{"cifar10": {{"{A}": 0.5}}, "ImageNet16-120": {{"{A}": {{"val_accuracy": 0.25}}}}}}'
    yield "truth_import", "curves", f'\0{{"{A}": {{"cifar10-valid": {{"eval_acc1es": [1, 90.5]}}}}}}'
    yield "truth_import", "lines", "\3[4, 2, 1, 2, 1, 1],85.86\n[3, 3, 4, 1, 3, 1],93.66\n"
    yield "standalone_results", "two", f"arch,seed,correct,images\n{A},0,712,1000\n{B},18446744073709551615,0,1\n"
    yield "standalone_results", "torn", f"arch,seed,correct,images\n{A},0,712,1000\n{B},1,2"
    yield "ranking_scores", "two", f"# pada scores 2: fuzz\n{A},1043,2.1872004\n{B},0,1e-3\n"
    yield "ranking_scores", "torn", f"# pada scores 2: fuzz\n{A},1043,2.1872004\n{B},5"
    yield "free_results", "two", f"# pada free scores 1: fuzz\n{A},1516.7,-0.25\n{B},-1e30,1e-3\n"
    yield "free_results", "torn", f"# pada free scores 1: fuzz\n{A},1516.7,-0.25\n{B},5"
    columns, steps = "rank,arch,top1,loss,macs,params,latency\n", "evaluation,generation,arch,top1,best_so_far\n"
    best = f"{columns}1,{A},45.5,1.5,400000,5290,\n2,{B},10,2.3e0,142506,4890,0.25\n"
    front = f"{columns}1,{B},10,2.3,142506,4890,0.25\n"
    yield "search_log", "all", f"{best}\0{front}\0{steps}1,0,{B},10,10\n2,0,{A},45.5,45.5\n"
    yield "search_log", "best", best
    yield "search_log", "score", f"{columns[:-1]},score\n1,{A},45.5,1.5,400000,5290,,1.25\n"
    yield "search_log", "few", f"{best}\0{front}\0{steps}1,0,{B},10,10\n"
    share = {"percent": 50, "low": 20.5, "high": 79.5}
    classes = [{"class": i, "name": ("cat", None)[i], "images": 2, "given": 2, "recall": share, "precision": (share, None)[i]}
               for i in range(2)]
    ends = {key + end: 50.0 for key in ("top1", "top5") for end in ("", "_lo", "_hi")}
    model = {**ends, "loss": 1.5, "weights_hash": "0123456789abcdef", "classes": classes}
    test = {"arch": B, "data": "builtin", "split": "test", "images": 4, "last": model,
            "best": {**model, "chosen_on": "val", "chosen_top1": 75.5}}
    yield "test_results", "both", json.dumps(test) + '\0label,"cat",1\n"cat",1,1\n1,1,1\n'
    yield "test_results", "alone", json.dumps({**test, "best": {**ends, "loss": 1}})
    yield "test_results", "other_images", json.dumps(test) + '\0label,"cat",1\n"cat",1,1\n1,1,3\n'
    yield "event_file", "three_steps", b"\2" + version + step(0) + step(1) + step(2)
    yield "event_file", "torn", b"\1" + version + step(0) + step(1)[:-3]
    yield "event_file", "other", b"\0some other file"
    yield "html", "markup", "</script><b a='1' c=\"2\">&amp; \u00e9\u2028\U0001f600\x01"
    yield "html", "not_utf8", b"caf\xe9 \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\x80"
    yield "checkpoint", "two", small
    yield "checkpoint", "one", safetensors({"pada/numbers": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, bytes(8))


def palette():
    body = b"\xff\0\0\0\xff\0"
    return struct.pack(">I", 6) + b"PLTE" + body + struct.pack(">I", zlib.crc32(b"PLTE" + body))


def array_pickle(data, n_rows, n_columns, labels, protocol):
    """What numpy's pickle of {'data': uint8 [n_rows, n_columns], 'labels': [..]} looks like, without numpy."""
    class Marked:
        """Stands for a function of numpy, by its name."""
        def __init__(self, module, name):
            self.module, self.name = module, name

    class Pickler(pickle._Pickler):  # pylint: disable=protected-access
        def save(self, obj, save_persistent_id=True):
            if isinstance(obj, Marked):
                self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            elif isinstance(obj, Array):
                self.save(Marked("numpy.core.multiarray", "_reconstruct"))
                self.save((Marked("numpy", "ndarray"), (0,), b"b"))
                self.write(pickle.REDUCE)
                self.write(pickle.MARK)
                self.save(1)
                self.save((n_rows, n_columns))
                self.save(Marked("numpy", "dtype"))
                self.save(("u1", False, True))
                self.write(pickle.REDUCE)
                self.save((3, "|", None, None, None, -1, -1, 0))
                self.write(pickle.BUILD)
                self.save(False)
                self.save(data)
                self.write(pickle.TUPLE + pickle.BUILD)
            else:
                super().save(obj, save_persistent_id)

    class Array:
        """Stands for the array."""

    import io
    out = io.BytesIO()
    Pickler(out, protocol).dump({"data": Array(), "labels": labels})
    return out.getvalue()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
    for target, name, body in seeds():
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        with open(os.path.join(folder, target, name), "wb") as file:
            file.write(body.encode() if isinstance(body, str) else body)


main()
