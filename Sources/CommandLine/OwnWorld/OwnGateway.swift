import Foundation

/// A gateway that the command started, with a PostgreSQL of its own. It sends to stand-ins.
package struct OwnGateway: Sendable {
    package let client: GatewayClient
    package let keyFile: String
    package let process: Int32
    private let dataFolder: String

    /// - Parameters:
    ///   - data: the name of its data folder; the data of an earlier run is used again.
    ///   - settings: further settings, by their variables.
    package init(
        _ folder: OwnFolder, _ standIns: OwnStandIns, port: UInt16, _ children: ChildPrograms, data: String = "gateway",
        settings: [String: String] = [:]
    ) async throws { try await self.init(folder, standIns, port: port, children, data: data, key: nil, settings) }

    /// Starts a second process on the same database; it ends with the first.
    package init(beside first: OwnGateway, _ folder: OwnFolder, _ standIns: OwnStandIns, _ children: ChildPrograms)
        async throws
    {
        try await self.init(
            folder, standIns, port: 0, children, data: "second-gateway", key: first.keyFile,
            try first.settings(ofDatabase: "carillon"))
    }

    /// The settings of another program of ours that works on a database of this gateway's PostgreSQL.
    package func settings(ofDatabase name: String) throws(CommandFault) -> [String: String] {
        guard let socket = databaseSocketFolder else {
            throw CommandFault(.failed, "the gateway's PostgreSQL has ended")
        }
        let host = socket.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? socket
        return [
            "CARILLON_DATABASE_URL": "postgresql://carillon@\(host)/\(name)",
            "CARILLON_ADMIN_KEY": try text(ofFile: keyFile).filter { !$0.isNewline },
            "CARILLON_MASTER_KEY_FILE": dataFolder + "/master-key",
        ]
    }

    /// - Parameter key: the file of the admin key; nil: the gateway makes it.
    private init(
        _ folder: OwnFolder, _ standIns: OwnStandIns, port: UInt16, _ children: ChildPrograms, data: String,
        key: String?, _ more: [String: String]
    ) async throws {
        var environment = [
            "CARILLON_DATA_DIR": folder.file(data), "CARILLON_PROVIDER_CA_FILE": standIns.authorityFile,
            "CARILLON_APNS_PRODUCTION_URL": standIns.production, "CARILLON_APNS_SANDBOX_URL": standIns.sandbox,
            "CARILLON_FCM_URL": standIns.fcm,
            // The stand-in's OAuth is on this machine.
            "CARILLON_ALLOW_PRIVATE_TARGETS": "true",
        ].merging(more) { _, own in own }
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

    /// The process id of its private PostgreSQL: the first line of `postmaster.pid`.
    package var databaseProcess: Int32? { databaseLine(1).flatMap { Int32($0) } }

    /// The folder of that server's socket: the fifth line.
    package var databaseSocketFolder: String? { databaseLine(5) }

    private func databaseLine(_ number: Int) -> String? {
        let lines = try? text(ofFile: dataFolder + "/postgres/postmaster.pid")
            .split(separator: "\n", omittingEmptySubsequences: false)
        return lines.flatMap { $0.count >= number ? String($0[number - 1]) : nil }
    }
}
