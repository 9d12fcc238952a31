import CommandLine
import Foundation
import Testing

@Suite("The folder of a demonstration")
struct OwnFolderTests {
    private static let stranger: uid_t = 65_534

    /// Anybody may make /tmp/carillon-demo-root, and put links there.
    @Test("gets no file of root's if it belongs to another user or is such a user's link", .enabled(if: geteuid() == 0))
    func foreign() async throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "demo-\(UUID().uuidString)")
            .path(percentEncoded: false)
        let (folder, link) = (place + "/folder", place + "/link")
        defer { try? FileManager.default.removeItem(atPath: place) }
        try await OwnFolder(path: folder).locked { _ in }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder)
        try await OwnFolder(path: link).locked { _ in }
        try FileManager.default.removeItem(atPath: folder + "/lock")

        #expect(unsafe lchown(link, Self.stranger, Self.stranger) == 0)
        let linked = await #expect(throws: CommandFault.self) { try await OwnFolder(path: link).locked { _ in } }
        #expect(linked?.description.contains("give another --folder") == true)
        #expect(unsafe chown(folder, Self.stranger, Self.stranger) == 0)
        await #expect(throws: CommandFault.self) { try await OwnFolder(path: folder).locked { _ in } }
        #expect(!FileManager.default.fileExists(atPath: folder + "/lock"))
    }
}
