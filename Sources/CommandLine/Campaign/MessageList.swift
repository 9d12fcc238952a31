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
    /// The width of the window; nil: any.
    private let columns: Int?

    /// - Parameters:
    ///   - messages: a page of the app's list.
    ///   - scheduled: scheduled messages, which may also stand in the page.
    ///   - columns: the width of the window; nil: any. A narrow one gets fewer columns, and the beginnings of ids.
    package init(
        _ messages: [JSONValue], scheduled: [JSONValue] = [], columns: Int? = nil, zone: TimeZone = .current,
        now: WallInstant = Clocks.wallNow()
    ) {
        (self.zone, self.columns) = (zone, columns)
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
        let whole = sections(isNarrow: false).flatMap { $0 }
        guard let columns, whole.contains(where: { TerminalText.columns($0) > columns }) else { return whole }
        return sections(isNarrow: true).flatMap { $0 }
    }

    private func sections(isNarrow: Bool) -> [[String]] {
        let first = sent.isEmpty ? [] : sentTable(isNarrow).lines(fitting: isNarrow ? columns : nil)
        guard !scheduled.isEmpty else { return [first] }
        let second = scheduledTable(isNarrow).lines(fitting: isNarrow ? columns : nil)
        return [first, (first.isEmpty ? [] : [""]) + ["Scheduled:"] + second]
    }

    private func sentTable(_ isNarrow: Bool) -> TextTable {
        var table =
            isNarrow
            ? TextTable("ID", "STATE", "TEXT", "ACCEPTED AT", "DEVICES", "PENDING")
            : TextTable(
                "ID", "STATE", "NAME", "TEXT", "TO", "BY", "ACCEPTED AT (\(zone.identifier))", "DEVICES", "ACCEPTED",
                "PENDING")
        for message in sent {
            let summary = MessageSummary(message, zone: zone)
            let (state, devices, pending) = (
                message.shown("state"), message.shown("audience"), message.shown("pending")
            )
            if isNarrow {
                table.add(shortID(message), state, summary.titleCell, summary.acceptedCell, devices, pending)
            } else {
                table.add(
                    message.shown("id"), state, summary.nameCell, summary.textCell, summary.audienceCell,
                    summary.authorCell, summary.acceptedCell, devices,
                    (message.object?["outcomes"] ?? .null).shown("accepted"), pending)
            }
        }
        return table
    }

    private func scheduledTable(_ isNarrow: Bool) -> TextTable {
        var table =
            isNarrow
            ? TextTable("ID", "SENT AT", "TEXT", "TO")
            : TextTable("ID", "SENT AT (\(zone.identifier))", "NAME", "TEXT", "TO", "BY")
        for message in scheduled {
            let summary = MessageSummary(message, zone: zone)
            let due = summary.dueCell + (message.shown("state") == "paused" ? " (paused)" : "")
            if isNarrow {
                table.add(shortID(message), due, summary.titleCell, summary.audienceCell)
            } else {
                table.add(
                    message.shown("id"), due, summary.nameCell, summary.textCell, summary.audienceCell,
                    summary.authorCell)
            }
        }
        return table
    }

    private func shortID(_ message: JSONValue) -> String {
        let length = MessageReference.length(for: (sent + scheduled).map { $0.shown("id") })
        return String(message.shown("id").prefix(length))
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
