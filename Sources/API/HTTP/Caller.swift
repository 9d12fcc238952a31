import Model

/// Who asks: what their key opens.
package struct Caller: Equatable, Sendable {
    /// The slug of the only app that it opens; nil: all of them.
    let app: String?
    /// That app itself: once it is deleted, another one may have its slug.
    private let appID: AppID?
    /// Of the key in the database; nil: the operator's own.
    let key: Int64?
    private let scopes: [APIScope]

    private init(scopes: [APIScope]) {
        app = nil
        appID = nil
        key = nil
        self.scopes = scopes
    }

    init(_ record: APIKeyRecord) {
        app = record.app
        appID = record.appID
        key = record.id
        scopes = record.scopes
    }

    /// Who has the operator's own key.
    static let admin = Caller(scopes: [.admin])
    /// Who needs no key.
    static let nobody = Caller(scopes: [])

    func has(_ scope: APIScope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }

    /// `admin` may grant the scope, and does not have it: nobody sees tokens who has not asked for them.
    var tokenView: TokenView { scopes.contains(.tokens) ? .whole : .masked }

    /// Whether the app that was found under the slug is the one that the key was made for.
    func check(_ found: AppID) throws(Problem) {
        guard appID == nil || appID == found else {
            throw Problem(.unauthorized, "This API key is not valid here: its app was deleted.")
        }
    }

    /// Whether it may ask this at all; what the body asks for is its handler's to look at.
    func check(_ match: EndpointMatch) throws(Problem) {
        if let app {
            guard match.endpoint.isOfApp else {
                throw Problem(.forbidden, "This key belongs to one app, and this route to all of them.")
            }
            guard match.names.first?.hasSameBytes(as: app) == true else {
                throw Problem(.forbidden, "This key belongs to another app.")
            }
        }
        guard case .scopes(let scopes, let refusal) = match.endpoint.access, !scopes.contains(where: has) else {
            return
        }
        throw refusal.map { Problem(.forbidden, $0, missing: scopes) } ?? .missingScope(scopes)
    }
}

extension Problem {
    static func missingScope(_ scopes: [APIScope]) -> Problem {
        let text = scopes.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
        return Problem(
            .forbidden, "This key has not the scope \(text). Use one that has it, or make one: POST .../keys.",
            missing: scopes)
    }
}

extension Audience.Selection {
    /// Sent to whom the sender described, rather than to whom they named.
    var isBroadcast: Bool {
        switch self {
        case .all, .tags, .filter, .stale: true
        case .installations, .users, .tokens: false
        }
    }
}
