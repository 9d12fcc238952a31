import Commands
import Testing

@Suite("Text of others on a terminal")
struct TerminalTextTests {
    @Test(
        "shows what would move the cursor, forge a line or turn the direction",
        arguments: [
            ("phone", "phone"), ("日本 🎉 é", "日本 🎉 é"), ("x\u{1b}[2Jy", #"x\u{1b}[2Jy"#), ("a\r\nb", #"a\u{d}\u{a}b"#),
            ("\u{7}\u{0}\u{7f}", #"\u{7}\u{0}\u{7f}"#), ("\u{9b}31m\u{85}", #"\u{9b}31m\u{85}"#),
            ("gnp\u{202e}.exe", #"gnp\u{202e}.exe"#), ("a\u{2028}b\u{2066}c", #"a\u{2028}b\u{2066}c"#),
        ])
    func shown(text: String, shown: String) {
        #expect(TerminalText.clean(text) == shown)
    }
}
