import CommandLine
import Foundation
import Testing

@Suite("The installed service")
struct PackagedServiceTests {
    /// Makes a service's files as the package does, and removes them after the test.
    private func withService(_ settings: String, _ body: (PackagedService) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "settings.env")
        try Data(settings.utf8).write(to: file)
        try body(
            PackagedService(
                dataFolder: folder.path(percentEncoded: false), settingsFile: file.path(percentEncoded: false)))
    }

    @Test("has the settings that systemd reads in its file")
    func settings() {
        let text = """
            # The address.
            ; Another comment.
            CARILLON_LISTEN=0.0.0.0:8443

              CARILLON_TLS_KEY = /etc/carillon/a key.pem
            CARILLON_ADMIN_KEY="with=signs#and;more"
            CARILLON_LOG_FORMAT='json'
            CARILLON_FCM_URL=
            no setting
            """
        #expect(
            PackagedService.variables(in: text) == [
                "CARILLON_LISTEN": "0.0.0.0:8443", "CARILLON_TLS_KEY": "/etc/carillon/a key.pem",
                "CARILLON_ADMIN_KEY": "with=signs#and;more", "CARILLON_LOG_FORMAT": "json", "CARILLON_FCM_URL": "",
            ])
    }

    @Test("gets none of the variables of a caller who names no gateway")
    func meant() throws {
        try withService("CARILLON_LISTEN=127.0.0.1:9000\n") { service throws in
            let caller = ["PATH": "/usr/bin", "CARILLON_LOG_LEVEL": "debug", "CARILLON_DATABASE_URL": ""]
            #expect(
                service.environment(of: caller, hasData: false) == [
                    "PATH": "/usr/bin", "CARILLON_DATA_DIR": service.dataFolder, "CARILLON_LISTEN": "127.0.0.1:9000",
                ])
            #expect(service.environment(of: caller, hasData: true) == nil)
        }
    }

    @Test(
        "gives way to a gateway that a variable names",
        arguments: ["CARILLON_DATA_DIR", "CARILLON_DATABASE_URL", "CARILLON_SETTINGS_FILE"])
    func notMeant(name: String) throws {
        try withService("") { service throws in
            #expect(service.environment(of: [name: "somewhere"], hasData: false) == nil)
        }
    }

    @Test("gives nothing where it is not installed")
    func absent() {
        let service = PackagedService(dataFolder: "/nowhere", settingsFile: "/nowhere/settings.env")
        #expect(!service.isHere && service.environment(of: [:], hasData: false) == nil)
    }

    @Test("gives commands its key, and else an error that names the key's file and what to do")
    func key() throws {
        try withService("") { service throws in
            let file = service.dataFolder + "/admin-key"
            let fault = #expect(throws: CommandFault.self) {
                try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service)
            }
            #expect(fault?.kind == .noPermission && fault?.description.contains(file) == true)
            #expect(fault?.description.contains("CARILLON_ADMIN_KEY") == true)
            let key = "key-of-the-service"
            try Data("\(key)\n".utf8).write(to: URL(filePath: file))
            #expect(try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service) == key)
            #expect(try GatewayKey.read(file: nil, environment: [:], here: service.dataFolder) == key)
        }
    }
}
