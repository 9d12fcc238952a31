import CommandLine
import JSON
import Testing

@Suite("A member's value in a terminal")
struct ValueTextTests {
    @Test(
        "is told to people rather than to programs",
        arguments: [
            ("null", "-"), ("[]", "-"), ("{}", "-"), ("\"\"", "-"), ("true", "yes"), ("false", "no"), ("7", "7"),
            (#""fr-CA""#, "fr-CA"), (#"["news"]"#, "news"), (#"["news","sport"]"#, "news, sport"),
            (#"{"plan":"gold"}"#, #"{"plan":"gold"}"#),
        ])
    func text(json: String, text: String) throws {
        let value = try JSONReader.read(Array(json.utf8))
        #expect(value.sentence == text)
    }
}
