import DeliveryRules
import PushModel

/// What a process asked of a project's quota, as Google counts it: every push that left, but for those answered 429.
///
/// The bookkeeper's own count, in true time: the lanes have `SharedPace`.
struct QuotaMeter: Sendable {
    /// When each push left, and when a 429 for one came back: the last minute's.
    private var left: [SimulatedTime] = []
    private var thrownBack: [SimulatedTime] = []
    static let window = SimulatedTime.seconds(60)
    /// When somebody wanted to send, the first time after a rest.
    private(set) var began: SimulatedTime?
    private var asked: SimulatedTime?

    /// A second more than the lane's own minute: its clock may be slow.
    mutating func ask(at now: SimulatedTime) {
        if asked.map({ now - $0 > .seconds(61) }) ?? true { began = now }
        asked = now
    }

    mutating func leave(at now: SimulatedTime) {
        left.removeAll { $0 + Self.window <= now }
        left.append(now)
    }

    mutating func throwBack(at now: SimulatedTime) {
        thrownBack.removeAll { $0 + Self.window <= now }
        thrownBack.append(now)
    }

    /// Within the last so many seconds.
    func counted(within seconds: Int64, at now: SimulatedTime) -> Int {
        let since = now - .seconds(seconds)
        return left.count { $0 > since } - thrownBack.count { $0 > since }
    }
}
