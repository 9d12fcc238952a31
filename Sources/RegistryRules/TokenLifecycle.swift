import Basis
import Model

/// What a registration, and what a provider's word, do to a stored registration (P5).
///
/// The registry's SQL and the simulated store both follow these decisions; races are theirs to settle (row locks,
/// compare-and-set), the meaning stands here.
package enum TokenLifecycle {
    /// Decides one registration.
    ///
    /// - Parameters:
    ///   - existing: the row of the same installation and kind, if there is one.
    ///   - holder: another live row of the app that has the incoming token.
    ///   - incoming: what the backend says, with the route that it names. Without a time it is of just now, whatever
    ///     clock wrote what is stored. With one it is stale where its own row, or the holder of its token, is known from
    ///     later: a backup that is imported undoes no registration of today.
    package static func register(
        existing: StoredRegistration?, holder: StoredRegistration?, incoming: IncomingRegistration
    ) -> RegistrationDecision {
        if let learned = incoming.registration.asOf, let status = existing ?? holder,
            [existing, holder].contains(where: { $0?.asOf.map { learned < $0 } ?? false })
        {
            return RegistrationDecision(change: .stale, row: status, isWideRowChanged: false, formerHolder: nil)
        }
        guard let existing else {
            let row = StoredRegistration(creating: incoming)
            return RegistrationDecision(
                change: holder == nil ? .created : .moved, row: row, isWideRowChanged: true,
                formerHolder: holder?.lostToken)
        }
        let row = existing.merged(with: incoming)
        return RegistrationDecision(
            change: change(from: existing, to: row, holder: holder), row: row,
            isWideRowChanged: !row.hasSameWideRow(as: existing) || incoming.registration.attributes != .keep,
            formerHolder: holder?.lostToken, liftsSuspicion: existing.state == .suspected,
            replacedGeneration: row.hasSameToken(as: existing) ? nil : existing.generation)
    }

    private static func change(
        from existing: StoredRegistration, to row: StoredRegistration, holder: StoredRegistration?
    ) -> RegistrationChange {
        if holder != nil { return .moved }
        if !row.hasSameToken(as: existing) { return .replaced }
        return row.hasSameWideRow(as: existing) ? .unchanged : .refreshed
    }
}

/// A registration together with the route that it names.
package struct IncomingRegistration: Equatable, Sendable {
    /// `attributes` is `.keep` where the same ones are stored already: only the database knows when two are the same.
    package var registration: DeviceRegistration
    package let route: RouteID

    package init(registration: DeviceRegistration, route: RouteID) {
        self.registration = registration
        self.route = route
    }
}

