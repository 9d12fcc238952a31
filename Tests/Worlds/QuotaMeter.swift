import Basis

/// All use of a project's quota as Google counts it: every push that left any process, except those answered 429.
///
/// It is the world's own count, in true time; the lanes have `SharedPace`.
struct QuotaMeter: Sendable {
    let project: Int64
    /// The pushes of the last minute, with time and sender, and the times of their 429s.
    private var left: [(at: SimulatedTime, from: Addressee)] = []
    private var thrownBack: [SimulatedTime] = []
    static let window = SimulatedTime.seconds(60)
    /// The time after which each process begins its ramp anew, by whatever clock.
    private static let quietTime = SimulatedTime.seconds(61)
    /// The time when a process wanted to send for the first time after a quiet time.
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

    /// The requests that Google counted within the last so many seconds.
    func counted(within seconds: Int64, at now: SimulatedTime) -> Int {
        let since = now - .seconds(seconds)
        return left.count { $0.at > since } - thrownBack.count { $0 > since }
    }

    /// The number of processes that sent something.
    func senders(within seconds: Int64, at now: SimulatedTime) -> Int {
        let since = now - .seconds(seconds)
        var senders: [Addressee] = []
        for push in left where push.at > since && !senders.contains(push.from) { senders.append(push.from) }
        return senders.count
    }
}
