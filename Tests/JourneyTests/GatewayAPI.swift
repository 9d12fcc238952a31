import Foundation
import FoundationNetworking
import TestSupport

/// A gateway's HTTP API as a backend calls it. Every answer is a value; a caller that needs a certain status checks it.
struct GatewayAPI: Sendable {
    let base: URL
    let key: String

    struct Reply {
        let status: Int
        let retryAfter: String?
        let body: Data

        var text: String { String(decoding: body, as: UTF8.self) }

        func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(type, from: body)
        }
    }

    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 300
        configuration.httpMaximumConnectionsPerHost = 8
        return URLSession(configuration: configuration)
    }()

    /// - Throws: if no answer came.
    func call(
        _ method: String, _ path: String, _ body: String? = nil, contentType: String = "application/json",
        idempotencyKey: String? = nil, isAnonymous: Bool = false
    ) async throws -> Reply {
        guard let url = URL(string: path, relativeTo: base) else { throw UnexpectedAnswer(description: "no URL") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        if !isAnonymous { request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
        if let idempotencyKey { request.setValue(idempotencyKey, forHTTPHeaderField: "Idempotency-Key") }
        if let body {
            request.httpBody = Data(body.utf8)
            request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await Self.session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw UnexpectedAnswer(description: "no answer") }
        let reply = Reply(
            status: response.statusCode, retryAfter: response.value(forHTTPHeaderField: "Retry-After"), body: data)
        if let body { RunEvidence.secrets(Self.tokens(in: body)) }
        if path.hasSuffix("/keys"), let made = try? reply.decoded(MadeKey.self) { RunEvidence.secrets([made.key]) }
        return reply
    }

    private struct MadeKey: Decodable { let key: String }

    /// The beginnings of the tokens in a body. Many tokens of these tests share one, and hardly any other text has it.
    private static func tokens(in body: String) -> [String] {
        let parts = body.replacing("\"token\":\"", with: "\"token\": \"").components(separatedBy: "\"token\": \"")
        return parts.dropFirst().map { String($0.prefix { $0 != "\"" }.prefix(24)) }
    }

    @discardableResult
    func expect(
        _ status: Int, _ method: String, _ path: String, _ body: String? = nil,
        contentType: String = "application/json", isAnonymous: Bool = false
    ) async throws -> Reply {
        let reply = try await call(method, path, body, contentType: contentType, isAnonymous: isAnonymous)
        guard reply.status == status else {
            throw UnexpectedAnswer(description: "\(method) \(path): \(reply.status), not \(status): \(reply.text)")
        }
        return reply
    }
}

struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String
}

/// A message's account in the API.
struct Account: Decodable, Equatable {
    struct Reason: Decodable, Equatable {
        let outcome: String
        let reason: String
        let count: Int
    }

    let id: String
    let state: String
    let audience: Int?
    let outcomes: [String: Int]
    let pending: Int
    let reasons: [Reason]?

    /// P2: the sums agree, whatever the outcome was.
    var addsUp: Bool {
        state == "finished" && pending == 0 && audience == outcomes.values.reduce(0, +)
    }

    /// The terminal states with a count above zero.
    var terminalCounts: [String: Int] { outcomes.filter { $0.value != 0 } }
}
