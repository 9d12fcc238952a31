import Basis
import Calendar
import Foundation
import JSON
import Model
import Reactor

package struct ProgressText {
    private let message: JSONValue
    private let zone: TimeZone

    package init(_ message: JSONValue, zone: TimeZone = .current) { (self.message, self.zone) = (message, zone) }

    private var progress: JSONObject? { message.object?["progress"]?.object }

    package var ended: Int64 {
        progress?["ended"]?.integer ?? message.members("outcomes").map { $0.value.integer ?? 0 }.sum
    }

    private var audience: Int64? { message.object?["audience"]?.integer }

    /// The estimated audience while it is being found; nil if there is no estimate.
    private var expected: Int64? {
        guard audience == nil, let expected = progress?["estimate"]?.object?["audience"]?.integer, expected > 0 else {
            return nil
        }
        return max(ended, Self.rounded(expected))
    }

    /// Rounds to two digits; further digits would change with each query.
    private static func rounded(_ count: Int64) -> Int64 {
        var step: Int64 = 1
        while count / step >= 100 { step *= 10 }
        return count / step * step
    }

    /// The ended share of the audience, or of its estimate and then below 1; nil if both are unknown.
    private var share: Double? {
        guard let whole = audience ?? expected else { return nil }
        return whole == 0 ? 1 : min(audience == nil ? 0.99 : 1, max(0, Double(ended) / Double(whole)))
    }

    /// "420 of 1000 ended", or how many have ended so far.
    private var count: String {
        if let hourAhead { return hourAhead }
        if let audience { return "\(ended) of \(audience) ended" }
        if let expected { return "\(ended) ended of about \(expected), the audience is being found" }
        return ended > 0 ? "\(ended) ended, the audience is being found" : "the audience is being found"
    }

    /// The hour at which the message will be sent, if paused too. nil: it has passed, or there is none.
    var hourAhead: String? {
        if message.isAtLocalHour, message.shown("state") == "scheduled" {
            return "to be sent when a device's clock shows \(message.shown("send_at"))"
        }
        // The answer to a pause has no progress, and so no time of its own.
        let now = instant(.object(progress ?? JSONObject()), "at") ?? Clocks.wallNow()
        guard audience == nil, ended == 0, let hour = instant(message, "send_at"), hour > now else { return nil }
        return "to be sent on \(ClockText.text(hour, in: zone))"
    }

    package var bar: String {
        guard let share else { return "\(Progress.bar(0))  \(count)" }
        return "\(Progress.bar(share)) \(Int(share * 100)) %  \(count)"
    }

    /// The rate and the estimated end; nil if neither is known, or the message is over.
    package var estimate: String? {
        guard message.count("pending") > 0 || audience == nil, let estimate = progress?["estimate"] else { return nil }
        var parts: [String] = []
        if let pace = estimate.object?["pushes_per_second"]?.number?.double, pace >= 0.1, pace.isFinite {
            parts.append(pace < 10 ? "\((pace * 10).rounded() / 10) a second" : "\(Int64(min(pace, 1e15))) a second")
        }
        if let end = instant(estimate, "finished_at"), let now = instant(.object(progress ?? JSONObject()), "at") {
            parts.append("done in about \(Self.span(max(.zero, end - now)))")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private func instant(_ value: JSONValue, _ name: String) -> WallInstant? {
        value.object?[name]?.string.flatMap { RFC3339.parse($0) }
    }

    /// A duration, as coarse as an estimate is.
    package static func span(_ time: Duration) -> String {
        let seconds = time.components.seconds
        switch seconds {
        case ..<90: return "\(max(1, seconds)) s"
        case ..<5_400: return "\((seconds + 30) / 60) min"
        case ..<172_800: return "\((seconds + 1_800) / 3_600) h"
        default: return "\((seconds + 43_200) / 86_400) days"
        }
    }

    package var providers: [String] {
        let parts = progress?["providers"]?.object ?? message.object?["providers"]?.object
        return (parts?.members ?? []).flatMap { part in
            let outcomes = part.value.members("outcomes")
            var counts = outcomes.compactMap { outcome in
                outcome.value.integer.flatMap { $0 > 0 ? "\($0) \(TerminalText.clean(outcome.name))" : nil }
            }
            if part.value.count("pending") > 0 { counts.append(pending(part.value)) }
            let line =
                "  \(TerminalText.clean(part.name)): "
                + (counts.isEmpty ? "nothing yet" : counts.joined(separator: ", "))
            return [line] + reasons(part.value)
        }
    }

    private func pending(_ part: JSONValue) -> String {
        let kinds = [("sending", "being sent"), ("ready", "next"), ("waiting", "waiting")].compactMap { name, parts in
            part.count(name) > 0 ? "\(part.count(name)) \(parts)" : nil
        }
        return "\(part.count("pending")) pending" + (kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))")
    }

    private func reasons(_ part: JSONValue) -> [String] {
        var lines = part.elements("reasons").map { reason in
            "    \(reason.count("count")) \(reason.shown("outcome")): \(reason.shown("reason"))"
        }
        if part.count("other_reasons") > 0 { lines.append("    \(part.count("other_reasons")) for other reasons") }
        return lines
    }

    /// The whole progress on one line, for output that is read line by line.
    package var line: String {
        let ready = PushWait.Cause.allCases.filter(\.isReady).map(\.name)
        let waits = (progress?["waiting"]?.array ?? []).filter { !ready.contains($0.shown("for")) }
        let waiting = waits.map { $0.count("pushes") }.sum
        return
            ([message.shown("state"), count] + (estimate.map { [$0] } ?? [])
            + (waiting > 0 ? ["\(waiting) waiting"] : []))
            .joined(separator: "  ")
    }

    /// The whole progress, for a terminal that is redrawn.
    package func screen(_ waits: [String]) -> [String] {
        var lines = ["message \(message.shown("id"))  \(message.shown("state"))"]
        lines += MessageSummary(message, zone: zone).lines + ["  " + bar]
        if let estimate { lines.append("  " + estimate) }
        return lines + providers + waits
    }
}

extension [Int64] {
    /// Saturates, because the counts come from outside.
    var sum: Int64 {
        reduce(0) { sum, count in
            let (next, isBeyond) = sum.addingReportingOverflow(count)
            return isBeyond ? .max : next
        }
    }
}
