import Testing

@Suite("The file of an API key", .timeLimit(.minutes(5)))
struct KeyFileTests {
    private static let noApps = #"{"items":[],"next":null}"#

    @Test(
        "may contain the white space and byte order mark that editors add",
        arguments: ["key\r\n", "  key \t\n", "\u{FEFF}key\n", "\u{FEFF} key", "key\nand a second line"])
    func tidied(contents: String) async throws {
        #expect(try await exitCode(of: "apps list", reading: Self.noApps, key: Array(contents.utf8)) == 0)
    }

    @Test(
        "makes the command exit with 77 if it contains no usable key",
        arguments: [
            [], Array(" \n".utf8), [0xFF, 0x07, 0x80], Array("a key".utf8), Array("clé".utf8), [0x61, 0, 0x62],
        ])
    func unusable(contents: [UInt8]) async throws {
        #expect(try await exitCode(of: "apps list", reading: Self.noApps, key: contents) == 77)
    }
}
