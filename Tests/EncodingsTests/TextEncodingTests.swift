import Encodings
import Testing

@Suite("Hexadecimal text")
struct HexadecimalTests {
    @Test("prints in lower case with two digits per byte")
    func encodes() {
        #expect(Hexadecimal.text([0x00, 0x0f, 0xa0, 0xff]) == "000fa0ff")
        #expect(Hexadecimal.text([]) == "")
        var text: [UInt8] = []
        Hexadecimal.append(0x0123_4567_89ab_cdef as UInt64, to: &text)
        #expect(String(decoding: text, as: UTF8.self) == "0123456789abcdef")
    }

    @Test("parses in either case, for every byte")
    func decodes() {
        let all = (0...255).map { UInt8($0) }
        #expect(Hexadecimal.decode(Hexadecimal.text(all)) == all)
        #expect(Hexadecimal.decode(Hexadecimal.text(all).uppercased()) == all)
        #expect(Hexadecimal.decode("") == [])
    }

    @Test(
        "fails to parse with an odd length or any other character", arguments: ["a", "abc", "0g", "0x12", " 00", "é0"])
    func refuses(text: String) {
        #expect(Hexadecimal.decode(text) == nil)
    }
}

@Suite("Base64 text")
struct Base64Tests {
    @Test(
        "matches the test vectors of RFC 4648",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(plain: String, encoded: String) {
        let bytes = Array(plain.utf8)
        #expect(Base64.encode(bytes) == encoded)
        #expect(Base64.decode(encoded) == bytes)
        let unpadded = encoded.utf8.filter { $0 != UInt8(ascii: "=") }
        #expect(Base64.urlEncode(bytes) == unpadded)
        #expect(Base64.urlDecode(unpadded) == bytes)
    }

    @Test("uses a separate alphabet for URLs; each decoder rejects the other's")
    func alphabets() {
        let bytes: [UInt8] = [0xfb, 0xff, 0xfe]
        #expect(Base64.encode(bytes) == "+//+")
        #expect(Base64.urlEncode(bytes) == Array("-__-".utf8))
        #expect(Base64.decode("-__-") == nil)
        #expect(Base64.urlDecode("+//+".utf8) == nil)
    }

    @Test("decodes to the original bytes at every length")
    func lengths() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.urlDecode(Base64.urlEncode(bytes)) == bytes)
        }
    }

    @Test(
        "fails to decode with white space, wrong padding or leftover bits",
        arguments: [
            "Zg", "Zg=", "Zg===", "=", "====", "Zh==", "Zm9=", "Z g=", "Zg==\n", "Zm9v=", "A", "Zg==Zg==",
        ])
    func refuses(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}

@Suite("A path segment")
struct PercentDecodingTests {
    @Test(
        "decodes its percent escapes exactly once",
        arguments: [
            ("plain", "plain"), ("a%2Fb", "a/b"), ("%25", "%"), ("%2525", "%25"), ("a+b", "a+b"), ("%C3%a9", "é"),
            ("%e2%82%ac", "€"), ("", ""),
        ])
    func decodes(encoded: String, plain: String) {
        #expect(PercentDecoding.decode(encoded) == plain)
    }

    @Test(
        "fails to decode if it is malformed, not UTF-8, or contains NUL",
        arguments: [
            "%", "%2", "a%", "%zz", "%2x", "%ff", "%C3", "%00", "a%00b", "%ed%a0%80",
        ])
    func refuses(encoded: String) {
        #expect(PercentDecoding.decode(encoded) == nil)
    }
}
