import Basis
import Encodings
import Model
import Postgres
import Worlds

/// The whole stored state, one line per row, the same from the simulated store and from PostgreSQL.
enum StateText {
    /// One statement, hence one snapshot: sections by number, rows by key.
    static let statement = Statement(
        unprepared: """
            SELECT line FROM (
                SELECT 1 AS section, id::text AS key, id AS number,
                    concat_ws('|', 'route', id, app_id, provider, environment, topic) AS line FROM routes
                UNION ALL
                SELECT 2, id::text, id, concat_ws('|', 'registration', id, app_id, route_id, provider, kind, state,
                    generation, installation, encode(token, 'hex'), coalesce(user_id, '-'),
                    coalesce(nullif(array_to_string(tags, ','), ''), '-'), badge, \(micros("registered_at")),
                    \(micros("as_of")), (environments_compared IS NOT DISTINCT FROM generation)::int,
                    coalesce(CASE WHEN environments_compared = generation THEN mistaken_route_id END, -1),
                    (unproven IS NOT NULL)::int, \(micros("blamed_at")))
                FROM registrations JOIN registration_pulse ON registration_id = id
                    LEFT JOIN (SELECT registration_id AS unproven, blamed_at FROM unproven_subscribers) u ON unproven = id
                UNION ALL
                SELECT 3, id::text, 0, concat_ws('|', 'message', id, app_id, format, push_type, state, priority, kind,
                    badge_change, badge_value, horizon, \(micros("accepted_at")), \(micros("expires_at")),
                    \(micros("finished_at")), \(micros("due_at")),
                    \(micros("local_hour AT TIME ZONE 'UTC'")), late_at_once::int,
                    coalesce(rate_per_second, -1), planned_members, coalesce(audience, -1), members, accepted, rejected,
                    unregistered, expired, suppressed, cancelled, gave_up)
                FROM messages
                UNION ALL
                SELECT 4, message_id::text, 0, concat_ws('|', 'plan', message_id, app_id, format, priority, planned_through,
                    \(micros("planned_at")), slices)
                FROM plans
                UNION ALL
                SELECT 5, message_id::text || state || reason, 0,
                    concat_ws('|', 'reason', message_id, state, reason, count, coalesce(detail, '-'))
                FROM message_reasons
                UNION ALL
                SELECT 6, id::text, id, concat_ws('|', 'parcel', id, message_id, app_id, route_id, format, service, priority,
                    state, epoch, settles, attempt, lapses, retry_spent, badge_marked::int, answer_lost::int,
                    \(micros("due_at")), \(micros("expires_at")), coalesce(owner::text, '-'), \(micros("lease_until")),
                    encode(members, 'hex'), coalesce(encode(settled, 'hex'), '-'), member_count, pending, handed_over,
                    accepted, rejected, unregistered, expired, suppressed, cancelled, gave_up,
                    coalesce(waits_for, '-'), coalesce(encode(uncounted, 'hex'), '-'), coalesce(origin_route_id, -1), coalesce(origin_generation, -1),
                    coalesce(origin_reason, '-'), \(micros("origin_until")), \(micros("origin_as_of")))
                FROM parcels
                UNION ALL
                SELECT 7, registration_id::text, registration_id, concat_ws('|', 'suspicion', registration_id,
                    route_id, generation, reason, \(micros("suspected_at")), \(micros("suspected_again_at")),
                    \(micros("due_at")))
                FROM suspicions
                UNION ALL
                SELECT 8, minute::text, route_id, concat_ws('|', 'minute', route_id, \(micros("minute")), answered,
                    suspected, found)
                FROM route_minutes
                UNION ALL
                SELECT 9, id::text, id, concat_ws('|', 'feedback', app_id, registration_id, generation, installation,
                    kind, provider, verdict, reason, \(micros("at")), (undone_at IS NOT NULL)::int,
                    coalesce(from_environment, 0), coalesce(to_environment, 0))
                FROM feedback
                UNION ALL
                SELECT 10, message_id::text || provider, 0, concat_ws('|', 'provider', message_id, provider, accepted,
                    rejected, unregistered, expired, suppressed, cancelled, gave_up)
                FROM message_providers
                UNION ALL
                SELECT 11, message_id::text || lpad(parcel_id::text, 9, '0') || lpad(settle::text, 9, '0')
                    || lpad(place::text, 9, '0'), 0, concat_ws('|', 'history', message_id, parcel_id, settle, place,
                    route_id, state, reason, attempts, \(micros("at")), first_member, last_member, member_count,
                    encode(members, 'hex'))
                FROM push_history
                UNION ALL
                SELECT 12, id::text, id, concat_ws('|', 'inline', id, message_id, route_id, encode(token, 'hex'))
                FROM inline_targets
                UNION ALL
                SELECT 13, message_id::text, 0, concat_ws('|', 'stop', message_id) FROM stops
                UNION ALL
                SELECT 14, message_id::text, 0, concat_ws('|', 'schedule', message_id, \(micros("due_at")), priority)
                FROM schedules
                UNION ALL
                SELECT 15, lpad((day - '1970-01-01')::text, 9, '0') || app_id || who, 0, concat_ws('|', 'day',
                    day - '1970-01-01', app_id, who, array_to_string(messages, ','))
                FROM user_days
                UNION ALL
                SELECT 16, message_id::text, 0, concat_ws('|', 'rate', message_id, \(micros("next_at")))
                FROM message_rates
                UNION ALL
                SELECT 17, project || process, 0, concat_ws('|', 'sender', project, process, \(micros("heard_at")))
                FROM project_senders
                UNION ALL
                SELECT 18, message_id::text || provider || state || reason, 0,
                    concat_ws('|', 'provider reason', message_id, provider, state, reason, count)
                FROM message_provider_reasons
                UNION ALL
                SELECT 19, app_id || path, 0, concat_ws('|', 'leaf', app_id, path, value) FROM nodes
                UNION ALL
                SELECT 20, id::text, id, concat_ws('|', 'watch', id, app_id, path, seq, \(micros("cut_at")), overflow_seq,
                    moves, wants_value::int, wants_children::int, weight_bytes, weight_leaves)
                FROM watches
                UNION ALL
                SELECT 21, lpad(watch_id::text, 9, '0') || lpad(seq::text, 9, '0') || child, 0,
                    concat_ws('|', 'change', watch_id, seq, child, existed::int)
                FROM watch_changes
                UNION ALL
                SELECT 22, watch_id::text, watch_id, concat_ws('|', 'due watch', watch_id, app_id, \(micros("due_at")), tries,
                    coalesce(round_seq, -2), after_registration, skipped::int, \(micros("soonest_at")))
                FROM due_watches
                UNION ALL
                SELECT 23, lpad(watch_id::text, 9, '0') || lpad(registration_id::text, 9, '0'), 0,
                    concat_ws('|', 'subscription', watch_id, registration_id, app_id, mode, \(micros("expires_at")),
                    sent_seq, coalesce(message_id::text, '-'))
                FROM subscriptions JOIN subscription_progress ON subscription_id = id
                UNION ALL
                \(items)
            ) AS state ORDER BY section, number, key COLLATE "C"
            """)

