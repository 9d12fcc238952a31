import Model
import Testing

@Suite("Quiet hours")
struct QuietHoursTests {
    @Test(
        "start and end at a minute between 00:00 and 23:59",
        arguments: [("00:00", 0), ("07:30", 450), ("22:00", 1_320), ("23:59", 1_439)])
    func minutes(text: String, minute: Int) {
        #expect(QuietHours.minute(of: text) == minute)
        #expect(QuietHours.text(of: minute) == text)
    }

    @Test(
        "reject a text that is no time of day in the form HH:MM",
        arguments: ["", "7:30", "24:00", "07:60", "07.30", "07:3o", "-1:00", " 7:30", "07:30:00", "٠٧:٣٠"])
    func impossible(text: String) { #expect(QuietHours.minute(of: text) == nil) }

    @Test("reject an equal start and end, and accept a span over midnight")
    func empty() {
        #expect(QuietHours(from: 450, to: 450) == nil)
        #expect(QuietHours(from: 1_320, to: 450) != nil)
    }
}
