import Encodings
import Foundation
import Glibc
import JSON
import TestSupport
import Testing

/// An APNs server as a separate process, `carillon simulate`, which can be killed and restarted at the same address.
final class StandInProgram {
    let url: String
    var authority: String { folder.appending(path: "ca.pem").path(percentEncoded: false) }
    private let folder: URL
    private let port: UInt16
    private var program: Program

    private init(folder: URL, port: UInt16) throws {
        self.folder = folder
        self.port = port
        url = "https://localhost:\(port)"
        program = try Self.program(folder, port)
    }

    static func within(_ body: (StandInProgram) async throws -> Void) async throws {
        try await TestFolder.within { folder in
            let standIn = try StandInProgram(folder: folder, port: StandIn.freePort())
            try await standIn.listens()
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body(standIn)) } catch { outcome = .failure(error) }
            standIn.program.kill(SIGKILL)
            _ = try await standIn.program.end()
            try outcome.get()
        }
    }

    private static func program(_ folder: URL, _ port: UInt16) throws -> Program {
        let arguments = [
            "simulate", "--identity-dir", folder.path(percentEncoded: false), "--keep-identity", "--port", "\(port)",
            "--record", folder.appending(path: "pushes.ndjson").path(percentEncoded: false),
        ]
        return try Program(arguments, settings: [:], logs: folder)
    }

    private func listens() async throws { _ = try await program.line(beginningWith: "carillon simulates FCM on ") }

    /// Kills it as the kernel does when it runs out of memory.
    func kill() async throws {
        program.kill(SIGKILL)
        #expect(try await program.end() == .killed(signal: SIGKILL))
    }

    func startAgain() async throws {
        program = try Self.program(folder, port)
        try await listens()
    }

    /// A push that it answered in any of its lives: it writes each push to the file before it answers.
    struct Push {
        let token: String
        let status: Int
        let id: String
        let badge: Int64?
    }

    func pushes() throws -> [Push] {
        let text = try String(contentsOf: folder.appending(path: "pushes.ndjson"), encoding: .utf8)
        // The last line may be incomplete if it was killed.
        return text.split(separator: "\n").compactMap { line in
            guard let push = try? JSONReader.read(Array(line.utf8)).object, let token = push["token"]?.string,
                let status = push["status"]?.integer, let id = push["apns_id"]?.string
            else { return nil }
            return Push(
                token: token, status: Int(status), id: id,
                badge: push["payload"]?.object?["aps"]?.object?["badge"]?.integer)
        }
    }

    /// Waits until it has answered this many.
    func answered(atLeast count: Int) async throws {
        let file = folder.appending(path: "pushes.ndjson")
        try await eventually("\(count) pushes at the stand-in") {
            (try? Data(contentsOf: file))?.count { $0 == UInt8(ascii: "\n") } ?? 0 >= count
        }
    }

    /// The receipts of one message that raised the badge of its devices by one.
    func receipts(of devices: [Device]) throws -> Receipts {
        let pushes = Dictionary(grouping: try pushes().filter { $0.status == 200 }, by: \.token)
        var receipts = Receipts()
        for device in devices {
            guard let own = pushes[device.token], let first = own.first else {
                receipts.missing += 1
                continue
            }
            receipts.reached += 1
            receipts.repeats += own.count - 1
            if own.contains(where: { $0.id != first.id }) { receipts.severalIDs += 1 }
            if own.contains(where: { $0.badge != Int64(device.badge + 1) }) { receipts.wrongBadges += 1 }
        }
        return receipts
    }
}