    static func micros(_ column: String) -> String {
        "coalesce((extract(epoch FROM \(column)) * 1000000)::bigint, -1)"
    }

    static func lines(of pool: PostgresPool) async throws -> [String] {
        try await pool.read(Query(statement)).map(String.init)
    }

    static func lines(of store: SimulatedStore) -> [String] {
        let reasons = store.messages.sorted { $0.id < $1.id }.flatMap { message in
            message.reasons.map {
                [
                    "reason", message.id.text, $0.terminalStatus.state.rawValue, $0.terminalStatus.reason, $0.count,
                    $0.detail ?? "-",
                ]
            }
        }
        let minutes = store.minutes.sorted {
            $0.route == $1.route ? $0.minute < $1.minute : $0.route < $1.route
        }
        let providers = store.messages.sorted { $0.id < $1.id }.flatMap { message in
            message.providers.map { ["provider", message.id.text, $0.provider.rawValue] + $0.counts.map { $0 as Any } }
        }
        let history = store.history.sorted { ($0.message, $0.parcel, $0.settle) < ($1.message, $1.parcel, $1.settle) }
        let rows: [[Any]] =
            store.routes.map(\.cells) + store.registrations.map(\.cells)
            + store.messages.sorted { $0.id < $1.id }.map(\.cells)
            + store.plans.sorted { $0.message < $1.message }.map(\.cells) + reasons + store.parcels.map(\.cells)
            + store.suspicions.map(\.cells) + minutes.map(\.cells) + store.feedback.map(\.cells)
            + providers + history.map(\.cells) + store.inlineTargets.map(\.cells)
            + store.stops.sorted().map { ["stop", $0.text] }
            + store.schedules.sorted { $0.message < $1.message }.map(\.cells)
            + store.userDays.sorted { ($0.day, $0.app, $0.who) < ($1.day, $1.app, $1.who) }.map(\.cells)
            + store.rates.sorted { $0.message < $1.message }.map { ["rate", $0.message.text, $0.nextAt.microseconds] }
            + store.projectSenders.sorted { ($0.project, $0.process.value.text) < ($1.project, $1.process.value.text) }
            .map { ["sender", $0.project, $0.process.value.text, $0.heardAt.microseconds] }
            + providerReasons(of: store) + wakeUps(of: store) + items(of: store)
        return rows.map { row in row.map { "\($0)" }.joined(separator: "|") }
    }
}

