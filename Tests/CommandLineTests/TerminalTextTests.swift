import CommandLine
import Testing

@Suite("Foreign text on a terminal")
struct TerminalTextTests {
    @Test(
        "escapes what would move the cursor, forge a line or reverse the direction",
        arguments: [
            ("phone", "phone"), ("日本 🎉 é", "日本 🎉 é"), ("x\u{1b}[2Jy", #"x\u{1b}[2Jy"#), ("a\r\nb", #"a\u{d}\u{a}b"#),
            ("\u{7}\u{0}\u{7f}", #"\u{7}\u{0}\u{7f}"#), ("\u{9b}31m\u{85}", #"\u{9b}31m\u{85}"#),
            ("gnp\u{202e}.exe", #"gnp\u{202e}.exe"#), ("a\u{2028}b\u{2066}c", #"a\u{2028}b\u{2066}c"#),
        ])
    func shown(text: String, shown: String) {
        #expect(TerminalText.clean(text) == shown)
    }

    @Test(
        "counts as many columns as terminals use for the text",
        arguments: [
            ("", 0), ("Noon", 4), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｱ", 1), ("Ａ", 2), ("한", 2), ("🎉", 2),
            ("❤️", 2), ("👩‍👩‍👧‍👦", 2), ("🇫🇷", 2), ("1️⃣", 2), ("…", 1), ("·", 1), ("ب", 1), ("\u{200b}", 0), ("𠮷", 2),
        ])
    func columns(text: String, columns: Int) {
        #expect(TerminalText.columns(text) == columns)
    }
}
