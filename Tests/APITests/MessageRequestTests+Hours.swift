import Basis
import Model
import Requests
import Testing

// The options of a message that concern the time of day.
extension MessageRequestTests {
    @Test("takes a time that is the same everywhere, or a local time of each device")
    func hours() throws {
        func read(_ options: String) throws -> SendHour? {
            try Self.read(#"{"audience": {"all": true}, "options": {\#(options)}}"#).sendAt
        }
        let noon = WallInstant(secondsSince1970: 1_796_126_400)
        #expect(try read("") == nil)
        #expect(try read(#""send_at": "2026-12-01T12:00:00Z""#) == .instant(noon))
        #expect(try read(#""send_at": "2026-12-01T13:00:00+01:00", "device_local_time": false"#) == .instant(noon))
        let local = #""send_at": "2026-12-01T12:00:00", "device_local_time": true"#
        let hour = LocalHour(inUTC: noon)
        #expect(try read(local) == .local(LocalSending(hour: hour)))
        #expect(try read(local + #", "local_time_passed": "suppress""#) == .local(LocalSending(hour: hour)))
        #expect(
            try read(local + #", "local_time_passed": "send""#) == .local(LocalSending(hour: hour, sendsPassed: true)))
    }

    @Test("explains how to write send_at if its zone is missing or not allowed")
    func wrongHours() {
        for (options, input) in [
            (#""send_at": "2026-12-01T12:00:00""#, "2026-12-01T12:00:00+01:00; or set device_local_time"),
            (#""send_at": "2026-12-01T12:00:00Z", "device_local_time": true"#, "2026-12-01T12:00:00, without Z"),
        ] {
            let problem = #expect(throws: Problem.self) {
                try Self.read(#"{"audience": {"all": true}, "options": {\#(options)}}"#)
            }
            #expect(problem?.detail.contains(input) == true)
        }
    }

    @Test("overrides the app's quiet hours or daily cap on request")
    func ignored() throws {
        func ignored(_ options: String) throws -> AppLimits {
            try Self.read(#"{"audience": {"all": true}, "options": \#(options)}"#).contents[0].options.ignored
        }
        #expect(try ignored(#"{"ignore_quiet_hours": true}"#) == .quietHours)
        #expect(try ignored(#"{"ignore_daily_cap": true, "ignore_quiet_hours": null}"#) == .dailyCap)
        #expect(try ignored(#"{"ignore_quiet_hours": true, "ignore_daily_cap": true}"#) == [.quietHours, .dailyCap])
        #expect(try ignored(#"{"ignore_quiet_hours": false}"#) == [])
    }
}
