import JSON
import Signing
import Testing

/// An app whose items devices subscribe to, and users with tokens.
enum ItemApp {
    static let path = "/v1/apps/tower"
    static let anyTrigger = #""allow": [".*"]"#
    static let openHooks = #""hooks": {"device": true, "activation": true, "token": true}"#
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)

    /// - Parameter settings: members of the app's `triggers` beside `enabled`.
    static func with(
        _ settings: String = "\(anyTrigger), \(openHooks)", _ body: (GatewayWorld) async throws -> Void
    ) async throws {
        try await withGateway { world in
            try await world.makeApp()
            try await world.expect(200, "PATCH", path, #"{"triggers": {"enabled": true, \#(settings)}}"#)
            let key = ServedWakeUpTests.base64(secret)
            try await world.expect(
                201, "POST", path + "/user-keys", #"{"kid": "main", "algorithm": "HS256", "key": "\#(key)"}"#)
            try await body(world)
        }
    }

    /// The token of a user, signed with HS256.
    static func token(of user: String, _ claims: String = "") throws -> String {
        let parts = [#"{"alg":"HS256","kid":"main"}"#, #"{"sub":"\#(user)"\#(claims)}"#].map {
            ServedWakeUpTests.base64(Array($0.utf8))
        }
        let signed = parts.joined(separator: ".")
        return signed + "." + ServedWakeUpTests.base64(try HS256Key(secret: secret).sign(Array(signed.utf8)))
    }

    static func device(_ name: String) -> String { "\(path)/devices/\(name)" }
    static func subscriptions(_ device: String = "phone") -> String { self.device(device) + "/subscriptions" }

    static func registration(_ token: String, _ members: String = "") -> String {
        #"{"provider": "fcm", "token": "\#(token)"\#(members)}"#
    }

    /// The body of an activation.
    static func activation(_ members: String = "") -> String {
        #"{"items": ["anduct"], "fields": ["stock_name", "last_price"], "#
            + #""notification": {"body": "Stock ${stock_name} is now ${last_price}"}\#(members)}"#
    }
}

extension GatewayWorld {
    /// Sends a request with a key or a user's token, which must get this status and, if it is refused, this code.
    @discardableResult
    func expect(
        _ status: Int, _ code: String? = nil, as token: String, _ method: String, _ path: String, _ body: String? = nil,
        headers: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> WireReply {
        let reply = try await call(method, path, body, key: token, headers: headers, sourceLocation: sourceLocation)
        #expect(reply.status == status, "\(method) \(path): \(reply.text)", sourceLocation: sourceLocation)
        if let code { #expect(try reply.member("code")?.string == code, sourceLocation: sourceLocation) }
        return reply
    }

    /// Makes a key of the app with one scope.
    func key(scope: String) async throws -> String {
        let made = try await expect(
            201, "POST", ItemApp.path + "/keys", #"{"name": "\#(scope)", "scopes": ["\#(scope)"]}"#)
        return try #require(try made.json()["key"]?.string)
    }
}
