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
