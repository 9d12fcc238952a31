import Foundation
import FoundationNetworking

/// An answer of the gateway's HTTP API.
struct HTTPReply {
    let status: Int
    let body: Data

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: body)
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// No answer came: the gateway died or did not run.
struct NoAnswer: Error {}

/// Calls one gateway. Every answer is a value; a caller that needs a certain status checks it.
struct HTTPCaller: Sendable {
    let base: URL
    let key: String

    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 120
        configuration.httpMaximumConnectionsPerHost = 8
        return URLSession(configuration: configuration)
    }()

    func call(
        _ method: String, _ path: String, _ body: String? = nil, contentType: String = "application/json",
        idempotencyKey: String? = nil
    ) async throws -> HTTPReply {
        guard let url = URL(string: path, relativeTo: base) else { throw NoAnswer() }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        if let body {
            request.httpBody = Data(body.utf8)
            request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        }
        if let idempotencyKey { request.setValue(idempotencyKey, forHTTPHeaderField: "Idempotency-Key") }
        do {
            let (data, response) = try await Self.session.data(for: request)
            guard let response = response as? HTTPURLResponse else { throw NoAnswer() }
            return HTTPReply(status: response.statusCode, body: data)
        } catch {
            throw NoAnswer()
        }
    }

    func expect(
        _ status: Int, _ method: String, _ path: String, _ body: String? = nil,
        contentType: String = "application/json",
        idempotencyKey: String? = nil
    ) async throws -> HTTPReply {
        let reply = try await call(method, path, body, contentType: contentType, idempotencyKey: idempotencyKey)
        guard (200..<300).contains(status) == (200..<300).contains(reply.status), reply.status == status else {
            throw UnexpectedStatus(
                description: "\(method) \(path): \(reply.status) instead of \(status): \(reply.text)")
        }
        return reply
    }
}

struct UnexpectedStatus: Error, CustomStringConvertible {
    let description: String
}
