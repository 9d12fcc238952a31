import Basis
import Calendar
import Foundation
import JSON
import Reactor

/// The app's messages in a terminal: the newest first, and those whose hour is ahead in a section of their own, the next
/// first.
package struct MessageList {
    private let sent: [JSONValue]
    private let scheduled: [JSONValue]
    private let zone: TimeZone

    /// - Parameters:
    ///   - messages: a page of the app's list.
    ///   - scheduled: scheduled messages, which may also stand in the page.
    package init(
        _ messages: [JSONValue], scheduled: [JSONValue] = [], zone: TimeZone = .current,
        now: WallInstant = Clocks.wallNow()
    ) {
        self.zone = zone
        let isToCome: (JSONValue) -> Bool = {
            $0.shown("state") == "scheduled"
                || $0.shown("state") == "paused" && $0.count("pending") + $0.reached == 0
                    && Self.due($0, without: now) > now
        }
        sent = messages.filter { !isToCome($0) }
        let known = Set(scheduled.map { $0.shown("id") })
        let others = messages.filter { isToCome($0) && !known.contains($0.shown("id")) }
        let all = (scheduled + others).filter(isToCome).enumerated()
        self.scheduled = all.sorted { (Self.due($0.element), $0.offset) < (Self.due($1.element), $1.offset) }
            .map(\.element)
    }

    package var lines: [String] {
        var lines: [String] = []
        if !sent.isEmpty {
            var table = TextTable(
                "ID", "STATE", "NAME", "TEXT", "TO", "BY", "ACCEPTED AT (\(zone.identifier))", "DEVICES", "ACCEPTED",
                "PENDING")
            for message in sent {
                let summary = MessageSummary(message, zone: zone)
                table.add(
                    message.shown("id"), message.shown("state"), summary.nameCell, summary.textCell,
                    summary.audienceCell, summary.authorCell, summary.acceptedCell, message.shown("audience"),
                    (message.object?["outcomes"] ?? .null).shown("accepted"), message.shown("pending"))
            }
            lines += table.lines
        }
        guard !scheduled.isEmpty else { return lines }
        var table = TextTable("ID", "SENT AT (\(zone.identifier))", "NAME", "TEXT", "TO", "BY")
        for message in scheduled {
            let summary = MessageSummary(message, zone: zone)
            table.add(
                message.shown("id"), summary.dueCell + (message.shown("state") == "paused" ? " (paused)" : ""),
                summary.nameCell, summary.textCell, summary.audienceCell, summary.authorCell)
        }
        return lines + (lines.isEmpty ? [] : [""]) + ["Scheduled:"] + table.lines
    }

    /// The hour of a message, a local one as if in UTC.
    ///
    /// - Parameter none: the value for a message without an hour.
    private static func due(
        _ message: JSONValue, without none: WallInstant = WallInstant(microseconds: .max)
    ) -> WallInstant {
        let text = message.object?["send_at"]?.string ?? ""
        return RFC3339.parse(text) ?? RFC3339.parseLocal(text) ?? none
    }
}
