import Model
import Requests

/// The client of a request, and what its key permits.
package struct Caller: Equatable, Sendable {
    /// The slug of the only app that the key opens; nil if it opens all of them.
    let app: String?
    /// The id of that app. Once the app is deleted, another one may have its slug.
    private let appID: AppID?
    /// The id of the key in the database; nil for the operator's own key.
    let key: Int64?
    /// The key's name, for the log; empty without a key.
    let name: String
    private let scopes: [APIScope]
    /// The token of a user of the app, in the place of a key. It has not been checked.
    let userToken: String?

    private init(scopes: [APIScope], name: String = "", userToken: String? = nil) {
        (app, appID, key, self.scopes, self.userToken, self.name) = (nil, nil, nil, scopes, userToken, name)
    }

    init(_ record: APIKeyRecord) {
        (app, appID, key, name, scopes) = (record.app, record.appID, record.id, record.name, record.scopes)
        userToken = nil
    }

    /// The name that the messages of the client show; nil for a client without a key.
    var author: String? { name.isEmpty ? nil : name }

    static let admin = Caller(scopes: [.admin], name: KeyRequest.nameOfOperatorsKey)
    static let nobody = Caller(scopes: [])
    static func user(token: String) -> Caller { Caller(scopes: [], userToken: token) }

    /// Whether the client is no user of an app and no anonymous reader.
    var hasKey: Bool { !scopes.isEmpty }

    func has(_ scope: APIScope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }

    /// The form in which the caller sees tokens. The scope `admin` may grant `tokens`, but does not include it.
    var tokenView: TokenView { scopes.contains(.tokens) ? .whole : .masked }

    /// Throws unless the app found under the slug is the one that the key was made for.
    func check(_ found: AppID) throws(Problem) {
        guard appID == nil || appID == found else {
            throw Problem(.unauthorized, "This API key is not valid here: its app was deleted.")
        }
    }

    /// Throws unless the caller may use the endpoint. The handler checks what the body asks for.
    func check(_ match: EndpointMatch) throws(Problem) {
        if let app {
            guard match.endpoint.isOfApp else {
                throw Problem(.forbidden, "This key belongs to one app, but this route concerns all apps.")
            }
            guard match.names.first?.hasSameBytes(as: app) == true else {
                throw Problem(.forbidden, "This key belongs to another app.")
            }
        }
        let (scopes, refusal): ([APIScope], String?)
        switch match.endpoint.access {
        case .open, .anyKey: return
        case .scopes(let needed, let sentence): (scopes, refusal) = (needed, sentence)
        case .reader(let scope), .owner(let scope): (scopes, refusal) = ([scope], nil)
        }
        guard !scopes.contains(where: has) else { return }
        throw refusal.map { Problem(.forbidden, $0, missing: scopes) } ?? .missingScope(scopes)
    }
}

extension Problem {
    static func missingScope(_ scopes: [APIScope]) -> Problem {
        let text = scopes.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
        return Problem(
            .forbidden, "This key lacks the scope \(text). Use a key that has it, or create one: POST .../keys.",
            missing: scopes)
    }
}