extension StateText {
    /// Data trees, and who is woken by their changes.
    fileprivate static func wakeUps(of store: SimulatedStore) -> [[Any]] {
        let leaves = store.leaves.sorted {
            "\($0.app.value)\($0.path.text)".utf8.lexicographicallyPrecedes("\($1.app.value)\($1.path.text)".utf8)
        }
        let changes = store.childChanges.sorted { ($0.watch, $0.seq, $0.child) < ($1.watch, $1.seq, $1.child) }
        let due = store.dueWatches.sorted { $0.watch < $1.watch }
        let subscriptions = store.subscriptions.sorted { ($0.watch, $0.registration) < ($1.watch, $1.registration) }
        return leaves.map { ["leaf", $0.app.value, $0.path.text, $0.value] } + store.watches.map(\.cells)
            + changes.map { ["change", $0.watch, $0.seq, $0.child, $0.existed ? 1 : 0] }
            + due.map {
                [
                    "due watch", $0.watch, $0.app.value, $0.dueAt.microseconds, $0.tries, $0.roundSeq ?? -2, $0.after,
                    $0.skipped ? 1 : 0, $0.soonestAt.cell,
                ]
            }
            + subscriptions.map(\.cells)
    }

    /// The rows of `message_provider_reasons`, which the simulated store counts from its history.
    fileprivate static func providerReasons(of store: SimulatedStore) -> [[Any]] {
        var counts: [String: (cells: [Any], count: Int)] = [:]
        for row in store.history {
            guard case .ended(let terminalStatus) = row.entry.event, terminalStatus != TerminalStatus(.accepted),
                let provider = store.route(row.route)?.provider
            else { continue }
            let key = "\(row.message.text)\(provider.rawValue)\(terminalStatus.state.rawValue)\(terminalStatus.reason)"
            let cells: [Any] = [
                "provider reason", row.message.text, provider.rawValue, terminalStatus.state.rawValue,
                terminalStatus.reason,
            ]
            counts[key, default: (cells, 0)].count += row.entry.members.count
        }
        let sorted = counts.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return sorted.map { $0.value.cells + [$0.value.count] }
    }
}

extension WatchRow {
    fileprivate var cells: [Any] {
        [
            "watch", id, app.value, path.text, seq, cutAt.cell, overflowSeq, moves, wantsValue ? 1 : 0,
            wantsChildren ? 1 : 0, weightBytes, weightLeaves,
        ]
    }
}

extension SubscriptionRow {
    fileprivate var cells: [Any] {
        [
            "subscription", watch, registration.value, app.value, mode.rawValue, expiresAt.microseconds, sentSeq,
            message?.text ?? "-",
        ]
    }
}

extension MessageID {
    var text: String { value.text }
}

extension Optional<WallInstant> {
    var cell: Int64 { self?.microseconds ?? -1 }
}

extension RouteRow {
    fileprivate var cells: [Any] {
        ["route", id.value, app.value, provider.rawValue, environment.rawValue, topic]
    }
}

extension RegistrationRow {
    fileprivate var cells: [Any] {
        [
            "registration", id.value, app.value, stored.route.value, stored.provider.rawValue, stored.kind.rawValue,
            stored.state.rawValue, stored.generation.value, stored.installation, Hexadecimal.text(stored.token.bytes),
            stored.profile[.user] ?? "-",
            stored.profile.tags.isEmpty ? "-" : stored.profile.tags.joined(separator: ","), badge,
            registeredAt.microseconds, asOf.cell, mayBeInSibling ? 0 : 1, stored.mistakenRoute?.value ?? -1,
            isUnproven ? 1 : 0, (isUnproven ? blamedAt : nil).cell,
        ]
    }
}

