import Basis
import Model
import Postgres
import Store
import TriggerRules

/// The fate of the pushes of one transaction of rounds, one follower after the other.
struct FollowerDecision: Sendable {
    private let start: WallInstant
    /// When each registration's window opens.
    private var windows: [Int64: WallInstant]  // lookup only
    private let quietHours: DeviceQuietHours
    /// The groups that no message can be made for.
    private let failed: Set<[UInt8]>  // lookup only
    private(set) var groups = PushGroups()
    /// The candidate at which the transaction is full; nil: all were decided on.
    private(set) var stoppedAt: FollowerCandidate?
    /// The last subscription of each item that was decided on.
    private(set) var lastTaken: [Int64: Int64] = [:]  // lookup only

    private var reported: [FollowerCandidate] = []
    private var held: [(follower: LockedFollower, dueAt: WallInstant)] = []
    private var shut: [Int64: WallInstant] = [:]
    /// Subscriptions that have a push of another item already.
    private var taken: Set<Int64> = []  // lookup only
    /// Devices that hold a push since this transaction, before which no other goes.
    private var holding: Set<Int64> = []  // lookup only

    init(
        _ windows: [Int64: WallInstant] = [:], _ quietHours: DeviceQuietHours = DeviceQuietHours(), start: WallInstant,
        failed: Set<[UInt8]> = []
    ) {
        (self.windows, self.quietHours, self.start, self.failed) = (windows, quietHours, start, failed)
    }

    init() { self.init(start: WallInstant(microseconds: 0)) }

    /// Decides on a follower, which was notified of the item's last update then, in whatever way.
    mutating func take(_ follower: LockedFollower, _ app: PushApp) {
        let (candidate, terms) = (follower.candidate, follower.terms)
        guard groups.messageCount < FollowerRun.messagesMax else {
            stoppedAt = candidate
            return
        }
        lastTaken[candidate.item.id] = candidate.subscription
        // A device that was removed has no window. An expired subscription is removed within seconds.
        guard let opensAt = windows[follower.device.registration], !terms.isExpired,
            candidate.item.state.lastSeq(naming: terms.fields) > follower.sentSeq
        else { return }
        reported.append(candidate)
        guard app.isEnabled, !follower.device.isRetired, taken.insert(candidate.subscription).inserted,
            !follower.holdsTriggered
        else { return }
        guard follower.heldItem == nil else {
            if follower.heldItem != candidate.item.id { held.append((follower, start)) }
            return
        }
        let quietUntil = quietHours.end(for: terms, of: follower.device.registration)
        pass(
            follower, terms.push(isTriggered: false, in: app),
            ThrottleWindow(opensAt: opensAt, quietUntil: quietUntil))
    }

    /// Decides on a push whose subscription holds none. Pushes that the device holds go before it, unless they wait for
    /// the end of quiet hours: those fall due later than the window opens.
    private mutating func pass(_ follower: LockedFollower, _ push: ItemPush, _ window: ThrottleWindow) {
        let (terms, registration) = (follower.terms, follower.device.registration)
        let item = follower.candidate.item
        let leaving = LeavingPush(
            app: AppID(item.app), member: follower.device.member, provider: follower.device.provider,
            template: terms.template, fields: terms.fields, texts: item.state.texts(of: terms.fields, terms.mode))
        let key = leaving.groupKey
        if failed.contains(key) { return }
        let opensAt = max(window.opensAt ?? start, start)
        if follower.deviceDueAt.map({ $0 <= opensAt }) ?? false || holding.contains(registration) {
            if push.whenPaused == .newest {
                hold(follower, until: opensAt)
                holding.insert(registration)
            }
            return
        }
        switch window.release(HeldPush(push, readyAt: start), now: start) {
        case .send(let opensAt):
            groups.add(leaving, key: key)
            windows[registration] = opensAt
            shut[registration] = opensAt
        case .hold(_, let until), .replace(_, let until): hold(follower, until: until)
        case .drop: return
        }
    }

    private mutating func hold(_ follower: LockedFollower, until: WallInstant) { held.append((follower, until)) }

    /// The queries that write all but the messages.
    var notes: [Query] {
        var queries: [Query] = []
        if !reported.isEmpty {
            queries.append(
                Query(ItemPushSQL.note) {
                    $0.int64Array("items", reported.map(\.item.id))
                    $0.int64Array("subscriptions", reported.map(\.subscription))
                    $0.int64Array("seqs", reported.map(\.item.state.seq))
                })
        }
        if !held.isEmpty {
            queries.append(
                Query(FollowerSQL.hold) {
                    $0.int64Array("subscriptions", held.map(\.follower.candidate.subscription))
                    $0.int64Array("apps", held.map(\.follower.candidate.item.app))
                    $0.int64Array("registrations", held.map(\.follower.device.registration))
                    $0.int64Array("items", held.map(\.follower.candidate.item.id))
                    $0.instantArray("due_at", held.map(\.dueAt))
                    $0.instant("now", start)
                })
        }
        return shut.isEmpty ? queries : queries + [Query(shutting: shut)]
    }
}

extension Query {
    /// Shuts the windows of registrations up to these times.
    init(shutting windows: [Int64: WallInstant]) {
        let ordered = windows.sorted { $0.key < $1.key }
        self.init(ItemPushSQL.shut) {
            $0.int64Array("registrations", ordered.map(\.key))
            $0.instantArray("opens_at", ordered.map(\.value))
        }
    }
}
