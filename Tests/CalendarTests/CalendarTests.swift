import Basis
import Calendar
import Testing

@Suite("A civil date")
struct CivilDateTests {
    @Test("counts every day from 1600 to 2200 in order")
    func countsDays() throws {
        var expected = try #require(CivilDate(year: 1600, month: 1, day: 1)).daysSince1970
        for year in 1600...2200 {
            for month in 1...12 {
                for day in 1...CivilDate.days(inMonth: month, of: year) {
                    let date = try #require(CivilDate(year: year, month: month, day: day))
                    #expect(date.daysSince1970 == expected)
                    #expect(CivilDate(daysSince1970: expected) == date)
                    expected += 1
                }
            }
        }
    }

    @Test("gives the correct day of the week")
    func weekday() throws {
        #expect(try #require(CivilDate(year: 1970, month: 1, day: 1)).weekday == 4)
        #expect(try #require(CivilDate(year: 2026, month: 11, day: 21)).weekday == 6)
        #expect(try #require(CivilDate(year: 1969, month: 12, day: 28)).weekday == 0)
    }

    @Test("cannot be created for a day that does not exist")
    func refuses() {
        #expect(CivilDate(year: 2023, month: 2, day: 29) == nil)
        #expect(CivilDate(year: 1900, month: 2, day: 29) == nil)
        #expect(CivilDate(year: 2000, month: 2, day: 29) != nil)
        #expect(CivilDate(year: 2026, month: 13, day: 1) == nil)
        #expect(CivilDate(year: 2026, month: 4, day: 31) == nil)
        #expect(CivilDate(year: 2026, month: 4, day: 0) == nil)
    }
}

@Suite("An instant in the API")
struct RFC3339Tests {
    @Test(
        "parses with any UTC offset and any number of fractional digits",
        arguments: [
            ("1970-01-01T00:00:00Z", Int64(0)), ("1985-04-12T23:20:50.52Z", 482_196_050_520_000),
            ("1996-12-19T16:39:57-08:00", 851_042_397_000_000), ("1990-12-31T23:59:60Z", 662_688_000_000_000),
            ("1937-01-01T12:00:27.87+00:20", -1_041_337_172_130_000),
            ("2026-12-01t12:00:00.1234567z", 1_796_126_400_123_456),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000_000), ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ])
    func parses(text: String, microseconds: Int64) {
        #expect(RFC3339.parse(text)?.microseconds == microseconds)
    }

    @Test(
        "fails to parse in any other form than RFC 3339",
        arguments: [
            "", "2026-12-01", "2026-12-01T12:00:00", "2026-12-01 12:00:00Z", "2026-12-01T12:00Z",
            "2026-02-30T12:00:00Z",
            "2026-12-01T24:00:00Z", "2026-12-01T12:60:00Z", "2026-12-01T12:00:61Z", "2026-12-01T12:00:00.Z",
            "2026-12-01T12:00:00+0100", "2026-12-01T12:00:00+24:00", "2026-12-01T12:00:00Zx", "20261201T120000Z",
            "+2026-12-01T12:00:00Z", "2026-12-01T12:00:00,5Z", "２０26-12-01T12:00:00Z",
        ])
    func refuses(text: String) {
        #expect(RFC3339.parse(text) == nil)
    }

    @Test("prints milliseconds, or microseconds where they are needed")
    func formats() {
        #expect(RFC3339.format(WallInstant(microseconds: 1_796_126_403_120_000)) == "2026-12-01T12:00:03.120Z")
        #expect(RFC3339.format(WallInstant(microseconds: 1_796_126_403_120_001)) == "2026-12-01T12:00:03.120001Z")
        #expect(RFC3339.format(WallInstant(microseconds: -1)) == "1969-12-31T23:59:59.999999Z")
        #expect(RFC3339.format(WallInstant(microseconds: .min)) == "0000-01-01T00:00:00.000Z")
        #expect(RFC3339.format(WallInstant(microseconds: .max)) == "9999-12-31T23:59:59.999999Z")
    }

    @Test("reads and prints a local time without a time zone")
    func local() {
        let noon = WallInstant(secondsSince1970: 1_796_126_400)
        #expect(RFC3339.parseLocal("2026-12-01T12:00:00") == noon)
        #expect(RFC3339.formatLocal(noon) == "2026-12-01T12:00:00")
        #expect(RFC3339.parseLocal("2026-12-01T12:00:00.25") == noon + .milliseconds(250))
        #expect(RFC3339.formatLocal(noon + .milliseconds(250)) == "2026-12-01T12:00:00.250")
        for text in ["2026-12-01T12:00:00Z", "2026-12-01T12:00:00+01:00", "2026-12-01T12:00", "2026-12-01", ""] {
            #expect(RFC3339.parseLocal(text) == nil)
        }
        #expect(RFC3339.parse("2026-12-01T12:00:00") == nil)
    }

    @Test("survives a round trip through its text")
    func roundTrip() {
        for step in stride(from: -2_000_000_000_000_000, to: 4_000_000_000_000_000, by: 7_654_321_987_654) {
            let instant = WallInstant(microseconds: Int64(step))
            #expect(RFC3339.parse(RFC3339.format(instant)) == instant)
        }
    }
}

@Suite("A date in an HTTP header")
struct HTTPDateTests {
    private let now = WallInstant(secondsSince1970: 1_796_126_400)

    @Test(
        "parses in all three formats of HTTP",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func threeForms(text: String) {
        #expect(HTTPDate.parse(text, now: now)?.secondsSince1970 == 784_111_777)
    }

    @Test("takes a two-digit year to lie at most fifty years ahead")
    func century() {
        #expect(
            HTTPDate.parse("Tuesday, 01-Dec-76 12:00:00 GMT", now: now)
                == RFC3339.parse("2076-12-01T12:00:00Z"))
        #expect(
            HTTPDate.parse("Thursday, 01-Dec-77 12:00:00 GMT", now: now)
                == RFC3339.parse("1977-12-01T12:00:00Z"))
    }

    @Test(
        "fails to parse in any other format",
        arguments: [
            "", "06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT+1",
        ])
    func refuses(text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test("prints in the preferred format of HTTP")
    func formats() {
        #expect(HTTPDate.format(WallInstant(secondsSince1970: 784_111_777)) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(WallInstant(microseconds: .min)) == "Sat, 01 Jan 0000 00:00:00 GMT")
    }

    @Test(
        "sets the wait in Retry-After, which may also be a number of seconds",
        arguments: [
            ("0", Duration.seconds(0)), ("120", .seconds(120)), ("86400", .seconds(86_400)),
            ("Tue, 01 Dec 2026 12:01:00 GMT", .seconds(60)), ("Wed, 02 Dec 2026 12:00:00 GMT", .seconds(86_400)),
        ])
    func retryAfter(value: String, wait: Duration) {
        #expect(RetryAfter.parse(value, now: now) == wait)
    }

    @Test(
        "sets no wait if Retry-After is malformed, in the past, or more than a day ahead",
        arguments: [
            "", "-1", "1.5", "soon", "12 ", "Tue, 01 Dec 2026 11:00:00 GMT", "86401", "99999999999999999999",
            "Wed, 02 Dec 2026 12:00:01 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
        ])
    func retryAfterRefused(value: String) {
        #expect(RetryAfter.parse(value, now: now) == nil)
    }
}
