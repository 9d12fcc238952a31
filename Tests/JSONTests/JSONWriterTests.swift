import JSON
import TestSupport
import Testing

@Suite("A JSON writer")
struct JSONWriterTests {
    @Test("escapes only the characters that JSON requires")
    func escapes() {
        var writer = JSONWriter()
        writer.string("a\"b\\c/d\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}é😀")
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #""a\"b\\c/d\b\f\n\r\t\u0001\u001f"# + "\u{7f}é😀\"")
    }

    @Test("places commas between members and elements")
    func commas() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a", 1)
        writer.name("b")
        writer.beginArray()
        writer.beginObject()
        writer.endObject()
        writer.bool(false)
        writer.null()
        writer.raw(Array("[1]".utf8))
        writer.endArray()
        writer.member("c", "d")
        writer.member("e", true)
        writer.member("f", .null)
        writer.endObject()
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"a":1,"b":[{},false,null,[1]],"c":"d","e":true,"f":null}"#)
    }

    @Test("writes doubles that read back exactly")
    func doubles() throws {
        for double in [0.1, 1e300, -2.5e-10, 3, -0.0, .greatestFiniteMagnitude, .leastNonzeroMagnitude] as [Double] {
            let back = try JSONReader.read(JSONValue.number(.literal(double.description)).bytes)
            #expect(back.number?.double.bitPattern == double.bitPattern)
        }
    }
}

@Suite("A JSON object")
struct JSONObjectTests {
    @Test("replaces members in place, appends new ones and removes others")
    func assignment() {
        var object = JSONObject([JSONMember("a", 1), JSONMember("b", 2)])
        object["a"] = 3
        object["c"] = 4
        object["b"] = nil
        object["z"] = nil
        #expect(JSONValue.object(object) == ["a": 3, "c": 4])
    }
}

@Suite("A JSON pointer")
struct JSONPointerTests {
    @Test("finds its value in a document")
    func finds() throws {
        // The document and the pointers of RFC 6901, section 5.
        let document = try JSONReader.read(
            Array(#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#.utf8))
        let expected: [(String, JSONValue?)] = [
            ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3),
            ("/g|h", 4), ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8), ("/foo/2", nil), ("/foo/00", nil),
            ("/foo/-", nil), ("/nothing", nil), ("/a~1b/x", nil),
        ]
        for (text, value) in expected {
            let pointer = try #require(JSONPointer(text))
            #expect(document.value(at: pointer) == value, "\(text)")
            #expect(pointer.description == text)
        }
        #expect(document.value(at: .root) == document)
    }

    @Test("joins names and indices, with escapes where needed")
    func builds() {
        #expect(
            (JSONPointer.root / "audience" / "installations" / 3 / "a/b~c").description
                == "/audience/installations/3/a~1b~0c")
    }
}

@Suite("A merge patch")
struct MergePatchTests {
    @Test(
        "gives the results listed in the appendix of RFC 7396",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
            (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
            (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
            (#"{"a":"foo"}"#, #"null"#, #"null"#),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ])
    func appendix(document: String, patch: String, result: String) throws {
        let merged = try JSONReader.read(Array(document.utf8)).mergePatched(with: JSONReader.read(Array(patch.utf8)))
        #expect(String(decoding: merged.bytes, as: UTF8.self) == result)
    }

    private static func object(_ numbers: Range<Int>, _ value: JSONValue) -> JSONValue {
        .object(JSONObject(numbers.map { JSONMember("m\(10_000 + $0)", value) }))
    }

    @Test("keeps the order when it replaces, removes and adds many members")
    func manyMembers() {
        let document = Self.object(0..<40, 1)
        var patch = Self.object(10..<30, .null).object?.members ?? []
        patch += [JSONMember("m10035", 2), JSONMember("m10040", 3), JSONMember("m10041", .null)]
        let merged = document.mergePatched(with: .object(JSONObject(patch))).object?.members ?? []
        var expected = (Self.object(0..<10, 1).object?.members ?? []) + (Self.object(30..<40, 1).object?.members ?? [])
        expected[15] = JSONMember("m10035", 2)
        expected.append(JSONMember("m10040", 3))
        #expect(merged == expected)
    }

    @Test("treats names that only look alike as different members")
    func canonicalEquivalence() {
        var document = Self.object(0..<20, 1).object ?? JSONObject()
        document["caf\u{e9}"] = 1
        let merged = JSONValue.object(document).mergePatched(with: ["cafe\u{301}": 2]).object
        #expect(merged?["caf\u{e9}"] == 1 && merged?["cafe\u{301}"] == 2)
    }
}