extension MessageRow {
    fileprivate var cells: [Any] {
        let change: (Int, Int32) =
            switch badge {
            case .none: (0, 0)
            case .increment: (1, 0)
            case .value(let value): (2, value)
            }
        let facts: [Any] = [
            "message", id.text, app.value, format, service.pushType.rawValue, state.rawValue, urgency.rawValue,
            kind.rawValue, change.0, change.1,
            horizon.value, acceptedAt.microseconds, expiresAt.microseconds, finishedAt.cell, dueAt.cell,
            (localSending?.hour.inUTC).cell, localSending?.sendsPassed == true ? 1 : 0,
            ratePerSecond ?? -1, plannedMembers, audience ?? -1, members,
        ]
        return facts + counts.map { $0 as Any }
    }
}

extension PlanRow {
    fileprivate var cells: [Any] {
        ["plan", message.text, app.value, format, urgency.rawValue, plannedThrough, plannedAt.cell, slices]
    }
}

extension ScheduleRow {
    fileprivate var cells: [Any] {
        ["schedule", message.text, dueAt.microseconds, plan.urgency.rawValue]
    }
}

extension ParcelRow {
    fileprivate var cells: [Any] {
        let facts: [Any] = [
            "parcel", id.value, message.text, app.value, route.value, format, service.rawValue,
            urgency.rawValue, lease != nil ? 2 : isOnHold ? 3 : isRateLimited ? 4 : 1,
            epoch, settles, attempt, lapses, retrySpent.wholeNanoseconds / 1_000, isBadgeMarked ? 1 : 0,
            answerLost ? 1 : 0, dueAt.microseconds, expiresAt.microseconds, lease?.owner.value.text ?? "-",
            (lease?.until).cell, Hexadecimal.text(MemberList.encode(members.map(\.value))),
            bitmap.isEmpty ? "-" : Hexadecimal.text(bitmap), members.count, pending, handedOver,
        ]
        let crossEnvironment: [Any] = [
            origin?.route.value ?? -1, origin?.generation.value ?? -1, origin?.reason ?? "-", (origin?.until).cell,
            (origin?.asOf).cell,
        ]
        return facts + counts.map { $0 as Any } + [waitsFor?.rawValue ?? "-", uncountedBits] + crossEnvironment
    }
}

extension ParcelRow {
    fileprivate var uncountedBits: String {
        guard let uncounted else { return "-" }
        var bits = MemberBitmap(count: uncounted.count)
        for place in uncounted.indices where uncounted[place] { bits[place] = true }
        return Hexadecimal.text(bits.bytes)
    }
}

extension UserDayRow {
    fileprivate var cells: [Any] {
        ["day", day, app.value, who, messages.map(\.text).joined(separator: ",")]
    }
}

extension HistoryRow {
    fileprivate var cells: [Any] {
        let (state, reason): (Int16, String) =
            switch entry.event {
            case .ended(let terminalStatus): (terminalStatus.state.rawValue, terminalStatus.reason)
            case .goesOn(let cause): (0, cause.rawValue)
            }
        let ids = entry.members.map(\.value)
        return [
            "history", message.text, parcel.value, settle, place, route.value, state, reason, entry.attempts,
            at.microseconds, ids.first ?? 0, ids.last ?? 0, ids.count, Hexadecimal.text(MemberList.encode(ids)),
        ]
    }
}

extension SuspicionRow {
    fileprivate var cells: [Any] {
        [
            "suspicion", registration.value, route.value, generation.value, reason, suspectedAt.microseconds,
            repeatedAt.cell, checkAt.microseconds,
        ]
    }
}

extension RouteMinute {
    fileprivate var cells: [Any] { ["minute", route.value, minute.microseconds, answered, suspected, found] }
}

extension InlineRow {
    fileprivate var cells: [Any] {
        ["inline", id.value, message.text, route.value, Hexadecimal.text(token.bytes)]
    }
}

extension FeedbackRow {
    fileprivate var cells: [Any] {
        [
            "feedback", app.value, registration.value, generation.value, installation, kind.rawValue,
            provider.rawValue, verdict.rawValue, reason, at.microseconds, isUndone ? 1 : 0,
            environments?.from.rawValue ?? 0, environments?.to.rawValue ?? 0,
        ]
    }
}

extension TopicService {
    /// A push type that goes to this service.
    var pushType: PushType {
        switch self {
        case .app: .alert
        case .voip: .voip
        case .complication: .complication
        case .fileProvider: .fileProvider
        case .liveActivity: .liveActivity
        case .pushToTalk: .pushToTalk
        case .location: .location
        case .widgets: .widgets
        case .controls: .controls
        }
    }
}
