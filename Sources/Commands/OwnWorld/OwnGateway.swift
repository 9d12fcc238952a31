import Foundation

/// A gateway that the command started, with a PostgreSQL of its own; it sends to stand-ins.
struct OwnGateway: Sendable {
    let client: GatewayClient
    let keyFile: String

    init(_ folder: OwnFolder, _ standIns: OwnStandIns, port: UInt16, _ children: ChildPrograms) async throws {
        var environment = [
            "CARILLON_DATA_DIR": folder.file("gateway"), "CARILLON_PROVIDER_CA_FILE": standIns.authorityFile,
            "CARILLON_APNS_PRODUCTION_URL": standIns.production, "CARILLON_APNS_SANDBOX_URL": standIns.sandbox,
            "CARILLON_FCM_URL": standIns.fcm,
            // The stand-in's OAuth is on this machine.
            "CARILLON_ALLOW_PRIVATE_TARGETS": "true",
        ]
        let ready = "carillon is ready on "
        var lastWords = ""
        for attempt in [port, 0] {
            environment["CARILLON_LISTEN"] = "127.0.0.1:\(attempt)"
            let child = try children.start("gateway", ["serve"], environment, in: folder)
            let line = try await children.wait(for: child) { () -> String? in
                let text = (try? String(contentsOfFile: child.output, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").first { $0.hasPrefix(ready) }.map(String.init)
            }
            guard let line else {
                lastWords = child.lastWords
                continue
            }
            keyFile = folder.file("gateway") + "/admin-key"
            let key = try text(ofFile: keyFile).prefix { !$0.isNewline }
            client = GatewayClient(base: String(line.dropFirst(ready.count)), key: String(key))
            return
        }
        throw CommandFault(.failed, "the gateway ended: \(lastWords)")
    }
}
