import CommandLine
import JSON
import Testing

@Suite("The texts of a message from options")
struct MessageTextsTests {
    private func notification(_ options: [String], over stored: String = "{}") throws -> String {
        var texts = MessageTexts()
        for option in options { try texts.add(option: option) }
        let object = try #require(try JSONReader.read(Array(stored.utf8)).object)
        return String(decoding: JSONValue.object(texts.notification(over: object)).bytes, as: UTF8.self)
    }

    @Test("become the common text and one localization for each language")
    func notification() throws {
        #expect(
            try notification([
                "title=Noon", "body=Twelve = twelve", "fr:title=Midi", "zh-Hant-TW:body=正午", "fr:body=Il",
            ])
                == #"{"title":"Noon","body":"Twelve = twelve","#
                + #""localizations":{"fr":{"title":"Midi","body":"Il"},"zh-Hant-TW":{"body":"正午"}}}"#)
    }

    @Test("replace only what they name in a stored notification, in any spelling of its languages")
    func merged() throws {
        let stored =
            #"{"title":"Noon","body":"Twelve","localizations":{"fr-CA":{"title":"Midi"},"de":{"body":"Mittag"}}}"#
        #expect(
            try notification(["fr_ca:title=Midi!", "body=12"], over: stored)
                == #"{"title":"Noon","body":"12","localizations":{"fr-CA":{"title":"Midi!"},"de":{"body":"Mittag"}}}"#)
    }

    @Test(
        "refuse what is not a language or a part of a text, by its name",
        arguments: [
            (["french:title=Midi"], "\"french\" is not a language"), (["f:body=x"], "\"f\" is not a language"),
            ([":body=x"], "is not a language"), (["fr:titel=Midi"], "titel is not a part"), (["Midi"], "fr:title=Midi"),
            (["body="], "--text body= has no visible text"),
            (["fr:title=\u{a0} "], "--text fr:title= has no visible text"),
            (["fr:title=a", "FR:title=b"], "given twice"), (["body=a", "body=b"], "given twice"),
        ])
    func refused(options: [String], reason: String) {
        let fault = #expect(throws: CommandFault.self) { try notification(options) }
        #expect(fault?.kind == .usage && fault?.description.contains(reason) == true, "\(fault?.description ?? "")")
    }
}
