import DeliveryRules
import FCM
import PushModel

// What FCM's lanes may do to a project's quota, and with which access tokens.
extension SimulatedWorld {
    /// Google's count of the last minute, and of its first seconds after a rest.
    mutating func checkPace(_ place: Int, _ index: Int) {
        guard let perMinute = processes[index].lanes[place].pace?.perMinute else { return }
        let meter = processes[index].lanes[place].meter
        // What a second's rest has saved comes on top; clocks run wrong by a few parts in a thousand.
        let aSecond = max(1, perMinute / 60)
        let bound = perMinute + perMinute / 100 + aSecond + 1
        let counted = meter.counted(within: 60, at: now)
        if counted > bound { fail("P7", "\(counted) pushes count for a minute's quota of \(perMinute)") }
        guard let began = meter.began, now - began <= .seconds(10) else { return }
        // A tenth of the rate, growing for a minute: a quarter after ten seconds.
        let ramp = 10 * aSecond / 4 + aSecond + 1
        let first = meter.counted(within: 10, at: now)
        if first > ramp { fail("P7", "\(first) pushes in the first ten seconds, of \(perMinute) a minute") }
    }

    /// What was throttled is not counted: another one may leave in its place.
    mutating func checkGivenBack(_ place: Int, _ index: Int) {
        let mono = processes[index].clock.read(at: now)
        guard let allowance = processes[index].lanes[place].pace?.allowance(mono) else { return }
        if allowance < 1 { fail("P7", "a push that was answered 429 is counted") }
    }

    mutating func checkAccess(_ push: WirePush, _ index: Int) {
        guard let access = push.access else {
            if push.provider == .fcm { fail("P7", "a push goes to FCM without an access token") }
            return
        }
        let account = processes[index].accounts.first { $0.credential == push.lane.credential }
        if account?.refused.contains(access) ?? true { fail("P7", "an access token goes out that was refused") }
    }
}
