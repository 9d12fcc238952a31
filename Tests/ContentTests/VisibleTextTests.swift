import Content
import Model
import Testing

@Suite("A text that shows nothing")
struct VisibleTextTests {
    private func isVisible(_ bytes: [UInt8]) -> Bool { VisibleText.isVisible(bytes.span) }

    /// By kind: spaces, ends of lines and controls, joiners, marks of direction, fillers, selectors, empty glyphs.
    private static let invisible: [String] = [
        "", " ", "\t", "\u{a0}", "\u{3000}", "\u{2003}", "\u{202f}", "\u{1680}", "\u{2009}\u{205f}", "\n", "\r\n",
        "\u{85}", "\u{2028}\u{2029}", "\u{1}", "\u{7f}", "\u{200b}", "\u{200c}\u{200d}", "\u{2060}", "\u{feff}",
        "\u{ad}", "\u{34f}", "\u{180e}", "\u{200e}\u{200f}", "\u{61c}", "\u{202a}\u{202e}", "\u{2066}\u{2069}",
        "\u{115f}\u{1160}", "\u{3164}", "\u{ffa0}", "\u{fe0f}", "\u{e0100}", "\u{e0020}", "\u{2800}",
        "\u{fff9}\u{fffb}",
        "\u{fffc}", "\u{1d159}", "\u{17b4}", "\u{ffff}", " \u{200b}\n\u{3164} ",
    ]
    private static let visible = [
        "a", ".", " x ", "\u{200b}é", "日", "🔔", "❤️", "👩‍👩‍👧", "\u{a0}0", "ـ", "\u{600}", "\u{e000}", "{{user}}",
    ]

    @Test("consists of white space and of characters that Unicode calls ignorable", arguments: invisible)
    func nothing(text: String) {
        #expect(!VisibleText.isVisible(text) && !isVisible(Array(text.utf8)))
    }

    @Test("has no other character", arguments: visible)
    func something(text: String) {
        #expect(VisibleText.isVisible(text) && isVisible(Array(text.utf8)))
    }

    @Test("never consists of bytes that are not UTF-8")
    func malformed() {
        for bytes in [[0xff], [0x20, 0xe3, 0x80], [0xc2] as [UInt8]] {
            #expect(isVisible(bytes), "\(bytes)")
        }
    }

    @Test("may have marks of placeholders, whose numbers it tells in their order")
    func marks() {
        let text = NotificationText(
            title: " \(PlaceholderMark.text(700))", body: "\(PlaceholderMark.text(3))\u{3000}\(PlaceholderMark.text(0))"
        )
        #expect(!text.given.contains { VisibleText.isVisible($0) } && text.isGiven)
        #expect(text.given.flatMap(PlaceholderMark.numbers) == [700, 3, 0])
        #expect(!NotificationText().isGiven && NotificationText(subtitle: "").isGiven)
    }
}
