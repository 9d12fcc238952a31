import Basis
import Calendar
import Foundation
import JSON
import Reactor

/// The question before a message is sent, and the lines above it: texts, count and hour.
package struct SendQuestion {
    private let message: JSONObject
    private let description: AudienceDescription
    /// nil: not known.
    private let count: AudienceCount?
    private let appZone: String?
    private let zone: TimeZone
    private let now: WallInstant

    package init(
        _ message: JSONObject, count: AudienceCount?, appZone: String? = nil, zone: TimeZone = .current,
        now: WallInstant = Clocks.wallNow()
    ) {
        (self.message, self.count, self.appZone, self.zone, self.now) = (message, count, appZone, zone, now)
        description = AudienceDescription(of: message)
    }

    /// The lines about the texts, the audience and the hour.
    package func lines() -> [String] { MessageSummary.lines(ofTextsIn: message) + audienceLines() }

    /// The lines about the audience and the hour.
    package func audienceLines(withZones: Bool = false) -> [String] {
        guard let count else { return [] }
        let parts = count.parts(withZones: withZones || isLocal)
        return parts + (isLocal ? count.hourLines(appZone: appZone, sendsPassed: sendsPassed) : [])
    }

    package func sentence(app: String) -> String {
        let receivers = description.sentence(count: count?.number, isExact: count?.isExact ?? true)
        return "Send to \(receivers) of the app \(app)\(hour.map { " " + $0 } ?? "")?"
    }

    /// "on Fri 2026-11-27 09:00 (Europe/Paris)"; nil: at once.
    package var hour: String? {
        guard let text = options?["send_at"]?.string else { return nil }
        if isLocal {
            let hour = RFC3339.parseLocal(text).map { ClockText.text(local: $0) } ?? TerminalText.clean(text)
            return "when each device's clock shows \(hour)"
        }
        let isPast = RFC3339.parse(text).map { $0 <= now } ?? false
        return "on \(ClockText.text(text, in: zone))" + (isPast ? ", which has passed: it is sent at once" : "")
    }

    private var options: JSONObject? { message["options"]?.object }
    private var isLocal: Bool { JSONValue.object(message).isAtLocalHour }
    private var sendsPassed: Bool { options?["local_time_passed"]?.string == "send" }
}
