import Model
import Testing

@Suite("The name of a time zone")
struct TimeZoneNameTests {
    @Test(
        "counts as valid if it is in IANA's list, current or old, or an offset as phones write it",
        arguments: [
            "Europe/Paris", "UTC", "America/Argentina/ComodRivadavia", "America/Port-au-Prince", "Etc/GMT+12",
            "Etc/GMT-14", "EST5EDT", "CET", "Asia/Calcutta", "US/Pacific", "W-SU", "GMT0", "america/new_york",
            "GMT+05:30", "GMT-0930", "UTC+14:00", "gmt-12:00",
        ])
    func valid(name: String) { #expect(TimeZoneName.read(name) == .valid) }

    @Test(
        "may be an unknown place in an area to which IANA adds places",
        arguments: ["America/Nowhere", "Antarctica/New_Station", "Europe/Land/Town-on-Sea"])
    func newer(name: String) { #expect(TimeZoneName.read(name) == .valid) }

    @Test(
        "fails validation if it is no name, or one without a single meaning",
        arguments: [
            "", "+05:30", "3600", "Europe//Nowhere", "/Europe", "Europe/", "Europe", "Europe/Z\u{fc}ri", "Nowhere",
            "../etc/passwd", "Etc/.hidden", "Etc/GMT+99", "Etc/Nowhere", "US/Nowhere", "Mars/Olympus_Mons", "IST",
            "CEST", "GMT+3", "GMT+15:00", "GMT-12:01", "GMT+05:60", "GMT 05:30", "GMT+05-30", "GMT+0a:30",
            "Eastern Standard Time", String(repeating: "z", count: 64), "Europe/" + String(repeating: "z", count: 58),
        ])
    func invalid(name: String) { #expect(TimeZoneName.read(name) == .invalid(meant: nil)) }

    @Test(
        "comes as a suggestion for a known place that is written in another way",
        arguments: [
            ("Berlin", "Europe/Berlin"), ("New York", "America/New_York"),
            ("America/NewYork", "America/New_York"),
            ("Europe/Tokyo", "Asia/Tokyo"), ("Europe/Paris\n", "Europe/Paris"),
            ("Indiana/Knox", "America/Indiana/Knox"),
        ])
    func meant(name: String, suggested: String) {
        #expect(TimeZoneName.read(name) == .invalid(meant: suggested))
    }
}
