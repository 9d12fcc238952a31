import Model
import Testing

@Suite("The name of a time zone")
struct TimeZoneNameTests {
    @Test(
        "counts as valid if it is in IANA's list, current or old, or an offset as phones write it",
        arguments: [
            "Europe/Paris", "UTC", "America/Argentina/ComodRivadavia", "America/Port-au-Prince", "Etc/GMT+12",
            "Etc/GMT-14", "EST5EDT", "CET", "Asia/Calcutta", "US/Pacific", "W-SU", "GMT0", "america/new_york",
            "GMT", "GMT+0", "GMT+05:30", "GMT-09:30",
        ])
    func valid(name: String) { #expect(TimeZoneName.read(name) == .valid(name)) }

    @Test(
        "has one form if it is an offset, whose sign means ahead of or behind Greenwich",
        arguments: [
            // iOS abbreviates them so, with or without minutes.
            ("GMT+3", "GMT+03:00"), ("GMT-8", "GMT-08:00"), ("GMT+5:30", "GMT+05:30"), ("GMT+12", "GMT+12:00"),
            ("GMT-3:30", "GMT-03:30"), ("GMT+12:45", "GMT+12:45"),
            // In the languages that write UTC, or a minus sign.
            ("UTC+3", "GMT+03:00"), ("UTC-03:30", "GMT-03:30"), ("UTC\u{2212}3", "GMT-03:00"),
            ("GMT\u{2212}9:30", "GMT-09:30"), ("UTC+0", "GMT+00:00"),
            // Android and Java name them so.
            ("GMT+0530", "GMT+05:30"), ("GMT-0800", "GMT-08:00"), ("GMT+530", "GMT+05:30"), ("GMT+03", "GMT+03:00"),
            ("UTC+14:00", "GMT+14:00"), ("gmt-12:00", "GMT-12:00"),
        ])
    func offset(name: String, kept: String) { #expect(TimeZoneName.read(name) == .valid(kept)) }

    @Test(
        "may be an unknown place in an area to which IANA adds places",
        arguments: ["America/Nowhere", "Antarctica/New_Station", "Europe/Land/Town-on-Sea"])
    func newer(name: String) { #expect(TimeZoneName.read(name) == .valid(name)) }

    @Test(
        "fails validation if it is no name, or one without a single meaning",
        arguments: [
            "", "+05:30", "3600", "Europe//Nowhere", "/Europe", "Europe/", "Europe", "Europe/Z\u{fc}ri", "Nowhere",
            "../etc/passwd", "Etc/.hidden", "Etc/GMT+99", "Etc/Nowhere", "US/Nowhere", "Mars/Olympus_Mons", "IST",
            "CEST", "GMT+15", "GMT+15:00", "GMT-13", "GMT-12:01", "GMT+14:01", "GMT+05:60", "GMT+5:3", "GMT+5:",
            "GMT+:30", "GMT+", "GMT 05:30", "GMT +3", "GMT+05-30", "GMT++3", "GMT+0a:30", "GMT+005:30", "GMT+05300",
            "GMT+5:030", "GMT+1:2:3", "UTC3", "UT+3", "+3", "GMT+\u{663}",
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
