import Foundation
import JSON
import Requests

package struct AccountText {
    private let message: JSONValue
    private let app: String
    private let zone: TimeZone

    package init(_ message: JSONValue, app: String, zone: TimeZone = .current) {
        (self.message, self.app, self.zone) = (message, app, zone)
    }

    package var lines: [String] {
        var lines = ["message \(message.shown("id"))  \(message.shown("state"))"]
        lines += MessageSummary(message, zone: zone).lines
        let progress = ProgressText(message, zone: zone)
        if message.isAtLocalHour, message.object?["finished_at"]?.isNull != false {
            lines.append("  sent when a device's clock shows \(message.shown("send_at"))")
            if let until = message.editableUntil(in: zone) { lines.append("  can be edited until \(until)") }
        } else if message.shown("state") == "scheduled" {
            lines.append("  to be sent on \(ClockText.text(message.shown("send_at"), in: zone))")
        } else if message.shown("state") == "paused", let hourAhead = progress.hourAhead {
            lines.append("  \(hourAhead), if it is resumed by then")
        }
        if let rate = message.object?["rate_per_second"]?.integer { lines.append("  at most \(rate) pushes a second") }
        let outcomes = message.members("outcomes")
        for outcome in outcomes where outcome.value.integer ?? 0 > 0 {
            lines.append(line(outcome.name, outcome.value.integer ?? 0))
            if !isReportedByProvider { lines += reasons(of: outcome.name) }
        }
        if message.count("pending") > 0 { lines.append(line("pending", message.count("pending"))) }
        if let audience = message.object?["audience"]?.integer { lines.append(line("audience", audience)) }
        lines += progress.providers
        if let estimate = progress.estimate { lines.append("  " + estimate) }
        return lines + WaitText.lines(of: message, app: app)
    }

    /// Whether the account lists reasons by provider, and these are all its reasons.
    private var isReportedByProvider: Bool {
        let parts = message.object?["progress"]?.object?["providers"]?.object?.members ?? []
        let count = parts.flatMap { $0.value.elements("reasons") }.map { $0.count("count") }.sum
        let whole = message.elements("reasons").map { $0.count("count") }.sum
        return count > 0 && count == whole
    }

    private func line(_ name: String, _ count: Int64) -> String {
        let digits = String(count)
        return String(repeating: " ", count: max(0, 12 - digits.count)) + digits + "  " + name
    }

    private func reasons(of outcome: String) -> [String] {
        let reasons = message.elements("reasons")
        return reasons.filter { $0.shown("outcome") == outcome }.map { reason in
            "              of these \(reason.count("count")) \(reason.shown("reason"))"
        }
    }

    func write() {
        for line in lines { Console.write(line) }
    }
}

extension JSONValue {
    /// Whether the message is sent at an hour of each device's own clock. Also works on a message's request.
    var isAtLocalHour: Bool {
        (object?["options"]?.object?["device_local_time"] ?? object?["device_local_time"])?.bool == true
    }

    /// When a scheduled message starts, and can no longer be edited; nil: it has started, or is paused.
    func editableUntil(in zone: TimeZone) -> String? {
        object?["editable_until"]?.string.map { ClockText.text($0, in: zone) }
    }

    /// Whether the message's end is too far off to wait for.
    var isToCome: Bool { isAtLocalHour || shown("state") == "scheduled" }

    /// The reason why a message that has ended reached no device.
    package var whyNobody: String {
        let failed = object?["outcomes"]?.object?.members.contains { $0.name != "cancelled" && $0.value.integer != 0 }
        if shown("state") == "cancelled", failed != true { return "it was cancelled before any device received it" }
        if count("audience") == 0 { return "the audience is empty: no device matches it" }
        return "no device received the message. For the reasons: carillon messages failures \(shown("id"))"
    }

    /// The pushes of an account that a provider accepted. In a dry run, those that would have been sent.
    var reached: Int64 {
        let outcomes = object?["outcomes"] ?? .null
        guard object?["dry_run"]?.bool == true else { return outcomes.count("accepted") }
        let blank = elements("reasons").filter { $0.shown("reason") == ProblemCode.nothingToShow.rawValue }
        return outcomes.count("accepted") + outcomes.count("suppressed") - blank.map { $0.count("count") }.sum
    }
}

extension [JSONValue] {
    /// Throws if one of these messages, which have ended, reached no device: a script needs the exit code.
    func checkReach() throws(CommandFault) {
        guard let nobody = first(where: { $0.reached == 0 }) else { return }
        throw CommandFault(.failed, nobody.whyNobody)
    }
}
