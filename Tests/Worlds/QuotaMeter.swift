import Basis

/// What all processes asked of a project's quota, as Google counts it: every push that left, but for what was answered
/// 429.
///
/// The bookkeeper's own count, in true time: the lanes have `SharedPace`.
struct QuotaMeter: Sendable {
    let project: Int64
    /// When each push left, and from where, and when a 429 for one came back: the last minute's.
    private var left: [(at: SimulatedTime, from: Addressee)] = []
    private var thrownBack: [SimulatedTime] = []
    static let window = SimulatedTime.seconds(60)
    /// The processes' own minute, and as long as an ask that its caller gave up may still be on its way.
    private static let quietTime = SimulatedTime.seconds(61 + 33)
    /// When somebody wanted to send, the first time after a rest.
    private(set) var began: SimulatedTime?
    private var asked: SimulatedTime?

    init(project: Int64) { self.project = project }

    mutating func ask(at now: SimulatedTime) {
        if asked.map({ now - $0 > Self.quietTime }) ?? true { began = now }
        asked = now
    }

    mutating func leave(from sender: Addressee, at now: SimulatedTime) {
        left.removeAll { $0.at + Self.window <= now }
        left.append((now, sender))
    }

    mutating func throwBack(at now: SimulatedTime) {
        thrownBack.removeAll { $0 + Self.window <= now }
        thrownBack.append(now)
    }

    /// Within the last so many seconds.
    func counted(within seconds: Int64, at now: SimulatedTime) -> Int {
        let since = now - .seconds(seconds)
        return left.count { $0.at > since } - thrownBack.count { $0 > since }
    }

    /// Processes from which something left.
    func senders(within seconds: Int64, at now: SimulatedTime) -> Int {
        let since = now - .seconds(seconds)
        var senders: [Addressee] = []
        for push in left where push.at > since && !senders.contains(push.from) { senders.append(push.from) }
        return senders.count
    }
}
