import CommandLine
import JSON
import Testing

@Suite("The description of an audience in a terminal")
struct AudienceDescriptionTests {
    private func text(_ message: String) throws -> AudienceDescription {
        AudienceDescription(of: try #require(try JSONReader.read(Array(message.utf8)).object))
    }

    @Test(
        "names the devices in words, with their number where it is known",
        arguments: [
            (#"{"audience":{"all":true}}"#, "all 1,000 devices", true),
            (#"{"audience":{"all":true,"providers":["fcm"]}}"#, "all 1,000 devices at fcm", true),
            (#"{"audience":{"stale":true}}"#, "all 1,000 stale devices", true),
            (#"{"audience":{"tags":{"any":["news"]}}}"#, "1,000 devices with the tag news", true),
            (
                #"{"audience":{"tags":{"any":["a","b"],"none":["c"]}}}"#,
                "1,000 devices with the tag a or b, without the tag c", true
            ),
            (
                #"{"audience":{"filter":"user exists","providers":["apns"]}}"#,
                "1,000 devices that match user exists at apns", true
            ),
            (#"{"audience":{"installations":["a","b","c"]}}"#, "1,000 a, b and c", false),
            (#"{"audience":{"installations":["a","b","c","d","e","f","g"]}}"#, "1,000 a, b, c, d, e and 2 more", false),
            (#"{"audience":{"users":["frida"]}}"#, "1,000 the devices of frida", false),
            (#"{"audience":{"tokens":[{},{}]}}"#, "1,000 2 tokens", false),
            (#"{"audience":{"weather":"rain"}}"#, "1,000 the audience that the file describes", true),
        ])
    func input(message: String, sentence: String, isDescribed: Bool) throws {
        let text = try text(message)
        #expect(text.sentence(count: "1,000") == sentence)
        #expect(text.sentence(count: nil) == sentence.replacing("1,000 ", with: ""))
        #expect(text.isDescribed == isDescribed)
        #expect(text.sentence(count: "9", isExact: false).hasPrefix("at least 9 "))
    }
}
