import Model
import Testing

@Suite("The name of a time zone")
struct TimeZoneNameTests {
    @Test(
        "needs only a valid form: an unknown time zone is accepted",
        arguments: [
            "Europe/Paris", "UTC", "America/Argentina/ComodRivadavia", "America/Port-au-Prince", "Etc/GMT+12",
            "GMT+05:30", "EST5EDT", "Mars/Olympus_Mons", String(repeating: "z", count: 64),
        ])
    func possible(name: String) { #expect(TimeZoneName.isPossible(name)) }

    @Test(
        "fails validation if its characters, form or length are impossible",
        arguments: [
            "", "+05:30", "3600", "Europe//Paris", "/Europe", "Europe/", "Europe/Zürich", "New York", "../etc/passwd",
            "Etc/.hidden", "Europe/Paris\n", String(repeating: "z", count: 65),
        ])
    func impossible(name: String) { #expect(!TimeZoneName.isPossible(name)) }
}