/// The columns of a stored registration that decisions look at.
package struct StoredRegistration: Equatable, Sendable {
    /// nil: not written yet.
    package var id: RegistrationID?
    package var installation: String
    package var kind: TokenKind
    package var route: RouteID
    package var provider: Provider
    package var token: DeviceToken
    package var state: RegistrationState
    package var generation: TokenGeneration
    package var user: String?
    package var locale: String?
    package var timeZone: String?
    package var appVersion: String?
    package var tags: [String]
    /// From when what is stored is known: when it was registered, or when the backend said to have learned it, whichever
    /// is later. nil: not read, since nothing incoming has a time.
    package var asOf: WallInstant?
    /// Set where this generation of the token was found in the other environment: the route that was named, and where
    /// the provider doesn't know it.
    package var mistakenRoute: RouteID?

    package init(
        id: RegistrationID?, installation: String, kind: TokenKind, route: RouteID, provider: Provider,
        token: DeviceToken, state: RegistrationState, generation: TokenGeneration, user: String?, locale: String?,
        timeZone: String?, appVersion: String?, tags: [String], asOf: WallInstant?, mistakenRoute: RouteID? = nil
    ) {
        self.id = id
        self.installation = installation
        self.kind = kind
        self.route = route
        self.provider = provider
        self.token = token
        self.state = state
        self.generation = generation
        self.user = user
        self.locale = locale
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.tags = tags
        self.asOf = asOf
        self.mistakenRoute = mistakenRoute
    }

    init(creating incoming: IncomingRegistration) {
        let input = incoming.registration
        self.init(
            id: nil, installation: input.installation, kind: input.kind, route: incoming.route,
            provider: input.provider,
            token: input.token, state: .active, generation: TokenGeneration(1), user: input.user.applied(to: nil),
            locale: input.locale.applied(to: nil), timeZone: input.timeZone.applied(to: nil),
            appVersion: input.appVersion.applied(to: nil), tags: input.tags.applied(to: []) ?? [], asOf: input.asOf)
    }

    /// The token as the provider knows it. Tokens of two providers may be equal by chance.
    package func hasSameToken(as other: StoredRegistration) -> Bool {
        provider == other.provider && token == other.token
    }

    func hasSameWideRow(as other: StoredRegistration) -> Bool {
        var copy = self
        // The one column that is not in the wide row.
        copy.asOf = other.asOf
        return copy == other
    }

    /// The row after its app said so. Registering again makes a doubted or retired token live: the app just got it
    /// from the provider.
    func merged(with incoming: IncomingRegistration) -> StoredRegistration {
        let input = incoming.registration
        var row = self
        row.provider = input.provider
        row.token = input.token
        // An app says the same at each of its starts; the provider knows better.
        let isMistaken = row.hasSameToken(as: self) && incoming.route == mistakenRoute
        row.route = isMistaken ? route : incoming.route
        row.state = .active
        row.user = input.user.applied(to: user)
        row.locale = input.locale.applied(to: locale)
        row.timeZone = input.timeZone.applied(to: timeZone)
        row.appVersion = input.appVersion.applied(to: appVersion)
        row.tags = input.tags.applied(to: tags) ?? []
        row.asOf = input.asOf ?? asOf
        // An answer from the old route (the wrong environment, say) must not judge the token on the new one either.
        if !row.hasSameToken(as: self) || row.route != route { row.beginGeneration(generation.next) }
        return row
    }

    /// What is left of a row whose token lives elsewhere now: kept, so that its installation stays known.
    var lostToken: StoredRegistration {
        var row = self
        row.state = .retired
        row.beginGeneration(generation.next)
        return row
    }

    /// What was found out about the one before says nothing about this one.
    package mutating func beginGeneration(_ next: TokenGeneration) {
        generation = next
        mistakenRoute = nil
    }
}

/// What is to be written for one registration.
package struct RegistrationDecision: Equatable, Sendable {
    package let change: RegistrationChange
    /// The row as it is to be. Where stale, the row as it stands; the holder's where there is none.
    package let row: StoredRegistration
    /// Otherwise only the registration time is written (and that not where stale).
    package let isWideRowChanged: Bool
    /// The row that lost the token, as it is to be: retired, with feedback `moved`.
    package let formerHolder: StoredRegistration?
    /// A doubt about the token is to be forgotten.
    package let liftsSuspicion: Bool
    /// Set where another token took its place, with feedback `replaced` about that generation.
    package let replacedGeneration: TokenGeneration?

    package init(
        change: RegistrationChange, row: StoredRegistration, isWideRowChanged: Bool,
        formerHolder: StoredRegistration?, liftsSuspicion: Bool = false, replacedGeneration: TokenGeneration? = nil
    ) {
        self.change = change
        self.row = row
        self.isWideRowChanged = isWideRowChanged
        self.formerHolder = formerHolder
        self.liftsSuspicion = liftsSuspicion
        self.replacedGeneration = replacedGeneration
    }
}

extension TokenGeneration {
    package var next: TokenGeneration { TokenGeneration(value &+ 1) }
}

extension DeviceRegistration.Change {
    package func applied(to stored: Value?) -> Value? {
        switch self {
        case .keep: stored
        case .clear: nil
        case .set(let value): value
        }
    }
}
