import Basis
import Model
import Postgres
import Store
import TriggerRules

/// An item as a transaction of pushes reads it.
struct StoredItem: Sendable {
    let id: Int64
    let app: Int64
    let name: String
    let state: ItemState
    let updatedAt: WallInstant

    /// Reads a row of `ItemPushSQL.items`.
    init(_ row: inout Row) throws(PostgresError) {
        (id, app, name) = (try row.int64(), try row.int64(), try row.text())
        let (seq, names) = (try row.int64(), try row.textArray())
        let texts = try row.optionalTextArray()
        let seqs = try row.int64Array()
        guard texts.count == names.count, seqs.count == names.count else {
            throw .unexpectedShape(statement: ItemPushSQL.items.name, column: 5)
        }
        let fields = names.indices.map { ItemState.Field(name: names[$0], text: texts[$0], seq: seqs[$0]) }
        state = ItemState(seq: seq, fields: fields)
        updatedAt = try row.instant()
    }
}

/// An app's settings, as far as pushes of its items need them.
struct PushApp: Sendable {
    let id: Int64
    /// Whether subscriptions to items are on, and the app was not deleted.
    let isEnabled: Bool
    let pauseSeconds: Int32
    let hasQuietHours: Bool

    init(_ row: inout Row) throws(PostgresError) {
        (id, isEnabled) = (try row.int64(), try row.bool())
        (pauseSeconds, hasQuietHours) = (try row.int32(), try row.bool())
    }

    /// The settings of apps, by their ids.
    static func all(in rows: ResultSet) throws(PostgresError) -> [Int64: PushApp] {
        Dictionary(try rows.map(PushApp.init).map { ($0.id, $0) }) { first, _ in first }
    }
}

/// The terms of a subscription that its push depends on.
struct PushTerms: Sendable {
    let template: Int64
    let fields: [String]
    let mode: UpdateMode
    /// Whether a person sees the push.
    let isShown: Bool
    let isExpired: Bool
    private let pauseSeconds: Int32?
    private let whenPaused: WhenPaused

    /// Reads seven columns.
    init(_ row: inout Row) throws(PostgresError) {
        (template, fields) = (try row.int64(), try row.textArray())
        let mode: Stored<UpdateMode> = try row.stored()
        self.mode = mode.value
        pauseSeconds = try row.int32OrNil()
        let whenPaused: Stored<WhenPaused> = try row.stored()
        self.whenPaused = whenPaused.value
        (isShown, isExpired) = (try row.bool(), try row.bool())
    }

    func push(isTriggered: Bool, in app: PushApp) -> ItemPush {
        let pause = Duration.seconds(pauseSeconds ?? app.pauseSeconds)
        return ItemPush(
            isTriggered: isTriggered, pause: min(max(pause, .zero), ItemPush.pauseMax), whenPaused: whenPaused)
    }
}

/// The device of a subscription.
struct PushDevice: Sendable {
    let registration: Int64
    let provider: Provider
    let isRetired: Bool
    private let route: Int64

    /// Reads three columns behind the registration.
    init(_ registration: Int64, _ row: inout Row) throws(PostgresError) {
        self.registration = registration
        (route, provider) = (try row.int64(), try row.stored())
        let state = try row.int16()
        isRetired = state == RegistrationState.retired.rawValue
    }

    var member: Member { Member(id: registration, route: route) }
}
