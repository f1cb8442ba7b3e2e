"""Records of JSON whatever their table is: wild and hostile ones."""

from __future__ import annotations

import json

from hypothesis import strategies as st

NAMES = ["a", "b", "c", "q.b", "Ä", "element", "a b"]

numbers = (
    st.sampled_from(
        [
            "0",
            "-0",
            "1",
            "-1",
            "12",
            "2.0",
            "2.5",
            "-0.0",
            "1e3",
            "1E3",
            "1e400",
            "-1e400",
            "1e-400",
            "1e39",
            "3.4028235e38",
            "3.4028236e38",
            "0.1",
            "123.455",
            "16777217",
            "2147483647",
            "2147483648",
            "-2147483649",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775809",
            "12345678901234567890",
            "1.7976931348623159e308",
            "NaN",
            "Infinity",
            "-Infinity",
            "01",
            "1.",
            ".5",
            "+1",
            "0x10",
            "1700000000000",
            "19723",
            "12.345678901234567890123",
            "1e38",
            "99999999.99",
            "-0.005",
            "102.1",
            "1e30",
            "-123456789012345678901234567890.5",
            "99.99",
            "99.995",
            "123.4",
            "-100.0",
            "0.99999999999999999999999999999999999999",
            "1.0",
            "1234567890123456789012345678.0123456789",
            "12345678901234567890123456789.012345678",
        ]
    )
    | st.just("1" * 400)
    | st.just("1" * 5000)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(2**65), 2**65).map(str)
)


strings = (
    st.sampled_from(
        [
            '""',
            '"x"',
            '"é"',
            '"\\u00e9"',
            '"\\ud83d\\ude00"',
            '"\\ud83d"',
            '"\\ude00"',
            '"\\u0000"',
            '"\\n"',
            '"a\tb"',
            '"\x00"',
            '"true"',
            '"TRUE"',
            '"yes"',
            '"12"',
            '" 5"',
            '"+7"',
            '"-0"',
            '"1.5"',
            '"1e3"',
            '"1e-3"',
            '"NaN"',
            '"1.5d"',
            '"12.345"',
            '".5"',
            '"5."',
            '"1_0"',
            '"0x1"',
            '"2024-01-02"',
            '"2024-02-30"',
            '"0000-01-01"',
            '"9999-12-31"',
            '"10000-01-01"',
            '"20240102"',
            '"0001-01-01"',
            '"2024-01-02T03:04"',
            '"2024-01-02T03:04:05"',
            '"2024-01-02 03:04:05"',
            '"2024-01-02T03:04:05Z"',
            '"2024-01-02T03:04:05.1Z"',
            '"2024-01-02T03:04:05.123456789Z"',
            '"2024-01-02T03:04:05+08:00"',
            '"2024-01-02T03:04:05-0830"',
            '"2024-01-02T03:04+08"',
            '"2024-01-02T03:04:05+18:30"',
            '"2024-01-02T24:00:00"',
            '"2024-01-02T23:59:60"',
            '"0001-01-01T00:00:00+10:00"',
            '"9999-12-31T23:59:59.999999-10:00"',
            '"2024-01-02T03"',
            '"2024-01-02t03:04:05"',
            '"2024-01-02T03:04:05z"',
            '"03:04"',
            '"03:04:05.123456789"',
            '"25:00"',
            '"f79c3e09-677c-4bbd-a479-3f349cb785e7"',
            '"F79C3E09677C4BBDA4793F349CB785E7"',
            '"aGk="',
            '"aGk"',
            '"a-_="',
            '"aGkh"',
            '"{}"',
            '"}\\n{"',
            '"NaN,"',
            '", Infinity ,"',
        ]
    )
    | st.text(max_size=5).map(json.dumps)
    | st.text(max_size=5).map(lambda s: json.dumps(s, ensure_ascii=False))
    | st.datetimes().map(lambda d: json.dumps(d.isoformat()))
)


scalars = st.one_of(st.sampled_from(["null", "true", "false"]), numbers, strings)


# What says little or nothing, which Arrow's parser has trouble with.
hollow = st.recursive(
    st.sampled_from(["null", "null", "[]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda drawn: "[" + ",".join(drawn) + "]")
        | inner.map(lambda value: f'{{"k":{value}}}')
    ),
    max_leaves=4,
)


names = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(
        ["z", "y", "Z", "\\u0061", "a\\u002eb", "", "n" * 300, "a.b", "A", "B", "C", "ä", "\\u0041", "Q.B", "a\\/b"]
    ),
)


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    entries = st.lists(st.tuples(names, values), max_size=4)
    return entries.map(lambda drawn: "{" + ",".join(f'"{name}":{value}' for name, value in drawn) + "}")


values = st.recursive(
    scalars | hollow,
    lambda inner: objects(inner) | st.lists(inner, max_size=3).map(lambda drawn: "[" + ",".join(drawn) + "]"),
    max_leaves=6,
)


wild_records = objects(values).map(lambda text: text.encode("utf-8", "surrogatepass"))


hostile_records = st.sampled_from(
    [
        b"",
        b" ",
        b"null",
        b"5",
        b'"x"',
        b"[1]",
        b"[{}]",
        b"{",
        b"}",
        b"{}",
        b" {} ",
        b"{}{}",
        b"{}\n{}",
        b"{} {}",
        b'{"a":1}}',
        b'{{"a":1}',
        b'{"a":1,}',
        b'{"a":1 "b":2}',
        b"{'a':1}",
        b'{"a":{"b":1}',
        b'{"c":2}}',
        b'{"a":"}',
        b'{":"b"}',
        b'{"a":[{}',
        b"{}]}",
        b'{"a":1}\n',
        b'{\n"a":\n1}',
        b'{"a":"x\ny"}',
        b'{"a":"\xff"}',
        b'{"z":"\xff"}',
        b'{"\xff":1}',
        b"\xef\xbb\xbf{}",
        b'\xef\xbb\xbf{"a":1}',
        b"{\xef\xbb\xbf}",
        b'{"a":"\xed\xa0\x80"}',
        b"\x00",
        b'{"a":1}\x00',
        b'{"a":1}//x',
        b'/**/{"a":1}',
        b'{"z":NaN}',
        b'{"z":[1,-Infinity]}',
        b'{"a":"NaN,"}',
        b'{"z":Inf}',
        b'{"a":tru}',
        b'{"a":nul}',
        b'{"a":1}\r',
        b"{\r\n}",
        b'{"z":' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"a":' * 70 + b"1" + b"}" * 70,
        b'{"a":"' + b"[" * 200 + b'"}',
        b'{"z":' + b"[" * 100_000,
        b'{"a":[' * 64,
        '{"a":"\u00a0"}'.encode(),
        b'{"a":1,"a":null}',
        b'{"a":null,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":[1],"a":"x"}',
        b'{"\\u0061":1,"a":2}',
        b'{"a":1,"A":null}',
        b'{"A":null,"a":1}',
        b'{"a":1,"A":2}',
        b'{"A" : 1, "b":2}',
        b'{"a":1,"\\u0041":null}',
        b'{"z":{"q":1,"Q":2},"Z":1}',
        b'{"a":{"b":1,"B":null},"A":{"b":null}}',
    ]
)


records = st.one_of(wild_records, wild_records, wild_records, hostile_records)
