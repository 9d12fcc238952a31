import Basis
import Model
import Postgres
import Store
import TriggerRules

/// The fate of the pushes of one transaction of rounds, one follower after the other.
struct FollowerDecision: Sendable {
    private let start: WallInstant
    private var round: FollowerRound
    private let quietHours: DeviceQuietHours
    /// The groups that no message can be made for.
    private let failed: Set<[UInt8]>  // lookup only
    private let messagesMax: Int
    private(set) var groups = PushGroups()
    /// The candidate at which the transaction is full, or which has another device now; nil: all were decided on.
    private(set) var stoppedAt: FollowerCandidate?
    /// The last subscription of each item that was decided on.
    private(set) var lastTaken: [Int64: Int64] = [:]  // lookup only

    /// The number of the last update of each item that a follower was notified of.
    private var reported: [FollowedItem: Int64] = [:]
    private var held: [(follower: LockedFollower, dueAt: WallInstant)] = []
    private var shut: [Int64: WallInstant] = [:]

    private struct FollowedItem: Hashable {
        let item: Int64
        let subscription: Int64
    }

    /// - Parameter windows: when each registration's window opens.
    init(
        _ windows: [Int64: WallInstant] = [:], _ quietHours: DeviceQuietHours = DeviceQuietHours(), start: WallInstant,
        failed: Set<[UInt8]> = [], messagesMax: Int = FollowerRun.messagesMax
    ) {
        round = FollowerRound(windows: windows, now: start)
        (self.quietHours, self.start, self.failed) = (quietHours, start, failed)
        self.messagesMax = messagesMax
    }

    init() { self.init(start: WallInstant(microseconds: 0)) }

    /// Leaves this candidate and those behind it to the next transaction.
    mutating func stop(at candidate: FollowerCandidate) { stoppedAt = candidate }

    /// Decides on a follower, which was notified then of the last update of each of its items, in whatever way.
    mutating func take(_ follower: LockedFollower, _ app: PushApp) {
        let candidate = follower.candidate
        guard groups.messageCount < messagesMax else {
            stop(at: candidate)
            return
        }
        // The subscription has followed its token to a device whose window is not locked. It is read anew.
        guard follower.device.registration == candidate.registration else {
            stoppedAt = candidate
            return
        }
        lastTaken[candidate.item.id] = candidate.subscription
        var leaving: (push: LeavingPush, key: [UInt8])?
        let unsendable = self.failed
        let fate = round.decide(status(of: follower, app)) {
            let push = LeavingPush(of: follower)
            let key = push.groupKey
            leaving = (push, key)
            return !unsendable.contains(key)
        }
        switch fate {
        case .passed: return
        case .notified: break
        case .sent(let opensAt):
            if let leaving { groups.add(leaving.push, key: leaving.key) }
            shut[follower.device.registration] = opensAt
        case .held(let until): held.append((follower, until))
        }
        report(follower)
    }

    private mutating func report(_ follower: LockedFollower) {
        let own = [follower.candidate.item, follower.newest].map { (id: $0.id, seq: $0.state.seq) }
        for item in own + follower.others.map({ (id: $0.id, seq: $0.seq) }) {
            let followed = FollowedItem(item: item.id, subscription: follower.candidate.subscription)
            reported[followed] = max(reported[followed] ?? 0, item.seq)
        }
    }

    private func status(of follower: LockedFollower, _ app: PushApp) -> FollowerStatus {
        let (item, terms) = (follower.candidate.item, follower.terms)
        return FollowerStatus(
            subscription: follower.candidate.subscription, registration: follower.device.registration,
            item: follower.newest.id,
            missesUpdate: item.state.lastSeq(naming: terms.fields) > follower.sentSeq, isExpired: terms.isExpired,
            isSilent: !app.isEnabled || follower.device.isRetired, heldItem: follower.heldItem,
            holdsTriggered: follower.holdsTriggered, deviceDueAt: follower.deviceDueAt,
            quietUntil: quietHours.end(for: terms, of: follower.device.registration),
            push: terms.push(isTriggered: false, in: app))
    }

    /// The queries that write all but the messages.
    var notes: [Query] {
        var queries: [Query] = []
        if !reported.isEmpty {
            let ordered = reported.sorted {
                ($0.key.item, $0.key.subscription) < ($1.key.item, $1.key.subscription)
            }
            queries.append(
                Query(ItemPushSQL.note) {
                    $0.int64Array("items", ordered.map(\.key.item))
                    $0.int64Array("subscriptions", ordered.map(\.key.subscription))
                    $0.int64Array("seqs", ordered.map(\.value))
                })
        }
        if !held.isEmpty {
            queries.append(
                Query(FollowerSQL.hold) {
                    $0.int64Array("subscriptions", held.map(\.follower.candidate.subscription))
                    $0.int64Array("apps", held.map(\.follower.candidate.item.app))
                    $0.int64Array("registrations", held.map(\.follower.device.registration))
                    $0.int64Array("items", held.map(\.follower.newest.id))
                    $0.instantArray("due_at", held.map(\.dueAt))
                    $0.instant("now", start)
                })
        }
        return shut.isEmpty ? queries : queries + [Query(shutting: shut)]
    }
}

extension LeavingPush {
    /// The push that shows an item's texts of now.
    fileprivate init(of follower: LockedFollower) {
        let (item, terms) = (follower.newest, follower.terms)
        self.init(
            app: AppID(item.app), member: follower.device.member, provider: follower.device.provider,
            template: terms.template, fields: terms.fields, texts: item.state.texts(of: terms.fields, terms.mode))
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
