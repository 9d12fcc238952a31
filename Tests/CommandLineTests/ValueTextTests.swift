import CommandLine
import JSON
import Testing

@Suite("A JSON value in a terminal")
struct ValueTextTests {
    @Test(
        "reads as words for people: yes, no, a dash, a list with commas",
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

@Suite("A table in a narrow window")
struct TextTableTests {
    @Test("cuts its widest cells off, and never those of the first column")
    func narrow() {
        var table = TextTable("INSTALLATION", "TAGS", "USER")
        table.add("a-very-long-installation", "news, weather, sport, culture", "frida")
        let lines = table.lines(fitting: 48)
        #expect(lines[0] == "INSTALLATION              TAGS             USER")
        #expect(lines[1] == "a-very-long-installation  news, weather,…  frida")
        #expect(table.lines(fitting: 10)[1].hasPrefix("a-very-long-installation  news, w…  frida"))
        #expect(table.lines[1].contains("culture"))
    }
}
