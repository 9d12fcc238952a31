import JSON

/// The answers that made pushes of the demonstration wait, by the summaries of its stand-ins.
package enum DeferralText {
    private static let places = ["APNs", "APNs sandbox", "FCM"]

    /// The summaries are those of APNs, its sandbox and FCM, in this order.
    package static func lines(before: [JSONValue], after: [JSONValue]) -> [String] {
        zip(places, zip(before, after)).flatMap { place, summaries in
            summaries.1.elements("refused").compactMap { refusal in
                let count = refusal.count("count") - Self.count(of: refusal, in: summaries.0)
                guard isTemporary(refusal.count("status")), count > 0 else { return nil }
                return "\(count) \(count == 1 ? "push waited and was" : "pushes waited and were") sent again: \(place) "
                    + "answered \(refusal.count("status")) \(refusal.shown("reason"))"
            }
        }
    }

    private static func isTemporary(_ status: Int64) -> Bool { status == 429 || status >= 500 }

    private static func count(of refusal: JSONValue, in summary: JSONValue) -> Int64 {
        let same = summary.elements("refused").first {
            $0.count("status") == refusal.count("status") && $0.shown("reason") == refusal.shown("reason")
        }
        return same?.count("count") ?? 0
    }
}
