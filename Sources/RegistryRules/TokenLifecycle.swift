import Basis
import Model

/// The effects of a registration, and of a provider's verdict, on a stored registration (P5).
///
/// The registry's SQL and the simulated store follow these decisions, and handle races themselves.
package enum TokenLifecycle {
    /// Decides one registration.
    ///
    /// - Parameters:
    ///   - existing: the row of the same installation and kind, if there is one.
    ///   - holder: another live row of the app that has the incoming token.
    ///   - incoming: the backend's input, with the route that it names. Without a time it dates from now, whatever
    ///     clock wrote the stored row. With a time it is stale if its own row, or the holder's, is known from later: an
    ///     imported backup undoes no registration of today. With a claimant it is stale if one of the two is not the
    ///     claimant's.
    package static func register(
        existing: StoredRegistration?, holder: StoredRegistration?, incoming: IncomingRegistration
    ) -> RegistrationDecision {
        if let status = existing ?? holder,
            [existing, holder].contains(where: { $0?.outweighs(incoming.registration) ?? false })
        {
            return RegistrationDecision(
                change: .stale, row: status, isWideRowChanged: false, formerHolder: nil, liftsSuspicion: false,
                replacedGeneration: nil)
        }
        guard let existing else {
            let row = StoredRegistration(creating: incoming)
            return RegistrationDecision(
                change: holder == nil ? .created : .moved, row: row, isWideRowChanged: true,
                formerHolder: holder?.lostToken, liftsSuspicion: false, replacedGeneration: nil)
        }
        let row = existing.merged(with: incoming)
        return RegistrationDecision(
            change: change(from: existing, to: row, holder: holder), row: row,
            isWideRowChanged: !row.hasSameWideRow(as: existing) || incoming.registration.profile.attributes != .keep,
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

package struct IncomingRegistration: Equatable, Sendable {
    /// Its attributes are `.keep` if the same ones are stored already: only the database knows when two are equal.
    package var registration: DeviceRegistration
    package let route: RouteID

    package init(registration: DeviceRegistration, route: RouteID) {
        (self.registration, self.route) = (registration, route)
    }
}

/// The columns of a stored registration that decisions read.
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
    package var profile: RegistrationProfile
    /// From when the stored data is known, by registration or backend; nil: not read, as no incoming one has a time.
    package var asOf: WallInstant?
    /// The named route, if this generation was found in the sibling environment: there the token is unknown.
    package var mistakenRoute: RouteID?
    /// Whether a backend has registered it; false: only users themselves have.
    package var isBackends: Bool

    package init(
        id: RegistrationID?, installation: String, kind: TokenKind, route: RouteID, provider: Provider,
        token: DeviceToken, state: RegistrationState, generation: TokenGeneration, profile: RegistrationProfile,
        asOf: WallInstant?, mistakenRoute: RouteID? = nil, isBackends: Bool = true
    ) {
        (self.id, self.installation, self.kind, self.route) = (id, installation, kind, route)
        (self.provider, self.token, self.state, self.generation) = (provider, token, state, generation)
        (self.profile, self.asOf, self.mistakenRoute) = (profile, asOf, mistakenRoute)
        self.isBackends = isBackends
    }

    init(creating incoming: IncomingRegistration) {
        let input = incoming.registration
        self.init(
            id: nil, installation: input.installation, kind: input.kind, route: incoming.route,
            provider: input.provider, token: input.token, state: .active, generation: TokenGeneration(1),
            profile: RegistrationProfile().changed(by: input.profile), asOf: input.asOf,
            isBackends: input.claimant == nil)
    }

    /// True if the provider sees the same token. Tokens of two providers may be equal by chance.
    package func hasSameToken(as other: StoredRegistration) -> Bool {
        provider == other.provider && token == other.token
    }

    /// Whether the registration must not change the row, or take its token.
    fileprivate func outweighs(_ registration: DeviceRegistration) -> Bool {
        if let learned = registration.asOf, let asOf, learned < asOf { return true }
        // Anybody with the token may have subscribed it to a data tree, which gives nobody a right to it.
        guard let claimant = registration.claimant, kind != .wakeUp else { return false }
        return !(profile[.user]?.hasSameBytes(as: claimant) ?? false)
    }

    func hasSameWideRow(as other: StoredRegistration) -> Bool {
        var copy = self
        // `asOf` is the one column outside the wide row.
        copy.asOf = other.asOf
        return copy == other
    }

    /// The row after its app registered again, which revives a suspected or retired token.
    func merged(with incoming: IncomingRegistration) -> StoredRegistration {
        let input = incoming.registration
        var row = self
        row.provider = input.provider
        row.token = input.token
        // An app repeats the wrong route at each of its starts; the provider knows better.
        let isMistaken = row.hasSameToken(as: self) && incoming.route == mistakenRoute
        row.route = isMistaken ? route : incoming.route
        row.state = .active
        row.profile = profile.changed(by: input.profile)
        row.asOf = input.asOf ?? asOf
        if input.claimant == nil { row.isBackends = true }
        // An answer from the old route (the wrong environment, for example) must not judge the token on the new one.
        if !row.hasSameToken(as: self) || row.route != route { row.beginGeneration(generation.next) }
        return row
    }

    /// The row after its token moved to another registration. It is kept so that its installation stays known.
    var lostToken: StoredRegistration {
        var row = self
        row.state = .retired
        row.beginGeneration(generation.next)
        return row
    }

    /// Starts a new generation. Findings about the old one say nothing about it.
    package mutating func beginGeneration(_ next: TokenGeneration) {
        generation = next
        mistakenRoute = nil
    }
}

/// The result for one registration: what must be written.
package struct RegistrationDecision: Equatable, Sendable {
    package let change: RegistrationChange
    /// The row to write. If stale, the stored row, or the holder's if there is none.
    package let row: StoredRegistration
    /// If false, only the registration time is written, and not even that if stale.
    package let isWideRowChanged: Bool
    /// The row that lost the token, as it must become: retired, with feedback `moved`.
    package let formerHolder: StoredRegistration?
    package let liftsSuspicion: Bool
    /// Set if another token replaced this generation, with feedback `replaced` about it.
    package let replacedGeneration: TokenGeneration?
}

extension TokenGeneration {
    package var next: TokenGeneration { TokenGeneration(value &+ 1) }
}
