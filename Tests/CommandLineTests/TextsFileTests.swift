import CommandLine
import JSON
import Testing

@Suite("A file of texts")
struct TextsFileTests {
    private func notification(_ bytes: [UInt8]) throws -> String {
        let texts = try TextsFile.read(bytes, name: "noon.txt")
        return String(decoding: JSONValue.object(texts.notification(over: JSONObject())).bytes, as: UTF8.self)
    }

    private static let file = """
        title: Noon
        body: Twelve o'clock

        [fr]
        title:Midi
        Body:
          Il est midi.

          À table !
        [de-AT]
        subtitle: Glocken
        body: Es ist zwölf:
        \tMahlzeit

        """

    private static let read =
        #"{"title":"Noon","body":"Twelve o'clock","localizations":{"#
        + #""fr":{"title":"Midi","body":"Il est midi.\n\nÀ table !"},"#
        + #""de-AT":{"subtitle":"Glocken","body":"Es ist zwölf:\nMahlzeit"}}}"#

    @Test("has a common text, sections for languages, and bodies that go on over indented lines")
    func sections() throws {
        #expect(try notification(Array(Self.file.utf8)) == Self.read)
        let named = "[fr]\nbody: Midi\n[default]\nbody: Noon"
        #expect(try notification(Array(named.utf8)) == #"{"body":"Noon","localizations":{"fr":{"body":"Midi"}}}"#)
    }

    @Test("reads the same from an editor that writes a byte order mark and CRLF")
    func editors() throws {
        let windows = [0xef, 0xbb, 0xbf] + Array(Self.file.replacing("\n", with: "\r\n").utf8)
        #expect(try notification(windows) == Self.read)
    }

    @Test(
        "names its line if it can't be read",
        arguments: [
            ("", "line 1: the file holds no text"), ("title: Noon\ntitel: x", "line 2: \"titel\" is not one of title"),
            ("[french]\ntitle: x", "line 1: \"french\" is not a language"), ("[fr\ntitle: x", "line 1: a section is"),
            ("[fr]\ntitle: a\n[FR]\ntitle: b", "line 3: [FR] is the same language as [fr]"),
            ("title: a\ntitle: b", "line 2: this text has a title already"),
            ("title: a\n b", "line 2: a title has one line"), (" a", "line 1: this line continues nothing"),
            ("body: a\nb", "line 2: this is not a line such as"),
            ("title: a\nbody:\n\n[fr]", "line 2: the body is empty"),
            ("title: \u{a0}\u{200b}", "line 1: the title is empty"),
            ("body:\n \u{feff}\n", "line 1: the body is empty"),
            ("title: a\n\n[fr]\n[de]\ntitle: b", "line 3: [fr] has no text"), ("title: a\n[fr]", "line 2: [fr] has no"),
        ])
    func refused(file: String, reason: String) {
        let fault = #expect(throws: CommandFault.self) { try notification(Array(file.utf8)) }
        #expect(fault?.kind == .usage)
        #expect(fault?.description.hasPrefix("noon.txt, " + reason) == true, "\(fault?.description ?? "")")
    }

    @Test("names the line that is not UTF-8")
    func latin1() {
        let bytes = Array("title: Noon\nbody: ".utf8) + [0xe9] + Array("t\u{e9}\n".utf8)
        let fault = #expect(throws: CommandFault.self) { try notification(bytes) }
        #expect(fault?.description == "noon.txt, line 2: this is not UTF-8 text. Save the file as UTF-8")
    }
}
