import Foundation
import Server
import Testing

@Suite("A file with a secret")
struct SecretFileTests {
    @Test("counts as exposed if every user of the machine may read it, through a link too")
    func exposed() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (mode, isExposed) in [(0o600, false), (0o640, false), (0o604, true), (0o644, true), (0o444, true)] {
            let file = folder.path(percentEncoded: false) + "/key-\(mode)"
            #expect(
                FileManager.default.createFile(
                    atPath: file, contents: Data("secret".utf8), attributes: [.posixPermissions: mode]))
            #expect(KeyFiles.isReadableByAll(file) == isExposed, "mode \(String(mode, radix: 8))")
            let link = file + "-link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            #expect(KeyFiles.isReadableByAll(link) == isExposed, "a link to mode \(String(mode, radix: 8))")
        }
        #expect(!KeyFiles.isReadableByAll(folder.path(percentEncoded: false) + "/missing"))
    }

    @Test("comes up in the doctor's report, with the command that protects it")
    func named() {
        let finding = DoctorRules.exposed("/etc/carillon/master-key")
        #expect(finding.level == .note && finding.text.contains("/etc/carillon/master-key"))
        #expect(finding.remedy?.hasPrefix("chmod 600 ") == true)
    }
}
