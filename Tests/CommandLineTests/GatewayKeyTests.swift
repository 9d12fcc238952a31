import CommandLine
import Foundation
import Testing

@Suite("The API key of a command")
struct GatewayKeyTests {
    /// Writes a key as the gateway does, and removes it after the test.
    private func withDataFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("key-of-the-folder\n".utf8).write(to: folder.appending(path: "admin-key"))
        try body(folder.path(percentEncoded: false))
    }

    @Test("comes from --key-file, CARILLON_KEY, CARILLON_ADMIN_KEY and the data folder, in this order")
    func order() throws {
        try withDataFolder { folder throws in
            var environment = ["CARILLON_DATA_DIR": folder]
            #expect(try GatewayKey.read(file: nil, environment: environment) == "key-of-the-folder")
            environment["CARILLON_ADMIN_KEY"] = "key-of-the-operator"
            #expect(try GatewayKey.read(file: nil, environment: environment) == "key-of-the-operator")
            environment["CARILLON_KEY"] = "key-of-the-newsroom"
            #expect(try GatewayKey.read(file: nil, environment: environment) == "key-of-the-newsroom")
            #expect(try GatewayKey.read(file: folder + "/admin-key", environment: environment) == "key-of-the-folder")
        }
    }

    @Test("comes from the next place if a variable is empty")
    func emptyVariables() throws {
        try withDataFolder { folder throws in
            let environment = ["CARILLON_DATA_DIR": folder, "CARILLON_KEY": "", "CARILLON_ADMIN_KEY": ""]
            #expect(try GatewayKey.read(file: nil, environment: environment) == "key-of-the-folder")
        }
    }

    private static let stranger: uid_t = 65_534

    @Test("comes from a folder behind a link of the caller's, and from none behind another user's")
    func linkedFolder() throws {
        try withDataFolder { folder throws in
            for (place, destination) in [folder, ".", "link-0"].enumerated() {
                let link = folder + "/link-\(place)"
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: destination)
                for path in [link, link + "/"] {
                    let key = try GatewayKey.read(file: nil, environment: ["CARILLON_DATA_DIR": path])
                    #expect(key == "key-of-the-folder")
                }
            }
            // Only root can make links of other users.
            guard geteuid() == 0 else { return }
            #expect(unsafe lchown(folder + "/link-0", Self.stranger, Self.stranger) == 0)
            for link in [folder + "/link-0", folder + "/link-0/", folder + "/link-2"] {
                let fault = #expect(throws: CommandFault.self) {
                    try GatewayKey.read(file: nil, environment: ["CARILLON_DATA_DIR": link])
                }
                #expect(fault?.description.contains("symbolic link of another user") == true)
                #expect(fault?.description.contains("--key-file") == true)
            }
        }
    }

    @Test("comes from no other user's folder, except the installed service's", .enabled(if: geteuid() == 0))
    func foreignFolder() throws {
        try withDataFolder { folder throws in
            let environment = ["CARILLON_DATA_DIR": folder]
            #expect(unsafe chown(folder, Self.stranger, Self.stranger) == 0)
            let fault = #expect(throws: CommandFault.self) {
                try GatewayKey.read(file: nil, environment: environment)
            }
            #expect(fault?.description.contains("belongs to another user") == true)
            let service = PackagedService(dataFolder: folder, settingsFile: "/nowhere")
            let key = "key-of-the-folder"
            #expect(try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service) == key)
            // A second name of a file of root's is not the service's key.
            try FileManager.default.linkItem(atPath: folder + "/admin-key", toPath: folder + "/of-root")
            #expect(throws: CommandFault.self) {
                try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service)
            }
            #expect(unsafe chown(folder + "/admin-key", Self.stranger, Self.stranger) == 0)
            #expect(try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service) == key)
        }
    }

    @Test("can be given in three ways, which the error for a missing key lists")
    func missing() {
        let fault = #expect(throws: CommandFault.self) {
            try GatewayKey.read(file: nil, environment: ["CARILLON_DATA_DIR": "/nowhere"])
        }
        #expect(fault?.kind == .noPermission)
        for way in ["CARILLON_KEY", "CARILLON_ADMIN_KEY", "--key-file", "/nowhere/admin-key"] {
            #expect(fault?.description.contains(way) == true, "\(way)")
        }
    }
}
