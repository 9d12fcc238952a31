import Basis
import Calendar
import CommandLine
import Foundation
import Testing

@Suite("The time to send that a person gives")
struct AskedTimeTests {
    private func paris() throws -> TimeZone { try #require(TimeZone(identifier: "Europe/Paris")) }

    private func sendAt(
        _ text: String, at now: String = "2026-11-27T07:30:00Z", isDeviceLocal: Bool = false, zone: TimeZone? = nil
    ) throws -> String? {
        let (now, zone) = (try #require(RFC3339.parse(now)), try zone ?? paris())
        return try AskedTime(text, now: now, zone: zone).sendAt(isDeviceLocal: isDeviceLocal, zone: zone)
    }

    @Test(
        "reads times of day, dates with times on the person's clock, and instants",
        arguments: [
            ("9:00", "2026-11-27T08:00:00.000Z"), ("08:29", "2026-11-28T07:29:00.000Z"),
            ("8:30", "2026-11-28T07:30:00.000Z"), ("Tomorrow 9:00", "2026-11-28T08:00:00.000Z"),
            ("2026-12-01T12:00", "2026-12-01T11:00:00.000Z"), ("2026-12-01 12:00:30", "2026-12-01T11:00:30.000Z"),
            ("2026-07-01T12:00", "2026-07-01T10:00:00.000Z"), ("2026-12-01T12:00:00Z", "2026-12-01T12:00:00Z"),
            ("2026-12-01T12:00:00+05:30", "2026-12-01T12:00:00+05:30"), ("now", nil),
        ] as [(String, String?)])
    func read(text: String, sendAt: String?) throws {
        #expect(try self.sendAt(text) == sendAt)
    }

    @Test("means the person's day, which may be another one than in UTC")
    func day() throws {
        #expect(try sendAt("9:00", at: "2026-11-27T23:30:00Z") == "2026-11-28T08:00:00.000Z")
        #expect(try sendAt("tomorrow 9:00", at: "2026-11-27T23:30:00Z") == "2026-11-29T08:00:00.000Z")
    }

    @Test("keeps the hour across a change of the clocks, and moves an hour that they skip")
    func summerTime() throws {
        #expect(try sendAt("tomorrow 9:00", at: "2026-03-28T12:00:00Z") == "2026-03-29T07:00:00.000Z")
        #expect(try sendAt("2026-03-29T02:30") == "2026-03-29T01:30:00.000Z")
        let newYork = try #require(TimeZone(identifier: "America/New_York"))
        #expect(try sendAt("2027-03-14T02:30", zone: newYork) == "2027-03-14T07:30:00.000Z")
    }

    @Test("stays a local time if each device's clock decides")
    func deviceLocal() throws {
        #expect(try sendAt("9:00", isDeviceLocal: true) == "2026-11-27T09:00:00")
        #expect(try sendAt("2026-12-01T12:00", isDeviceLocal: true) == "2026-12-01T12:00:00")
    }

    @Test(
        "refuses anything else, with the forms that it takes",
        arguments: ["", "9", "24:00", "9:60", "9:00 tomorrow", "yesterday 9:00", "2026-02-30T12:00", "-1:00", "9:5"])
    func refused(text: String) {
        let fault = #expect(throws: CommandFault.self) { try sendAt(text) }
        #expect(fault?.kind == .usage && fault?.description.contains("tomorrow 9:00") == true)
    }

    @Test("reads back with its day and its zone")
    func shown() throws {
        let instant = try #require(RFC3339.parse("2026-11-27T08:00:00Z"))
        #expect(ClockText.text(instant, in: try paris()) == "Fri 2026-11-27 09:00 (Europe/Paris)")
        #expect(ClockText.cell(instant + .seconds(7), in: try paris()) == "2026-11-27 09:00:07")
    }
}
