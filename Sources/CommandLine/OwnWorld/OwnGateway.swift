import Foundation

/// A gateway that the command started, with a PostgreSQL of its own. It sends to stand-ins.
package struct OwnGateway: Sendable {
    package let client: GatewayClient
    package let keyFile: String
    package let process: Int32
    package let dataFolder: String

    /// - Parameters:
    ///   - data: the name of its data folder; the data of an earlier run is used again.
    ///   - key: the file of the admin key; nil: the gateway makes it.
    package init(
        _ folder: OwnFolder, _ standIns: OwnStandIns, port: UInt16, _ children: ChildPrograms, data: String = "gateway",
        key: String? = nil, settings: [String: String] = [:]
    ) async throws {
        var environment = [
            "CARILLON_DATA_DIR": folder.file(data), "CARILLON_PROVIDER_CA_FILE": standIns.authorityFile,
            "CARILLON_APNS_PRODUCTION_URL": standIns.production, "CARILLON_APNS_SANDBOX_URL": standIns.sandbox,
            "CARILLON_FCM_URL": standIns.fcm,
            // The stand-in's OAuth is on this machine.
            "CARILLON_ALLOW_PRIVATE_TARGETS": "true",
        ].merging(settings) { _, own in own }
        dataFolder = folder.file(data)
        let ready = "carillon is ready on "
        var lastOutput = ""
        for attempt in key == nil ? [port, 0] : [0] {
            environment["CARILLON_LISTEN"] = "127.0.0.1:\(attempt)"
            let child = try children.start(key == nil ? "gateway" : data, ["serve"], environment, in: folder)
            let line = try await children.wait(for: child) { () -> String? in
                let text = (try? String(contentsOfFile: child.output, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").first { $0.hasPrefix(ready) }.map(String.init)
            }
            guard let line else {
                lastOutput = child.lastOutput
                children.forget(child)
                continue
            }
            keyFile = key ?? folder.file(data) + "/admin-key"
            process = child.process.id
            let key = try text(ofFile: keyFile).prefix { !$0.isNewline }
            client = GatewayClient(base: String(line.dropFirst(ready.count)), key: String(key))
            return
        }
        throw CommandFault(.failed, "the gateway ended: \(lastOutput)")
    }
}
